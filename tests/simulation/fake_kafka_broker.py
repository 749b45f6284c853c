"""A broker of Kafka in memory, as far as `log_kafka*.py` relies on one.

What is modelled: partitions as lists of records; transactional ids with epochs, of which the last alone may
write; transactions that are open, decided, and whose markers come later, topic by topic; control records that
take offsets; the last stable offset; topics that are made and deleted. `init` ends an open transaction and
says CONCURRENT_TRANSACTIONS until its markers are written; a producer that was fenced is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException

TRANSACTION_S_MAX = 300.0


def failure(code: int, **more: bool) -> KafkaException:
    return KafkaException(KafkaError(code, **more))


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction: which topics it touches, what was decided, which markers are still to come."""

    epoch: int
    began: float
    topics: set[str] = field(default_factory=set)
    committed: bool | None = None
    pending: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Record:
    key: bytes | None
    value: bytes | None
    headers: Any = None
    transaction: Transaction | None = None
    control: bool = False
    time: float = 0.0


@dataclass(slots=True)
class Topic:
    number: int
    records: list[Record] = field(default_factory=list)
    marked: set[int] = field(default_factory=set)
    """Transactions (by identity) whose marker is here."""

    def stable(self) -> int:
        """Behind the last record whose transaction has ended here, and all before it."""
        for offset, record in enumerate(self.records):
            if record.transaction is not None and id(record.transaction) not in self.marked:
                return offset
        return len(self.records)


@dataclass(slots=True)
class Identity:
    """A transactional id."""

    epoch: int = -1
    open: Transaction | None = None
    last: Transaction | None = None
    written: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Of each epoch and topic the last batch's number and first offset: what comes twice is written once."""


class Broker:
    """The state. `decided` is told of every transaction that commits: its records, in order in each topic."""

    def __init__(self, decided: Callable[[list[tuple[str, Record]]], None]) -> None:
        self.topics: dict[str, Topic] = {}
        self.identities: dict[str, Identity] = {}
        self.now = 0.0
        self.numbers = 0
        self._decided = decided
        self._kept: list[Transaction] = []
        """So that no two transactions have the same identity."""

    def create(self, name: str) -> None:
        if name in self.topics:
            raise failure(KafkaError.TOPIC_ALREADY_EXISTS)
        self.numbers += 1
        self.topics[name] = Topic(self.numbers)

    def topic(self, name: str) -> Topic:
        if name not in self.topics:
            raise failure(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return self.topics[name]

    def init(self, name: str) -> int:
        """The next epoch of a transactional id."""
        identity = self.identities.setdefault(name, Identity())
        current = identity.open
        if current is not None:
            if current.committed is None:
                # Whoever had it is fenced from here on.
                identity.epoch += 1
                self._decide(identity, False)
            raise failure(KafkaError.CONCURRENT_TRANSACTIONS, retriable=True)
        identity.epoch += 1
        identity.last = None
        return identity.epoch

    def produce(self, name: str, epoch: int, topic: str, batch: int, records: Sequence[Record]) -> int:
        """The first offset."""
        identity, place = self.identities[name], self.topic(topic)
        current = identity.open
        if current is not None and current.epoch == epoch < identity.epoch and topic in current.pending:
            # To the partition it is not fenced yet; the marker that comes makes it nothing.
            return self._write(place, current, records)
        if epoch != identity.epoch:
            raise failure(KafkaError._FENCED, fatal=True)
        if current is not None and current.committed is not None:
            raise failure(KafkaError.CONCURRENT_TRANSACTIONS, retriable=True)
        before, offset = identity.written.get((epoch, topic), (-1, 0))
        if before >= batch:
            return offset
        identity.written[epoch, topic] = batch, len(place.records)
        if current is None:
            current = identity.open = Transaction(epoch, self.now)
            self._kept.append(current)
        current.topics.add(topic)
        return self._write(place, current, records)

    def _write(self, place: Topic, transaction: Transaction | None, records: Sequence[Record]) -> int:
        first = len(place.records)
        for record in records:
            record.transaction, record.time = transaction, self.now
            place.records.append(record)
        return first

    def write(self, topic: str, records: Sequence[Record]) -> int:
        """Outside of transactions; the first offset."""
        return self._write(self.topic(topic), None, records)

    def end(self, name: str, epoch: int, commit: bool) -> None:
        """Decides; asked again, the answer is the same."""
        identity = self.identities[name]
        if epoch != identity.epoch:
            raise failure(KafkaError._FENCED, fatal=True)
        found = identity.open or identity.last
        if found is None or (found.committed is not None and found.committed != commit):
            raise failure(KafkaError._STATE, fatal=True)
        if found.committed is None:
            self._decide(identity, commit)

    def _decide(self, identity: Identity, commit: bool) -> None:
        current = identity.open
        assert current is not None
        current.committed, current.pending = commit, sorted(current.topics)
        if commit:
            self._decided(
                [
                    (name, record)
                    for name in current.pending
                    for record in self.topics[name].records
                    if record.transaction is current
                ]
            )

    def mark(self, chosen: Callable[[list[str]], str]) -> None:
        """Writes one of the markers to come."""
        for identity in self.identities.values():
            current = identity.open
            if current is None or current.committed is None:
                continue
            name = chosen(current.pending)
            current.pending.remove(name)
            if name in self.topics:
                place = self.topics[name]
                place.marked.add(id(current))
                place.records.append(Record(None, None, control=True))
            if not current.pending:
                identity.open, identity.last = None, current

    def expire(self) -> None:
        """Ends transactions that are open for too long."""
        for identity in self.identities.values():
            current = identity.open
            if current and current.committed is None and self.now - current.began > TRANSACTION_S_MAX:
                identity.epoch += 1
                self._decide(identity, False)
