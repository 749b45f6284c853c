"""Changelog topics end to end: servers killed, directories lost, brokers away, topics lost, two servers."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from ..end_to_end.cluster_processes import ClusterProcesses
from ..end_to_end.server_process import ServerProcess
from .broker import Broker
from .waiting import eventually, with_options

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]

BALANCES = "SELECT account, sum(amount) AS balance FROM {} GROUP BY account"


def on_kafka(broker: Broker, application: str) -> tuple[str, ...]:
    return "--kafka", broker.bootstrap, "--application", application


@pytest.fixture
def node(tmp_path: Path, broker: Broker, topic: str) -> Iterator[ServerProcess]:
    """A server whose changelog is in topics of the application named like the topic."""
    process = ServerProcess(tmp_path / "data", *on_kafka(broker, topic))
    process.start()
    yield process
    process.stop()


def test_another_node_has_every_balance_after_the_first_lost_its_disk(
    broker: Broker, node: ServerProcess, topic: str, tmp_path: Path
) -> None:
    """Deposits of +100, -30 and +50 on accounts come in by a topic; the node dies in mid-stream."""
    broker.create(f"{topic}-in", partitions=2)
    amounts = (100, -30, 50)

    def send(first: int, count: int) -> None:
        for partition in (0, 1):
            numbers = range(first + partition, first + count, 2)
            records = [json.dumps({"account": i % 50, "amount": amounts[i % 3]}) for i in numbers]
            broker.produce(f"{topic}-in", *records, partition=partition)

    send(0, 6000)
    columns = "(account int, amount numeric)"
    with node.connect() as connection:
        options = with_options(broker, f"{topic}-in")
        connection.execute(f"CREATE SOURCE deposit {columns} {options} FORMAT PLAIN ENCODE JSON")
        connection.execute(f"CREATE MATERIALIZED VIEW balance AS {BALANCES.format('deposit')}")
    sending = threading.Thread(target=send, args=(6000, 6000))
    sending.start()
    node.kill()
    shutil.rmtree(node.data)
    sending.join()
    other = ServerProcess(tmp_path / "other", *on_kafka(broker, topic))
    other.start()
    expected = dict.fromkeys(range(50), 0)
    for i in range(12000):
        expected[i % 50] += amounts[i % 3]
    try:
        with other.connect() as connection:
            eventually(connection, "SELECT sum(lag) FROM millpond.source_lag", [(0,)])
            found = dict(connection.execute("SELECT account, balance FROM balance").fetchall())
        assert found == expected
    finally:
        other.stop()


def test_acknowledged_writes_survive_kills_with_and_without_the_directory(node: ServerProcess) -> None:
    acknowledged = 0
    for round_number in range(3):
        with node.connect() as connection:
            if not round_number:
                connection.execute("CREATE TABLE t (id int PRIMARY KEY, account int, amount int)")
                connection.execute(f"CREATE MATERIALIZED VIEW v AS {BALANCES.format('t')}")
            for _ in range(30):
                acknowledged += 1
                connection.execute("INSERT INTO t VALUES (%s, %s, 1)", (acknowledged, acknowledged % 7))
            connection.execute("DELETE FROM t WHERE id = %s", (acknowledged - 3,))
            connection.execute("UPDATE t SET amount = 2 WHERE id = %s", (acknowledged,))
        node.kill()
        if round_number:
            shutil.rmtree(node.data)
        node.start()
        with node.connect() as connection:
            found = connection.execute("SELECT count(*), max(id) FROM t").fetchall()
            assert found == [(acknowledged - round_number - 1, acknowledged)]
            query = BALANCES.format("t")
            view = connection.execute("SELECT * FROM v ORDER BY 1").fetchall()
            assert view == connection.execute(f"{query} ORDER BY 1").fetchall()


def test_a_second_server_is_refused_while_the_first_lives(
    broker: Broker, node: ServerProcess, topic: str, tmp_path: Path
) -> None:
    second = ServerProcess(tmp_path / "second", *on_kafka(broker, topic))
    with pytest.raises(AssertionError, match=f'application "{topic}".* is in use: its primary is'):
        second.start()
    with node.connect() as connection:
        connection.execute("CREATE TABLE t (a int)")


def test_a_frozen_primary_is_replaced_and_comes_back_as_a_standby(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    with ClusterProcesses(tmp_path, "ab", *on_kafka(broker, topic)) as cluster:
        with cluster.connect() as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
            connection.execute("INSERT INTO t VALUES (1)")
        frozen = cluster.nodes["a"]
        frozen.signal(signal.SIGSTOP)
        wait_for_write(cluster, "INSERT INTO t VALUES (2)", but_not=frozen.fixed_port)
        frozen.signal(signal.SIGCONT)
        frozen.await_ready()
        with cluster.connect() as connection:
            assert cluster.node_of(connection).name == "b"
            connection.execute("INSERT INTO t VALUES (3)")
            query = "SELECT name FROM millpond.replicas WHERE role = 'standby' AND state = 'running'"
            eventually(connection, query, [("a",)])
        with psycopg.connect(frozen.uri.replace("port=0", f"port={frozen.fixed_port}")) as standby:
            standby.autocommit = True
            standby.execute("FLUSH")
            assert standby.execute("SELECT id FROM t ORDER BY id").fetchall() == [(1,), (2,), (3,)]


def test_no_acknowledged_write_is_lost_or_doubled_over_takeovers(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    with ClusterProcesses(tmp_path, "ab", *on_kafka(broker, topic)) as cluster:
        with cluster.connect() as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
            connection.execute("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
        acknowledged: set[int] = set()
        stop = threading.Event()
        writer = threading.Thread(target=write_on, args=(cluster, acknowledged, stop))
        writer.start()
        for _ in range(2):
            before = len(acknowledged)
            while len(acknowledged) < before + 30:
                time.sleep(0.01)
            primary = cluster.primary()
            primary.kill()
            count = len(acknowledged)
            while len(acknowledged) == count:
                time.sleep(0.01)
            primary.start()
        stop.set()
        writer.join()
        with cluster.connect() as connection:
            found = {row[0] for row in connection.execute("SELECT id FROM t")}
            assert found >= acknowledged
            assert connection.execute("SELECT n FROM n").fetchall() == [(len(found),)]


def test_writes_fail_while_the_broker_is_away_and_reads_go_on(own_broker: Broker, tmp_path: Path) -> None:
    node = ServerProcess(tmp_path / "data", *on_kafka(own_broker, "away"))
    node.start()
    try:
        with node.connect() as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
            connection.execute("INSERT INTO t VALUES (1)")
            own_broker.stop(force=True)
            for _ in range(2):
                with pytest.raises(psycopg.Error, match="kafka at") as failed:
                    connection.execute("INSERT INTO t VALUES (2)")
                assert failed.value.sqlstate == "08006"
                assert connection.execute("SELECT id FROM t").fetchall() == [(1,)]
            own_broker.start()
            write = "INSERT INTO t VALUES (3)"
            succeeds(lambda: connection.execute(write))
            assert connection.execute("SELECT id FROM t ORDER BY 1").fetchall() == [(1,), (3,)]
        node.kill()
        shutil.rmtree(node.data)
        node.start()
        with node.connect() as connection:
            assert connection.execute("SELECT id FROM t ORDER BY 1").fetchall() == [(1,), (3,)]
    finally:
        node.kill()


def test_lost_topics_are_refused_by_name(broker: Broker, topic: str, tmp_path: Path) -> None:
    node = ServerProcess(tmp_path / "data", *on_kafka(broker, topic))
    node.start()
    with node.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
        connection.execute("INSERT INTO t VALUES (1)")
    node.kill()
    names = broker.admin().list_topics(timeout=10).topics
    [rows] = [name for name in names if name.startswith(f"{topic}-r") and name.endswith("-changelog")]
    broker.delete(rows)
    with pytest.raises(AssertionError, match=f"lost topic {rows}: what was in it is nowhere else"):
        node.start()
    broker.create(rows)
    with pytest.raises(AssertionError, match=f"topic {rows} was deleted and made anew: its rows are lost"):
        node.start()
    broker.delete(f"{topic}-epochs-changelog")
    with pytest.raises(AssertionError, match=f"lost topic {topic}-epochs-changelog, but"):
        node.start()


def test_compaction_keeps_the_last_word_on_each_key(broker: Broker, topic: str, tmp_path: Path) -> None:
    node = ServerProcess(tmp_path / "data", *on_kafka(broker, topic))
    node.start()
    with node.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
        connection.execute(
            "CREATE MATERIALIZED VIEW v AS SELECT id % 3 AS account, sum(n) AS balance FROM t GROUP BY id % 3"
        )
        connection.execute("INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i")
        changelogs = [n for n in broker.admin().list_topics(timeout=10).topics if n.startswith(f"{topic}-")]
        compact_soon(broker, changelogs)
        connection.execute("DELETE FROM t WHERE id <= 50")
        for _ in range(40):
            connection.execute("UPDATE t SET n = n + 1")
            time.sleep(0.05)
        [(oid,)] = connection.execute("SELECT 't'::regclass::oid").fetchall()
        [rows] = [name for name in changelogs if name.startswith(f"{topic}-r{oid}.")]
        written = 100 + 50 + 40 * 50
        deadline = time.monotonic() + 60
        while records(broker, rows) > written / 2:
            assert time.monotonic() < deadline, "nothing was compacted"
            connection.execute("UPDATE t SET n = n WHERE id = 51")
            time.sleep(0.3)
        expected = connection.execute("SELECT * FROM t ORDER BY 1").fetchall()
        balances = connection.execute("SELECT * FROM v ORDER BY 1").fetchall()
    assert expected == [(i, 40) for i in range(51, 101)]
    for lost in (False, True):
        node.kill()
        if lost:
            shutil.rmtree(node.data)
        node.start()
        with node.connect() as connection:
            assert connection.execute("SELECT * FROM t ORDER BY 1").fetchall() == expected
            assert connection.execute("SELECT * FROM v ORDER BY 1").fetchall() == balances
    node.stop()


def compact_soon(broker: Broker, topics: list[str]) -> None:
    """Lets the broker compact these topics at once, and forget tombstones at once."""
    soon = {
        "min.compaction.lag.ms": "0",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "100",
    }
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in soon.items()
    ]
    wanted = [ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries) for name in topics]
    admin = broker.admin()
    for future in admin.incremental_alter_configs(wanted).values():
        future.result(20)


def records(broker: Broker, topic: str) -> int:
    """How many records the topic has."""
    from .waiting import committed_records

    return len(committed_records(broker, topic))


def succeeds(attempt: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            attempt()  # pyright: ignore[reportCallIssue]
            return
        except psycopg.Error:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def wait_for_write(cluster: ClusterProcesses, statement: str, but_not: int) -> None:
    """Writes by whichever of the other nodes takes it."""
    [other] = [node for node in cluster.nodes.values() if node.fixed_port != but_not]
    uri = f"host=127.0.0.1 port={other.fixed_port} dbname=millpond user=tester"
    succeeds(lambda: psycopg.connect(uri, autocommit=True).execute(statement))


def write_on(cluster: ClusterProcesses, acknowledged: set[int], stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        with contextlib.suppress(psycopg.Error), psycopg.connect(cluster.uri, autocommit=True) as connection:
            while not stop.is_set():
                number += 1
                connection.execute("INSERT INTO t VALUES (%s)", (number,))
                acknowledged.add(number)
        time.sleep(0.01)
