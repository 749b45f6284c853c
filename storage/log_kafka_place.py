"""`KafkaPlace`: the topics of an application, as a `LogPlace`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from confluent_kafka import KafkaException, Producer

from .disk import DiskLock
from .errors import ConnectionFailure, SqlError, StartupError
from .log import LogDamaged, Position
from .log_kafka import KafkaLog
from .log_kafka_client import BrokerAway, KafkaTopics, TopicAdmin, reason
from .log_kafka_presence import KafkaCandidate, KafkaPresence, port_open
from .log_kafka_source import KafkaSource
from .log_kafka_watch import EpochsWatch

LIVES_US = 2_000_000
"""A primary whose last beat is older than this is not waited for."""


class KafkaPlace:
    """One for each process: it has the connections that its writer, reader and presence share."""

    def __init__(self, topics: KafkaTopics) -> None:
        self.topics = topics
        self.watch = EpochsWatch(topics)
        self.presence = KafkaPresence(topics)
        self._spare: Producer | None = None
        self._followed: KafkaSource | None = None

    def __str__(self) -> str:
        return str(self.topics)

    def open(self, locked: Callable[[], None] = lambda: None) -> KafkaLog:
        try:
            ensure_topics(self.topics)
        except BrokerAway as error:
            raise StartupError(f"{self.topics}: {error}") from error
        self._refuse_second()
        try:
            log = begin(self.watch, os.urandom(8).hex())
        except SqlError as error:
            raise StartupError(error.message) from error
        locked()
        return log

    def source(self) -> KafkaSource:
        """That of a standby; the producer with which it may take over connects meanwhile."""
        self._spare = self.topics.transactional()
        self._followed = KafkaSource(self.watch, follow=True)
        return self._followed

    def candidate(self, lease_s: float) -> KafkaCandidate:
        return KafkaCandidate(self.watch, self.presence, lease_s)

    def take_over(self, lock: DiskLock, known: Position) -> KafkaLog:
        lock.release()
        spare, self._spare = self._spare, None
        try:
            return begin(self.watch, os.urandom(8).hex(), spare, self._followed)
        except StartupError as error:
            if isinstance(error.__cause__, BrokerAway):
                raise ConnectionFailure(str(error)) from error
            raise

    def close(self) -> None:
        self.presence.close()
        self.watch.close()

    def _refuse_second(self) -> None:
        """Raises StartupError when a primary lives: it beats, and its port is open."""
        if not self.watch.refresh(5.0) or self.watch.claim is None or not self.watch.claim.token:
            return
        beat = self.presence.read_primary()
        while beat is not None and time.time_ns() // 1000 - beat.time_us < LIVES_US:
            if port_open(beat.address) is False:
                return
            time.sleep(0.1)
            again = self.presence.read_primary()
            if again is not None and again.beat != beat.beat:
                raise StartupError(
                    f"{self.topics} is in use: its primary is {again.name} at {again.address}. "
                    "Start this one as a standby (millpond standby)"
                )


def begin(
    watch: EpochsWatch, token: str, producer: Producer | None = None, followed: KafkaSource | None = None
) -> KafkaLog:
    """The log of the application, begun where there is none. Raises as `KafkaLog`, and StartupError."""
    topics = watch.topics
    try:
        if watch.stamp is None:
            ensure_topics(topics)
        return KafkaLog(watch, token, producer, followed)
    except LogDamaged as problem:
        raise StartupError(str(problem)) from problem
    except (BrokerAway, KafkaException) as error:
        raise StartupError(f"{topics}: {reason(error)}") from error


def ensure_topics(topics: KafkaTopics) -> None:
    """Makes the topics of a new application. Raises StartupError when there are some but not all."""
    admin = TopicAdmin(topics)
    existing = admin.existing()
    needed = {topics.epochs, topics.stores}
    if needed <= existing:
        return
    left = existing - {topics.members}
    if left:
        lost = ", ".join(sorted(needed - existing))
        raise StartupError(
            f"{topics}: lost topic {lost}, but {len(left)} others of it are there ({min(left)}, …): which "
            "rows were committed cannot be told. Choose another --application, or delete them to begin anew"
        )
    _ = admin.create(needed)
