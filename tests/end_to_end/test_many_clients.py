"""Many clients of one server that write single rows at once: everyone has an answer of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from .server_process import ServerProcess

CLIENTS = 12
ROWS = 25
TABLE = (
    "CREATE TABLE t (id bigint PRIMARY KEY, client int NOT NULL, short varchar(3),"
    " money numeric(4, 1) DEFAULT 1, number serial, CHECK (client < 100))"
)
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT client, count(*) AS n, sum(money) AS m FROM t GROUP BY client"
INSERT = "INSERT INTO t (id, client, short, money) VALUES (%s, %s, %s, %s)"


def outcome(connection: psycopg.Connection, values: tuple[Any, ...]) -> str:
    """`ok`, or the SQLSTATE. What was written can be read at once."""
    try:
        connection.execute(INSERT, values, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate or "gone"
    seen = connection.execute("SELECT client FROM t WHERE id = %s", (values[0],), prepare=True).fetchone()
    return "ok" if seen == (values[1],) else f"not seen: {seen}"


def write(server: ServerProcess, client: int) -> list[str]:
    """A row of its own, one that all want, and wrong ones, again and again; the outcomes in this order."""
    with server.connect() as connection:
        return [
            outcome(connection, values)
            for i in range(ROWS)
            for values in (
                (1000 * (client + 1) + i, client, "abc", None),
                (i, client, "", 2),
                (2_000_000 + 100 * client + i, None, "", 2),
                (3_000_000 + 100 * client + i, client, "long", 2),
                (4_000_000 + 100 * client + i, client, "", 12345),
                (5_000_000 + 100 * client + i, 100, "", 2),
            )
        ]


def test_good_and_bad_rows_of_many_clients(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute(TABLE)
        connection.execute(VIEW)
        with ThreadPoolExecutor(CLIENTS) as threads:
            found = list(threads.map(lambda client: write(server, client), range(CLIENTS)))
        for outcomes in found:
            assert outcomes[0::6] == ["ok"] * ROWS
            assert set(outcomes[1::6]) <= {"ok", "23505"}
            assert [set(outcomes[i::6]) for i in (2, 3, 4, 5)] == [{"23502"}, {"22001"}, {"22003"}, {"23514"}]
        for i in range(ROWS):
            assert sum(outcomes[1 + 6 * i] == "ok" for outcomes in found) == 1
        rows = connection.execute("SELECT count(*), count(DISTINCT number) FROM t").fetchone()
        assert rows == ((CLIENTS + 1) * ROWS, (CLIENTS + 1) * ROWS)
        query = "SELECT client, count(*), sum(money) FROM t GROUP BY client"
        with connection.transaction():
            view, fresh = (sorted(connection.execute(text).fetchall()) for text in ("SELECT * FROM v", query))
        assert view == fresh


def test_pipelines_are_transactions_beside_them(server: ServerProcess) -> None:
    with server.connect() as connection, server.connect() as other:
        connection.execute("CREATE TABLE p (id int PRIMARY KEY, v text)")
        text = "INSERT INTO p VALUES (%s, %s)"
        with connection.pipeline() as pipeline:
            for i in range(20):
                connection.execute(text, (i, "in a pipeline"), prepare=True)
            pipeline.sync()
        with pytest.raises(psycopg.errors.UniqueViolation), connection.pipeline():
            for i in (20, 21, 5, 22):
                connection.execute(text, (i, "refused"), prepare=True)
        with connection.pipeline() as pipeline:
            for i in range(30, 40):
                connection.execute(text, (i, "one by one"), prepare=True)
                pipeline.sync()
        other.execute(text, (40, "alone"), prepare=True)
        with pytest.raises(psycopg.errors.UniqueViolation):
            other.execute(text, (40, "again"), prepare=True)
        other.execute("UPDATE p SET v = %s WHERE id = %s", ("changed", 40), prepare=True)
        assert other.execute("DELETE FROM p WHERE id = %s", (39,), prepare=True).rowcount == 1
        assert connection.execute("SELECT count(*), min(v), max(id) FROM p").fetchone() == (30, "changed", 40)


def test_clients_that_are_killed_leave_whole_rows(server: ServerProcess) -> None:
    script = (
        "import psycopg, sys\n"
        "c = psycopg.connect(sys.argv[1], autocommit=True)\n"
        "for i in range(10**9):\n"
        "    c.execute('INSERT INTO k VALUES (%s, %s)', (int(sys.argv[2]) + i, i), prepare=True)\n"
        "    print(i, flush=True)\n"
    )
    with server.connect() as connection:
        connection.execute("CREATE TABLE k (id bigint PRIMARY KEY, i bigint)")
        connection.execute("CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n, sum(i) AS s FROM k")
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", script, server.uri, str(n * 10**6)], stdout=subprocess.PIPE, text=True
            )
            for n in range(3)
        ]
        told = []
        for writer in writers:
            assert writer.stdout is not None
            lines = [int(writer.stdout.readline()) for _ in range(10)]
            os.kill(writer.pid, signal.SIGKILL)
            told.append(max([*lines, *map(int, writer.stdout.read().split("\n")[:-1])]))
            writer.wait()
        connection.execute("INSERT INTO k VALUES (%s, %s)", (-1, 0), prepare=True)
        for n, last in enumerate(told):
            rows = connection.execute(
                "SELECT i FROM k WHERE id >= %s AND id < %s ORDER BY i", (n * 10**6, (n + 1) * 10**6)
            ).fetchall()
            assert len(rows) in (last + 1, last + 2) and rows == [(i,) for i in range(len(rows))]
        assert (
            connection.execute("SELECT * FROM w").fetchone()
            == connection.execute("SELECT count(*), sum(i) FROM k").fetchone()
        )
