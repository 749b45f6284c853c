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
from .log_kafka_client import BrokerAway, KafkaTopics, code, place, reason, take, watermarks
from .log_kafka_records import CLAIM_KEY, COMMIT_KEY, LOG_KEY, Claim, Commit, Stamp

LOOK_BACK = 400
"""Records read from the end at first; sixteen times as many if there is no commit among them."""

MARKER_S = 0.002
"""Between two looks for the end of a transaction."""

STUCK_S = 5.0
"""How long reading may fail before another consumer is tried."""

SETTLE_S = 0.5
"""How long a transaction under way is waited for; a dead writer's ends with its successor only."""

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
        self._asker: Consumer | None = None
        """Asks where the end is, on a connection of its own: on that of a fetch, which waits at the broker
        for something to come, a question waits as long."""
        self._uncommitted: Consumer | None = None
        self._at = 0
        self._failing_since: float | None = None
        self._lock = threading.Lock()

    @property
    def writer(self) -> int:
        """The number of the last writer, 0 when there was none."""
        return self.claim.writer if self.claim else 0

    def refresh(self, timeout_s: float, settled: bool = False) -> bool:
        """Reads up to what is the end now; False when no broker says in time. Raises StartupError.

        A commit is acknowledged when it is decided; its markers, without which it cannot be read, follow
        within milliseconds. With `settled` they are waited for.
        """
        try:
            self.read(timeout_s)
            if settled:
                self._settle()
        except (BrokerAway, KafkaException):
            return False
        return True

    def read(self, timeout_s: float) -> None:
        """As `refresh`, raising BrokerAway; StartupError when there is no such topic, or it is foreign."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            try:
                self._read(deadline)
                self._failing_since = None
            except BrokerAway:
                self._note_failure()
                raise
            except KafkaException as error:
                self._note_failure()
                if code(error) in MISSING and self.stamp is None:
                    raise StartupError(f"{self.topics}: there is no topic {self.topics.epochs}") from None
                raise BrokerAway(f"kafka at {self.topics.bootstrap}: {reason(error)}") from None

    def await_claim(self, token: str, timeout_s: float) -> None:
        """Reads until the claim just committed can be read. Raises BrokerAway."""
        deadline = time.monotonic() + timeout_s
        self.read(timeout_s)
        while self.claim is None or self.claim.token != token:
            if time.monotonic() > deadline:
                raise BrokerAway(f"kafka at {self.topics.bootstrap}: a transaction does not end")
            time.sleep(MARKER_S)
            self.read(_left(deadline))

    def close(self) -> None:
        with self._lock:
            for consumer in (self._consumer, self._asker, self._uncommitted):
                if consumer is not None:
                    consumer.close()
            self._consumer = self._asker = self._uncommitted = None

    def _note_failure(self) -> None:
        """Gives up a consumer that has delivered nothing for long: after some errors it never would again."""
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > STUCK_S:
            given_up, self._failing_since = (self._consumer, self._asker), None
            self._consumer = self._asker = None
            for consumer in given_up:
                if consumer is not None:
                    consumer.close()

    def _settle(self) -> None:
        """Reads on to what was the end with open transactions, for as long as one may take to end."""
        with self._lock:
            if self._uncommitted is None:
                self._uncommitted = self.topics.consumer("read_uncommitted")
            deadline = time.monotonic() + SETTLE_S
            _, high = watermarks(self._uncommitted, place(self.topics.epochs), _left(deadline))
        while self._at < high and time.monotonic() < deadline:
            time.sleep(MARKER_S)
            self.read(_left(deadline))

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
        _, high = self._bounds(deadline)
        self._read_to(self._consumer, high, deadline)

    def _begin(self, consumer: Consumer, deadline: float) -> None:
        """Finds the stamp at the beginning, then the last commit, from the end backwards."""
        low, high = self._bounds(deadline)
        start, back = high, LOOK_BACK
        if self.commit is not None:
            self._go_to(consumer, max(low, self._at))
            self._read_to(consumer, high, deadline)
            return
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

    def _bounds(self, deadline: float) -> tuple[int, int]:
        if self._asker is None:
            self._asker = self.topics.consumer()
        return watermarks(self._asker, place(self.topics.epochs), _left(deadline))

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
