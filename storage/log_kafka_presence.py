"""Who is there, on Kafka: beats in the topic of members, and when a standby's turn has come.

As with files (`presence.py`, `candidate.py`) nothing depends on it but when a standby tries: the
transactional id decides. Signs that the primary is gone: it said so (`Claim`); its port, on which the standby
holds a connection, was closed and is refused; its beats stay out for a lease.
"""

from __future__ import annotations

import contextlib
import json
import random
import select
import socket
import threading
import time
from dataclasses import asdict
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer

from .candidate import ASLEEP_SHARE
from .log_kafka_client import KafkaTopics, TopicAdmin, place, take, watermarks
from .log_kafka_watch import EpochsWatch
from .presence import FORGOTTEN_S, PrimaryBeat, ReplicaBeat

PRIMARY_KEY = b"primary"
REPLICA_PREFIX = b"replica:"
LOOK_BACK = 2000
"""Beats read at first."""

ANSWER_S = 1.0
CONNECT_S = 0.25
"""How long a port may take to accept or refuse."""

STAGGER_S = 0.15
"""Standbys wait up to so long, each its own time, so that one is first."""


class KafkaPresence:
    """Implements `Presence`. From any thread."""

    def __init__(self, topics: KafkaTopics) -> None:
        self._topics = topics
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None
        self._primary: PrimaryBeat | None = None
        self._replicas: dict[str, ReplicaBeat] = {}
        self._closed = False

    def announce_primary(self, beat: PrimaryBeat) -> None:
        self._send(PRIMARY_KEY, asdict(beat))

    def announce_replica(self, beat: ReplicaBeat) -> None:
        self._send(REPLICA_PREFIX + beat.name.encode(), asdict(beat))

    def withdraw_replica(self, name: str) -> None:
        self._send(REPLICA_PREFIX + name.encode(), None)

    def read_primary(self) -> PrimaryBeat | None:
        self._read()
        return self._primary

    def read_replicas(self, now_us: int) -> list[ReplicaBeat]:
        self._read()
        with self._lock:
            found = sorted(self._replicas.values(), key=lambda beat: beat.name)
        return [beat for beat in found if now_us - beat.time_us < FORGOTTEN_S * 1e6]

    def close(self) -> None:
        """Sends what is left to be said, if there is a broker to hear it."""
        with self._lock:
            self._closed = True
            if self._producer is not None:
                _ = self._producer.flush(0.5)
                self._producer.purge()
                self._producer = None
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None

    def _send(self, key: bytes, content: dict[str, Any] | None) -> None:
        with self._lock, contextlib.suppress(KafkaException, BufferError, OSError):
            if self._closed:
                return
            if self._producer is None:
                _ = TopicAdmin(self._topics).create([self._topics.members])
                self._producer = self._topics.plain()
            value = None if content is None else json.dumps(content).encode()
            self._producer.produce(self._topics.members, value, key)
            _ = self._producer.poll(0)

    def _read(self) -> None:
        """Takes what has come."""
        with self._lock, contextlib.suppress(KafkaException, OSError):
            if self._closed:
                return
            if self._consumer is None:
                self._consumer = self._begin()
            while messages := self._consumer.consume(500, 0):
                for message in messages:
                    self._take(message)

    def _begin(self) -> Consumer:
        """A consumer that has read the last beats up to the end."""
        consumer = self._topics.consumer()
        try:
            low, high = watermarks(consumer, place(self._topics.members), ANSWER_S)
            consumer.assign([place(self._topics.members, max(low, high - LOOK_BACK))])
            at, deadline = 0, time.monotonic() + ANSWER_S
            while at < high and high > low and time.monotonic() < deadline:
                for message in take(consumer, 500, 0.1):
                    self._take(message)
                    at = (message.offset() or 0) + (message.error() is None)
        except BaseException:
            consumer.close()
            raise
        return consumer

    def _take(self, message: Message) -> None:
        if message.error() is not None:
            return
        key, value = message.key() or b"", message.value()
        with contextlib.suppress(ValueError, TypeError):
            if key == PRIMARY_KEY:
                self._primary = PrimaryBeat(**json.loads(value or b"{}"))
            elif value is None:
                self._replicas.pop(key.removeprefix(REPLICA_PREFIX).decode(), None)
            else:
                beat = ReplicaBeat(**json.loads(value))
                self._replicas[beat.name] = beat


class Turn:
    """In place of a lock: there is none to hold."""

    def release(self) -> None:
        """Nothing is held."""


class KafkaCandidate:
    """When a standby may try to become the writer (`Contender`). Used by one thread."""

    def __init__(self, watch: EpochsWatch, presence: KafkaPresence, lease_s: float) -> None:
        self._watch = watch
        self._presence = presence
        self._lease_s = lease_s
        self._line = Line()
        self._seen: tuple[int, int] | None = None
        self._seen_at = 0.0
        self._looked_at: float | None = None
        self._wait_until: float | None = None

    def try_lock(self, now_s: float) -> Turn | None:
        """This process's turn, when the primary is gone and its own time among the standbys has come."""
        if not self._gone(now_s):
            self._wait_until = None
            return None
        if self._wait_until is None:
            alone = len(self._presence.read_replicas(time.time_ns() // 1000)) < 2
            self._wait_until = now_s + (0.0 if alone else random.uniform(0, STAGGER_S))
        if now_s < self._wait_until:
            return None
        claim = self._watch.claim
        if not self._watch.refresh(ANSWER_S) or self._watch.claim != claim:
            # No broker to ask, or another was first.
            self._wait_until, self._seen_at = None, now_s
            return None
        return Turn()

    def done(self) -> None:
        self._wait_until = None
        self._line.close()

    def _gone(self, now_s: float) -> bool:
        asleep = self._looked_at is None or now_s - self._looked_at > self._lease_s * ASLEEP_SHARE
        self._looked_at = now_s
        claim, beat = self._watch.claim, self._presence.read_primary()
        seen = None if beat is None else (beat.writer, beat.beat)
        if asleep or seen != self._seen:
            self._seen, self._seen_at = seen, now_s
        if claim is None:
            return False
        if not claim.token:
            return True
        if beat is not None and beat.writer >= claim.writer and self._line.broken(beat.address):
            return True
        return now_s - self._seen_at >= self._lease_s


class Line:
    """A connection held to the primary's port: its end is noticed at once."""

    def __init__(self) -> None:
        self._address = ""
        self._socket: socket.socket | None = None

    def broken(self, address: str) -> bool:
        """Whether the port was open, and now refuses."""
        if address != self._address:
            self.close()
            self._address = address
            _ = self._connect()
            return False
        if self._socket is None or self._alive(self._socket):
            return False
        self.close()
        return self._connect() is False

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _alive(self, line: socket.socket) -> bool:
        try:
            return not select.select([line], [], [], 0)[0] or bool(line.recv(64))
        except OSError:
            return False

    def _connect(self) -> bool | None:
        """True when it is open, False when it is refused, None when nothing is known."""
        return port_open(self._address, self)

    def hold(self, line: socket.socket) -> None:
        self._socket = line


def port_open(address: str, keeper: Line | None = None) -> bool | None:
    """True when something listens at HOST:PORT, False when that is refused, None when it cannot be told."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return None
    try:
        line = socket.create_connection((host.strip("[]"), int(port)), CONNECT_S)
    except ConnectionRefusedError:
        return False
    except OSError:
        return None
    if keeper is not None:
        keeper.hold(line)
    else:
        line.close()
    return True
