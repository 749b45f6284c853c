"""No query takes all the memory, and any can be ended: a running server, looked at from outside."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from .server_process import ServerProcess

END_S_MAX = 1.0
"""Within so long a statement ends when it is told to, also on a busy machine."""

GROWTH_MB_MAX = 500

CROSS = "SELECT count(*) FROM big a, big b"
ENDLESS = (
    "SELECT count(*) FROM generate_series(1, 1000000000)",
    "SELECT count(*) FROM generate_series('2000-01-01'::timestamp, '200000-01-01', '1 month') m, big",
    "SELECT sum(g) FROM generate_series(1, 1000000000.0) g",
    CROSS,
    "SELECT count(*) FROM big a LEFT JOIN big b ON a.id + b.id < 0",
    "SELECT a.id % 10, max(b.id), count(DISTINCT b.id) FROM big a, big b GROUP BY 1",
    "SELECT DISTINCT a.id % 3, b.id % 3 FROM big a, big b",
    "SELECT a.id FROM big a, big b ORDER BY a.id + b.id LIMIT 3",
    "SELECT * FROM big a, big b",
    "INSERT INTO big SELECT a.id FROM big a, big b",
    "SELECT regexp_replace(repeat('a', 64) || 'b', '(?=a)(a|aa)+$', '')",
    "SELECT count(*) FROM big WHERE regexp_match(repeat('a', 64) || id, '(?=a)(a|aa)+$') IS NULL",
)  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("bounds") / "data")
    process.start()
    with connect(process) as connection:
        _ = connection.execute("CREATE TABLE big AS SELECT g AS id FROM generate_series(1, 20000) g")
    yield process
    process.stop()


def connect(server: ServerProcess) -> psycopg.Connection:
    return psycopg.connect(f"host=127.0.0.1 port={server.port} user=u dbname=millpond", autocommit=True)


def peak_mb(server: ServerProcess) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) >> 10


@pytest.mark.parametrize("sql", ENDLESS)
def test_a_statement_is_cancelled(running: ServerProcess, sql: str) -> None:
    with connect(running) as connection:
        before = peak_mb(running)
        asked: list[float] = []

        def cancel() -> None:
            asked.append(time.monotonic())
            connection.cancel()

        timer = threading.Timer(0.4, cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="due to user request"):
            _ = connection.execute(sql)
        assert time.monotonic() - asked[0] < END_S_MAX
        assert connection.execute("SELECT count(*) FROM big").fetchone() == (20000,)
        assert peak_mb(running) - before < GROWTH_MB_MAX


@pytest.mark.parametrize("sql", [ENDLESS[0], CROSS, ENDLESS[-2], "SELECT * FROM big a, big b"])
def test_a_statement_times_out(running: ServerProcess, sql: str) -> None:
    with connect(running) as connection:
        _ = connection.execute("SET statement_timeout = 300")
        begun = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled, match="due to statement timeout"):
            _ = connection.execute(sql)
        assert time.monotonic() - begun < 0.3 + END_S_MAX


def test_pairs_are_counted_in_bounded_memory(running: ServerProcess) -> None:
    with connect(running) as connection:
        before = peak_mb(running)
        sql = "SELECT count(*) FROM generate_series(1, 10000) a, generate_series(1, 10000) b"
        assert connection.execute(sql).fetchone() == (100_000_000,)
        assert peak_mb(running) - before < GROWTH_MB_MAX


def test_a_large_result_is_sent_while_it_is_made(running: ServerProcess) -> None:
    with connect(running) as connection:
        before = peak_mb(running)
        count = total = 0
        sql = "SELECT a, b, repeat('x', 200) FROM generate_series(1, 2000) a, generate_series(1, 200) b"
        with connection.cursor() as cursor:
            for a, b, _ in cursor.stream(sql):
                count += 1
                total += a * b
        assert (count, total) == (400_000, 2000 * 2001 // 2 * (200 * 201 // 2))
        assert peak_mb(running) - before < GROWTH_MB_MAX


def test_an_error_behind_many_rows_is_told(running: ServerProcess) -> None:
    with connect(running) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            _ = connection.execute(
                "SELECT 1 / (g - 9000000), g FROM generate_series(1, 10000000) g"
            ).fetchall()
        assert connection.execute("SELECT 1").fetchone() == (1,)
