"""`EpochsWatch`: the topic of epochs, followed: who may write, and which epoch is the last.

Every transaction writes to this topic. Once its commit can be read here, all earlier transactions are whole
in every topic, because the broker takes none before the markers of the last are written; of its own, the
topics it names may still lack theirs.
"""

from __future__ import annotations

import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from .errors import StartupError
from .log import Position
from .log_kafka_client import BrokerAway, KafkaTopics, code, place, reason, take
from .log_kafka_records import CLAIM_KEY, COMMIT_KEY, LOG_KEY, Claim, Commit, Stamp

LOOK_BACK = 400
"""Records read from the end at first; sixteen times as many if there is no commit among them."""

MISSING = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
)


class EpochsWatch:
    """May be asked by any thread. What was found is as of the last `refresh`."""

    def __init__(self, topics: KafkaTopics) -> None:
        self.topics = topics
        self.stamp: Stamp | None = None
        self.claim: Claim | None = None
        self.commit: Commit | None = None
        self.end: Position | None = None
        """Behind the last commit."""
        self._consumer: Consumer | None = None
        self._at = 0
        self._lock = threading.Lock()

    @property
    def writer(self) -> int:
        """The number of the last writer, 0 when there was none."""
        return self.claim.writer if self.claim else 0

    def refresh(self, timeout_s: float) -> bool:
        """Reads up to what is the end now; False when no broker says in time. Raises StartupError."""
        try:
            self.read(timeout_s)
        except BrokerAway:
            return False
        return True

    def read(self, timeout_s: float) -> None:
        """As `refresh`, raising BrokerAway; StartupError when there is no such topic, or it is foreign."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            try:
                self._read(deadline)
            except KafkaException as error:
                if code(error) in MISSING:
                    raise StartupError(f"{self.topics}: there is no topic {self.topics.epochs}") from None
                raise BrokerAway(f"kafka at {self.topics.bootstrap}: {reason(error)}") from None

    def close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None

    def _read(self, deadline: float) -> None:
        if self._consumer is None:
            consumer = self.topics.consumer()
            try:
                self._begin(consumer, deadline)
            except BaseException:
                consumer.close()
                raise
            self._consumer = consumer
            return
        _, high = self._bounds(self._consumer, deadline)
        self._read_to(self._consumer, high, deadline)

    def _begin(self, consumer: Consumer, deadline: float) -> None:
        """Finds the stamp at the beginning, then the last commit, from the end backwards."""
        low, high = self._bounds(consumer, deadline)
        start, back = high, LOOK_BACK
        if high > low:
            self._go_to(consumer, low)
            while self.stamp is None and self._at < high:
                self._take(take(consumer, 1, _left(deadline)), deadline)
        while self.commit is None and start > low:
            start, back = max(low, start - back), back * 16
            self._go_to(consumer, start)
            self._read_to(consumer, high, deadline)
        if high <= low:
            self._go_to(consumer, low)

    def _go_to(self, consumer: Consumer, offset: int) -> None:
        consumer.assign([place(self.topics.epochs, offset)])
        self._at = offset

    def _bounds(self, consumer: Consumer, deadline: float) -> tuple[int, int]:
        return consumer.get_watermark_offsets(place(self.topics.epochs), _left(deadline))

    def _read_to(self, consumer: Consumer, high: int, deadline: float) -> None:
        while self._at < high:
            self._take(take(consumer, 500, min(0.1, _left(deadline))), deadline)

    def _take(self, messages: list[Message], deadline: float) -> None:
        if not messages and time.monotonic() >= deadline:
            raise BrokerAway(f"kafka at {self.topics.bootstrap} does not answer")
        for message in messages:
            error = message.error()
            if error is None:
                self._take_record(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._at = max(self._at, message.offset() or 0)
            elif error.code() in MISSING or error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise KafkaException(error)

    def _take_record(self, message: Message) -> None:
        key, value, offset = message.key(), message.value() or b"", message.offset() or 0
        if key == COMMIT_KEY:
            self.commit = Commit.decode(value)
            self.claim = self.commit.claim
            self.end = Position(self.commit.epoch, 0, offset + 1)
        elif key == CLAIM_KEY:
            self.claim = Claim.decode(value)
        elif key == LOG_KEY or self.stamp is None:
            self.stamp = Stamp.decode(value, str(self.topics))
        # A record is followed by another of its transaction, or by the marker of its end.
        self._at = offset + 2


def _left(deadline: float) -> float:
    return max(0.01, deadline - time.monotonic())
