"""Processes on one changelog on Kafka, simulated: what they do, what happens to them, what must hold."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from confluent_kafka import KafkaError

from millpond.storage.changelog import decode_meta
from millpond.storage.errors import SqlError, StartupError
from millpond.storage.fence import Fenced, OutcomeUnknown
from millpond.storage.log import LogDamaged, LogTruncated, Position
from millpond.storage.log_kafka import CommitUnknown, KafkaLog
from millpond.storage.log_kafka_client import KafkaTopics
from millpond.storage.log_kafka_place import KafkaPlace
from millpond.storage.log_kafka_presence import KafkaCandidate
from millpond.storage.log_kafka_records import CLAIM_KEY, COMMIT_KEY, Claim, Commit
from millpond.storage.log_kafka_source import KafkaSource
from millpond.storage.presence import PrimaryBeat

from ..log_protocol import Content, Writer, random_change
from .fake_kafka import FakeConsumer, FakeProducer
from .fake_kafka_broker import Broker, Record, failure
from .turns import TurnTaker

STEPS = 4000
LEASE_S = 0.5
T = TypeVar("T")


class Process(TurnTaker):
    """One server: follows, tries to become the writer, writes until it is fenced, follows again."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.label = name
        self.asleep_until = 0.0
        self.cut_off_until = 0.0
        self.clock_error = 0.0
        self.content = Content()
        self.position: Position | None = None

    # What the clients ask (`Caller`).
    def rest(self, seconds: float) -> None:
        self.asleep_until = max(self.asleep_until, self.world.now + seconds)
        self.pause()

    def chance(self, share: float) -> bool:
        return self.world.random.random() < share

    def call(self, act: Callable[[], T], timeout_s: float) -> T:
        self.pause()
        fate = self.world.random.random() / self.world.trouble
        if self.world.now < self.cut_off_until or fate < 0.01:
            return self._unanswered(timeout_s)
        if fate < 0.02:
            self.world.late.append((self.world.now + self.world.random.choice((0.01, 1, 20)), act))
            return self._unanswered(timeout_s)
        found = act()
        if fate < 0.03:
            return self._unanswered(timeout_s)
        if fate < 0.04:
            found = act()
        self.pause()
        return found

    def _unanswered(self, timeout_s: float) -> Any:
        self.rest(timeout_s)
        raise failure(KafkaError._TIMED_OUT, retriable=True)

    # Its life.
    def live(self) -> None:
        place = KafkaPlace(SimTopics(self))
        candidate = place.candidate(LEASE_S)
        candidate._line = Suspicion(self)  # pyright: ignore[reportAttributeAccessIssue]
        source = place.source()
        while True:
            self.pause()
            try:
                self.follow(source, source.end_mark(settled=self.chance(0.2)))
                if self.world.epoch and self.chance(0.5):
                    source.await_news()
                log = self.become_writer(place, candidate)
                if log is None:
                    continue
                self.follow(source, log.end)
                source.close()
                self.write(log, place)
                log.close()
                return
            except (LogDamaged, LogTruncated, StartupError) as error:
                self.world.odd.append(f"{self.label} {error}")
            except (SqlError, OSError):
                continue

    def become_writer(self, place: KafkaPlace, candidate: KafkaCandidate) -> KafkaLog | None:
        if self.world.epoch or self.world.claim:
            turn = candidate.try_lock(self.world.now)
            if turn is None:
                return None
            try:
                return place.take_over(turn, self.position or Position(0, 0, 0))
            finally:
                candidate.done()
        return place.open()

    def follow(self, source: KafkaSource, mark: Position | None) -> None:
        if mark is None or not mark.epoch:
            return
        before = self.position
        for epoch in source.read(before, mark):
            assert before is None or epoch.epoch > before.epoch, "it went back"
            content = Content() if epoch.base else copy.deepcopy(self.content)
            _ = content.follow([epoch])
            attempt = int(decode_meta(epoch.meta)["attempt"])
            self.world.check_followed(self.label, epoch.epoch, attempt, content)
            self.content, self.position = content, epoch.position

    def write(self, log: KafkaLog, place: KafkaPlace) -> None:
        """Commits until it is fenced, or of its own accord."""
        world, beat = self.world, 0
        number = max([spec.number for spec in self.content.specs.values()], default=0)
        number = max(number, world.numbers)
        while not self.chance(0.03):
            self.pause()
            beat += 1
            place.presence.announce_primary(PrimaryBeat(self.label, self.label, log.writer, 0, beat, 0))
            if self.chance(0.1) and log.fenced():
                return
            before = copy.deepcopy(self.content)
            writer = Writer(log, self.content)
            attempt = world.begin()
            try:
                for _ in range(world.random.randint(1, 2)):
                    number += random_change(world.random, writer, number)
                world.numbers = max(world.numbers, number)
                world.contents[attempt] = copy.deepcopy(writer.content)
                self.position = writer.commit(attempt=str(attempt).encode())
            except (OutcomeUnknown, CommitUnknown):
                world.outcomes[attempt] = "unknown"
                self.content = before
                return
            except Fenced:
                world.refuse(attempt)
                self.content = before
                return
            except SqlError:
                world.refuse(attempt)
                self.content = before
                continue
            world.acknowledge(attempt, self.position.epoch)


class SimTopics(KafkaTopics):
    """Whose clients are those of the simulation."""

    __slots__ = ("process",)

    def __init__(self, process: Process) -> None:
        super().__init__("simulated", "sim")
        object.__setattr__(self, "process", process)

    process: Process

    def consumer(self, isolation: str = "read_committed") -> Any:
        return FakeConsumer(self.process.world.broker, self.process, isolation == "read_committed")

    def transactional(self) -> Any:
        return FakeProducer(self.process.world.broker, self.process, f"{self.application}-millpond")

    def plain(self) -> Any:
        return FakeProducer(self.process.world.broker, self.process, "")


class Suspicion:
    """In place of the connection to the primary: says that it is gone when it is, at times also when not."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def broken(self, address: str) -> bool:
        world = self._process.world
        alive = any(process.label == address and not process.over for process in world.processes)
        return world.random.random() < (0.01 if alive else 0.5)

    def close(self) -> None:
        pass


class SimTime:
    """The `time` of the modules: each process has its own idea of the date."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.now

    def time(self) -> float:
        return self._world.now + self._process().clock_error

    def time_ns(self) -> int:
        return int(self.time() * 1e9)

    def sleep(self, seconds: float) -> None:
        self._process().rest(seconds)

    def _process(self) -> Process:
        found = threading.current_thread()
        assert isinstance(found, Process)
        return found


class World:
    """The schedule, and what must hold."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.broker = Broker(self.decided)
        self.steps = 0
        self.now = 1e9
        self.trouble = self.random.choice((0.001, 0.3, 1.0, 3.0))
        self.late: list[tuple[float, Callable[[], Any]]] = []
        self.odd: list[str] = []
        self.born = self.numbers = 0
        self.processes: list[Process] = []
        self.attempts = 0
        self.contents: dict[int, Content] = {}
        self.outcomes: dict[int, str] = {}
        self.committed: dict[int, int] = {}
        """Epochs decided, with their attempts."""
        self.acknowledged: dict[int, int] = {}
        self.claim: Claim | None = None
        self.writers: set[str] = set()

    @property
    def epoch(self) -> int:
        return len(self.committed)

    # What must hold.
    def decided(self, records: list[tuple[str, Record]]) -> None:
        """A transaction has been committed."""
        for topic, record in records:
            if topic != "sim-epochs-changelog":
                continue
            if record.key == CLAIM_KEY:
                self.claim = Claim.decode(record.value or b"")
            elif record.key == COMMIT_KEY:
                self.decided_commit(Commit.decode(record.value or b""))

    def decided_commit(self, commit: Commit) -> None:
        attempt = int(decode_meta(commit.meta)["attempt"])
        assert self.claim == commit.claim, f"epoch {commit.epoch} under a claim that is not in force"
        assert commit.epoch == self.epoch + 1, f"epoch {commit.epoch} follows {self.epoch}"
        assert self.outcomes[attempt] != "refused", f"epoch {commit.epoch} was refused and comes"
        self.committed[commit.epoch] = attempt
        self.writers.add(commit.claim.token)

    def begin(self) -> int:
        self.attempts += 1
        self.outcomes[self.attempts] = "open"
        return self.attempts

    def refuse(self, attempt: int) -> None:
        assert attempt not in self.committed.values(), "an epoch was refused and is there"
        self.outcomes[attempt] = "refused"

    def acknowledge(self, attempt: int, epoch: int) -> None:
        assert epoch not in self.acknowledged, f"epoch {epoch} was acknowledged twice"
        self.acknowledged[epoch] = attempt
        self.outcomes[attempt] = "acknowledged"

    def check_followed(self, who: str, epoch: int, attempt: int, content: Content) -> None:
        assert self.committed.get(epoch) == attempt, f"{who} follows an epoch {epoch} that is not in the log"
        assert content == self.contents[attempt], f"{who} has another epoch {epoch}"

    def check(self) -> None:
        for epoch, attempt in self.acknowledged.items():
            assert self.committed.get(epoch) == attempt, f"acknowledged epoch {epoch} is lost"

    # The schedule.
    def run(self) -> None:
        for _ in range(3):
            self.spawn()
        try:
            for self.steps in range(STEPS):
                self.step()
            self.heal()
        finally:
            for process in list(self.processes):
                self.kill(process)

    def heal(self) -> None:
        """In the end nothing is in the way: a new process comes to what was committed last."""
        for process in list(self.processes):
            self.kill(process)
        self.trouble = 1e-9
        last = self.spawn()
        wanted = self.epoch
        for _ in range(20_000):
            self.step()
            if last.over or (last.position is not None and last.position.epoch >= wanted):
                break
        assert last.crash is None
        assert not wanted or (last.position is not None and last.position.epoch >= wanted)

    def spawn(self) -> Process:
        process = Process(self, f"p{self.born}")
        self.born += 1
        process.start()
        self.processes.append(process)
        return process

    def step(self) -> None:
        """Something happens to somebody; then one process makes one step."""
        random, troubled = self.random, self.trouble > 1e-6
        self.now += random.choice((0.0, 0.0001, 0.001, 0.005))
        self.broker.now = self.now
        self.carry_out_what_is_late()
        if random.random() < 0.3:
            self.broker.mark(random.choice)
        self.broker.expire()
        chosen, fate = random.choice(self.processes), random.random()
        if troubled and fate < 0.002:
            self.kill(chosen)
            self.spawn()
        elif troubled and fate < 0.005:
            chosen.asleep_until = self.now + random.choice((0.1, 2, 20, 90))
        elif troubled and fate < 0.008:
            chosen.cut_off_until = self.now + random.choice((0.1, 2, 20))
        elif troubled and fate < 0.009:
            chosen.clock_error = random.choice((0.0, -5.0, 5.0, 86_400.0, -86_400.0))
        self.move_one()
        self.check()

    def carry_out_what_is_late(self) -> None:
        due = [act for when, act in self.late if when <= self.now]
        self.late = [one for one in self.late if one[0] > self.now]
        for act in due:
            try:
                act()
            except AssertionError:
                raise
            except Exception:
                # Nobody hears the answer.
                continue

    def move_one(self) -> None:
        awake = [p for p in self.processes if p.asleep_until <= self.now]
        if not awake:
            self.now = min(p.asleep_until for p in self.processes)
            return
        process = self.random.choice(awake)
        process.move()
        if process.over:
            self.processes.remove(process)
            _ = self.spawn()

    def kill(self, process: Process) -> None:
        process.kill()
        self.processes = [p for p in self.processes if p is not process]
