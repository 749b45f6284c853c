"""`FilePlace`: the folder of an embedded log, as a `LogPlace`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .disk import REAL, Disk, DiskLock
from .log import LogPlace, Position
from .log_files import SEGMENT_BYTES, FileLog
from .log_reader import LogReader


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A folder on a disk, with the size at which its segments end."""

    folder: Path
    disk: Disk = REAL
    segment_bytes: int = SEGMENT_BYTES

    def open(self, locked: Callable[[], None] = lambda: None) -> FileLog:
        return FileLog.open(self.folder, self.disk, self.segment_bytes, locked)

    def source(self) -> LogReader:
        return LogReader(self.folder, self.disk)

    def take_over(self, lock: DiskLock, known: Position) -> FileLog:
        return FileLog.take_over(self.folder, self.disk, lock, known, self.segment_bytes)

    def __str__(self) -> str:
        return str(self.folder)


def log_place(log: Path | LogPlace, disk: Disk, segment_bytes: int) -> LogPlace:
    """The place itself, or that of the log in a folder."""
    return FilePlace(log, disk, segment_bytes) if isinstance(log, Path) else log
