"""`Streamed`: the rows of a query that is still being computed, a piece ahead of the client.

Each piece is made by a read thread when the one before has been sent, so a result of any size takes the
memory of two pieces. An error on the way reaches the client behind the rows sent, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pyarrow as pa

from ..operators.zset import ZSet

STREAM_BYTES = 4 << 20
"""A result is computed whole, and then sent, if it has no more than so many bytes."""

Columns = list[pa.Array]
Batches = Callable[[ZSet], Iterator[Columns]]


class Streamed:
    """The iterator a `Result` takes: rows, or a future to wait for."""

    def __init__(self, pieces: Iterator[ZSet], batches: Batches, submit: Callable[..., Future[Any]]) -> None:
        """`batches` cuts a piece for the wire, `submit` gives work to a read thread."""
        self._pieces, self._cut, self._submit = pieces, batches, submit
        self._batches: Iterator[Columns] = iter(())
        self._coming: Future[Any] | None = None

    def __iter__(self) -> Streamed:
        return self

    def __next__(self) -> Columns | Future[None]:
        batch = next(self._batches, None)
        while batch is None:
            if self._coming is None:
                self._coming = self._submit(next, self._pieces, None)
            if not self._coming.done():
                return self._coming
            coming, self._coming = self._coming, None
            piece = coming.result()
            if piece is None:
                raise StopIteration
            self._batches = self._cut(piece)
            batch = next(self._batches, None)
        return batch

    def here(self) -> Iterator[Columns]:
        """The rows still to come, made in the caller's thread: no read thread must wait for another."""
        assert self._coming is None
        yield from self._batches
        for piece in self._pieces:
            yield from self._cut(piece)

    def close(self) -> None:
        """No more rows are wanted."""
        if self._coming is not None:
            _ = self._coming.cancel()
            self._coming = None
        self._batches = self._pieces = iter(())


def begun(pieces: Iterator[ZSet]) -> tuple[list[ZSet], bool]:
    """The first pieces, up to STREAM_BYTES, and whether they are all."""
    first: list[ZSet] = []
    held = 0
    for piece in pieces:
        first.append(piece)
        if len(first) > 1:
            held += sum(column.nbytes for column in piece.columns)
            if held > STREAM_BYTES:
                return first, False
    return first, True
