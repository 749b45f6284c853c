"""Standbys as processes: they follow, answer reads, refuse writes and take over, however the primary ends."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from ..psql_program import PSQL
from .cluster_processes import ClusterProcesses, eventually
from .test_kill import EQUAL, SCHEMA, Load, check


def prepare(cluster: ClusterProcesses) -> None:
    with cluster.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)


def row(connection: psycopg.Connection, query: str) -> tuple:
    found = connection.execute(query).fetchone()
    assert found is not None
    return found


def fails(connection: psycopg.Connection, query: str) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(query)
    return caught.value.diag


def _not_behind(connection: psycopg.Connection) -> None:
    assert row(connection, "SHOW lag")[2:4] == (0, 0)


def test_a_standby_follows_answers_and_refuses(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, "ab") as cluster:
        primary, standby = cluster.nodes["a"].connect(), cluster.nodes["b"].connect()
        prepare(cluster)
        primary.execute("INSERT INTO entry SELECT i, i % 7, i % 100 FROM generate_series(1, 5000) i")
        standby.execute("FLUSH")
        assert row(standby, "SELECT count(*), sum(amount) FROM entry") == (5000, 247500)
        for name, query in EQUAL.items():
            with standby.transaction():
                view = sorted(map(repr, standby.execute(f"SELECT * FROM {name}").fetchall()))
                assert view == sorted(map(repr, standby.execute(query).fetchall())), name
        # What it says of itself.
        assert standby.info.parameter_status("in_hot_standby") == "on"
        assert row(standby, "SELECT pg_is_in_recovery()") == (True,)
        assert row(standby, "SHOW transaction_read_only") == ("on",)
        assert row(primary, "SELECT pg_is_in_recovery()") == (False,)
        assert row(standby, "SHOW lag")[0] == "standby"
        # The source's epochs go on until its last event: only then is there an end to be at.
        eventually(lambda: _not_behind(standby), AssertionError)
        # Writes of every kind are refused, with the address of the primary.
        for write in (
            "INSERT INTO entry VALUES (0, 0, 0)",
            "DELETE FROM entry",
            "TRUNCATE entry",
            "CREATE TABLE t (a int)",
            "CREATE MATERIALIZED VIEW v AS SELECT 1 AS a",
            "DROP TABLE entry CASCADE",
        ):
            refused = fails(standby, write)
            assert refused.sqlstate == "25006", write
            assert refused.message_hint == f"The primary is at 127.0.0.1:{cluster.nodes['a'].port}."
        # Definitions follow too: tables change their shape, views come and go.
        primary.execute("ALTER TABLE entry ADD COLUMN note text DEFAULT 'none'")
        primary.execute(
            "CREATE MATERIALIZED VIEW notes AS SELECT note, count(*) AS n FROM entry GROUP BY note"
        )
        primary.execute("DROP MATERIALIZED VIEW top")
        standby.execute("FLUSH")
        assert row(standby, "SELECT * FROM notes") == ("none", 5000)
        assert fails(standby, "SELECT * FROM top").sqlstate == "42P01"
        names = standby.execute("SELECT name, role, state FROM millpond.replicas ORDER BY name").fetchall()
        assert names == [("a", "primary", "running"), ("b", "standby", "running")]
        # A standby that is killed comes back with what it had, and with what happened meanwhile.
        cluster.nodes["b"].kill()
        primary.execute("INSERT INTO entry VALUES (0, 0, 0, 'back')")
        cluster.nodes["b"].start()
        again = cluster.nodes["b"].connect()
        again.execute("FLUSH")
        assert row(again, "SELECT sum(n), count(*) FROM notes") == (5001, 2)


def test_a_standby_that_is_too_stale_names_a_fresher_one(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, "ab", "--lease-ms", "20000") as cluster:
        standby = cluster.nodes["b"].connect()
        prepare(cluster)
        standby.execute("FLUSH")
        standby.execute("SET max_staleness = '5s'")
        standby.execute("SELECT * FROM entry")
        standby.execute("SET max_staleness = '1us'")
        assert row(standby, "SHOW max_staleness") == ("0",)
        standby.execute("SELECT * FROM entry")
        standby.execute("SET max_staleness = '40ms'")
        # What it cannot read it does not follow: its lag grows.
        (cluster.log / "END").rename(cluster.log / "END.away")
        stale = eventually(lambda: _refused(standby), AssertionError)
        (cluster.log / "END.away").rename(cluster.log / "END")
        assert stale.sqlstate == "40001"
        assert stale.message_hint == f"A fresher server is at 127.0.0.1:{cluster.nodes['a'].port}."


def _refused(connection: psycopg.Connection) -> psycopg.errors.Diagnostic:
    try:
        connection.execute("SELECT * FROM entry")
    except psycopg.Error as error:
        return error.diag
    raise AssertionError


def kill_primaries(folder: Path, kills: int, seed: int) -> list[float]:
    """Kills the primary again and again under load; the seconds without a committed write each time."""
    print("seed", seed)
    chance = random.Random(seed)
    gaps: list[float] = []
    with ClusterProcesses(folder, "ab") as cluster:
        prepare(cluster)
        loads = [Load(cluster, client) for client in (1, 2)]  # pyright: ignore[reportArgumentType]
        for load in loads:
            load.start()
        with cluster.connect("any") as idle:
            assert idle.info.parameter_status("in_hot_standby") in ("on", "off")
        for _ in range(kills):
            time.sleep(chance.uniform(0.05, 1.0))
            primary = cluster.primary()
            written = [len(load.acknowledged) for load in loads]
            primary.kill()
            killed = time.monotonic()
            while any(len(load.acknowledged) < n + 2 for load, n in zip(loads, written, strict=True)):
                time.sleep(0.002)
                assert time.monotonic() < killed + 60, cluster.nodes["b"].errors()
            gaps.append(time.monotonic() - killed)
            primary.start()
            check(cluster, loads)  # pyright: ignore[reportArgumentType]
        for load in loads:
            load.stop.set()
        for load in loads:
            load.join(10)
        check(cluster, loads)  # pyright: ignore[reportArgumentType]
        # The standby has the same.
        with cluster.connect("prefer-standby") as standby:
            standby.execute("FLUSH")
            found = dict(standby.execute("SELECT id, amount FROM entry").fetchall())
        assert all(found[i] == a for load in loads for i, a in load.acknowledged.items())
    return gaps


def test_i6_takeover_after_kill_9_under_load(tmp_path: Path) -> None:
    print(kill_primaries(tmp_path, 3, random.randrange(1 << 30)))


@pytest.mark.slow
def test_i6_takeover_forty_times(tmp_path: Path) -> None:
    gaps = sorted(kill_primaries(tmp_path, 40, random.randrange(1 << 30)))
    print(f"p50 {gaps[20]:.2f} s, worst {gaps[-1]:.2f} s")


def test_a_stopped_primary_is_replaced_and_comes_back_as_a_standby(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, "ab", "--lease-ms", "1000") as cluster:
        prepare(cluster)
        a, b = cluster.nodes["a"], cluster.nodes["b"]
        loads = [Load(cluster, client) for client in (1, 2)]  # pyright: ignore[reportArgumentType]
        for load in loads:
            load.start()
        zombie = a.connect()
        time.sleep(0.5)
        a.signal(signal.SIGSTOP)
        with b.connect() as connection:
            eventually(
                lambda: connection.execute("INSERT INTO entry VALUES (-1, 0, 0)"),
                psycopg.errors.ReadOnlySqlTransaction,
            )
            assert connection.info.parameter_status("in_hot_standby") == "off"
        time.sleep(0.3)
        a.signal(signal.SIGCONT)
        loads[0].unknown.add(-1)
        # Whoever asks it first gets an error and nothing old, and nothing of it is written.
        assert fails(zombie, "SELECT count(*) FROM entry").sqlstate in ("57P01", None)
        a.await_ready()
        for load in loads:
            load.stop.set()
        for load in loads:
            load.join(10)
        check(cluster, loads)  # pyright: ignore[reportArgumentType]
        with a.connect() as connection:
            connection.execute("FLUSH")
            assert row(connection, "SELECT pg_is_in_recovery(), count(*) FROM entry WHERE id = -1") == (
                True,
                1,
            )


def test_planned_hand_over(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, "ab") as cluster:
        prepare(cluster)
        a, b = cluster.nodes["a"], cluster.nodes["b"]
        connection = b.connect()
        assert fails(connection, "ALTER SYSTEM FAILOVER").sqlstate == "42809"
        gaps = []
        for number, (old, new) in enumerate(((a, b), (b, a))):
            follower, leader = new.connect(), old.connect()
            follower.execute("FLUSH")
            begun = time.monotonic()
            if number == 0:
                leader.execute("ALTER SYSTEM FAILOVER")
            else:
                old.signal(signal.SIGTERM)
            eventually(
                lambda to=follower, n=number: to.execute("INSERT INTO entry VALUES (%s, 0, 0)", (n,)),
                psycopg.errors.ReadOnlySqlTransaction,
            )
            gaps.append(time.monotonic() - begun)
            if number == 0:
                old.await_ready()
        print("hand-over", gaps)
        assert row(a.connect(), "SELECT count(*) FROM entry") == (2,)
        assert b.ended() == 0


def test_libpq_finds_the_right_node(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, "abc") as cluster:
        a = cluster.nodes["a"]

        def found(wanted: str) -> str:
            with cluster.connect(wanted) as connection:
                return cluster.node_of(connection).name

        eventually(lambda: _is(found("prefer-standby") in "bc"), AssertionError)
        assert found("read-write") == found("primary") == "a"
        assert found("standby") in "bc" and found("read-only") in "bc" and found("any") == "a"
        assert psql(cluster, "read-write", "SHOW transaction_read_only") == "off"
        assert psql(cluster, "prefer-standby", "SHOW transaction_read_only") == "on"
        a.kill()
        successor = found("read-write")
        assert psql(cluster, "read-write", "SELECT pg_is_in_recovery()") == "f"
        assert psql(cluster, "prefer-standby", "SELECT pg_is_in_recovery()") == "t"
        assert successor in "bc" and found("any") in "bc"
        assert found("prefer-standby") in {"b", "c"} - {successor}
        with cluster.connect("prefer-standby") as standby, cluster.connect() as primary:
            primary.execute("CREATE TABLE t (a int)")
            standby.execute("FLUSH")
            assert row(standby, "SELECT count(*) FROM t") == (0,)


def psql(cluster: ClusterProcesses, wanted: str, query: str) -> str:
    """What psql finds with all hosts."""
    done = subprocess.run(
        [PSQL, "-X", "-A", "-t", "-c", query, cluster.hosts(wanted)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _is(truth: bool) -> None:
    assert truth


def test_a_drill_loses_nothing() -> None:
    wanted = ("--kills", "1", "--handovers", "2", "--warmups", "1", "--rows", "1000", "--json")
    command = [sys.executable, "-m", "millpond.server", "drill", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    figures = json.loads(done.stdout)
    assert done.returncode == 0 and figures["wrong"] == [] and figures["acknowledged"] > 0, done.stderr
