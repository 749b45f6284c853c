"""The changelog on Kafka is a `Log`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from millpond.storage.log import Position
from millpond.storage.log_kafka import KafkaLog
from millpond.storage.log_kafka_client import KafkaTopics
from millpond.storage.log_kafka_place import KafkaPlace
from millpond.storage.log_kafka_presence import Turn

from ..log_protocol import LogProtocol
from .broker import Broker


@dataclass
class Application:
    place: KafkaPlace
    other: KafkaPlace

    def rival(self, known: Position) -> KafkaLog:
        """Of another process: nothing is shared with the first."""
        return self.other.take_over(Turn(), known)


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
class TestKafka(LogProtocol):
    @pytest.fixture
    def at(self, broker: Broker, topic: str) -> Iterator[Application]:
        topics = KafkaTopics(broker.bootstrap, topic)
        at = Application(KafkaPlace(topics), KafkaPlace(topics))
        yield at
        at.place.close()
        at.other.close()
