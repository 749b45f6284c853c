"""`KafkaReader`: reads one topic, partition by partition, from offsets it is told.

The client's group coordination is not used. Where reading cannot go on without leaving records out
(the topic is another one, or records were removed before they were read) it stops and says so; a RESET
of the source accepts the loss.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ...runtime.source import SourceBatch
from ...storage.errors import ConnectionFailure, DataException, SqlError
from .kafka_decode import KafkaDecoder
from .kafka_offset import Offset
from .kafka_options import QUIET, KafkaOptions
from .kafka_records import Records
from .kafka_topic import Topic, TopicQuestions, kafka_problem

CHUNK = 250
"""Messages taken at once: more at a time are slower, they leave the processor's cache."""
WAIT_S = 0.1
"""How long a poll waits for a first message."""
BUDGET_S = 0.2
"""How long one batch is collected at most."""
LOOK_INTERVAL_S = 2.0
"""Time between two looks at the topic's partitions, and at its ends."""
MIRROR_INTERVAL_S = 1.0
"""Time between two mirrorings of offsets to the group."""
QUIET_S = 0.5
"""A control record behind the last message moves the offset after this long without messages."""
REPLAY_SILENCE_S = 30.0
"""A replay gives up when the broker sends nothing for so long."""

_FIXED = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
}
_DEFAULTS = {
    "isolation.level": "read_committed",
    "queued.max.messages.kbytes": 32768,
    # A full queue stops fetching for so long; after the default of 1 s it has long been empty.
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 100,
    "reconnect.backoff.max.ms": 1000,
}


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Of a partition: first offset read, first there is, next to read, end; `seen`: when, s since 1970."""

    partition: int
    first: int
    low: int
    next: int
    end: int
    seen: float


class KafkaReader:
    """Reads a topic (`runtime.source.SourceReader`). Only `lag` may be asked from another thread."""

    def __init__(self, options: KafkaOptions, decoder: KafkaDecoder) -> None:
        self._options = options
        self._decoder = decoder
        self._consumer: Consumer | None = None
        self._questions: TopicQuestions | None = None
        self._offset: bytes | None = None
        self._at: Offset | None = None
        self._looked = 0.0
        self._mirrored = (0.0, b"")
        self._moved = False
        self._heard = time.monotonic()
        self._failure: KafkaError | None = None
        self._lag: dict[int, PartitionLag] = {}

    # SourceReader.
    def poll(self, offset: bytes | None, rows_max: int) -> SourceBatch | None:
        try:
            return self._poll(offset, rows_max)
        except SqlError:
            self._at = None
            raise
        except KafkaException as error:
            self._at = None
            raise kafka_problem(self._options, error) from None

    def replay(self, until: bytes) -> Iterator[SourceBatch]:
        """The records of the committed offsets that the topic still has."""
        consumer = Consumer(self._config())
        questions = TopicQuestions(self._options, consumer)
        try:
            yield from self._replay(Offset.decode(until), consumer, questions)
        except KafkaException as error:
            raise kafka_problem(self._options, error) from None
        finally:
            consumer.close()

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = self._questions = None

    # More than a SourceReader needs to have.
    def reset(self, offset: bytes) -> bytes:
        """The offset from which `poll` goes on whatever is gone (ALTER SOURCE … RESET)."""
        at = Offset.decode(offset)
        at.reset = True
        return at.encode()

    def lag(self) -> list[PartitionLag]:
        return sorted(self._lag.values(), key=lambda found: found.partition)

    def acknowledge(self, offset: bytes) -> None:
        """The offset is committed: it is mirrored to the group, without waiting for an answer."""
        now = time.monotonic()
        if (
            self._consumer is None
            or offset == self._mirrored[1]
            or now - self._mirrored[0] < MIRROR_INTERVAL_S
        ):
            return
        self._mirrored = (now, offset)
        topic = self._options.topic
        places = [TopicPartition(topic, p, n) for p, n in Offset.decode(offset).next.items()]
        if places:
            try:
                self._consumer.commit(offsets=places, asynchronous=True)
            except KafkaException:
                # It serves tools that look on; the source's own offset is in the epoch.
                return

    def _config(self) -> dict[str, Any]:
        given = {**_DEFAULTS, **self._options.client, **QUIET, **_FIXED}
        return {**given, "group.id": self._options.group, "error_cb": self._on_error}

    def _on_error(self, error: KafkaError) -> None:
        self._failure = error

    def _poll(self, offset: bytes | None, rows_max: int) -> SourceBatch | None:
        if self._at is None or offset != self._offset:
            batch = self._begin(offset)
            if batch is not None:
                return batch
        assert self._at is not None
        if time.monotonic() - self._looked >= LOOK_INTERVAL_S:
            added = self._look()
            if added:
                return self._batch(self._at, Records(self._options.topic))
        return self._collect(rows_max)

    def _begin(self, offset: bytes | None) -> SourceBatch | None:
        """Assigns the partitions where `offset` says. A batch without rows if the offset changes by that."""
        if self._consumer is None:
            self._consumer = Consumer(self._config())
            self._questions = TopicQuestions(self._options, self._consumer)
        assert self._questions is not None
        topic = self._questions.describe()
        at = Offset.decode(offset)
        if not at.next:
            at = self._first_offsets(topic)
        elif at.reset:
            at = self._without_lost(at, topic)
        else:
            self._check(at, topic)
        self._add_partitions(at, topic)
        self._assign(at)
        self._at, self._offset = at, offset
        self._looked, self._heard, self._failure = time.monotonic(), time.monotonic(), None
        self._look_at_ends(at)
        encoded = at.encode()
        return self._batch(at, Records(self._options.topic)) if encoded != offset else None

    def _first_offsets(self, topic: Topic) -> Offset:
        assert self._questions is not None
        mode = self._options.text("scan.startup.mode", "earliest").lower()
        millis = self._options.text("scan.startup.timestamp.millis")
        if mode == "timestamp" or millis:
            starts = self._questions.at_time(topic.partitions, int(millis or 0))
        else:
            side = 1 if mode == "latest" else 0
            starts = {p: self._questions.bounds(p)[side] for p in topic.partitions}
        return Offset(topic.id, dict(starts), dict(starts))

    def _check(self, at: Offset, topic: Topic) -> None:
        """Raises DataException when records that should come next are gone."""
        if at.topic_id != topic.id:
            raise _lost(f'topic "{self._options.topic}" was deleted and made again', at.next)
        assert self._questions is not None
        for partition, wanted in at.next.items():
            if partition not in topic.partitions:
                raise _lost(f"partition {partition} of the topic is gone", at.next)
            low, high = self._questions.bounds(partition)
            if wanted < low:
                raise DataException(
                    f"offsets {wanted} to {low - 1} of partition {partition} were removed "
                    "before they were read",
                    hint=_RESET,
                )
            if wanted > high:
                raise _lost(
                    f"partition {partition} ends at offset {high}, before the next one wanted", at.next
                )

    def _without_lost(self, at: Offset, topic: Topic) -> Offset:
        """The offset after a RESET: at the first record there is wherever the next one is gone."""
        assert self._questions is not None
        again = Offset(topic.id)
        for partition in topic.partitions:
            low, high = self._questions.bounds(partition)
            wanted = at.next.get(partition, low) if at.topic_id == topic.id else -1
            kept = low <= wanted <= high
            again.next[partition] = wanted if kept else low
            again.first[partition] = at.first.get(partition, low) if kept else low
        return again

    def _add_partitions(self, at: Offset, topic: Topic) -> bool:
        """Partitions that came since: all of their records are new."""
        added = [p for p in topic.partitions if p not in at.next]
        if added:
            assert self._questions is not None
            self._questions.refresh()
        for partition in added:
            assert self._questions is not None
            at.first[partition] = at.next[partition] = self._questions.bounds(partition)[0]
        return bool(added)

    def _assign(self, at: Offset) -> None:
        assert self._consumer is not None
        self._consumer.assign([TopicPartition(self._options.topic, p, n) for p, n in at.next.items()])

    def _look(self) -> bool:
        """Looks for new partitions, and whether the topic is still the same one; whether any came."""
        assert self._questions is not None and self._at is not None
        self._looked = time.monotonic()
        topic = self._questions.describe()
        if topic.id != self._at.topic_id:
            raise _lost(f'topic "{self._options.topic}" was deleted and made again', self._at.next)
        changed = self._at.copy()
        added = self._add_partitions(changed, topic)
        if added:
            self._assign(changed)
            self._at = changed
        self._look_at_ends(self._at)
        return added

    def _look_at_ends(self, at: Offset) -> None:
        assert self._questions is not None
        for partition in at.next:
            low, high = self._questions.bounds(partition)
            self._lag[partition] = PartitionLag(
                partition, at.first[partition], low, at.next[partition], high, time.time()
            )

    def _collect(self, rows_max: int) -> SourceBatch | None:
        """What comes within the budget, at most `rows_max` rows."""
        assert self._consumer is not None and self._at is not None
        consumer, at = self._consumer, self._at.copy()
        records = Records(self._options.topic)
        first = consumer.poll(WAIT_S)
        if first is None:
            self._check_connection()
            return self._moved_by_control_records()
        deadline = time.monotonic() + BUDGET_S
        messages: Sequence[Any] = [first]
        while messages:
            self._take(messages, records, at)
            rest = min(CHUNK, rows_max - len(records))
            if rest <= 0 or time.monotonic() >= deadline:
                break
            messages = consumer.consume(rest, 0)
        self._move(consumer, at)
        self._heard, self._failure = time.monotonic(), None
        if not len(records):
            # Control records only: the offset follows when nothing else comes.
            self._moved = self._moved or at.next != self._at.next
            self._at = at
            return None
        return self._batch(at, records)

    def _take(self, messages: Sequence[Any], records: Records, at: Offset) -> None:
        """Adds messages to `records` and moves `at` behind what ends a partition. Raises SqlError for an
        error among them."""
        noted = [message for message in messages if message.error() is not None]
        if not noted:
            records.add(messages, self._decoder.wants_timestamps, self._decoder.wants_headers)
            return
        data = [message for message in messages if message.error() is None]
        records.add(data, self._decoder.wants_timestamps, self._decoder.wants_headers)
        for message in noted:
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise self._message_problem(message)
            if message.offset() >= 0:
                partition = message.partition()
                at.next[partition] = max(at.next[partition], message.offset())

    def _move(self, consumer: Consumer, at: Offset) -> None:
        """Moves `at` behind the messages the consumer has handed out."""
        places = [TopicPartition(self._options.topic, partition) for partition in at.next]
        for place in consumer.position(places):
            if place.offset >= 0:
                at.next[place.partition] = max(at.next[place.partition], place.offset)

    def _message_problem(self, message: Any) -> SqlError:
        error = message.error()
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            return DataException(
                f"records of partition {message.partition()} were removed before they were read: "
                + self._options.clean(error.str()),
                hint=_RESET,
            )
        return kafka_problem(self._options, error)

    def _moved_by_control_records(self) -> SourceBatch | None:
        assert self._at is not None
        if not self._moved or time.monotonic() - self._heard < QUIET_S:
            return None
        return self._batch(self._at, Records(self._options.topic))

    def _batch(self, at: Offset, records: Records) -> SourceBatch:
        decoded = self._decoder.decode(records)
        at.reset = False
        self._moved = False
        self._at, self._offset = at, at.encode()
        for partition, known in list(self._lag.items()):
            next_ = at.next.get(partition, known.next)
            self._lag[partition] = replace(known, next=next_, end=max(known.end, next_))
        return SourceBatch(decoded.columns, self._offset, decoded.deletes, decoded.errors)

    def _check_connection(self) -> None:
        """Raises ConnectionFailure when the silence has the reason that no broker is there."""
        if self._failure is None:
            return
        failure, self._failure = self._failure, None
        assert self._questions is not None
        try:
            self._questions.describe()
        except ConnectionFailure:
            raise kafka_problem(self._options, failure) from None

    def _replay(self, until: Offset, consumer: Consumer, questions: TopicQuestions) -> Iterator[SourceBatch]:
        topic = questions.describe()
        if topic.id != until.topic_id:
            raise _lost(f'topic "{self._options.topic}" was deleted and made again', until.next)
        at = Offset(until.topic_id, {}, {})
        for partition, first in until.first.items():
            low = questions.bounds(partition)[0]
            if max(first, low) < until.next[partition]:
                at.first[partition] = at.next[partition] = max(first, low)
        open_ = set(at.next)
        consumer.assign([TopicPartition(self._options.topic, p, n) for p, n in at.next.items()])
        heard = time.monotonic()
        while open_:
            records = Records(self._options.topic)
            while len(records) < REPLAY_ROWS and open_:
                messages: list[Any] = consumer.consume(CHUNK, WAIT_S)
                if not messages:
                    break
                heard = time.monotonic()
                # Records behind the committed offset are not part of the content yet.
                wanted = [
                    m for m in messages if m.error() is not None or m.offset() < until.next[m.partition()]
                ]
                self._take(wanted, records, at)
                for message in messages:
                    end = message.offset() + (message.error() is None)
                    if end >= until.next[message.partition()]:
                        open_.discard(message.partition())
            if time.monotonic() - heard > REPLAY_SILENCE_S:
                raise ConnectionFailure(f"kafka at {self._options.bootstrap} sends nothing")
            decoded = self._decoder.decode(records)
            yield SourceBatch(decoded.columns, at.encode(), decoded.deletes, decoded.errors)


REPLAY_ROWS = 50_000
_RESET = "ALTER SOURCE … RESET goes on with the first records there are; those are then left out."


def _lost(reason: str, next_: dict[int, int]) -> DataException:
    """Why reading cannot go on, and what had been read."""
    places = ", ".join(f"{p}: {n}" for p, n in sorted(next_.items())[:10])
    return DataException(f"{reason}; it had been read up to offset (partition: offset) {places}", hint=_RESET)
