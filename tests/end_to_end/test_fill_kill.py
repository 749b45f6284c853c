"""kill -9 in the middle of filling a view: the next server goes on where the last commit was."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import psycopg
import pytest

from .server_process import ServerProcess

ROWS = 150_000
VIEWS = {
    "grouped": "SELECT k, count(*) AS n, sum(v) AS s, max(name) AS m FROM wide GROUP BY k",
    "joined": "SELECT wide.name, wide.v, other.w FROM wide JOIN other ON other.k = wide.k",
}


def fed(connection: psycopg.Connection) -> int | None:
    """Rows fed so far; None without a job."""
    found = connection.execute("SELECT rows FROM millpond.jobs WHERE job IS NOT NULL").fetchone()
    return found[0] if found else None


def wait_until_fed(server: ServerProcess, rows: int) -> int | None:
    """Writes until the fill has come so far; how far it is, None if it has ended."""
    with psycopg.connect(server.uri, autocommit=True) as connection:
        while True:
            now = fed(connection)
            if now is None or now >= rows:
                return now
            at = random.randrange(2 * ROWS)
            connection.execute(
                "INSERT INTO wide VALUES (%s, %s, 1) ON CONFLICT (name) DO UPDATE SET v = wide.v + 1",
                (f"name {at}", at % 5000),
            )
            connection.execute("DELETE FROM wide WHERE name = %s", (f"name {random.randrange(ROWS)}",))


def create(server: ServerProcess, text: str) -> None:
    """In a thread of its own; the server dies under it."""

    def run() -> None:
        try:
            with psycopg.connect(server.uri, autocommit=True) as connection:
                connection.execute(text)
        except psycopg.OperationalError:
            pass

    threading.Thread(target=run, daemon=True).start()


@pytest.mark.parametrize("name", VIEWS)
def test_a_killed_fill_goes_on(tmp_path: Path, name: str) -> None:
    server = ServerProcess(tmp_path / "data", "--fill-rows-min", "1000")
    server.start()
    with psycopg.connect(server.uri, autocommit=True) as connection:
        connection.execute("CREATE TABLE wide (name text PRIMARY KEY, k int, v bigint)")
        connection.execute("CREATE TABLE other (k int PRIMARY KEY, w int)")
        connection.execute("INSERT INTO other SELECT i, i FROM generate_series(0, 4999) AS g(i)")
        connection.execute(
            f"INSERT INTO wide SELECT 'name ' || i, i % 5000, i FROM generate_series(0, {ROWS - 1}) AS g(i)"
        )
    create(server, f"CREATE MATERIALIZED VIEW v AS {VIEWS[name]}")
    while True:
        with psycopg.connect(server.uri, autocommit=True) as connection:
            if fed(connection) is not None:
                break
    resumed = 0
    for share in (0.2, 0.4, 0.6):
        before = wait_until_fed(server, int(share * ROWS))
        server.kill()
        server.start()
        with psycopg.connect(server.uri, autocommit=True) as connection:
            after = fed(connection)
            if before is not None and after is not None:
                assert after >= before
                resumed += 1
    assert resumed
    with psycopg.connect(server.uri, autocommit=True) as connection:
        while fed(connection) is not None:
            time.sleep(0.05)
        with connection.transaction():
            connection.execute("SET TRANSACTION READ ONLY")
            left = sorted(connection.execute("SELECT * FROM v").fetchall())
            assert left == sorted(connection.execute(VIEWS[name]).fetchall())
    server.kill()
