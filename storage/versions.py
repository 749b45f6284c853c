"""Versioned rows being written, and rows put together anew without those that have ended."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_rows
from .columns import GrowingColumn, growing_column
from .index import Entries, HashIndex
from .keycode import encode_keys
from .keys import Keys
from .reserve import CAPACITY_MIN, empty, grown
from .tablespec import Int64Array, Positions, TableSpec
from .version_rows import ALIVE, NOW, FrozenRows, VersionedRows, key_width


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
