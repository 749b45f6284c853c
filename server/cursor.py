"""Cursors of DECLARE: the rows of a query, read piece by piece.

The rows are the query's answer on the snapshot of the moment it was declared. A position is the number of
rows before the cursor (0: before the first). `KeptCursor` has all rows and moves in any direction;
`StreamedCursor` has a large result made as it is fetched, and only moves forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from ..storage.errors import ObjectNotReady
from .backend import ResultColumn
from .streaming import Streamed

Columns = list[pa.Array]
Batches = Iterator["Columns | Future[None]"]


@dataclass(slots=True)
class Cursor:
    """What cursors share. `at` is 0 before the first row, n on row n, their number + 1 behind the last."""

    name: str
    columns: tuple[ResultColumn, ...]
    hold: bool
    text: str
    created_us: int
    at: int = field(default=0, kw_only=True)
    lasting: bool = field(default=False, kw_only=True)
    """Whether the transaction that declared it has committed: no other can undo it."""
    depth: int = field(default=0, kw_only=True)
    """Savepoints there were when it was declared: going back to one of them undoes it."""

    scroll = False
    """Whether it may go back."""

    def fetch(self, direction: str, count: int | None) -> Batches:
        """The rows FETCH returns; moves the cursor as PostgreSQL does. `count` None: all.

        Raises ObjectNotReady for going back on a cursor that only moves forward.
        """
        raise NotImplementedError

    def fail(self) -> None:
        """Its rows were cut off: where it is nobody knows."""

    def close(self) -> None:
        """Lets go of its rows."""


@dataclass(slots=True)
class KeptCursor(Cursor):
    """All rows, as Arrow columns; `count` of them. A result without columns has a stand-in for them."""

    rows: Columns
    count: int
    scroll: bool = True

    def fetch(self, direction: str, count: int | None) -> Batches:
        rows = self._fetch(direction, count)
        if not self.columns:
            return iter([[]] * len(rows[0]))
        return iter([rows] if len(rows[0]) else [])

    def _fetch(self, direction: str, count: int | None) -> Columns:
        if direction == "forward" and (count is None or count >= 0):
            return self._forward(count)
        if not self.scroll and not (direction in ("absolute", "relative") and self._ahead(direction, count)):
            raise forward_only()
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

    def _forward(self, count: int | None) -> Columns:
        if count == 0:
            return self._slice(self.at, self.at) if 1 <= self.at <= self.count else self._slice(1, 0)
        first = self.at + 1
        last = self.count if count is None else min(self.at + count, self.count)
        reached_end = count is None or self.at + count > self.count
        self.at = self.count + 1 if reached_end else last
        return self._slice(first, last)

    def _backward(self, count: int | None) -> Columns:
        if count == 0:
            return self._slice(self.at, self.at) if 1 <= self.at <= self.count else self._slice(1, 0)
        last = self.at - 1
        first = 1 if count is None else max(self.at - count, 1)
        reached_start = count is None or self.at - count < 1
        self.at = 0 if reached_start else first
        rows = self._slice(first, last)
        order = pa.array(range(len(rows[0]) - 1, -1, -1), pa.int64())
        return [column.take(order) for column in rows]

    def _move_to(self, target: int) -> Columns:
        self.at = min(max(target, 0), self.count + 1)
        return self._slice(self.at, self.at) if 1 <= self.at <= self.count else self._slice(1, 0)

    def _slice(self, first: int, last: int) -> Columns:
        """Rows `first` to `last`, counted from 1, both included."""
        return [column.slice(first - 1, max(last - first + 1, 0)) for column in self.rows]


@dataclass(slots=True)
class StreamedCursor(Cursor):
    """The rows still to be made, and what is left of the piece made last."""

    rows: Streamed
    _piece: Columns = field(default_factory=list)
    _row: Columns = field(default_factory=list)
    """The row it is on, if it is on one."""
    _ended: bool = False
    _failed: bool = False
    """Whether an error or its client has ended it in the middle of its rows."""

    def fetch(self, direction: str, count: int | None) -> Batches:
        if direction == "backward" and count is not None and count <= 0:
            direction, count = "forward", -count
        if direction == "forward" and (count is None or count >= 0):
            return self._current() if count == 0 else Fetched(self, 0, count)
        if direction == "relative" and count is not None:
            direction, count = "absolute", self.at + count
        if direction != "absolute" or count is None or count < self.at:
            raise forward_only()
        return self._current() if count == self.at else Fetched(self, count - self.at - 1, 1)

    def close(self) -> None:
        self._piece, self._row = [], []
        self.rows.close()

    def _current(self) -> Batches:
        return iter([self._row] if self._row else [])

    def pull(self, rows_max: int | None) -> Columns | Future[None] | None:
        """The next at most `rows_max` rows, a future to wait for first, or None at the end.

        Raises ObjectNotReady after `fail`.
        """
        if self._failed:
            raise ObjectNotReady(f'portal "{self.name}" cannot be run')
        if not self._piece or not len(self._piece[0]):
            piece = next(self.rows, None)
            if piece is None:
                self.at += not self._ended
                self._ended, self._row = True, []
                return None
            if isinstance(piece, Future):
                return piece
            self._piece = piece
        rows = len(self._piece[0]) if rows_max is None else min(rows_max, len(self._piece[0]))
        taken = [column.slice(0, rows) for column in self._piece]
        self._piece = [column.slice(rows) for column in self._piece]
        if rows:
            self.at += rows
            self._row = [column.slice(rows - 1, 1) for column in taken]
        return taken

    def fail(self) -> None:
        self._failed = True
        self.close()


class Fetched:
    """Rows of a cursor behind the next `skip`: `take` of them, or all."""

    def __init__(self, cursor: StreamedCursor, skip: int, take: int | None) -> None:
        self._cursor, self._skip, self._take = cursor, skip, take

    def __iter__(self) -> Fetched:
        return self

    def __next__(self) -> Columns | Future[None]:
        while self._take != 0:
            piece = self._cursor.pull(self._skip or self._take)
            if piece is None:
                self._take = 0
                break
            if isinstance(piece, Future):
                return piece
            if self._skip:
                self._skip -= len(piece[0])
                continue
            if self._take is not None:
                self._take -= len(piece[0])
            return piece
        raise StopIteration

    def fail(self) -> None:
        """They were cut off on the way to the client."""
        self._cursor.fail()


def forward_only() -> ObjectNotReady:
    """The error of going back on a cursor that cannot."""
    return ObjectNotReady(
        "cursor can only scan forward", hint="Declare it with SCROLL option to enable backward scan."
    )


def undo_cursors(cursors: dict[str, Cursor], depth: int) -> None:
    """Closes those that were declared when there were more than `depth` savepoints."""
    for name in [name for name, cursor in cursors.items() if cursor.depth > depth and not cursor.lasting]:
        cursors.pop(name).close()


def keep_cursors(cursors: dict[str, Cursor], depth: int) -> None:
    """Only `depth` savepoints are left: cursors belong to those."""
    for cursor in cursors.values():
        cursor.depth = min(cursor.depth, depth)
