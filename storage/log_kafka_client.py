"""What all clients of a changelog on Kafka share: names of topics, configuration, errors, topics themselves.

    APPLICATION-epochs-changelog           who may write, and one record for each committed epoch
    APPLICATION-stores-changelog           which stores there are: name, shape, topic
    APPLICATION-STORE.NUMBER-changelog     the rows of one store
    APPLICATION-members                    signs of life; nothing depends on it

One partition each, compacted but for the last. `NUMBER` tells stores of one name apart, so that a topic is
never used again for another store.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from .errors import ConnectionFailure, IoError, ProgramLimitExceeded, SqlError, StartupError

ANSWER_S = 5.0
"""How long the broker may take for one answer."""

REST_S = 0.02
"""Between two questions to a broker that cannot answer yet."""

INIT_S = 0.02
"""How long one attempt to initialise a transactional id is waited for."""

RECORD_BYTES_MAX = 64 << 20
"""A row larger than this cannot be written."""

UNCOMPACTED_S = 3600
"""Records younger than this are not compacted: what a reader finds behind its position is whole."""

TOMBSTONE_S = 24 * 3600
"""How long a compacted topic remembers that a key is gone."""

_CHANGELOG = {
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": str(UNCOMPACTED_S * 1000),
    "delete.retention.ms": str(TOMBSTONE_S * 1000),
    "segment.bytes": str(64 << 20),
    "max.message.bytes": str(RECORD_BYTES_MAX),
}
_MEMBERS = {"cleanup.policy": "delete", "retention.ms": "600000", "segment.ms": "300000"}

_CONSUMER = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 50,
    "fetch.error.backoff.ms": 20,
    # How long fetching stops once the queue is full: the default is a second.
    "fetch.queue.backoff.ms": 5,
    "fetch.message.max.bytes": 8 << 20,
    "queued.max.messages.kbytes": 64 << 10,
}
_PRODUCER: dict[str, Any] = {
    "linger.ms": 0,
    "queue.buffering.max.messages": 500_000,
    "message.max.bytes": RECORD_BYTES_MAX,
    "transaction.timeout.ms": 300_000,
}
_PASSING = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError._WAIT_CACHE,
)
"""What a broker answers while a partition's leader is being found."""
_SILENT = logging.getLogger("millpond.kafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class BrokerAway(ConnectionError):
    """No broker answers; the message says what for."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)

    def __str__(self) -> str:
        return self.strerror or ""


@dataclass(frozen=True, slots=True)
class KafkaTopics:
    """The topics of one application. `properties`: further properties of librdkafka (TLS, SASL)."""

    bootstrap: str
    application: str
    properties: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", self.application):
            raise StartupError(f'application "{self.application}" may have letters, digits and . _ - only')

    def __str__(self) -> str:
        return f'application "{self.application}" on Kafka at {self.bootstrap}'

    @property
    def epochs(self) -> str:
        return f"{self.application}-epochs-changelog"

    @property
    def stores(self) -> str:
        return f"{self.application}-stores-changelog"

    @property
    def members(self) -> str:
        return f"{self.application}-members"

    def of_store(self, store: str, number: int, attempt: int) -> str:
        """A topic for a store; another `attempt` gives another."""
        safe = re.sub(r"[^A-Za-z0-9_.]", "_", store)[:100]
        return f"{self.application}-{safe}.{number}{f'.{attempt}' if attempt else ''}-changelog"

    def is_store(self, topic: str) -> bool:
        """Whether this is a name that `of_store` gives."""
        pattern = re.escape(self.application) + r"-[A-Za-z0-9_.]*\.\d+(\.\d+)?-changelog"
        return re.fullmatch(pattern, topic) is not None

    def client(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.bootstrap,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
            "logger": _SILENT,
            **dict(self.properties),
        }

    def consumer(self, isolation: str = "read_committed") -> Consumer:
        """A consumer of partitions given by hand; its group is only a name."""
        group = {"group.id": f"{self.application}-millpond", "isolation.level": isolation}
        return Consumer({**self.client(), **_CONSUMER, **group})

    def transactional(self) -> Producer:
        """The producer of a writer. Nobody else's transactions live on once it is initialised."""
        return Producer({**self.client(), **_PRODUCER, "transactional.id": f"{self.application}-millpond"})

    def plain(self) -> Producer:
        return Producer({**self.client(), "acks": 1, "message.timeout.ms": 2000, "linger.ms": 0})


def place(topic: str, offset: int = 0) -> TopicPartition:
    """The one partition of a topic."""
    return TopicPartition(topic, 0, offset)


def watermarks(consumer: Consumer, where: TopicPartition, timeout_s: float) -> tuple[int, int]:
    """(first offset there is, the one behind the last). Raises KafkaException.

    A partition just made, or whose leader moves, has no leader for a moment: asked again until it has.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return consumer.get_watermark_offsets(where, max(0.01, deadline - time.monotonic()))
        except KafkaException as error:
            if code(error) not in _PASSING or time.monotonic() >= deadline:
                raise
        time.sleep(REST_S)


def initialise(producer: Producer, timeout_s: float) -> None:
    """`init_transactions`, asked again soon while an earlier writer's transaction is being ended.

    The broker says CONCURRENT_TRANSACTIONS for some milliseconds then. The client alone would wait half a
    second before it asks once more, but asks at once when it is called again. Raises KafkaException.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return producer.init_transactions(INIT_S)
        except KafkaException as error:
            cause = error.args[0]
            retriable = isinstance(cause, KafkaError) and cause.retriable()
            if not retriable or time.monotonic() >= deadline:
                raise
        time.sleep(REST_S / 10)


def take(consumer: Consumer, count: int, timeout_s: float) -> list[Message]:
    """What has come, at most `count`; waits for the first only, where `consume` waits for the last."""
    first = consumer.consume(1, timeout_s)
    return first + consumer.consume(count - 1, 0) if first and count > 1 else first


def reason(error: BaseException | KafkaError) -> str:
    """The client's words for what went wrong."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else error
    if isinstance(cause, KafkaError):
        return cause.str() or cause.name()
    return str(cause) or "it does not answer"


def code(error: BaseException) -> int:
    """The client's error code, 0 for what is not its."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return cause.code() if isinstance(cause, KafkaError) else 0


def kafka_error(topics: KafkaTopics, error: BaseException, doing: str) -> SqlError:
    """The error to answer when the broker refused or was silent."""
    text = f"could not {doing}: kafka at {topics.bootstrap}: {reason(error)}"
    if code(error) in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE):
        return ProgramLimitExceeded(f"could not {doing}: a row is larger than {RECORD_BYTES_MAX >> 20} MB")
    if isinstance(error, KafkaException) and error.args and _denied(error.args[0].code()):
        return IoError(text)
    return ConnectionFailure(text)


def _denied(number: int) -> bool:
    return number in (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
    )


@lru_cache(maxsize=2)
def _admin_client(topics: KafkaTopics) -> AdminClient:
    """One for all questions of a process: a takeover does not wait until another has connected."""
    return AdminClient(topics.client())


class TopicAdmin:
    """Makes, describes and deletes topics. Raises KafkaException; BrokerAway when nobody answers."""

    def __init__(self, topics: KafkaTopics) -> None:
        self._topics = topics
        self._admin = _admin_client(topics)

    def existing(self) -> set[str]:
        """All topics of the application."""
        try:
            names = self._admin.list_topics(timeout=ANSWER_S).topics
        except KafkaException as error:
            raise BrokerAway(f"kafka at {self._topics.bootstrap}: {reason(error)}") from None
        own = (self._topics.epochs, self._topics.stores, self._topics.members)
        return {name for name in names if name in own or self._topics.is_store(name)}

    def create(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that were there already; the others are made, and known to the brokers."""
        wanted = [self._new(name) for name in names]
        there: list[str] = []
        made = self._admin.create_topics(wanted, operation_timeout=ANSWER_S) if wanted else {}
        for name, future in made.items():
            try:
                future.result(2 * ANSWER_S)
            except KafkaException as error:
                if code(error) != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                there.append(name)
            except TimeoutError:
                raise BrokerAway(f"kafka at {self._topics.bootstrap} does not answer") from None
        deadline = time.monotonic() + ANSWER_S
        while len(self.ids(made)) < len(made) and time.monotonic() < deadline:
            time.sleep(0.01)
        return there

    def _new(self, name: str) -> NewTopic:
        config = _MEMBERS if name == self._topics.members else _CHANGELOG
        return NewTopic(name, 1, -1, config=config)

    def ids(self, names: Iterable[str]) -> Mapping[str, str]:
        """The ids of those topics that exist."""
        wanted = list(names)
        found: dict[str, str] = {}
        if not wanted:
            return found
        asked = self._admin.describe_topics(TopicCollection(wanted), request_timeout=ANSWER_S)
        for name, future in asked.items():
            try:
                found[name] = str(future.result(2 * ANSWER_S).topic_id)
            except KafkaException as error:
                if code(error) != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise BrokerAway(f"kafka at {self._topics.bootstrap}: {reason(error)}") from None
            except TimeoutError:
                raise BrokerAway(f"kafka at {self._topics.bootstrap} does not answer") from None
        return found

    def delete(self, names: Iterable[str], wait: bool = False) -> None:
        """Asks for it; with `wait` until it is done or refused, or nobody answers."""
        wanted = list(names)
        asked = self._admin.delete_topics(wanted) if wanted else {}
        for future in asked.values() if wait else ():
            with contextlib.suppress(KafkaException, TimeoutError):
                _ = future.result(ANSWER_S)
