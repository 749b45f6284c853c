"""State larger than memory: the budget is kept, answers stay right, whatever is killed."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from millpond.storage.budget import resident_bytes

from .cluster_processes import ClusterProcesses, eventually
from .server_process import ServerProcess
from .test_kill import kill_again_and_again

KEYS = 200_000
BATCH = 50_000

STANDBY_MB = 400
WIDE_ROWS = 300_000

SCHEMA = (
    "CREATE TABLE entry (id bigint PRIMARY KEY, key bigint, amount int, note text)",
    "CREATE TABLE place (key bigint PRIMARY KEY, name text)",
    "CREATE MATERIALIZED VIEW by_key AS SELECT key, count(*) AS n, sum(amount) AS s FROM entry GROUP BY key",
    "CREATE MATERIALIZED VIEW named AS SELECT e.id, p.name FROM entry e JOIN place p ON p.key = e.key",
    f"INSERT INTO place SELECT i, 'place ' || i FROM generate_series(0, {KEYS - 1}, 7) i",
)
EQUAL = {
    "by_key": "SELECT key, count(*) AS n, sum(amount) AS s FROM entry GROUP BY key",
    "named": "SELECT e.id, p.name FROM entry e JOIN place p ON p.key = e.key",
}


def insert(connection: psycopg.Connection, batch: int) -> None:
    low = batch * BATCH
    connection.execute(
        f"INSERT INTO entry SELECT i, i * 7919::bigint % {KEYS}, i % 1000, 'the note of ' || i "
        f"FROM generate_series({low}, {low + BATCH - 1}) i"
    )


def check(connection: psycopg.Connection, rows: int) -> None:
    assert connection.execute("SELECT count(*), count(DISTINCT id) FROM entry").fetchone() == (rows, rows)
    for name, query in EQUAL.items():
        more = connection.execute(f"SELECT * FROM {name} EXCEPT ALL {query} LIMIT 1").fetchall()
        counts = connection.execute(
            f"SELECT (SELECT count(*) FROM {name}), (SELECT count(*) FROM ({query}) q)"
        )
        assert more == [] and len(set(counts.fetchall()[0])) == 1, name


def evicted_share(connection: psycopg.Connection) -> float:
    """Of all rows of tables and views, those that are in the store only."""
    sizes = connection.execute(
        "SELECT sum(evicted), sum(rows) FROM (SELECT rows, evicted FROM millpond.tables UNION ALL "
        "SELECT rows, evicted FROM millpond.views) t"
    ).fetchone()
    assert sizes is not None
    return float(sizes[0] / sizes[1])


class Watch(threading.Thread):
    """The most memory that the server had resident."""

    def __init__(self, server: ServerProcess, every_s: float = 0.02) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.every_s = every_s
        self.stop = threading.Event()
        self.most = 0

    def run(self) -> None:
        while not self.stop.wait(self.every_s):
            self.most = max(self.most, resident_bytes(self.server.pid))


def live(folder: Path, budget_mb: int, batches: int) -> int:
    """Loads, changes, reads more than fits; kills, reads again. Returns the most bytes that were resident."""
    server = ServerProcess(folder, "--memory", str(budget_mb))
    server.start()
    with server.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        watch = Watch(server)
        watch.start()
        shares: list[float] = []
        for batch in range(batches):
            insert(connection, batch)
            shares.append(evicted_share(connection))
        assert max(shares) > 0.2, shares
        # What one statement reads for itself is not part of the budget.
        watch.stop.set()
        watch.join()
        connection.execute("DELETE FROM entry WHERE id % 5 = 0 AND id < 100000")
        connection.execute("UPDATE entry SET key = key + 1 WHERE id % 50 = 1 AND id < 200000")
        rows = batches * BATCH - 20_000
        check(connection, rows)
        for key in random.Random(5).sample(range(KEYS), 20):
            view = connection.execute("SELECT n, s FROM by_key WHERE key = %s", (key,)).fetchall()
            truth = "SELECT count(*), sum(amount) FROM entry WHERE key = %s GROUP BY key"
            assert view == connection.execute(truth, (key,)).fetchall()
    server.kill()
    server.start()
    with server.connect() as connection:
        check(connection, rows)
    assert server.stop() == 0
    command = [sys.executable, "-m", "millpond.server", "check", str(folder)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return watch.most


def test_i7_state_beyond_the_budget_is_right(tmp_path: Path) -> None:
    _ = live(tmp_path / "data", 300, 6)


@pytest.mark.slow
def test_i7_the_budget_is_kept(tmp_path: Path) -> None:
    # The first server compiles what is not compiled yet, which takes memory of its own.
    _ = live(tmp_path / "first", 300, 6)
    most = live(tmp_path / "data", 640, 40)
    assert most < (640 << 20) * 1.25, f"{most >> 20} MB"


def test_i6_kills_while_everything_is_in_the_store(tmp_path: Path) -> None:
    kill_again_and_again(
        tmp_path, 4, random.randrange(1 << 30), "--memory", "1", "--checkpoint-interval-s", "1"
    )


def test_i7_a_standby_starts_within_its_budget(tmp_path: Path) -> None:
    """Its first start takes the store from the log; a later one has it. Neither reads what does not fit."""
    nodes = ClusterProcesses(tmp_path, "ab")
    primary, standby = nodes.nodes["a"], nodes.nodes["b"]
    standby._options = ("--memory", str(STANDBY_MB))
    primary.kind = "serve"
    primary.start()
    with closing(nodes), primary.connect() as connection:
        connection.execute("CREATE TABLE wide (id bigint PRIMARY KEY, key int, note text)")
        connection.execute(
            "CREATE MATERIALIZED VIEW by_key AS SELECT key, count(*) AS n, max(id) AS m FROM wide "
            "GROUP BY key"
        )
        for low in range(0, WIDE_ROWS, BATCH):
            connection.execute(
                f"INSERT INTO wide SELECT g, g % 1000, repeat('x', 400) FROM "
                f"generate_series({low}, {low + BATCH - 1}) g"
            )
        for start in range(2):
            standby.start()
            watch = Watch(standby)
            watch.start()
            with standby.connect() as reader:
                connection.execute(f"UPDATE wide SET key = key + 1 WHERE id = {start}")
                connection.execute(f"DELETE FROM wide WHERE id = {WIDE_ROWS - 1 - start}")
                eventually(partial(assert_count, reader, WIDE_ROWS - 1 - start), AssertionError)
                same = "SELECT sum(n), max(m) FROM by_key", "SELECT count(*), max(id) FROM wide"
                assert reader.execute(same[0]).fetchone() == reader.execute(same[1]).fetchone()
                point = f"SELECT key FROM wide WHERE id = {start}"
                assert reader.execute(point).fetchone() == (start + 1,)
                assert evicted_share(reader) > 0.3
            watch.stop.set()
            watch.join()
            assert watch.most < STANDBY_MB * 1.25 * (1 << 20), watch.most >> 20
            assert standby.stop() == 0
        assert primary.stop() == 0


def assert_count(connection: psycopg.Connection, wanted: int) -> None:
    assert connection.execute("SELECT count(*) FROM wide").fetchone() == (wanted,)
