"""A checkpoint that could not read the changelog says so: the store is not to blame."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.storage.checkpoint import Checkpointer
from millpond.storage.errors import ConnectionFailure, IoError
from millpond.storage.log import LogEpoch, Position
from millpond.storage.memory import MemoryStore
from millpond.storage.mirror import Mirror


class Away:
    """A log of which nothing can be read."""

    identity = bytes(16)
    shared_folder = None

    def __init__(self, error: OSError) -> None:
        self._error = error

    def end_mark(self, settled: bool = False) -> Position | None:
        return None

    def read(self, after: Position | None, until: Position | None = None) -> Iterator[LogEpoch]:
        raise self._error

    def apart(self) -> Away:
        return self

    def close(self) -> None:
        pass


def test_a_broker_that_is_away_is_no_failure_of_the_disk() -> None:
    for error, kind in ((ConnectionError("no broker"), ConnectionFailure), (OSError(5, "bad"), IoError)):
        checkpointer = Checkpointer(Mirror(MemoryStore(), bytes(16)), Away(error))
        checkpointer.run(Position(1, 0, 0), None)
        assert isinstance(checkpointer.error, kind)
