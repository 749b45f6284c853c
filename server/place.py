"""Where the log of a server is, as its configuration says: in a directory, or on Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..storage.candidate import Candidate, Contender
from ..storage.disk import REAL
from ..storage.errors import StartupError
from ..storage.log import LogPlace
from ..storage.log_place import FilePlace
from ..storage.presence import FilePresence, Presence
from .config import Config


@dataclass(frozen=True, slots=True)
class Place:
    """The log, who is there on it, and when it is a standby's turn."""

    log: LogPlace
    presence: Presence
    contender: Callable[[], Contender]
    close: Callable[[], None]


def place_of(config: Config) -> Place:
    """Raises StartupError for a bad setting. Nothing is opened yet."""
    lease_s = config.lease_ms / 1000
    if config.kafka:
        return _on_kafka(config, lease_s)
    folder = config.log_folder
    log = FilePlace(folder, segment_bytes=config.segment_kb << 10)
    return Place(log, FilePresence(folder, REAL), lambda: Candidate(folder, REAL, lease_s), lambda: None)


def _on_kafka(config: Config, lease_s: float) -> Place:
    # The client is loaded by those who use it.
    from ..storage.log_kafka_client import KafkaTopics
    from ..storage.log_kafka_place import KafkaPlace

    topics = KafkaTopics(config.kafka, config.application, properties_of(config.kafka_properties))
    place = KafkaPlace(topics)
    return Place(place, place.presence, lambda: place.candidate(lease_s), place.close)


def properties_of(text: str) -> tuple[tuple[str, str], ...]:
    """Raises StartupError for what is not name=value."""
    found: list[tuple[str, str]] = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = part.partition("=")
        if not equals:
            raise StartupError("kafka_properties must be name=value, separated by semicolons")
        found.append((name.strip(), value.strip()))
    return tuple(found)
