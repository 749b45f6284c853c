"""The log alone under crashes and failing disks: so cheap that rare combinations come up.

For instance: an fsync fails although everything reached the disk, the process is killed after it cut the
epoch off in the page cache, the next process dies by a power cut before it wrote anything.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from millpond.storage.errors import SqlError
from millpond.storage.log import Frame, FrameKind
from millpond.storage.log_files import FileLog

from .fake_disk import Crash, FakeDisk

FIRST, LAST = (int(part) for part in os.environ.get("MILLPOND_LOG_SEEDS", "0:2500").split(":"))
GROUPS = 4
LOG = Path("/log")


class LogWorld:
    """`epochs` are the acknowledged payloads, `doubts` those that may be the next epoch or not."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = FakeDisk(self.random)
        self.epochs: list[bytes] = []
        self.doubts: list[bytes] = []

    def live(self) -> None:
        self.disk.crash_after = self.random.choice(
            (None, self.random.randrange(10), self.random.randrange(50))
        )
        try:
            log = FileLog.open(LOG, self.disk, segment_bytes=700)
            self.check(log)
            for _ in range(self.random.randrange(5)):
                self.commit(log)
        except (Crash, OSError):
            pass
        self.disk = self.disk.after_crash(power=self.random.random() < 0.5)

    def check(self, log: FileLog) -> None:
        found = [bytes(frame.payload) for epoch in log.read(None) for frame in epoch.frames]
        if len(found) == len(self.epochs) + 1:
            assert found[-1] in self.doubts, "an epoch came back that was cut off"
            self.epochs.append(found[-1])
        assert found == self.epochs
        self.doubts = []

    def commit(self, log: FileLog) -> None:
        payload = self.random.randbytes(self.random.choice((1, 40, 900)))
        self.disk.sync_failure = self.random.choice((0.0, 0.0, 0.4))
        self.disk.write_failure = self.random.choice((0.0, 0.0, 0.2))
        self.doubts.append(payload)
        try:
            log.ready()
            log.append([Frame("s", FrameKind.ROWS, payload)])
            log.commit(len(self.epochs) + 1, b"")
        except SqlError:
            if log._file is not None:
                self.doubts = []
            return
        self.epochs.append(payload)
        self.doubts = []


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_log_gives_what_was_acknowledged(group: int) -> None:
    for seed in range(FIRST + group, LAST, GROUPS):
        world = LogWorld(seed)
        try:
            for _ in range(6):
                world.live()
        except BaseException:
            print(f"seed {seed}")
            raise
