"""`LocalSession`: SQL in the server's own process, without a connection."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import pyarrow as pa

from ..storage.textform import format_text
from .backend import Result, ResultColumn
from .database import Database


@dataclass(frozen=True, slots=True)
class Answer:
    """A statement's columns and rows. `pieces`: lists of Arrow arrays, one a column."""

    tag: str
    columns: tuple[ResultColumn, ...]
    pieces: list[Sequence[pa.Array]]

    def texts(self) -> list[tuple[str | None, ...]]:
        """The rows, each value as its text."""
        rows: list[tuple[str | None, ...]] = []
        for piece in self.pieces:
            texts = [format_text(c.type, a).to_pylist() for c, a in zip(self.columns, piece, strict=True)]
            rows.extend(zip(*texts, strict=True))
        return rows


class LocalSession:
    """One session of a started database. `execute` blocks; use it from one thread, like any session."""

    def __init__(self, database: Database) -> None:
        self._backend = database.connect({"user": "millpond", "application_name": "local", "_pid": "-1"})

    def execute(self, text: str) -> Answer:
        """Runs one statement and fetches its whole result. Raises SqlError."""
        result = _finished(self._backend.execute(self._backend.prepare(text), (), alone=True))
        pieces: list[Sequence[pa.Array]] = []
        for piece in result.batches:
            if isinstance(piece, Future):
                piece.result()
            else:
                pieces.append(piece)
        pending = self._backend.sync()
        if pending is not None:
            pending.result()
        return Answer(result.tag, result.columns or (), pieces)

    def close(self) -> None:
        self._backend.close()


def _finished(outcome: Result | Future[Result]) -> Result:
    return outcome.result() if isinstance(outcome, Future) else outcome
