"""The classes of the Kafka client as far as `log_kafka*.py` uses them, over a broker in memory.

Every question of a client goes through `Caller.call`, which may lose it, its answer, carry it out late or
twice, or stop the process that asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition

from .fake_kafka_broker import Broker, Record, Topic, failure


class Caller(Protocol):
    """The process that asks."""

    def call(self, act: Callable[[], Any], timeout_s: float) -> Any:
        """What `act` gives. Raises KafkaException when no answer comes."""
        ...

    def rest(self, seconds: float) -> None: ...

    def chance(self, share: float) -> bool: ...


class FakeMessage:
    """As far as it is asked."""

    def __init__(self, topic: str, offset: int, record: Record | None, error: int | None = None) -> None:
        self._topic, self._offset, self._record, self._error = topic, offset, record, error

    def topic(self) -> str:
        return self._topic

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return None if self._error is None else KafkaError(self._error)

    def key(self) -> bytes | None:
        return None if self._record is None else self._record.key

    def value(self) -> bytes | None:
        return None if self._record is None else self._record.value

    def headers(self) -> Any:
        return None if self._record is None else self._record.headers

    def timestamp(self) -> tuple[int, int]:
        return 1, int(0 if self._record is None else self._record.time * 1000)


class FakeConsumer:
    """Fetches ahead: what it hands out may be older than what the broker has by then."""

    def __init__(self, broker: Broker, caller: Caller, committed: bool) -> None:
        self._broker, self._caller, self._committed = broker, caller, committed
        self._at: dict[str, int] = {}
        self._ended: dict[str, int] = {}
        self._fetched: list[FakeMessage] = []

    def assign(self, places: list[TopicPartition]) -> None:
        self._at, self._ended, self._fetched = {}, {}, []
        self.incremental_assign(places)

    def incremental_assign(self, places: list[TopicPartition]) -> None:
        self._at |= {place.topic: max(0, place.offset) for place in places}

    def incremental_unassign(self, places: list[TopicPartition]) -> None:
        gone = {place.topic for place in places}
        self._at = {name: at for name, at in self._at.items() if name not in gone}
        self._fetched = [message for message in self._fetched if message.topic() not in gone]

    def list_topics(self, timeout: float = 1.0) -> None:
        self._caller.call(lambda: None, timeout)

    def get_watermark_offsets(self, where: TopicPartition, timeout: float) -> tuple[int, int]:
        return self._caller.call(lambda: (0, self._end(self._broker.topic(where.topic))), timeout)

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        if not self._fetched or self._caller.chance(0.3):
            with contextlib.suppress(KafkaException):
                self._caller.call(self._fetch, min(timeout, 0.05))
        if not self._fetched and timeout:
            self._caller.rest(min(timeout, 0.02))
        found, self._fetched = self._fetched[:count], self._fetched[count:]
        return found

    def close(self) -> None:
        self._at, self._fetched = {}, []

    def _end(self, topic: Topic) -> int:
        return topic.stable() if self._committed else len(topic.records)

    def _fetch(self) -> None:
        for name in list(self._at):
            topic = self._broker.topics.get(name)
            if topic is None:
                self._fetched.append(FakeMessage(name, 0, None, KafkaError.UNKNOWN_TOPIC_OR_PART))
                del self._at[name]
                continue
            self._fetch_topic(name, topic)

    def _fetch_topic(self, name: str, topic: Topic) -> None:
        end = self._end(topic)
        while self._at[name] < end:
            offset = self._at[name]
            record = topic.records[offset]
            self._at[name] += 1
            aborted = record.transaction is not None and not record.transaction.committed
            if not record.control and not (self._committed and aborted):
                self._fetched.append(FakeMessage(name, offset, record))
        if self._ended.get(name) != end:
            self._ended[name] = end
            self._fetched.append(FakeMessage(name, end, None, KafkaError._PARTITION_EOF))


class FakeProducer:
    """A transactional producer, or with an empty `name` a plain one that sends with `poll`."""

    def __init__(self, broker: Broker, caller: Caller, name: str) -> None:
        self._broker, self._caller, self._name = broker, caller, name
        self._epoch = -1
        self._batch = 0
        self._fenced = False
        self._buffer: dict[str, list[tuple[Record, Any]]] = {}
        self._sent: dict[str, int] = {}
        """Numbers of the batches sent and not yet known to be there."""

    def __len__(self) -> int:
        return sum(map(len, self._buffer.values()))

    def init_transactions(self, timeout: float) -> None:
        self._epoch = self._caller.call(lambda: self._broker.init(self._name), timeout)

    def begin_transaction(self) -> None:
        self._check()

    def produce(
        self, topic: str, value: bytes | None, key: bytes, partition: int = 0, headers: Any = None,
        on_delivery: Any = None,
    ) -> None:  # fmt: skip
        self._check()
        self._buffer.setdefault(topic, []).append((Record(key, value, headers), on_delivery))

    def poll(self, timeout: float) -> int:
        if not self._name:
            _ = self.flush(timeout)
        return 0

    def flush(self, timeout: float) -> int:
        for topic in list(self._buffer):
            records = [record for record, _ in self._buffer[topic]]
            told = [callback for _, callback in self._buffer[topic] if callback]
            try:
                first = self._caller.call(self._sending(topic, records), timeout)
            except KafkaException as error:
                cause: KafkaError = error.args[0]
                if not self._name:
                    del self._buffer[topic]
                elif cause.fatal():
                    self._fenced = True
                    told = [callback for batch in self._buffer.values() for _, callback in batch if callback]
                    self._buffer.clear()
                    for callback in told:
                        callback(cause, FakeMessage(topic, 0, None))
                    return 0
                continue
            del self._buffer[topic]
            _ = self._sent.pop(topic, None)
            for callback in told:
                callback(None, FakeMessage(topic, first + len(records) - 1, records[-1]))
        return len(self)

    def _sending(self, topic: str, records: list[Record]) -> Callable[[], int]:
        if not self._name:
            return lambda: self._broker.write(topic, records)
        if topic not in self._sent:
            self._batch += 1
            self._sent[topic] = self._batch
        batch, epoch = self._sent[topic], self._epoch
        return lambda: self._broker.produce(self._name, epoch, topic, batch, records)

    def commit_transaction(self, timeout: float) -> None:
        self._check()
        if self.flush(timeout):
            raise failure(KafkaError._TIMED_OUT, retriable=True)
        self._check()
        epoch = self._epoch
        self._caller.call(lambda: self._broker.end(self._name, epoch, True), timeout)

    def purge(self) -> None:
        self._buffer.clear()

    def _check(self) -> None:
        if self._fenced:
            raise failure(KafkaError._FENCED, fatal=True)


class Answer:
    """A future that is done."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def result(self, timeout: float | None = None) -> Any:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@dataclass(slots=True)
class Described:
    topic_id: str = ""
    topics: dict[str, object] = field(default_factory=dict)


class FakeAdmin:
    def __init__(self, broker: Broker, caller: Caller) -> None:
        self._broker, self._caller = broker, caller

    def list_topics(self, timeout: float) -> Described:
        return self._caller.call(lambda: Described(topics=dict(self._broker.topics)), timeout)

    def create_topics(self, wanted: list[Any], operation_timeout: float) -> dict[str, Answer]:
        return {new.topic: self._ask(self._broker.create, new.topic) for new in wanted}

    def describe_topics(self, wanted: TopicCollection, request_timeout: float) -> dict[str, Answer]:
        def found(name: str) -> Described:
            return Described(str(self._broker.topic(name).number))

        names: list[str] = wanted.topic_names  # pyright: ignore[reportAttributeAccessIssue]
        return {name: self._ask(found, name) for name in names}

    def delete_topics(self, names: list[str]) -> dict[str, Answer]:
        return {name: self._ask(self._broker.topics.pop, name, None) for name in names}

    def _ask(self, act: Callable[..., Any], *arguments: Any) -> Answer:
        try:
            return Answer(self._caller.call(lambda: act(*arguments), 1.0))
        except KafkaException as error:
            lost = error.args[0].code() == KafkaError._TIMED_OUT
            return Answer(TimeoutError() if lost else error)
