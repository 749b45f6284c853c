"""What can be told of a changelog on Kafka by reading all of its topics, a primary at work or not.

Of the topic of epochs: the stamp, that epochs follow one another without a gap, and that each was committed
under the claim in force. Of each store's topic: that it is the one the topic of stores names, that its rows
are whole (key bytes are those of the row), that its marks grow, that behind the last mark there is nothing,
and that every epoch which says it touched the store is there, marked, and no other.

Compaction has taken records away: what is older than the oldest commit left cannot be held against it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message

from .errors import StartupError
from .log import FrameKind
from .log_kafka_client import ANSWER_S, BrokerAway, KafkaTopics, TopicAdmin, place, take, watermarks
from .log_kafka_records import (
    CLAIM_KEY,
    COMMIT_KEY,
    EPOCH_KEY,
    LOG_KEY,
    REGISTRY,
    TRUNCATED_KEY,
    Claim,
    Commit,
    Stamp,
    StoreCode,
    StoreEntry,
)
from .log_kafka_scan import STALL_S, read_registry

BATCH = 10_000
"""Records checked at a time."""

SETTLE_S = 1.0
"""How long the end of a committed transaction may take to be in every topic."""


@dataclass(slots=True)
class EpochsFound:
    """The topic of epochs as it was read: `touched` gives for each commit left the stores it names."""

    first: int = 0
    last: int = 0
    claim: Claim | None = None
    touched: dict[int, frozenset[int]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def take_claim(self, claim: Claim) -> None:
        if self.claim is not None and claim.writer < self.claim.writer:
            self.findings.append(f"writer {claim.writer} claimed the log after writer {self.claim.writer}")
        self.claim = claim

    def take_commit(self, commit: Commit) -> None:
        if self.last and commit.epoch != self.last + 1:
            self.findings.append(f"epoch {commit.epoch} follows epoch {self.last}")
        known = self.claim
        if known is not None and known.writer >= commit.claim.writer and known.token != commit.claim.token:
            self.findings.append(
                f"epoch {commit.epoch} is of writer {commit.claim.writer}, which had no claim any more"
            )
        if known is None or commit.claim.writer > known.writer:
            self.claim = commit.claim
        self.first = self.first or commit.epoch
        self.last = commit.epoch
        self.touched[commit.epoch] = frozenset(commit.touched)

    def of_store(self, number: int) -> set[int]:
        return {epoch for epoch, touched in self.touched.items() if number in touched}


@dataclass(slots=True)
class TopicsFound:
    """What a check saw, and what is wrong, one finding a line."""

    epochs: EpochsFound
    stores: int = 0
    records: int = 0
    findings: list[str] = field(default_factory=list)


def check_topics_of(topics: KafkaTopics) -> TopicsFound:
    """Reads everything. Raises BrokerAway, StartupError when there is no log of ours, LogDamaged."""
    existing = TopicAdmin(topics).existing()
    if topics.epochs not in existing or topics.stores not in existing:
        raise StartupError(f"{topics}: there is no changelog")
    entries = read_registry(topics)
    found = TopicsFound(_check_epochs(topics), stores=len(entries))
    found.findings += found.epochs.findings
    ids = TopicAdmin(topics).ids(entry.topic for entry in entries.values())
    for name, entry in sorted(entries.items()):
        identity = ids.get(entry.topic)
        if identity != entry.topic_id:
            what = "is gone" if identity is None else "was deleted and made anew"
            found.findings.append(f"store {name!r}: topic {entry.topic} {what}: its rows are lost")
            continue
        rows, findings = _check_store(topics, entry.topic, name, entry, found.epochs)
        found.records += rows
        found.findings += findings
    found.findings += _check_store(topics, topics.stores, "stores", None, found.epochs)[1]
    return found


def _check_store(
    topics: KafkaTopics, topic: str, name: str, entry: StoreEntry | None, epochs: EpochsFound
) -> tuple[int, list[str]]:
    """(records read, what is wrong). A transaction whose end is not yet in this topic gets another look."""
    rows, findings = 0, [""]
    for pause in (0.0, SETTLE_S):
        if not findings:
            break
        time.sleep(pause)
        check = StoreCheck(name, entry, epochs)
        for messages in records(topics, topic):
            check.take(messages)
        rows, findings = check.rows, check.finish()
    return rows, findings


def _check_epochs(topics: KafkaTopics) -> EpochsFound:
    found, stamped = EpochsFound(), False
    for messages in records(topics, topics.epochs):
        for message in messages:
            key, value = message.key(), message.value() or b""
            if key == LOG_KEY:
                stamped = True
                _ = Stamp.decode(value, str(topics))
            elif key == CLAIM_KEY:
                found.take_claim(Claim.decode(value))
            elif key == COMMIT_KEY:
                found.take_commit(Commit.decode(value))
            else:
                raise StartupError(f"{topics}: its topics are not millpond's")
    if not stamped:
        found.findings.append("the topic of epochs has no stamp")
    return found


class StoreCheck:
    """One store's topic, record by record. Without `entry`: the topic of stores; its rows are not read."""

    def __init__(self, name: str, entry: StoreEntry | None, epochs: EpochsFound) -> None:
        self.rows = 0
        self._name, self._epochs = name, epochs
        self._number = REGISTRY if entry is None else entry.spec.number
        self._spec = None if entry is None else entry.spec
        self._code = None if entry is None else StoreCode(entry.spec)
        self._last = 0
        self._open = 0
        """Records behind the last mark."""
        self._marks: set[int] = set()
        self._findings: list[str] = []

    def take(self, messages: list[Message]) -> None:
        keys: list[bytes] = []
        values: list[bytes] = []
        for message in messages:
            key, value = message.key() or b"", message.value()
            if key == EPOCH_KEY:
                self._mark(int.from_bytes(value or b"", "big"))
            elif key == TRUNCATED_KEY:
                self._open += 1
            else:
                self._open += 1
                if value is not None:
                    keys.append(key)
                    values.append(value)
        self.rows += len(values)
        if self._code is not None and values and not self._findings:
            self._check_rows(keys, values)

    def finish(self) -> list[str]:
        if self._open:
            self._say(f"{self._open} record(s) behind the last mark, of no epoch")
        # Marks older than the oldest that is left were compacted away.
        missing = self._epochs.of_store(self._number) - self._marks
        foreign = {mark for mark in self._marks if self._epochs.first <= mark <= self._epochs.last}
        foreign -= self._epochs.of_store(self._number)
        missing = {epoch for epoch in missing if epoch > min(self._marks, default=0)}
        if missing:
            self._say(f"epoch {min(missing)} touched it, and is not marked in it")
        if foreign:
            self._say(f"epoch {min(foreign)} is marked in it, and did not touch it")
        return self._findings

    def _mark(self, epoch: int) -> None:
        if epoch <= self._last:
            self._say(f"the mark of epoch {epoch} follows that of epoch {self._last}")
        self._last, self._open = epoch, 0
        self._marks.add(epoch)

    def _check_rows(self, keys: list[bytes], values: list[bytes]) -> None:
        """Decodes rows and makes their keys anew."""
        assert self._code is not None and self._spec is not None
        try:
            frames = [f for f in self._code.frames(self._name, values) if f.kind == FrameKind.ROWS]
            again = [key for frame in frames for key in self._code.rows(frame.payload)[0]]
        except (ValueError, IndexError, OSError) as error:
            self._say(f"a row cannot be read: {error}")
            return
        if again != keys:
            self._say("a row is not under its key")

    def _say(self, text: str) -> None:
        self._findings.append(f"store {self._name!r}: {text}")


def records(topics: KafkaTopics, topic: str) -> Iterator[list[Message]]:
    """All committed records that a topic has now, in order. Raises BrokerAway."""
    consumer = topics.consumer()
    try:
        low, high = watermarks(consumer, place(topic), ANSWER_S)
        consumer.assign([place(topic, low)])
        waited, at = time.monotonic() + STALL_S, low
        while at < high:
            messages = take(consumer, BATCH, 0.2)
            if messages:
                waited = time.monotonic() + STALL_S
            elif time.monotonic() > waited:
                raise BrokerAway(f"kafka at {topics.bootstrap} does not answer")
            for message in messages:
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise BrokerAway(f"topic {topic}: {error.str()}")
                at = max(at, (message.offset() or 0) + (error is None))
            yield [message for message in messages if message.error() is None]
    finally:
        consumer.close()
