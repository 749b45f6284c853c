"""A standby that was away for longer than the log reaches back, over processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from .cluster_processes import ClusterProcesses, Node, eventually

WAIT_S = 120
STATEMENTS = (
    "CREATE TABLE t (id int PRIMARY KEY, k int, v text)",
    "CREATE TABLE goes (id int PRIMARY KEY)",
    "CREATE MATERIALIZED VIEW n AS SELECT k, count(*) AS n, max(v) AS v FROM t GROUP BY k",
    "INSERT INTO t SELECT i, i % 10, repeat('x', 100) FROM generate_series(1, 3000) i",
    "INSERT INTO goes VALUES (1)",
)
MEANWHILE = (
    "DROP TABLE goes",
    "CREATE TABLE came (id int PRIMARY KEY)",
    "INSERT INTO came SELECT i FROM generate_series(1, 100) i",
    "DELETE FROM t WHERE id % 3 = 0",
)
QUERIES = (
    "SELECT id, k, v FROM t ORDER BY id",
    "SELECT k, n, v FROM n ORDER BY k",
    "SELECT count(*) FROM came",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
)


def comes_back_from_behind(cluster: ClusterProcesses, epoch_left: Callable[[], int]) -> None:
    """Kills the standby, goes on until the log lacks what follows on it, starts it, lets it take over.

    `epoch_left`: the first epoch the log can give by itself.
    """
    primary, standby = cluster.nodes["a"], cluster.nodes["b"]
    with primary.connect() as connection:
        for statement in STATEMENTS:
            connection.execute(statement)
        with reader(standby) as reading:
            reading.execute("FLUSH")
            [(_, epoch, *_)] = reading.execute("SHOW lag").fetchall()
        time.sleep(1.5)
        standby.kill()
        for statement in MEANWHILE:
            connection.execute(statement)
        deadline, number = time.monotonic() + WAIT_S, 0
        while epoch_left() <= epoch + 1:
            assert time.monotonic() < deadline, "the log still has what the standby lacks"
            number += 1
            connection.execute("UPDATE t SET v = %s WHERE id %% 3 = 1", (f"{number} " + "y" * 200,))
            time.sleep(0.02)
        expected = answers(connection)
    standby.start()
    with reader(standby) as connection:
        connection.execute("FLUSH")
        assert answers(connection) == expected
    primary.kill()
    with cluster.connect() as connection:
        assert cluster.node_of(connection) is standby
        assert answers(connection) == expected
        connection.execute("INSERT INTO t VALUES (1000000, 11, 'after')")
        assert connection.execute("SELECT n, v FROM n WHERE k = 11").fetchall() == [(1, "after")]
        view = connection.execute("SELECT k, n, v FROM n ORDER BY k").fetchall()
        query = "SELECT k, count(*), max(v) FROM t GROUP BY k ORDER BY k"
        assert connection.execute(query).fetchall() == view


def answers(connection: psycopg.Connection) -> list[list[tuple[object, ...]]]:
    return [connection.execute(query).fetchall() for query in QUERIES]


def reader(node: Node) -> psycopg.Connection:
    uri = f"host=127.0.0.1 port={node.fixed_port} dbname=millpond user=tester"
    return eventually(lambda: psycopg.connect(uri, autocommit=True), psycopg.OperationalError)


def test_a_standby_behind_the_logs_base_is_made_from_it(tmp_path: Path) -> None:
    options = ("--checkpoint-interval-s", "1", "--segment-kb", "64", "--compact-kb", "64")
    with ClusterProcesses(tmp_path, "ab", *options) as cluster:
        there: set[str] = set()

        def epoch_left() -> int:
            # Segments there were when the standby went: once they are gone, the log begins with a base.
            files = {path.name for path in cluster.log.iterdir() if path.suffix == ".seg"}
            there.update(files if not there else ())
            based = any(path.suffix == ".base" for path in cluster.log.iterdir())
            return 0 if there & files or not based else 1 << 60

        comes_back_from_behind(cluster, epoch_left)
