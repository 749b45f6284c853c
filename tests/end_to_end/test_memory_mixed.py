"""Ten minutes of everything at once under a small budget: the resident set stays within a quarter more.

A join, a GROUP BY of more than a million keys, random changes, scans and aggregates of all rows, and clients
that ask for a large view and do not read it. MILLPOND_MEMORY_SECONDS sets another length.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from .server_process import ServerProcess
from .test_memory import Watch

BUDGET_MB = 640
SECONDS = float(os.environ.get("MILLPOND_MEMORY_SECONDS", "600"))
KEYS = 1_500_000
ROWS_MAX = 4_000_000
BATCH = 20_000
SLOW_READERS = 5
STUCK_S = 20.0

SCHEMA = (
    "CREATE TABLE entry (id bigint PRIMARY KEY, key bigint, amount int, note text)",
    "CREATE TABLE place (key bigint PRIMARY KEY, name text)",
    "CREATE MATERIALIZED VIEW by_key AS SELECT key, count(*) AS n, sum(amount) AS s FROM entry GROUP BY key",
    "CREATE MATERIALIZED VIEW named AS SELECT e.id, p.name FROM entry e JOIN place p ON p.key = e.key",
    f"INSERT INTO place SELECT i, 'place ' || i FROM generate_series(0, {KEYS - 1}, 7) i",
)
SCANS = (
    "SELECT count(*), sum(length(note)) FROM entry",
    "SELECT amount, count(*) FROM entry GROUP BY amount",
    "SELECT n, count(*), sum(s) FROM by_key GROUP BY n",
    "SELECT * FROM by_key ORDER BY n DESC, key LIMIT 10",
    "SELECT count(*) FROM named WHERE name LIKE '%7'",
)


class Load:
    """Clients of one server, each a thread, until `stop`; the first error ends all."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.stop = threading.Event()
        self.errors: list[BaseException] = []
        self.done: dict[str, int] = {}

    def client(self, name: str, work: Callable[[psycopg.Connection, random.Random], None]) -> None:
        def run() -> None:
            try:
                with self.server.connect() as connection:
                    rng = random.Random(name)
                    while not self.stop.is_set():
                        work(connection, rng)
                        self.done[name] = self.done.get(name, 0) + 1
            except BaseException as error:
                self.errors.append(error)
                self.stop.set()

        threading.Thread(target=run, name=name, daemon=True).start()

    def stick(self, connection: psycopg.Connection, rng: random.Random) -> None:
        """Asks for all of a large view and reads nothing for a while."""
        stuck = self.server.connect()
        stuck.pgconn.send_query(rng.choice([b"SELECT * FROM by_key", b"SELECT * FROM named"]))
        _ = self.stop.wait(STUCK_S * rng.uniform(0.5, 1.5))
        stuck.close()


def change(connection: psycopg.Connection, rng: random.Random) -> None:
    """A batch comes, at a place that moves on; some rows at random change, some go."""
    low = rng.randrange(ROWS_MAX // BATCH) * BATCH
    connection.execute(
        f"INSERT INTO entry SELECT i, i * 7919::bigint % {KEYS}, i % 1000, 'the note of ' || i "
        f"FROM generate_series({low}, {low + BATCH - 1}) i "
        "ON CONFLICT (id) DO UPDATE SET amount = entry.amount + 1"
    )
    start = rng.randrange(ROWS_MAX)
    connection.execute(f"UPDATE entry SET key = key + 1 WHERE id BETWEEN {start} AND {start + 500}")
    connection.execute(f"DELETE FROM entry WHERE id BETWEEN {start + 200} AND {start + 400}")


def scan(connection: psycopg.Connection, rng: random.Random) -> None:
    connection.execute(rng.choice(SCANS)).fetchall()


def live(folder: Path, seconds: float) -> Watch:
    """A loaded server for so long; its views are right at the end."""
    server = ServerProcess(folder, "--memory", str(BUDGET_MB))
    server.start()
    with server.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)
    watch, load = Watch(server, 0.2), Load(server)
    watch.start()
    load.client("change", change)
    load.client("scan", scan)
    for number in range(SLOW_READERS):
        load.client(f"stuck {number}", load.stick)
    until = time.monotonic() + seconds
    while time.monotonic() < until and not load.stop.wait(1.0):
        pass
    load.stop.set()
    watch.stop.set()
    watch.join()
    assert not load.errors, (load.errors, server.errors()[-2000:])
    with server.connect() as connection:
        sums = "SELECT count(*), sum(n), sum(s) FROM by_key"
        truth = "SELECT count(DISTINCT key), count(*), sum(amount) FROM entry"
        assert connection.execute(sums).fetchone() == connection.execute(truth).fetchone()
    assert server.stop() == 0
    print(f"{watch.most >> 20} MB at most, {load.done}")
    return watch


@pytest.mark.slow
def test_i7_ten_minutes_of_everything(tmp_path: Path) -> None:
    # The first server compiles what is not compiled yet, which takes memory of its own.
    _ = live(tmp_path / "first", 10)
    watch = live(tmp_path / "data", SECONDS)
    assert watch.most < (BUDGET_MB << 20) * 1.25, f"{watch.most >> 20} MB"
