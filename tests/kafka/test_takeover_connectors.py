"""Sources and sinks through takeovers, on both logs: what comes in counts once, what goes out is out once.

A topic flows into a source, through a view into a topic and into files. The primary is killed, or frozen for
ten seconds and let go again, while records come.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ..end_to_end.cluster_processes import ClusterProcesses, Node
from .broker import Broker
from .waiting import committed_records, eventually, with_options

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]

FROZEN_S = 10
WAIT_S = 120
UP_TO_DATE = "SELECT count(*) FROM millpond.replicas WHERE role = 'standby' AND state = 'running'"
STATEMENTS = (
    "CREATE SOURCE event (id bigint, k int) {source} FORMAT PLAIN ENCODE JSON",
    "CREATE MATERIALIZED VIEW seen AS SELECT id, k FROM event",
    "CREATE MATERIALIZED VIEW counted AS SELECT k, count(*) AS n, sum(id) AS s FROM event GROUP BY k",
    "CREATE SINK topic FROM seen {sink} FORMAT PLAIN ENCODE JSON",
    "CREATE SINK files FROM seen WITH (connector = 'file', path = '{path}') FORMAT PLAIN ENCODE JSON",
)


class Events(threading.Thread):
    """Sends numbered records to a topic without pause."""

    def __init__(self, broker: Broker, topic: str) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.stop = threading.Event()
        self._producer, self._topic = broker.producer(), topic

    def run(self) -> None:
        while not self.stop.wait(0.02):
            for _ in range(20):
                self._producer.produce(self._topic, json.dumps({"id": self.count, "k": self.count % 7}))
                self.count += 1
            self._producer.poll(0)
        assert self._producer.flush(60) == 0


@pytest.fixture(params=["files", "kafka"])
def cluster(
    request: pytest.FixtureRequest, broker: Broker, topic: str, tmp_path: Path
) -> Iterator[ClusterProcesses]:
    on_kafka = ("--kafka", broker.bootstrap, "--application", topic)
    with ClusterProcesses(tmp_path, "ab", *(on_kafka if request.param == "kafka" else ())) as running:
        yield running


def test_i6_in_and_out_once_over_takeovers(
    broker: Broker, topic: str, cluster: ClusterProcesses, tmp_path: Path
) -> None:
    broker.create(f"{topic}-in")
    broker.create(f"{topic}-out")
    source, sink = with_options(broker, f"{topic}-in"), with_options(broker, f"{topic}-out")
    with cluster.connect() as connection:
        for statement in STATEMENTS:
            connection.execute(statement.format(source=source, sink=sink, path=tmp_path / "out"))
    events = Events(broker, f"{topic}-in")
    events.start()
    for _ in range(2):
        primary = steady(cluster)
        primary.kill()
        moved(cluster, primary)
        primary.start()
    primary = steady(cluster)
    primary.signal(signal.SIGSTOP)
    time.sleep(FROZEN_S)
    moved(cluster, primary)
    primary.signal(signal.SIGCONT)
    primary.await_ready()
    _ = steady(cluster)
    events.stop.set()
    events.join()
    with cluster.connect() as connection:
        eventually(connection, "SELECT count(*) FROM seen", [(events.count,)], WAIT_S)
        eventually(connection, "SELECT sum(pending) FROM millpond.sinks", [(0,)], WAIT_S)
        ids = range(events.count)
        wanted = [(k, len(ids[k::7]), sum(ids[k::7])) for k in range(7)]
        assert connection.execute("SELECT * FROM counted ORDER BY k").fetchall() == wanted
    assert once(value for _, value in committed_records(broker, f"{topic}-out")) == list(ids)
    lines = [line for f in (tmp_path / "out").glob("*.jsonl") for line in f.read_text().splitlines()]
    assert once(lines) == list(ids)


def steady(cluster: ClusterProcesses) -> Node:
    """The primary, once the standby follows and sinks have begun."""
    with cluster.connect() as connection:
        eventually(connection, UP_TO_DATE, [(1,)], WAIT_S)
        time.sleep(1)
        return cluster.node_of(connection)


def moved(cluster: ClusterProcesses, before: Node) -> None:
    """Waits until another node has taken in and sent out more."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            with cluster.connect() as connection:
                if cluster.node_of(connection) is not before:
                    break
        except psycopg.OperationalError:
            assert time.monotonic() < deadline


def once(records: Iterator[bytes] | list[str]) -> list[int]:
    """The ids in records, of which none may be there twice."""
    counts = Counter(json.loads(record)["id"] for record in records)
    assert counts.most_common(1)[0][1] == 1, counts.most_common(5)
    return sorted(counts)
