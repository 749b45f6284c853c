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

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_rows
from .arrowview import validity
from .columns import ColumnView
from .index import Entries, IndexView
from .keycode import encode_keys
from .keycode_fixed import fixed_width
from .keys import Keys
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

    def row(self, key: bytes) -> int:
        """`lookup` of one key, given as its bytes."""
        return self.primary.row(key, self.died, self.limit, self.as_of)

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
