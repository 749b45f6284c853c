"""`millpond bench kafka`: topics in, changelog topics back, against a broker that runs beside.

Each figure's ratio is to a bare loop over `Consumer.consume` on the same topic, in the same call: what the
client alone takes, without decoding, state or commit.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .figures import Figure, Line
from .process import Server

ROWS = 1_000_000
MESSAGE_BYTES = 200
GROUPS = 1000
CONSUMED = 500
"""Messages a call of the bare loop takes at once."""
SILENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """A broker, and how many messages to measure with."""

    bootstrap: str
    rows: int


def message(number: int) -> bytes:
    """A JSON object of MESSAGE_BYTES bytes: an id, a group, an amount, and a text that fills it up."""
    amount = f"{number % 10_000 / 100:.2f}"
    head = f'{{"id": {number}, "kind": {number * 7919 % GROUPS}, "amount": {amount}, "note": "'
    return (head + "x" * (MESSAGE_BYTES - len(head) - 2) + '"}').encode()


class Topic:
    """A topic of the benchmark's own, filled; deleted at the end."""

    def __init__(self, place: Place, keyed: bool) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        self.name = f"bench-{uuid.uuid4().hex[:12]}"
        self._place = place
        self._admin = AdminClient({"bootstrap.servers": place.bootstrap})
        self._admin.create_topics([NewTopic(self.name, 1, 1)])[self.name].result(30)
        self._fill(keyed)

    def _fill(self, keyed: bool) -> None:
        from confluent_kafka import Producer

        producer = Producer({
            "bootstrap.servers": self._place.bootstrap, "linger.ms": 20, "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 200_000,
        })  # fmt: skip
        for number in range(self._place.rows):
            key = str(number).encode() if keyed else None
            while True:
                try:
                    producer.produce(self.name, message(number), key)
                    break
                except BufferError:
                    producer.poll(0.05)
        if producer.flush(120):
            raise RuntimeError("the broker did not take the messages")

    def consume(self) -> float:
        """Messages a second of the bare loop."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self._place.bootstrap, "group.id": "bench"})
        consumer.assign([TopicPartition(self.name, 0, 0)])
        taken = len(consumer.consume(1, SILENCE_S))
        started = time.perf_counter()
        while taken < self._place.rows:
            messages = consumer.consume(min(CONSUMED, self._place.rows - taken), 1.0)
            taken += len(messages)
            if not messages and time.perf_counter() - started > SILENCE_S:
                raise RuntimeError(f"the broker gave {taken} of {self._place.rows} messages")
        elapsed = time.perf_counter() - started
        consumer.close()
        return self._place.rows / elapsed

    def close(self) -> None:
        self._admin.delete_topics([self.name])[self.name].result(30)

    def __enter__(self) -> Topic:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _columns(key: str) -> str:
    return f"(id bigint{key}, kind bigint, amount numeric, note text)"


def _with(place: Place, topic: Topic, format: str) -> str:
    options = (
        f"connector = 'kafka', topic = '{topic.name}', properties.bootstrap.server = '{place.bootstrap}'"
    )
    return f"WITH ({options}) FORMAT {format} ENCODE JSON"


def _wait_until(connection: Any, query: str, wanted: int) -> None:
    """Returns when `query` answers `wanted`."""
    started = time.perf_counter()
    while True:
        found = connection.execute(query).fetchone()
        if found and found[0] == wanted:
            return
        if time.perf_counter() - started > SILENCE_S * 10:
            raise RuntimeError(f"{found} of {wanted} rows")
        time.sleep(0.01)


def measure_json(place: Place) -> Iterator[Figure]:
    """JSON messages to a committed count, and to sums of groups."""
    views = {
        "count(*)": "SELECT count(*) AS n FROM message",
        "GROUP BY count, sum": "SELECT kind, count(*) AS n, sum(amount) AS s FROM message GROUP BY kind",
    }
    with Topic(place, keyed=False) as topic:
        bare = topic.consume()
        yield Figure("json", f"bare consume, {MESSAGE_BYTES}-byte messages", bare, "rows/s")
        for number, (what, query) in enumerate(views.items()):
            rate = _served(place, (
                f"CREATE SOURCE message {_columns('')} {_with(place, topic, 'PLAIN')}",
                f"CREATE MATERIALIZED VIEW v AS {query}",
            ), "SELECT sum(n)::bigint FROM v")  # fmt: skip
            yield Figure(
                "json", f"to a committed {what}", rate, "rows/s", rate / bare, "" if number else "250,000"
            )


def measure_upsert(place: Place) -> Iterator[Figure]:
    """The same messages with a key each, into a table and a count of it."""
    with Topic(place, keyed=True) as topic:
        bare = topic.consume()
        rate = _served(place, (
            f"CREATE TABLE message {_columns(' PRIMARY KEY')} {_with(place, topic, 'UPSERT')}",
            "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM message",
        ), "SELECT n FROM v")  # fmt: skip
    yield Figure("upsert", "into a keyed table and a committed count(*)", rate, "rows/s", rate / bare)


def _served(place: Place, statements: tuple[str, ...], query: str) -> float:
    """Rows a second of a server, from these statements on until `query` gives the number of messages."""
    with tempfile.TemporaryDirectory(prefix="millpond-bench-") as folder:
        server = Server(Path(folder) / "data")
        server.start()
        try:
            with server.connect() as connection:
                started = time.perf_counter()
                # Together: what comes before the view is there would be read a second time for it.
                connection.execute("; ".join(statements))
                _wait_until(connection, query, place.rows)
                return place.rows / (time.perf_counter() - started)
        finally:
            server.kill()


LINES = (
    Line("json", "JSON messages of a topic to a committed view", measure_json),
    Line("upsert", "messages with keys into a table", measure_upsert),
)
