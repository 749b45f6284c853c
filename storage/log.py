"""`Log`: durable, ordered records of epochs. The changelog in it is the truth; stores are caches of it (I1).

A log is written by one process and read by any number. Between two commits the writer appends
*frames*; `commit` makes them durable as one epoch. A reader is given whole committed epochs only: what
is behind the last commit does not exist for it (I2).

Three sides: `LogPlace` is where a log lies and how a process comes to it, `Log` its writer, `LogSource` a
reader of it. Two implementations: files (`log_files.py`) and Kafka topics (`log_kafka.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from .disk import DiskLock

Payload = bytes | pa.Buffer


class FrameKind(IntEnum):
    """What a frame says about its store."""

    SPEC = 1
    """The store's shape (`changelog.StoredSpec`); before the store's first other frame in a segment."""
    ROWS = 2
    """Rows that came or changed, with their new weight."""
    DELETED = 3
    """Keys (of a bag: rows) that went."""
    TRUNCATED = 4
    """Every row of the store went. Precedes ROWS of the same epoch."""
    DROPPED = 5
    """The store itself went."""
    COUNT = 6
    """How many rows the store has as of the epoch; only of large ones, after their other frames."""
    COMMIT = 16
    """The log's own: everything since the COMMIT before is one epoch."""


class Frame(NamedTuple):
    """One record of one store. `payload` may be a view into the file it was read from."""

    store: str
    kind: int
    payload: Payload


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The place behind a committed epoch. Positions of one log are ordered as their epochs."""

    epoch: int
    segment: int
    offset: int
    cursor: bytes = field(default=b"", compare=False)
    """Where a reader goes on from here, if the log needs more than the numbers to say it."""

    def encode(self) -> bytes:
        numbers = b"".join(v.to_bytes(8, "big") for v in (self.epoch, self.segment, self.offset))
        return numbers + self.cursor

    @staticmethod
    def decode(data: bytes) -> Position:
        epoch, segment, offset = (int.from_bytes(data[i : i + 8], "big") for i in (0, 8, 16))
        return Position(epoch, segment, offset, data[24:])


@dataclass(frozen=True, slots=True)
class LogEpoch:
    """A committed epoch, or several in a row, taken together under the number of the last.

    `base` says that it is not a step from the epoch before but the whole content of all stores:
    what compaction leaves in place of the epochs up to and including this one.
    """

    epoch: int
    meta: bytes
    frames: Sequence[Frame]
    position: Position
    base: bool = False


class LogTruncated(Exception):
    """The epochs right after the asked position are no longer in the log: begin again at its base."""


class LogDamaged(Exception):
    """Committed epochs cannot be read any more; the message names file and epochs."""


class LogSource(Protocol):
    """A reader. Each has a thread of its own, but for `end_mark`, which any may call."""

    @property
    def identity(self) -> bytes:
        """16 bytes that tell this log from any other. Raises StartupError when there is no log."""
        ...

    def end_mark(self, settled: bool = False) -> Position | None:
        """Behind the last epoch that can be read now; None when it cannot be told.

        With `settled`, an epoch whose commit was already acknowledged is not left out.
        """
        ...

    def await_news(self) -> None:
        """Waits some milliseconds, or less if the log says before that it has something new.

        Raises LogDamaged.
        """
        ...

    def read(self, after: Position | None, until: Position | None = None) -> Iterator[LogEpoch]:
        """The committed epochs behind `after` (None: all, from the base on), up to `until`.

        Without `until` up to the end of a log that nobody writes to. Raises LogTruncated when epochs behind
        `after` were compacted away, LogDamaged when they should be there and cannot be read, OSError.
        """
        ...

    def apart(self) -> LogSource:
        """A reader of the same log for another thread."""
        ...

    @property
    def shared_folder(self) -> Path | None:
        """Where another process of this machine can read the same log, if it can."""
        ...

    def close(self) -> None: ...


class Log(Protocol):
    """The writer's side, with a reader of its own."""

    @property
    def reader(self) -> LogSource: ...

    @property
    def end(self) -> Position:
        """Behind the last durable epoch."""
        ...

    @property
    def identity(self) -> bytes:
        """16 bytes that tell this log from any other."""
        ...

    @property
    def writer(self) -> int:
        """The number of this writer; a later writer's is higher."""
        ...

    def fenced(self) -> bool:
        """Whether another process has taken over the log. From any thread."""
        ...

    def ready(self) -> int:
        """Prepares for an epoch; returns the number of the segment it will go to.

        In each segment a store's SPEC comes before its first other frame. Raises as `commit`.
        """
        ...

    def append(self, frames: Sequence[Frame]) -> None:
        """Adds frames to the open epoch, in memory. Payloads must not change until `commit` returns."""
        ...

    def commit(self, epoch: int, meta: bytes) -> Position:
        """Makes the appended frames and `meta` durable as `epoch`, all or nothing.

        Raises Fenced when another process has taken over, OutcomeUnknown when that leaves open whether the
        epoch is in the log. Raises DiskFull, IoError or ConnectionFailure; then nothing of the epoch is in
        the log, the appended frames are forgotten and the log is usable again, or refuses with the same
        error until its last durable end can be re-established.
        """
        ...

    def rollback(self) -> None:
        """Forgets the appended frames."""
        ...

    def sizes(self) -> tuple[int, int, int]:
        """Bytes of the base, bytes and number of segments behind it; zeros if the log compacts itself."""
        ...

    def begin_segment(self) -> Position:
        """Ends the segment, so that a base can replace all there is. Returns the end of the log."""
        ...

    def write_base(self, position: Position, meta: bytes, frames: Iterable[Frame]) -> None:
        """Replaces all up to `position`, the end of a segment, by `frames`: the whole content then."""
        ...

    def close(self) -> None:
        """Ends writing: another process may. May be called twice; reading goes on."""
        ...


class LogPlace(Protocol):
    """Where a log is."""

    def open(self, locked: Callable[[], None] = lambda: None) -> Log:
        """Becomes the writer where there is none; begins a log where there is none.

        `locked` is called once that is settled, before what may take long. Raises StartupError: another
        process writes, newer format, or committed epochs cannot be read.
        """
        ...

    def source(self) -> LogSource: ...

    def take_over(self, lock: DiskLock, known: Position) -> Log:
        """Becomes the writer, whoever else may still think to be it.

        `lock` is what the `Candidate` of this place gave; it is released on failure. Before `known`, a
        committed position, nothing is read again. Raises as `open`, and IoError, DiskFull, ConnectionFailure
        or Fenced.
        """
        ...

    def __str__(self) -> str:
        """As an error names it."""
        ...
