"""A sink's thread outlives whatever its target does."""

from __future__ import annotations

import threading

import pytest

from millpond.runtime import sink as module
from millpond.runtime.sink import SinkBatch, SinkRunner
from millpond.sql.entries import Sink


class Broken:
    """A writer that can neither write nor be closed."""

    def progress(self) -> int:
        raise OSError("the target is away")

    def write(self, batch: SinkBatch) -> None: ...

    def close(self) -> None:
        raise ValueError("nor can it be closed")


def test_a_writer_that_cannot_even_be_closed_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    attempts, enough = list[int](), threading.Event()

    def opened() -> Broken:
        attempts.append(len(attempts))
        if len(attempts) == 3:
            enough.set()
        return Broken()

    runner = SinkRunner(Sink(1, "public", "out"), opened, lambda: None, lambda sent: None)
    assert enough.wait(10) and runner.failure
    runner.close()
