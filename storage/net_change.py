"""What an open epoch comes to: from the rows it wrote and ended to a `TableChange`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .index import Entries
from .keycode import encode_keys
from .row_message import WrittenRows
from .tablespec import Int64Array, Positions
from .version_rows import ALIVE, NOW
from .versions import GrowingRows

_NOWHERE = np.empty(0, np.int64)
_ANY = -1
"""`as_of` before every mark: rows whenever they ended."""


_ONES = np.ones(4096, np.int64)
_ONES.flags.writeable = False


def written(rows: GrowingRows, start: int) -> tuple[WrittenRows, Int64Array]:
    """The rows from `start` on, all of them alive, and their weights."""
    stop, counts = rows.limit, rows.counts
    if counts is not None:
        return WrittenRows(rows.columns, start, stop), counts[start:stop]
    count = stop - start
    ones = _ONES[:count] if count <= len(_ONES) else np.ones(count, np.int64)
    return WrittenRows(rows.columns, start, stop), ones


@dataclass(frozen=True, slots=True)
class OpenEpoch:
    """An epoch of `rows` with mark `now`, whose own rows begin at `start`.

    `deleted` are positions that were deleted, with the entries of their keys if known; `admitted` rows among
    its own that it did not write: first, end, and their entries. `none` are zero rows.
    """

    rows: GrowingRows
    start: int
    now: int
    deleted: Sequence[tuple[Positions, Entries | None]]
    admitted: Sequence[tuple[int, int, Entries]]
    none: Sequence[pa.Array]

    def arrived(self) -> tuple[Sequence[pa.Array], Int64Array]:
        """The rows that came and are there, and their weights."""
        rows, start = self.rows, self.start
        if rows.limit == start:
            return list(self.none), _NOWHERE
        alive = rows.died[start : rows.limit] == ALIVE
        for first, stop, _ in self.admitted:
            alive[first - start : stop - start] = False
        if alive.all():
            return written(rows, start)
        positions = np.flatnonzero(alive) + start
        return rows.take(positions), rows.weights(positions)

    def gone(self) -> tuple[list[pa.Array], int]:
        """The key columns of rows that were there before the epoch and whose key is not there now."""
        rows = self.rows
        positions = self._gone() if self.deleted else _NOWHERE
        if len(positions):
            return rows.take(positions, rows.spec.key_columns), len(positions)
        return [self.none[i] for i in rows.spec.key_columns], 0

    def _gone(self) -> Positions:
        """One deleted row of each such key."""
        rows, start = self.rows, self.start
        positions = np.concatenate([part for part, _ in self.deleted])
        if rows.limit == start:
            return positions  # Nothing came, so what went was there before and did not come back.
        entries = self._entries_of(positions)
        if len(self.deleted) > 1:
            entries, first = np.unique(entries, return_index=True)
            positions = positions[first]
        now_there = rows.primary.latest(entries, rows.died, rows.limit, NOW) >= 0
        before = rows.primary.latest(entries, rows.died, start, _ANY)
        there_before = (before >= 0) & (rows.died[before] >= self.now)
        for _, _, admitted in self.admitted:
            there_before |= np.isin(entries, admitted)
        return positions[there_before & ~now_there]

    def _entries_of(self, positions: Positions) -> Entries:
        """The entries of the keys of deleted rows."""
        known = [entries for _, entries in self.deleted if entries is not None]
        if len(known) == len(self.deleted):
            return np.concatenate(known)
        rows = self.rows
        columns = rows.take(positions, rows.spec.key_columns)
        return rows.primary.find(encode_keys(columns, rows.key_types, len(positions)))
