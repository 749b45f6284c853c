"""The embedded log is a `Log`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from millpond.storage.disk import REAL
from millpond.storage.log import Position
from millpond.storage.log_files import FileLog
from millpond.storage.log_place import FilePlace

from ..log_protocol import LogProtocol


@dataclass
class Folder:
    place: FilePlace

    def rival(self, known: Position) -> FileLog:
        return self.place.take_over(REAL.seize(self.place.folder / "LOCK"), known)


class TestFiles(LogProtocol):
    @pytest.fixture
    def at(self, tmp_path: Path) -> Folder:
        return Folder(FilePlace(tmp_path / "log", segment_bytes=2000))
