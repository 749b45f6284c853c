"""`Log`: durable, ordered records of epochs. The changelog in it is the truth; stores are caches of it (I1).

A log is written by one process and read by any number. Between two commits the writer appends
*frames*; `commit` makes them durable with one commit frame and one fsync. A reader is given whole
committed epochs only: frames behind the last commit frame do not exist for it (I2).

Two implementations: files (`log_files.py`) and Kafka topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import pyarrow as pa

Payload = bytes | pa.Buffer


class FrameKind(IntEnum):
    """What a frame says about its store."""

    SPEC = 1
    """The store's shape (`changelog.encode_spec`); before the store's first other frame in a segment."""
    ROWS = 2
    """Rows that came or changed, with their new weight."""
    DELETED = 3
    """Keys (of a bag: rows) that went."""
    TRUNCATED = 4
    """Every row of the store went. Precedes ROWS of the same epoch."""
    DROPPED = 5
    """The store itself went."""
    COMMIT = 16
    """The log's own: everything since the COMMIT before is one epoch."""


@dataclass(frozen=True, slots=True)
class Frame:
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

    def encode(self) -> bytes:
        return b"".join(v.to_bytes(8, "big") for v in (self.epoch, self.segment, self.offset))

    @staticmethod
    def decode(data: bytes) -> Position:
        epoch, segment, offset = (int.from_bytes(data[i : i + 8], "big") for i in (0, 8, 16))
        return Position(epoch, segment, offset)


@dataclass(frozen=True, slots=True)
class LogEpoch:
    """A committed epoch.

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


class Log(Protocol):
    """The writer's side, with a reader of its own."""

    @property
    def end(self) -> Position:
        """Behind the last durable epoch."""
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
        """Makes the appended frames and `meta` durable as `epoch`: one commit frame, one fsync.

        Raises DiskFull or IoError; then nothing of the epoch is in the log, the appended frames are
        forgotten and the log is usable again, or refuses with the same error until its last durable
        end can be re-established.
        """
        ...

    def rollback(self) -> None:
        """Forgets the appended frames."""
        ...

    def read(self, after: Position | None) -> Iterator[LogEpoch]:
        """The committed epochs behind `after`; from the base, or the first epoch, when None.

        Raises LogTruncated when epochs behind `after` were compacted away, LogDamaged when they
        should be there and cannot be read.
        """
        ...

    def close(self) -> None: ...
