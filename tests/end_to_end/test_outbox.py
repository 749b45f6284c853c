"""The bound of a sink's outbox: what feeds it is refused while its target is away, and nothing is lost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from .server_process import ServerProcess

ROWS_MAX = 100
WAIT_S = 60


@pytest.fixture
def bounded(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "data", "--sink-outbox-rows-max", str(ROWS_MAX))
    process.start()
    yield process
    process.stop()


def sink(connection: psycopg.Connection) -> tuple[str, int]:
    found = connection.execute("SELECT state, pending FROM millpond.sinks WHERE name = 'f'").fetchone()
    assert found is not None
    return found


def until(connection: psycopg.Connection, wanted: tuple[str, int]) -> None:
    deadline = time.monotonic() + WAIT_S
    while sink(connection) != wanted:
        assert time.monotonic() < deadline, sink(connection)
        time.sleep(0.05)


def test_i7_a_full_outbox_holds_up_what_feeds_it(bounded: ServerProcess, tmp_path: Path) -> None:
    away = tmp_path / "out"
    away.write_text("in the way of the sink's directory")
    with bounded.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
        connection.execute("CREATE TABLE other (id int PRIMARY KEY)")
        connection.execute("CREATE MATERIALIZED VIEW w AS SELECT id, v FROM t")
        connection.execute("CREATE TABLE fed (id int PRIMARY KEY, v int)")
        connection.execute("CREATE SINK between INTO fed AS SELECT id, v FROM w")
        source = "WITH (connector = 'datagen', datagen.rows.per.second = '1000')"
        connection.execute(f"CREATE SOURCE s (id int) {source}")
        connection.execute("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM s")
        options = f"WITH (connector = 'file', path = '{away}', force_append_only = 'true')"
        connection.execute(f"CREATE SINK f FROM fed {options} FORMAT PLAIN ENCODE JSON")
        # The write that reaches the bound is taken.
        connection.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 150) i")
        until(connection, ("stalled", 150))
        for write in ("INSERT INTO t VALUES (200, 1)", "UPDATE t SET v = 0 WHERE id = 1", "DELETE FROM fed"):
            with pytest.raises(psycopg.Error, match='the outbox of sink "f" is full') as refused:
                connection.execute(write)
            assert refused.value.sqlstate == "53400"
        with pytest.raises(psycopg.Error, match="is full"), connection.transaction():
            connection.execute("INSERT INTO other VALUES (1)")
            connection.execute("INSERT INTO t VALUES (201, 1)")
        # What does not lead to the sink goes on.
        connection.execute("INSERT INTO other VALUES (1)")
        before = connection.execute("SELECT n FROM n").fetchall()
        deadline = time.monotonic() + WAIT_S
        while connection.execute("SELECT n FROM n").fetchall() == before:
            assert time.monotonic() < deadline
        away.unlink()
        until(connection, ("running", 0))
        connection.execute("INSERT INTO t VALUES (200, 1)")
        until(connection, ("running", 0))
    lines = [line for f in away.glob("*.jsonl") for line in f.read_text().splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == [*range(1, 151), 200]


def test_i7_writes_wait_for_a_slow_sink(bounded: ServerProcess, tmp_path: Path) -> None:
    """Four writers feed a sink faster than its outbox may grow; all of it comes out."""
    with bounded.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
        path = f"WITH (connector = 'file', path = '{tmp_path}/out', force_append_only = 'true')"
        connection.execute("CREATE MATERIALIZED VIEW w AS SELECT id FROM t")
        connection.execute(f"CREATE SINK f FROM w {path} FORMAT PLAIN ENCODE JSON")

    def write(first: int) -> None:
        with bounded.connect() as connection:
            for number in range(10):
                start = first + number * 100
                connection.execute(f"INSERT INTO t SELECT i FROM generate_series({start}, {start + 99}) i")

    writers = [threading.Thread(target=write, args=(n * 1000,)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with bounded.connect() as connection:
        until(connection, ("running", 0))
    lines = [line for f in (tmp_path / "out").glob("*.jsonl") for line in f.read_text().splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == list(range(4000))
