"""Who may write, simulated: processes on one log that stop, wake up and die between any two disk accesses.

Each process runs in a thread of its own and moves only when the schedule, drawn from a seed, says so: before
every access to the disk it may be stopped for long, as by SIGSTOP, or killed. Processes commit epochs as the
primary, follow as standbys, and try to take over with a lease so short that most suspicions are false.

After every step:

* an acknowledged epoch is in the log, once, and as it was acknowledged;
* no two processes acknowledge the same epoch number;
* what a follower shows is a prefix of the acknowledged epochs and those in doubt, and never goes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from millpond.storage.candidate import Candidate
from millpond.storage.errors import SqlError, StartupError
from millpond.storage.fence import Fenced, OutcomeUnknown
from millpond.storage.log import Frame, FrameKind, LogDamaged, LogTruncated, Position
from millpond.storage.log_files import FileLog
from millpond.storage.log_reader import LogReader
from millpond.storage.presence import PrimaryBeat, announce_primary

from .fake_disk import FakeDisk, FakeFile, FakeLock
from .turns import TurnTaker

FIRST, LAST = (int(part) for part in os.environ.get("MILLPOND_TAKEOVER_SEEDS", "0:100").split(":"))
GROUPS = 4
STEPS = 2500
LOG = Path("/log")
LEASE_S = 0.5


class SharedDisk(FakeDisk):
    """The page cache all processes see. Locks belong to a process and end with it."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.owners: dict[Path, Process] = {}


class OwnLock(FakeLock):
    """A lock of one process; seized, it is worth nothing."""

    def __init__(self, disk: SharedDisk, path: Path, owner: Process) -> None:
        self._shared, self._path, self._owner = disk, path, owner

    def release(self) -> None:
        if self._shared.owners.get(self._path) is self._owner:
            del self._shared.owners[self._path]


class View:
    """A process's access to the shared disk: each one is a moment at which it may be stopped."""

    def __init__(self, shared: SharedDisk, process: Process) -> None:
        self._shared, self._process = shared, process

    def __getattr__(self, name: str) -> Callable:
        act = getattr(self._shared, name)

        def step(*arguments: object, **named: object) -> object:
            self._process.pause()
            found = act(*arguments, **named)
            return ViewFile(found, self._process) if isinstance(found, FakeFile) else found

        return step

    def lock(self, path: Path) -> OwnLock | None:
        self._process.pause()
        if path in self._shared.owners:
            return None
        return self._own(path)

    def seize(self, path: Path) -> OwnLock:
        self._process.pause()
        return self._own(path)

    def _own(self, path: Path) -> OwnLock:
        self._shared.owners[path] = self._process
        return OwnLock(self._shared, path, self._process)


class ViewFile:
    def __init__(self, file: FakeFile, process: Process) -> None:
        self._file, self._process = file, process

    def __getattr__(self, name: str) -> Callable:
        act = getattr(self._file, name)

        def step(*arguments: object, **named: object) -> object:
            self._process.pause()
            return act(*arguments, **named)

        return step


class Process(TurnTaker):
    """One server: follows, tries to become the writer, writes until it is fenced, follows again."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.label = name
        self.disk = View(world.disk, self)
        self.stopped_until = 0
        self.seen: list[bytes] = []
        self.position: Position | None = None

    def live(self) -> None:
        candidate = Candidate(LOG, self.disk, LEASE_S)  # pyright: ignore[reportArgumentType]
        reader = LogReader(LOG, self.disk)  # pyright: ignore[reportArgumentType]
        while True:
            self.pause()
            try:
                self.follow(reader)
                lock = candidate.try_lock(self.world.now)
                if lock is None:
                    continue
                try:
                    log = FileLog.take_over(LOG, self.disk, lock, self.position, 400)  # pyright: ignore[reportArgumentType]
                finally:
                    candidate.done()
                self.follow(reader, log.end)
                self.write(log)
                log.close()
            except (LogDamaged, StartupError) as error:
                # Read while another process was just changing names: must not last.
                self.world.damaged.append(str(error))
                assert len(self.world.damaged) < 20, self.world.damaged
            except (SqlError, OSError, LogTruncated):
                continue

    def follow(self, reader: LogReader, until: Position | None = None) -> None:
        epochs = reader.tail(self.position) if until is None else reader.read(self.position, until)
        for epoch in epochs:
            if self.position is not None and epoch.epoch <= self.position.epoch:
                continue
            assert epoch.epoch == len(self.seen) + 1
            self.seen.append(bytes(epoch.frames[0].payload))
            self.position = epoch.position

    def write(self, log: FileLog) -> None:
        """Commits until it is fenced, or of its own accord."""
        beat = 0
        while self.world.random.random() < 0.97:
            payload = f"{self.label} {self.world.steps} {'x' * self.world.random.choice((1, 300))}".encode()
            epoch = log.end.epoch + 1
            if self.world.random.random() < 0.3:
                beat += 1
                announce_primary(LOG, self.disk, PrimaryBeat(self.label, "", log.writer, 0, beat, 0))  # pyright: ignore[reportArgumentType]
            if self.world.random.random() < 0.05 and log.fenced():
                return
            self.world.doubts.setdefault(epoch, set()).add(payload)
            try:
                log.ready()
                log.append([Frame("s", FrameKind.ROWS, payload)])
                position = log.commit(epoch, b"")
            except OutcomeUnknown:
                return
            except Fenced:
                self.world.doubts[epoch].discard(payload)
                return
            except SqlError:
                continue
            self.world.acknowledge(epoch, payload)
            self.seen.append(payload)
            self.position = position


class World:
    """The schedule, and what must hold."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = SharedDisk(self.random)
        self.disk.sync_failure = self.random.choice((0.0, 0.02, 0.2))
        self.steps = 0
        self.now = 0.0
        self.damaged: list[str] = []
        self.born = 0
        self.acknowledged: dict[int, bytes] = {}
        self.doubts: dict[int, set[bytes]] = {}
        self.processes: list[Process] = []

    def acknowledge(self, epoch: int, payload: bytes) -> None:
        assert epoch not in self.acknowledged, f"epoch {epoch} acknowledged twice"
        self.acknowledged[epoch] = payload

    def run(self) -> None:
        for _ in range(3):
            self.spawn()
        try:
            for self.steps in range(STEPS):
                self.step()
        finally:
            for process in self.processes:
                self.kill(process)
        self.check_log()

    def spawn(self) -> None:
        process = Process(self, f"p{self.born}")
        self.born += 1
        process.start()
        self.processes.append(process)

    def step(self) -> None:
        """Something happens to somebody; then one process makes one step."""
        random = self.random
        self.now += random.choice((0.0, 0.001, 0.005, 0.02))
        chosen = random.choice(self.processes)
        fate = random.random()
        if fate < 0.003:
            self.kill(chosen)
            self.spawn()
        elif fate < 0.01:
            chosen.stopped_until = self.steps + random.choice((5, 30, 300))
        awake = [p for p in self.processes if p.stopped_until <= self.steps]
        if not awake:
            return
        self.move(random.choice(awake))
        if self.steps % 50 == 0:
            self.check_log()

    def move(self, process: Process) -> None:
        process.move()
        for epoch, payload in enumerate(process.seen, 1):
            assert payload == self.acknowledged.get(epoch, payload), (
                f"{process.label} shows another epoch {epoch}"
            )

    def kill(self, process: Process) -> None:
        process.kill()
        self.processes = [p for p in self.processes if p is not process]
        self.disk.owners = {path: p for path, p in self.disk.owners.items() if p is not process}

    def check_log(self) -> None:
        """What the next process would recover, were all others killed now."""
        disk = self.disk.at_rest()
        log = FileLog.open(LOG, disk, 400)
        found = {e.epoch: bytes(e.frames[0].payload) for e in log.read(None)}
        for epoch, payload in self.acknowledged.items():
            assert found.get(epoch) == payload, f"acknowledged epoch {epoch} is lost"
        for epoch, payload in found.items():
            assert payload in self.doubts[epoch], f"epoch {epoch} was refused and is there"


@pytest.mark.parametrize("group", range(GROUPS))
def test_takeovers_lose_nothing_and_repeat_nothing(group: int) -> None:
    takeovers = epochs = 0
    damaged: list[str] = []
    for seed in range(FIRST + group, LAST, GROUPS):
        world = World(seed)
        try:
            world.run()
        except BaseException:
            print(f"seed {seed}, step {world.steps}")
            raise
        damaged += world.damaged
        writers = {payload.split()[0] for payload in world.acknowledged.values()}
        takeovers += len(writers)
        epochs += len(world.acknowledged)
    assert not damaged
    assert takeovers > 2 * (LAST - FIRST) // GROUPS, "too little happened to mean anything"
    assert epochs > 10 * (LAST - FIRST) // GROUPS
