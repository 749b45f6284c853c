"""`Cursor`: the rows of DECLARE CURSOR, read piece by piece in any direction.

The rows are the query's answer on the snapshot of the moment it was declared. They are kept as Arrow
columns; a position is the number of rows before the cursor (0: before the first).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ..storage.errors import ObjectNotReady
from .backend import ResultColumn


@dataclass(slots=True)
class Cursor:
    """`at` is 0 before the first row, n on row n, `count` + 1 behind the last."""

    name: str
    columns: tuple[ResultColumn, ...]
    rows: list[pa.Array]
    count: int
    hold: bool
    scroll: bool
    text: str
    created_us: int
    at: int = 0
    lasting: bool = False
    """Whether the transaction that declared it has committed: no other can undo it."""

    def fetch(self, direction: str, count: int | None) -> list[pa.Array]:
        """The rows FETCH returns; moves the cursor as PostgreSQL does. `count` None: all.

        Raises ObjectNotReady for going back on a NO SCROLL cursor.
        """
        if direction == "forward" and (count is None or count >= 0):
            return self._forward(count)
        if not self.scroll and not (direction in ("absolute", "relative") and self._ahead(direction, count)):
            raise ObjectNotReady(
                "cursor can only scan forward", hint="Declare it with SCROLL option to enable backward scan."
            )
        if direction == "forward":
            return self._backward(-(count or 0))
        if direction == "backward":
            if count is not None and count < 0:
                return self._forward(-count)
            return self._backward(count)
        return self._move_to(self._target(direction, count or 0))

    def _ahead(self, direction: str, count: int | None) -> bool:
        return self._target(direction, count or 0) >= self.at

    def _target(self, direction: str, count: int) -> int:
        if direction == "relative":
            return self.at + count
        return count if count >= 0 else self.count + 1 + count

    def _forward(self, count: int | None) -> list[pa.Array]:
        if count == 0:
            return self._slice(self.at, self.at) if 1 <= self.at <= self.count else self._slice(1, 0)
        first = self.at + 1
        last = self.count if count is None else min(self.at + count, self.count)
        reached_end = count is None or self.at + count > self.count
        self.at = self.count + 1 if reached_end else last
        return self._slice(first, last)

    def _backward(self, count: int | None) -> list[pa.Array]:
        if count == 0:
            return self._slice(self.at, self.at) if 1 <= self.at <= self.count else self._slice(1, 0)
        last = self.at - 1
        first = 1 if count is None else max(self.at - count, 1)
        reached_start = count is None or self.at - count < 1
        self.at = 0 if reached_start else first
        rows = self._slice(first, last)
        order = pa.array(range(len(rows[0]) - 1, -1, -1), pa.int64()) if rows else None
        return [column.take(order) for column in rows]

    def _move_to(self, target: int) -> list[pa.Array]:
        self.at = min(max(target, 0), self.count + 1)
        return self._slice(self.at, self.at) if 1 <= self.at <= self.count else self._slice(1, 0)

    def _slice(self, first: int, last: int) -> list[pa.Array]:
        """Rows `first` to `last`, counted from 1, both included."""
        return [column.slice(first - 1, max(last - first + 1, 0)) for column in self.rows]
