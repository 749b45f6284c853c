"""Versioned rows: what a state table and its snapshots both are.

Rows lie in order of arrival, each with the epoch that ended it (`died`, counted from the table's
`base`; ALIVE while nothing has). Since rows are only appended, "born by epoch E" is the same as
"position below the row count at the end of E", so a reader of E sees the rows below its `limit` whose
`died` mark is greater than its `as_of`. A later writer adds rows above the limit and sets marks to
later epochs only, neither of which the reader sees: no locks. A rolled-back epoch leaves its rows
behind, dead to everyone (mark 0); their positions are never used again, because a reader may still be
walking past them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_rows
from .arrowview import validity
from .columns import ColumnView, GrowingColumn, growing_column
from .index import Entries, HashIndex, IndexView
from .keycode import encode_keys
from .keycode_fixed import fixed_width
from .keys import Keys
from .reserve import CAPACITY_MIN, empty, grown
from .tablespec import Int64Array, Positions, TableSpec
from .types import Type

ALIVE = kernels_rows.ALIVE
NOW = ALIVE - 1
"""`as_of` of the writer: only rows that nothing has ended."""

PART_BYTES = 4 << 20
"""Bytes of rows that are read at a time where not all are wanted at once."""

PART_ROWS_MIN, PART_ROWS_MAX = 1 << 15, 1 << 20


ColumnT = TypeVar("ColumnT", bound=ColumnView)
IndexT = TypeVar("IndexT", bound=IndexView)


class VersionedRows(Generic[ColumnT, IndexT]):
    """Rows, weights and indexes as of one moment; immutable when made by `GrowingRows.freeze`."""

    __slots__ = (
        "__weakref__", "as_of", "columns", "counts", "died", "index_types", "key_types", "limit", "live",
        "primary", "secondary", "spec",
    )  # fmt: skip

    spec: TableSpec
    key_types: tuple[Type, ...]
    index_types: tuple[tuple[Type, ...], ...]
    columns: list[ColumnT]
    counts: Int64Array | None
    died: npt.NDArray[np.uint32]
    primary: IndexT
    secondary: list[IndexT]
    limit: int
    as_of: int
    live: int

    def lookup(self, keys: Sequence[pa.Array], length: int | None = None) -> Positions:
        """Position of the visible row with each key, −1 where there is none."""
        encoded = encode_keys(keys, self.key_types, 1 if length is None else length)
        return self.lookup_encoded(encoded)

    def lookup_encoded(self, keys: Keys) -> Positions:
        return self.primary.latest(self.primary.find(keys), self.died, self.limit, self.as_of)

    def index_entries(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool, length: int | None
    ) -> Entries:
        """Entries of a secondary index for probe rows; −1 for a NULL unless `null_equal`."""
        types = self.index_types[index]
        encoded = encode_keys(keys, types, 1 if length is None else length)
        entries = self.secondary[index].find(encoded)
        if not null_equal:
            for column in keys:
                valid = validity(column)
                if valid is not None:
                    entries[valid == 0] = -1
        return entries

    def matches(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool = False, length: int | None = None
    ) -> tuple[Int64Array, Positions]:
        """(probe row, position) of every visible row with the probe's key, ascending."""
        entries = self.index_entries(index, keys, null_equal, length)
        return self.secondary[index].pairs(entries, self.died, self.limit, self.as_of)

    def take(self, positions: Positions, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """The rows at `positions` (all columns, or those asked for); NULLs where it is −1."""
        chosen = self.columns if columns is None else [self.columns[i] for i in columns]
        if consecutive(positions):
            start = int(positions[0])
            if start >= 0:
                return [column.array(start, start + len(positions)) for column in chosen]
        absent = positions < 0
        missing = absent if absent.any() else None
        return [column.take(positions, missing) for column in chosen]

    def weights(self, positions: Positions) -> Int64Array:
        """How often each row is there: 1 in a keyed table; 0 where the position is −1."""
        if self.counts is None:
            return (positions >= 0).astype(np.int64)
        return np.where(positions >= 0, self.counts[positions], 0)

    def scan(self, columns: Sequence[int] | None = None) -> tuple[list[pa.Array], Int64Array]:
        """All visible rows and their weights; the table's own memory if no row has ended."""
        return self._part(0, self.limit, range(len(self.columns)) if columns is None else columns)

    def _part(self, start: int, stop: int, columns: Sequence[int]) -> tuple[list[pa.Array], Int64Array]:
        """The visible rows at positions from `start` up to `stop`."""
        alive = None if self.live == self.limit else self.died[start:stop] > self.as_of
        if alive is None or alive.all():
            weights = np.ones(stop - start, np.int64) if self.counts is None else self.counts[start:stop]
            return [self.columns[i].array(start, stop) for i in columns], weights
        positions = start + np.flatnonzero(alive)
        return [self.columns[i].take(positions, None) for i in columns], self.weights(positions)

    def parts(self, columns: Sequence[int] | None = None) -> Iterator[tuple[list[pa.Array], Int64Array]]:
        """What `scan` gives, in parts of about PART_BYTES; at least one."""
        chosen = range(len(self.columns)) if columns is None else columns
        rows = self.limit if self.limit <= PART_ROWS_MIN else self._part_rows(chosen)
        if self.limit <= rows:
            yield self.scan(chosen)
            return
        for start in range(0, self.limit, rows):
            yield self._part(start, min(start + rows, self.limit), chosen)

    def _part_rows(self, columns: Sequence[int]) -> int:
        row_bytes = sum(self.columns[i].bytes_of(self.limit) for i in columns) // max(self.limit, 1)
        return min(max(PART_BYTES // max(row_bytes, 1), PART_ROWS_MIN), PART_ROWS_MAX)

    def visible(self) -> Positions:
        """Positions of all visible rows, ascending."""
        return np.flatnonzero(self.died[: self.limit] > self.as_of)

    def ended_since(self, stored: int | None, base: int) -> Positions:
        """The last versions of keys that ended after the epoch `stored`, and did not come back.

        `base`: the epoch from which marks are counted.
        """
        if stored is None:
            return np.empty(0, np.int64)
        entries = np.arange(self.primary.count, dtype=np.int32)
        newest = self.primary.latest(entries, self.died, self.limit, -1)
        newest = newest[newest >= 0]
        marks = self.died[newest]
        # Mark 0 is that of rows kept dead by the last compaction, which was no earlier than epoch base + 1.
        epochs = np.maximum(marks.astype(np.int64), 1) + base
        return newest[(marks <= self.as_of) & (epochs > stored)]

    @property
    def nbytes(self) -> int:
        """Bytes in use for rows and indexes."""
        rows = self.limit
        parts = sum(part.bytes_of(rows) for part in (*self.columns, self.primary, *self.secondary))
        return parts + rows * (4 if self.counts is None else 12)


FrozenRows = VersionedRows[ColumnView, IndexView]
"""Rows as a snapshot holds them."""


class GrowingRows(VersionedRows[GrowingColumn, HashIndex]):
    """The writer's rows. `base` is the epoch that mark 0 stands for.

    `clean`: rows below were there when a checkpoint began (`StateTable.mark`). `remembered`: how many rows
    were kept though dead, because the store may still have them.
    """

    __slots__ = ("base", "clean", "readers", "remembered")

    def __init__(self, spec: TableSpec, base: int) -> None:
        self.spec = spec
        self.key_types = spec.key_types
        self.index_types = tuple(spec.schema.select(places).types for places in spec.indexes)
        self.base = base
        self.clean = self.remembered = 0
        self.readers: list[weakref.ref[FrozenRows]] = []
        self.columns = [growing_column(column.type.arrow) for column in spec.schema]
        self.counts = np.empty(CAPACITY_MIN, np.int64) if spec.bag else None
        self.died = np.empty(CAPACITY_MIN, np.uint32)
        self.primary = HashIndex(key_width(self.key_types))
        self.secondary = [HashIndex(key_width(types)) for types in self.index_types]
        self.limit = 0
        self.as_of = NOW
        self.live = 0

    def append(
        self,
        columns: Sequence[pa.Array],
        weights: Int64Array | None,
        count: int,
        chains: Entries | None = None,
    ) -> int:
        """Adds live rows to columns and secondary indexes; returns the position of the first.

        The caller enters them in the primary index. `chains`: their entries in the only secondary index,
        None if they are not known.
        """
        start = self.limit
        for column, array in zip(self.columns, columns, strict=True):
            column.append(array, start)
        self._enter(columns, weights, count, chains)
        return start

    def enter_written(self, count: int) -> int:
        """`append` of rows whose columns are written already; there are no secondary indexes."""
        start = self.limit
        self._enter((), None, count)
        return start

    def note_entered(self, entries: Entries) -> None:
        """Rows that replace others are written, and in the primary index, already."""
        self.primary.undo.append((entries, self.limit))
        self.limit += len(entries)

    def _enter(
        self,
        columns: Sequence[pa.Array],
        weights: Int64Array | None,
        count: int,
        chains: Entries | None = None,
    ) -> None:
        start, stop = self.limit, self.limit + count
        self.died = grown(self.died, start, stop)
        self.died[start:stop] = ALIVE
        if self.counts is not None:
            self.counts = grown(self.counts, start, stop)
            self.counts[start:stop] = 1 if weights is None else weights
        self.limit = stop
        self.live += count
        if chains is not None:
            self.secondary[0].chain_entries(chains, start)
            return
        for i, index in enumerate(self.secondary):
            keys = [columns[place] for place in self.spec.indexes[i]]
            index.chain(encode_keys(keys, self.index_types[i], count), start)

    def replace(self, start: int, entries: Entries, now: int) -> Positions | None:
        """Makes the rows from `start` on the versions of their distinct keys (entries of `enter`).

        Returns the positions of the rows ended thereby, −1 for a new key; None if a key occurs twice.
        """
        ended = self.primary.replace(entries, self.died, start, now)
        if ended is not None:
            self.live -= int(np.count_nonzero(ended >= 0))
        return ended

    def encode_rows(self, columns: Sequence[pa.Array], count: int) -> Keys:
        """The primary keys of whole rows."""
        return encode_keys([columns[i] for i in self.spec.key_columns], self.key_types, count)

    def enter(self, columns: Sequence[pa.Array], count: int) -> Entries:
        """The primary index's entries of the keys of whole rows, made where there are none."""
        return self.primary.enter(self.encode_rows(columns, count))

    def end(self, positions: Positions, now: int) -> int:
        """Ends live rows. Returns −1, or which of `positions` is no live row (nothing is changed then)."""
        failed = kernels_rows.end_rows(positions, self.died, self.limit, now)
        if failed < 0:
            self.live -= len(positions)
        return failed

    def matches_pruned(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool, length: int | None, horizon: int
    ) -> tuple[Int64Array, Positions]:
        """`matches`, taking rows that ended at or before `horizon` out of the chains it walks."""
        entries = self.index_entries(index, keys, null_equal, length)
        chains = self.secondary[index]
        total = chains.prune(entries, self.died, horizon)
        return chains.pairs(entries, self.died, self.limit, NOW, total)

    def freeze(self, as_of: int) -> FrozenRows:
        """What readers of the epoch `as_of` (counted from `base`) see."""
        view = FrozenRows()
        view.key_types, view.index_types = self.key_types, self.index_types
        view.spec, view.limit, view.as_of, view.live = self.spec, self.limit, as_of, self.live
        view.columns = [column.freeze() for column in self.columns]
        view.counts, view.died = self.counts, self.died
        view.primary = self.primary.freeze()
        view.secondary = [index.freeze() for index in self.secondary]
        if self.secondary:
            # Who reads matters to chains with rows of several epochs only.
            self.readers = [reader for reader in self.readers if reader() is not None]
            self.readers.append(weakref.ref(view))
        return view

    @property
    def wasted(self) -> int:
        """Rows that have ended, or keys of an index that have no row, whichever are more.

        Keys without rows come of looking for rows that are nowhere.
        """
        keys = max(index.count for index in (self.primary, *self.secondary))
        return max(self.limit - self.live - self.remembered, keys - self.limit)

    def oldest_reader(self) -> int:
        """The oldest `as_of` among the views of these rows that someone still holds."""
        views = (reader() for reader in self.readers)
        return min((view.as_of for view in views if view is not None), default=0)

    def compacted(self, base: int, stored: int | None = None) -> GrowingRows:
        """New rows holding only the live ones, in the same order. Readers keep the old ones.

        There is room for as many versions again, which is when the next compaction is due. With `stored`,
        the epoch as of which a store is asked about keys that are not here, the last version of every key
        that ended since is kept, dead.
        """
        return self._moved(base, self.visible(), self.ended_since(stored, self.base))

    def evicted(self, base: int, stored: int, bytes_max: int) -> tuple[GrowingRows, int]:
        """`compacted`, and without the oldest clean rows if all would take more than `bytes_max` bytes.

        Returns the rows that are left and how many live ones are not.
        """
        live, dead = self.visible(), self.ended_since(stored, self.base)
        fitting = bytes_max * self.limit // max(self.nbytes, 1)
        clean = int(np.searchsorted(live, self.clean))
        gone = min(clean, max(0, len(live) + len(dead) - fitting))
        return self._moved(base, live[gone:], dead), gone

    def _moved(self, base: int, live: Positions, dead: Positions) -> GrowingRows:
        moved = move_rows(self, self.base, base, live, dead)
        moved.rows.clean = moved.kept_below(self.clean)
        return moved.rows

    def roll_back(
        self, start: int, live: int, ended: Sequence[Positions], kept: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Undoes an epoch: rows from `start` on are dead to all, but for `kept`; rows it ended live again."""
        starts = [first for first, _ in kept]
        for index in (self.primary, *self.secondary):
            index.roll_back(starts)
        for positions in ended:
            self.died[positions] = ALIVE
        self.died[start : self.limit] = 0
        for first, stop in kept:
            self.died[first:stop] = ALIVE
        self.live = live

    def forget_undo(self) -> None:
        """Makes everything entered so far permanent."""
        for index in (self.primary, *self.secondary):
            index.undo.clear()


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows in new arrays, and where they were."""

    rows: GrowingRows
    places: npt.NDArray[np.int32]
    """The new position of each old one, −1 if it is gone."""
    shift: int
    """How much later the new rows' base is."""
    renumbered: tuple[bool, ...]
    """Of each index, the primary first, whether its keys have other entries."""
    count: int
    """Rows at first."""

    def kept_below(self, position: int) -> int:
        return int(np.count_nonzero(self.places[:position] >= 0))


def move_rows(
    rows: VersionedRows[Any, Any], base: int, new_base: int, live: Positions, dead: Positions
) -> Moved:
    """New rows: those at `live`, and those at `dead` without life. `base` is that of `rows`."""
    positions = np.sort(np.concatenate([live, dead])) if len(dead) else live
    count = len(positions)
    capacity = max(2 * count, CAPACITY_MIN)
    places = np.full(rows.limit, -1, np.int32)
    places[positions] = np.arange(count, dtype=np.int32)
    new = GrowingRows(rows.spec, new_base)
    for column, old in zip(new.columns, rows.columns, strict=True):
        column.append(old.take(positions, None), 0)
    new.died = empty(capacity, np.uint32)
    new.died[:count] = ALIVE
    new.died[places[dead]] = 0
    if rows.counts is not None:
        new.counts = empty(capacity, np.int64)
        new.counts[:count] = rows.counts[positions]
    new.limit, new.live, new.remembered = count, len(live), len(dead)
    new.primary = rows.primary.compacted(places, count, capacity, single=True)
    new.secondary = [index.compacted(places, count, capacity, single=False) for index in rows.secondary]
    indexes = zip((new.primary, *new.secondary), (rows.primary, *rows.secondary), strict=True)
    renumbered = tuple(index.key_data is not old.key_data for index, old in indexes)
    return Moved(new, places, new_base - base, renumbered, count)


def compact_view(view: FrozenRows, base: int, new_base: int, stored: int | None) -> Moved:
    """`GrowingRows.compacted` of what a view shows, in any thread, while the rows are being written."""
    return move_rows(view, base, new_base, view.visible(), view.ended_since(stored, base))


def consecutive(positions: Positions) -> bool:
    """Whether each position is one more than the one before: a slice will do. False for none."""
    count = len(positions)
    if count < 2:
        return count == 1
    first = positions[0]
    return bool(positions[-1] - first == count - 1) and bool(
        (positions == np.arange(first, first + count)).all()
    )


def key_width(types: Sequence[Type]) -> int:
    """Bytes of every key of these types, 0 if they differ from key to key."""
    widths = [fixed_width(type_) for type_ in types]
    return sum(widths) or 1 if all(widths) else 0
