"""A store that breaks under a running server is made anew from the changelog, while another server serves."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from .cluster_processes import ClusterProcesses, Node

WAIT_S = 90
STATEMENTS = (
    "CREATE TABLE t (id int PRIMARY KEY, k int, v text)",
    "CREATE MATERIALIZED VIEW n AS SELECT k, count(*) AS n FROM t GROUP BY k",
    "INSERT INTO t SELECT i, i % 10, repeat('x', 50) FROM generate_series(1, 5000) i",
)


def delete_directory(data: Path) -> None:
    shutil.rmtree(data)


def spoil_store(data: Path) -> None:
    for file in (data / "state").iterdir():
        if file.is_file():
            file.write_bytes(b"\xa5" * file.stat().st_size)


@pytest.fixture
def cluster(tmp_path: Path) -> ClusterProcesses:
    return ClusterProcesses(tmp_path, "ab", "--checkpoint-interval-s", "1")


@pytest.mark.parametrize("harm", [delete_directory, spoil_store])
@pytest.mark.parametrize("whose", ["standby", "primary"])
def test_a_lost_store_is_made_anew(
    cluster: ClusterProcesses, whose: str, harm: Callable[[Path], None]
) -> None:
    made_anew(cluster, whose, harm)


def made_anew(cluster: ClusterProcesses, whose: str, harm: Callable[[Path], None]) -> None:
    """Harms the store of one, writes until it comes back, and compares what it has then."""
    with cluster:
        with cluster.connect() as connection:
            for statement in STATEMENTS:
                connection.execute(statement)
            ready(connection)
        hurt = cluster.nodes["a" if whose == "primary" else "b"]
        time.sleep(1.5)
        harm(hurt.data)
        number = 10_000
        deadline = time.monotonic() + WAIT_S
        while "coming back as a standby" not in hurt.errors():
            assert time.monotonic() < deadline, hurt.errors()
            number += 1
            write(cluster, number)
            time.sleep(0.02)
        hurt.await_ready()
        with cluster.connect() as connection:
            ready(connection)
            number += 1
            connection.execute("INSERT INTO t VALUES (%s, 1, 'last')", (number,))
            wanted = connection.execute("SELECT count(*), max(id) FROM t").fetchall()
        up_to_date(hurt)
        with reader(hurt) as connection:
            assert connection.execute("SELECT count(*), max(id) FROM t").fetchall() == wanted
            view = connection.execute("SELECT k, n FROM n ORDER BY k").fetchall()
            query = "SELECT k, count(*) FROM t GROUP BY k ORDER BY k"
            assert view == connection.execute(query).fetchall()
        assert (hurt.data / "state" / "CURRENT").is_file()


def up_to_date(node: Node) -> None:
    """Waits until a node has all that is committed. On a slow machine its role may change meanwhile."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            with reader(node) as connection:
                connection.execute("FLUSH")
                return
        except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction):
            assert time.monotonic() < deadline, node.errors()
            time.sleep(0.1)


def write(cluster: ClusterProcesses, number: int) -> None:
    """An INSERT that is taken, by whoever is the primary."""
    while True:
        try:
            with cluster.connect() as connection:
                connection.execute("INSERT INTO t VALUES (%s, 1, 'y')", (number,))
                return
        except psycopg.errors.UniqueViolation:
            return  # The answer to it had been lost.
        except psycopg.OperationalError:
            time.sleep(0.05)


def ready(connection: psycopg.Connection) -> None:
    """Waits until there is a standby."""
    deadline = time.monotonic() + WAIT_S
    query = "SELECT count(*) FROM millpond.replicas WHERE role = 'standby' AND state = 'running'"
    while connection.execute(query).fetchall() != [(1,)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def reader(node: Node) -> psycopg.Connection:
    return psycopg.connect(
        f"host=127.0.0.1 port={node.fixed_port} dbname=millpond user=tester", autocommit=True
    )
