"""What the broker knows of one topic: its id, partitions and bounds. Every question has a time limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from ...storage.errors import ConnectionFailure, InsufficientPrivilege, IoError, SqlError, UndefinedObject
from ...storage.log_kafka_client import watermarks
from .kafka_options import QUIET, KafkaOptions

ANSWER_S = 3.0
"""How long the broker may take for one answer."""

_UNKNOWN = (
    KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
)  # fmt: skip
_DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topic:
    """`id` changes when a topic is deleted and made again."""

    id: str
    partitions: tuple[int, ...]


class TopicQuestions:
    """Asks about the topic of `options` over a consumer and an admin client of its own.

    Raises SqlError: ConnectionFailure when no broker answers, UndefinedObject when there is no topic.
    """

    def __init__(self, options: KafkaOptions, consumer: Consumer) -> None:
        self._options = options
        self._consumer = consumer
        self._admin = AdminClient({**_admin_config(options), **QUIET})

    def describe(self) -> Topic:
        name = self._options.topic
        try:
            asked = self._admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_S)
            found = asked[name].result(ANSWER_S + 1)
        except (KafkaException, TimeoutError) as error:
            raise self.problem(error) from None
        if not found.partitions:
            raise UndefinedObject(f'topic "{name}" does not exist')
        return Topic(str(found.topic_id), tuple(sorted(p.id for p in found.partitions)))

    def refresh(self) -> None:
        """Lets the consumer see partitions that are new; by itself it looks every few minutes only."""
        try:
            _ = self._consumer.list_topics(self._options.topic, ANSWER_S)
        except KafkaException as error:
            raise self.problem(error) from None

    def bounds(self, partition: int) -> tuple[int, int]:
        """(first offset there is, the one behind the last)."""
        place = TopicPartition(self._options.topic, partition)
        try:
            return watermarks(self._consumer, place, ANSWER_S)
        except KafkaException as error:
            raise self.problem(error) from None

    def at_time(self, partitions: tuple[int, ...], millis: int) -> dict[int, int]:
        """Of each partition the first offset of that time or later; the end where there is none."""
        places = [TopicPartition(self._options.topic, p, millis) for p in partitions]
        try:
            found = self._consumer.offsets_for_times(places, ANSWER_S)
        except KafkaException as error:
            raise self.problem(error) from None
        return {p.partition: p.offset if p.offset >= 0 else self.bounds(p.partition)[1] for p in found}

    def problem(self, error: BaseException) -> SqlError:
        return kafka_problem(self._options, error)


def kafka_problem(options: KafkaOptions, error: BaseException | KafkaError) -> SqlError:
    """A client's error in our words, without secrets."""
    cause = error.args[0] if isinstance(error, KafkaException) else error
    if isinstance(cause, KafkaError):
        if cause.code() in _UNKNOWN:
            return UndefinedObject(f'topic "{options.topic}" does not exist')
        text = options.clean(cause.str() or cause.name())
        if cause.code() in _DENIED:
            return InsufficientPrivilege(f"kafka at {options.bootstrap} refuses: {text}")
        return ConnectionFailure(f"kafka at {options.bootstrap}: {text}")
    if isinstance(cause, TimeoutError):
        return ConnectionFailure(f"kafka at {options.bootstrap} does not answer")
    return IoError(options.clean(error))


def _admin_config(options: KafkaOptions) -> dict[str, Any]:
    """What an admin client understands of a consumer's configuration."""
    only_consumers = ("isolation.level", "group.", "fetch.", "max.p", "queued.", "enable.auto", "check.crcs")
    return {name: value for name, value in options.client.items() if not name.startswith(only_consumers)} | {
        "bootstrap.servers": options.bootstrap
    }
