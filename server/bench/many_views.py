"""Line `views100`: a hundred views on one table, and commits of single rows from many clients.

A commit is answered when all views show it, so its latency is the freshness of the views.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .figures import Figure, Line
from .process import Server
from .serving import percentiles

VIEWS = 100
RATE = 1000
"""Commits a second that are offered, by CLIENTS together, evenly."""
CLIENTS = 100
FEW_CLIENTS = 8
SECONDS = 10.0
ITEMS = "CREATE TABLE items (id bigint PRIMARY KEY, kind bigint, city text, amount bigint, price float8)"
KINDS = "CREATE TABLE kinds (kind bigint PRIMARY KEY, name text)"
FILL_KINDS = "INSERT INTO kinds SELECT g, 'kind ' || g FROM generate_series(0, 19) AS g"
INSERT = "INSERT INTO items VALUES (%s, %s, %s, %s, %s)"
QUERIES = (
    "SELECT kind, count(*) AS n, sum(amount) AS total FROM items WHERE amount % 100 <> {n} GROUP BY kind",
    "SELECT city, count(*) AS n, sum(amount + {n}) AS total FROM items GROUP BY city",
    "SELECT k.name, count(*) AS n, sum(i.amount * {n}) AS total FROM items i JOIN kinds k ON i.kind = k.kind "
    "GROUP BY k.name",
    "SELECT id, city, amount * {n} AS scaled FROM items WHERE amount > {n}",
    "SELECT city, kind, avg(price) AS mean, max(price) AS high FROM items WHERE id % {n} <> 0 "
    "GROUP BY city, kind",
)
"""Kinds of views by turns; no two of them are alike."""


def view(number: int) -> str:
    """The definition of one of the views."""
    query = QUERIES[number % len(QUERIES)].format(n=number + 1)
    return f"CREATE MATERIALIZED VIEW view{number} AS {query}"


def row(number: int) -> tuple[int, int, str, int, float]:
    return number, number % 20, f"city {number % 7}", number % 100, number % 13 + 0.5


def measure_many_views(rows: int) -> Iterator[Figure]:
    """Commits of single rows: at a steady rate of many clients, and as fast as a few clients can."""
    full = rows >= 1_000_000
    seconds = SECONDS if full else 0.5
    with tempfile.TemporaryDirectory(prefix="millpond-bench-") as folder:
        server = Server(Path(folder) / "data")
        server.start()
        try:
            with server.connect() as connection:
                for statement in (ITEMS, KINDS, FILL_KINDS, *map(view, range(VIEWS if full else 10))):
                    connection.execute(statement)
            _ = asyncio.run(_commits(server, 0, FEW_CLIENTS, None, min(seconds, 1.0)))
            steady = asyncio.run(_commits(server, 1, CLIENTS, RATE, seconds))
            few = asyncio.run(_commits(server, 2, FEW_CLIENTS, None, seconds))
        finally:
            server.kill()
    half, most = percentiles(steady)
    yield Figure(
        "views100", "100 views, commits offered at 1,000/s", len(steady) / seconds, "/s", None, "1,000"
    )
    yield Figure("views100", "the same, p50 until all views have it", half, "ms")
    yield Figure("views100", "the same, p99", most, "ms", None, "100 (aim 50)")
    half, most = percentiles(few)
    yield Figure("views100", f"{FEW_CLIENTS} clients, one commit after the other", len(few) / seconds, "/s")
    yield Figure("views100", "the same, p99", most, "ms")


async def _commits(server: Server, part: int, clients: int, rate: int | None, seconds: float) -> list[float]:
    """Seconds of each commit that was answered in time, from when it was due. `rate` None: no pauses."""
    import psycopg

    address = f"host=127.0.0.1 port={server.port} dbname=millpond user=bench"
    connections = [
        await psycopg.AsyncConnection.connect(address, autocommit=True, prepare_threshold=0)
        for _ in range(clients)
    ]
    numbers = iter(range(part * 1_000_000, (part + 1) * 1_000_000))
    begin = time.perf_counter()
    times: list[float] = []

    async def run(connection: Any, place: int) -> None:
        due = begin + (0.0 if rate is None else place / rate)
        while due < begin + seconds:
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            await connection.execute(INSERT, row(next(numbers)))
            now = time.perf_counter()
            if now < begin + seconds:
                times.append(now - due)
            due = now if rate is None else due + clients / rate

    await asyncio.gather(*(run(connection, place) for place, connection in enumerate(connections)))
    for connection in connections:
        await connection.close()
    return times


LINES = (Line("views100", "100 views on one table, commits of single rows", measure_many_views),)
