"""Sinks to Kafka, exactly once: records and the number of the last change in one transaction.

The number is the offset of a consumer group of the sink's own, sent within the transaction. Whoever opens
the sink's transactional id fences earlier writers and ends what they had begun; only then the group's offset
is read. After any failure the producer is given up: a transaction in doubt is settled by the beginning of the
next, and the offset tells how (librdkafka does not know transactions of the second version, KIP-890).
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ...planner.define_sink import SINK_ID
from ...runtime.sink import SinkBatch
from ...sql.entries import Sink
from ...storage.errors import ConnectionFailure, FeatureNotSupported
from ...storage.log_kafka_client import initialise
from .kafka_options import QUIET, KafkaOptions, check_client, sink_options
from .kafka_topic import TopicQuestions, kafka_problem
from .sink_records import records_of

TRANSACTION_S = 30.0
"""How long one transaction, or a question, may take."""

OFFSET_S = 10.0
"""How long the coordinator may take for the offset within it."""

_DEFAULTS = {
    "enable.idempotence": True,
    "linger.ms": 5,
    "transaction.timeout.ms": 60_000,
    # Offsets sent to a coordinator that has gone wait for this, whatever time limit the call is given.
    "socket.timeout.ms": 10_000,
    "queue.buffering.max.messages": 200_000,
    "reconnect.backoff.max.ms": 1000,
    "allow.auto.create.topics": True,
}


class KafkaSinkWriter:
    """Writes one sink's records (`runtime.sink.SinkWriter`)."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._options = sink_options(sink.options)
        name = f"millpond-sink-{sink.options[SINK_ID]}"
        self._place = self._options.topic
        config = {**self._options.client, **QUIET}
        self._group = Consumer({**_without_producers(config), "group.id": name, "enable.auto.commit": False})
        self._producer = Producer({**_DEFAULTS, **config, "transactional.id": name})

    def progress(self) -> int:
        try:
            _ = TopicQuestions(self._options, self._group).describe()
            initialise(self._producer, TRANSACTION_S)
            found = self._group.committed([TopicPartition(self._place, 0)], TRANSACTION_S)
        except KafkaException as error:
            raise kafka_problem(self._options, error) from None
        if found[0].error is not None:
            raise kafka_problem(self._options, found[0].error)
        return max(found[0].offset, 0)

    def write(self, batch: SinkBatch) -> None:
        try:
            self._producer.begin_transaction()
            for key, value in records_of(self._sink, batch):
                self._produce(key, value)
            self._producer.send_offsets_to_transaction(
                [TopicPartition(self._place, 0, batch.last)],
                self._group.consumer_group_metadata(),
                OFFSET_S,
            )
            self._producer.commit_transaction(TRANSACTION_S)
        except KafkaException as error:
            raise kafka_problem(self._options, error) from None

    def _produce(self, key: str | None, value: str | None) -> None:
        while True:
            try:
                self._producer.produce(self._options.topic, value, key)
                return
            except BufferError:
                if self._producer.poll(TRANSACTION_S) == 0 and len(self._producer) == 0:
                    raise ConnectionFailure(f"kafka at {self._options.bootstrap} takes no records") from None

    def close(self) -> None:
        """What was begun and not committed never becomes visible; nothing is waited for."""
        self._producer.purge()
        self._group.close()


def check_kafka_sink(sink: Sink) -> None:
    """Raises SqlError for a bad option. Needs no broker."""
    options = sink_options(sink.options)
    if options.encode != "json":
        raise FeatureNotSupported(f"a sink with ENCODE {options.encode.upper()} is not supported")
    check_client(_for_consumers(options))


def _for_consumers(options: KafkaOptions) -> KafkaOptions:
    return KafkaOptions(
        options.topic, _without_producers(dict(options.client)), options.options, options.secrets
    )


_PRODUCERS = (
    "transaction", "enable.idempotence", "linger.ms", "acks", "request.required", "compression",
    "batch.", "queue.buffering", "message.timeout", "delivery.timeout", "partitioner", "sticky.",
)  # fmt: skip


def _without_producers(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if not name.startswith(_PRODUCERS)}
