"""`Scan`: reads the topics of a changelog from a position on, epoch by epoch as far as they are there.

A store's topic has, behind the rows of an epoch, a record that says so (the mark). A store has everything up
to epoch E when the mark of the last epoch that touched it was read. Which that is, commits say; where not all
of them were read, as in a scan from the beginning, the end of the topic must have been reached after the
commit of E could be read (`log_kafka_watch.py`), or a mark of E or later.

Compaction takes older rows and older marks away, so that rows seem to belong to the next mark there is. It
leaves alone what is younger than UNCOMPACTED_S. So a scan which takes longer than that would not know what it
has read, and gives up; and so does one from a position so old that tombstones behind it may be gone.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from .log import Frame, FrameKind, LogDamaged, LogEpoch, LogTruncated, Position
from .log_kafka_client import (
    ANSWER_S,
    TOMBSTONE_S,
    UNCOMPACTED_S,
    BrokerAway,
    KafkaTopics,
    TopicAdmin,
    place,
    reason,
    take,
)
from .log_kafka_records import (
    COMMIT_KEY,
    EPOCH_KEY,
    GONE_HEADER,
    REGISTRY,
    TRUNCATED_KEY,
    Commit,
    Gone,
    StoreCode,
    StoreEntry,
)
from .log_kafka_watch import MISSING

log = logging.getLogger("millpond.changelog")

STALL_S = 10.0
"""A read that gets nothing for so long has lost the broker."""

REPORT_S = 2.0
"""Between two lines about a long read."""

BATCH = 1000
"""Records taken from the client at once."""


@dataclass(slots=True)
class TopicRead:
    """What was read of one topic: the net change of closed epochs up to the target, and what follows."""

    topic: str
    offset: int = 0
    """Behind the last mark in `net`."""
    marked: int = 0
    """Epoch of the last mark read."""
    certain: bool = False
    """Whether the marks that commits tell of are all there is: the topic was followed from a known place."""
    truncated: bool = False
    net: dict[bytes, bytes] = field(default_factory=dict)
    keys: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    later: deque[tuple[int, int, list[bytes], list[bytes]]] = field(default_factory=deque)

    def take(self, messages: list[Message], target: int) -> None:
        """Records of this topic, in order."""
        keys = [message.key() or b"" for message in messages]
        values = _values(messages)
        start = 0
        while EPOCH_KEY in keys[start:]:
            at = keys.index(EPOCH_KEY, start)
            self.keys += keys[start:at]
            self.values += values[start:at]
            self._close(int.from_bytes(values[at], "big"), (messages[at].offset() or 0) + 1, target)
            start = at + 1
        self.keys += keys[start:]
        self.values += values[start:]

    def _close(self, epoch: int, offset: int, target: int) -> None:
        self.marked = epoch
        self.later.append((epoch, offset, self.keys, self.values))
        self.keys, self.values = [], []
        self.settle(target)

    def settle(self, target: int) -> None:
        """Nets the closed epochs up to `target`: the last word on each key."""
        while self.later and self.later[0][0] <= target:
            _, self.offset, keys, values = self.later.popleft()
            if TRUNCATED_KEY in keys:
                at = len(keys) - 1 - keys[::-1].index(TRUNCATED_KEY)
                self.net, self.truncated = {}, True
                keys, values = keys[at + 1 :], values[at + 1 :]
            self.net.update(zip(keys, values, strict=True))

    def pop(self) -> tuple[bool, dict[bytes, bytes]]:
        """(whether all before is gone, the last word on each key), which are then forgotten."""
        found = self.truncated, self.net
        self.truncated, self.net = False, {}
        return found


def _values(messages: list[Message]) -> list[bytes]:
    found = [message.value() for message in messages]
    if None not in found:
        return found  # pyright: ignore[reportReturnType]
    return [_gone(m) if value is None else value for m, value in zip(messages, found, strict=True)]


def _gone(message: Message) -> bytes:
    headers = message.headers()
    found = dict(headers if isinstance(headers, list) else []).get(GONE_HEADER)
    return Gone(found if isinstance(found, bytes) else b"")


class Scan:
    """One reader's way through the topics; `reached` is the epoch it has given last. One thread."""

    def __init__(self, topics: KafkaTopics, after: Position | None, until: Position) -> None:
        """`until`: a committed epoch, the first to be asked for."""
        self.topics = topics
        self.reached = after.epoch if after else 0
        self._base = after is None or not after.cursor
        self._known = {} if after is None else _decode_cursor(after.cursor)
        """Of the stores at `after`, by number: name, and where to read on."""
        self._commits: deque[tuple[Commit, int, float]] = deque()
        self._registry = TopicRead(topics.stores)
        self._entries: dict[str, StoreEntry] = {}
        self._reads: dict[int, TopicRead] = {}
        self._by_topic: dict[str, TopicRead] = {topics.stores: self._registry}
        self._target = -1
        self._started = self._reported = time.monotonic()
        self._records = 0
        self._consumer = topics.consumer()
        start = after.offset if after is not None and not self._base else until.offset - 1
        self._consumer.assign([place(topics.epochs, start)])

    def close(self) -> None:
        self._consumer.close()

    def advance(self, until: Position) -> LogEpoch:
        """Everything behind what was given last up to `until`, a later committed epoch.

        Raises LogTruncated, LogDamaged, BrokerAway.
        """
        first = self._target < 0
        commits = self._commits_until(until.epoch)
        self._check_reach(commits, first)
        self._target, offset = until.epoch, commits[-1][1]
        touched = {number: commit.epoch for commit, _, _ in commits for number in commit.touched}
        if first:
            self._assign([place(self.topics.stores)])
        changed: list[Frame] = []
        if first or REGISTRY in touched:
            self._finish([(self._registry, touched.get(REGISTRY, 0))])
            changed = self._change_registry(first)
        self._finish([(read, touched.get(number, 0)) for number, read in self._reads.items()])
        if time.monotonic() - self._started > UNCOMPACTED_S / 2 and first:
            raise LogTruncated("the log changes faster than it can be read")
        return self._give(commits[-1][0], offset, changed)

    @property
    def stores(self) -> dict[str, StoreEntry]:
        """The stores there were as of `reached`."""
        return dict(self._entries)

    def listen(self, timeout_s: float) -> None:
        """Waits until something comes, and takes it. Raises LogDamaged."""
        for topic, run in groupby(take(self._consumer, BATCH, timeout_s), Message.topic):
            _ = self._take(topic or "", list(run))

    def _commits_until(self, epoch: int) -> list[tuple[Commit, int, float]]:
        """The commits up to `epoch`, taken from those read."""
        waited = time.monotonic() + STALL_S
        while not self._commits or self._commits[-1][0].epoch < epoch:
            if self._wait(waited, commits=True):
                waited = time.monotonic() + STALL_S
        found: list[tuple[Commit, int, float]] = []
        while self._commits and self._commits[0][0].epoch <= epoch:
            found.append(self._commits.popleft())
        if not found or found[-1][0].epoch != epoch:
            raise LogTruncated(f"epoch {epoch} was compacted away")
        return found

    def _check_reach(self, commits: list[tuple[Commit, int, float]], first: bool) -> None:
        """That nothing behind the position was compacted away, tombstones included."""
        if first and self._base:
            return
        epochs = [commit.epoch for commit, _, _ in commits]
        if epochs != list(range(self.reached + 1, self.reached + 1 + len(epochs))):
            raise LogTruncated(f"epochs behind {self.reached} were compacted away")
        if first and commits[0][2] < time.time() - TOMBSTONE_S / 2:
            raise LogTruncated(f"tombstones behind epoch {self.reached} may be gone")

    def _finish(self, wanted: list[tuple[TopicRead, int]]) -> None:
        """Reads on until each has everything up to the target, and its mark of the epoch beside it."""
        waited = time.monotonic() + STALL_S
        while any(not self._whole(read, epoch) for read, epoch in wanted):
            if self._wait(waited):
                waited = time.monotonic() + STALL_S
        for read, _ in wanted:
            read.certain = True

    def _whole(self, read: TopicRead, epoch: int) -> bool:
        return read.marked >= self._target or (read.certain and read.marked >= epoch)

    def _wait(self, until: float, commits: bool = False) -> bool:
        """Takes what there is; whether that was anything. Raises BrokerAway after `until`.

        Commits count with `commits` only: they come without end while a store's topic may be stuck.
        """
        messages = take(self._consumer, BATCH, 0.1)
        counted = any(commits or message.topic() != self.topics.epochs for message in messages)
        if not counted and time.monotonic() > until:
            raise BrokerAway(f"kafka at {self.topics.bootstrap} does not answer")
        progress = False
        for topic, run in groupby(messages, Message.topic):
            came = self._take(topic or "", list(run))
            progress |= came and (commits or topic != self.topics.epochs)
        self._report(len(messages))
        return progress

    def _report(self, records: int) -> None:
        self._records += records
        now = time.monotonic()
        if now - self._reported > REPORT_S:
            self._reported = now
            if not self.reached:
                seconds = now - self._started
                log.info("read %d records of the changelog in %.0f s", self._records, seconds)

    def _take(self, topic: str, messages: list[Message]) -> bool:
        if topic == self.topics.epochs:
            self._take_commits(message for message in messages if message.error() is None)
            return True
        read = self._by_topic.get(topic)
        return read is not None and take_messages(self.topics, read, messages, self._target)

    def _take_commits(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.key() == COMMIT_KEY:
                commit = Commit.decode(message.value() or b"")
                if commit.epoch > self.reached:
                    when = message.timestamp()[1] / 1000
                    self._commits.append((commit, (message.offset() or 0) + 1, when))

    def _change_registry(self, first: bool) -> list[Frame]:
        """Follows the registry to the target: topics that come are read, those that go are not."""
        before = {name: entry.spec.number for name, entry in self._entries.items()}
        if first:
            before = {name: number for number, (name, _) in self._known.items()}
        self._registry.settle(self._target)
        change_entries(self._entries, self._registry)
        numbers = {entry.spec.number for entry in self._entries.values()}
        frames = [Frame(n, FrameKind.DROPPED, b"") for n, number in before.items() if number not in numbers]
        come = {n: e for n, e in self._entries.items() if e.spec.number not in before.values()}
        frames += [Frame(n, FrameKind.SPEC, e.spec.encode()) for n, e in come.items()]
        self._follow_topics(numbers)
        return frames

    def _follow_topics(self, numbers: set[int]) -> None:
        gone = [self._reads.pop(number) for number in list(self._reads) if number not in numbers]
        for read in gone:
            self._by_topic.pop(read.topic, None)
        if gone:
            self._consumer.incremental_unassign([place(read.topic) for read in gone])
        added: list[TopicPartition] = []
        entries = [e for e in self._entries.values() if e.spec.number not in self._reads]
        check_topics(self.topics, entries)
        for entry in entries:
            number = entry.spec.number
            _, offset = self._known.get(number, ("", 0))
            read = TopicRead(entry.topic, offset, certain=not self._base)
            self._reads[number] = self._by_topic[entry.topic] = read
            added.append(place(read.topic, offset))
        if added:
            self._assign(added)

    def _assign(self, places: list[TopicPartition]) -> None:
        try:
            # Of topics it has not heard of the client would ask within a second only.
            _ = self._consumer.list_topics(timeout=ANSWER_S)
            self._consumer.incremental_assign(places)
        except KafkaException as error:
            raise BrokerAway(f"kafka at {self.topics.bootstrap}: {reason(error)}") from None

    def _give(self, commit: Commit, offset: int, frames: list[Frame]) -> LogEpoch:
        for name, entry in self._entries.items():
            read = self._reads[entry.spec.number]
            read.settle(self._target)
            if read.net or read.truncated:
                frames += _store_frames(name, entry, read, base=self._base)
        cursor = {e.spec.number: (n, self._reads[e.spec.number].offset) for n, e in self._entries.items()}
        position = Position(commit.epoch, 0, offset, json.dumps(cursor).encode())
        base, self._base, self.reached = self._base, False, commit.epoch
        return LogEpoch(commit.epoch, commit.meta, frames, position, base)


def _store_frames(name: str, entry: StoreEntry, read: TopicRead, base: bool) -> Iterator[Frame]:
    truncated, words = read.pop()
    if truncated and not base:
        yield Frame(name, FrameKind.TRUNCATED, b"")
    values = list(words.values())
    if base or truncated:
        values = [value for value in values if type(value) is bytes]
    yield from StoreCode(entry.spec).frames(name, values)


def check_topics(topics: KafkaTopics, entries: list[StoreEntry]) -> None:
    """That the topics of stores are there and are those they were. Raises LogDamaged, BrokerAway."""
    found = TopicAdmin(topics).ids(entry.topic for entry in entries)
    missing = [e.topic for e in entries if e.topic not in found]
    if missing:
        raise LogDamaged(f"{topics}: lost {_listed(missing)}: what was in it is nowhere else")
    foreign = [e.topic for e in entries if found[e.topic] != e.topic_id]
    if foreign:
        raise LogDamaged(f"{topics}: {_listed(foreign)} was deleted and made anew: its rows are lost")


def _listed(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:5])
    return f"topic {shown}" if len(names) == 1 else f"{len(names)} topics ({shown}{', …' * (len(names) > 5)})"


def _decode_cursor(cursor: bytes) -> dict[int, tuple[str, int]]:
    if not cursor:
        return {}
    return {int(number): (name, offset) for number, (name, offset) in json.loads(cursor).items()}


def read_registry(topics: KafkaTopics) -> dict[str, StoreEntry]:
    """The stores there are in a log to which nobody else writes. Raises BrokerAway, LogDamaged."""
    consumer, read = topics.consumer(), TopicRead(topics.stores)
    try:
        consumer.assign([place(topics.stores)])
        deadline = time.monotonic() + STALL_S
        while not read.certain:
            messages = take(consumer, BATCH, 0.1)
            if not messages and time.monotonic() > deadline:
                raise BrokerAway(f"kafka at {topics.bootstrap} does not answer")
            take_messages(topics, read, messages, sys.maxsize)
    finally:
        consumer.close()
    entries: dict[str, StoreEntry] = {}
    change_entries(entries, read)
    return entries


def take_messages(topics: KafkaTopics, read: TopicRead, messages: list[Message], target: int) -> bool:
    """Records and events of one topic; whether there were records. Raises LogDamaged."""
    good = [message for message in messages if message.error() is None]
    if good:
        read.take(good, target)
    for message in messages if len(good) < len(messages) else ():
        error = message.error()
        if error is None:
            continue
        if error.code() == KafkaError._PARTITION_EOF:
            read.certain = True
        elif error.code() in MISSING or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise LogDamaged(f"{topics}: topic {message.topic()} cannot be read: {error.str()}")
    return bool(good)


def change_entries(entries: dict[str, StoreEntry], registry: TopicRead) -> None:
    """Follows what was read of the topic of stores."""
    _, words = registry.pop()
    for key, value in words.items():
        if type(value) is Gone:
            entries.pop(key.decode(), None)
        else:
            entries[key.decode()] = StoreEntry.decode(value)
