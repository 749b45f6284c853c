"""Lines about what a client sees: latency, point reads, large reads, restart, and what a row costs at rest.

All use one server process whose table `base` and view `big` have a fifth of the benchmark's rows (a million
at full size), and three views on top of each other over the table `t`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .figures import Figure, Line
from .process import Server

SCHEMA = (
    "CREATE TABLE t (id bigint PRIMARY KEY, k bigint, v bigint)",
    "CREATE MATERIALIZED VIEW up1 AS SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k",
    "CREATE MATERIALIZED VIEW up2 AS SELECT k % 10 AS g, sum(n) AS n, sum(s) AS s FROM up1 GROUP BY k % 10",
    "CREATE MATERIALIZED VIEW up3 AS SELECT count(*) AS groups, sum(n) AS n, sum(s) AS s FROM up2",
    "CREATE TABLE base (id bigint PRIMARY KEY, k bigint, v bigint)",
    "CREATE MATERIALIZED VIEW big AS SELECT id, k, v, v * 2 AS w FROM base",
)
LOAD = (
    "CREATE SOURCE stream (k bigint, v bigint) WITH (connector = 'datagen', datagen.rows.per.second = 0, "
    "fields.k.max = 999, fields.v.max = 1000000)"
)
LOAD_VIEW = "CREATE MATERIALIZED VIEW under AS SELECT k, count(*) AS n, sum(v) AS s FROM stream GROUP BY k"
POINT = "SELECT id, k, v, w FROM big WHERE id = %s"
ROW_BYTES = 8 * 3 + 8 * 4
"""Arrow bytes of a row of `base` and its row of `big`."""
SECONDS = 3.0


class Bench:
    """The server, started when first asked for. A context manager that leaves nothing."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.count = max(rows // 5, 10)
        self.seconds = SECONDS if rows >= 1_000_000 else 0.3
        self._folder = tempfile.TemporaryDirectory(prefix="millpond-bench-")
        self._server: Server | None = None
        self.empty_bytes = 0
        self.full_bytes = 0

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        if self._server is not None and self._server.running:
            self._server.kill()
        self._folder.cleanup()

    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = Server(Path(self._folder.name) / "data")
            self._server.start()
            with self._server.connect() as connection:
                self._load(connection)
        return self._server

    def _load(self, connection: Any) -> None:
        assert self._server is not None
        for statement in SCHEMA:
            connection.execute(statement)
        self.empty_bytes = self._server.resident_bytes()
        for first in range(0, self.count, 200_000):
            last = min(first + 200_000, self.count) - 1
            connection.execute(
                f"INSERT INTO base SELECT i, i % 1000, i * 7 FROM generate_series({first}, {last}) AS g(i)"
            )
        self.full_bytes = self._server.resident_bytes()


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """(p50, p99) in ms."""
    half, most = np.percentile(np.array(seconds) * 1000, [50, 99])
    return float(half), float(most)


def measure_insert(bench: Bench) -> Iterator[Figure]:
    """One row, in autocommit, until the third view above the table has it."""
    with bench.server.connect() as connection:
        count = 1000 if bench.rows >= 1_000_000 else 100
        times = [_insert_and_see(connection, number) for number in range(count + 20)][20:]
    half, most = percentiles(times)
    yield Figure("insert", "single INSERT until visible 3 views up, p50", half, "ms", None, "5 (aim 2)")
    yield Figure("insert", "the same, p99", most, "ms", None, "25 (aim 10)")


def _insert_and_see(connection: Any, number: int) -> float:
    (before,) = connection.execute("SELECT n FROM up3").fetchone()
    started = time.perf_counter()
    connection.execute("INSERT INTO t VALUES (%s, %s, %s)", (number, number % 100, number))
    while connection.execute("SELECT n FROM up3").fetchone() != ((before or 0) + 1,):
        assert time.perf_counter() - started < 30
    return time.perf_counter() - started


def _points(connection: Any, count: int, seconds: float) -> tuple[float, list[float]]:
    """(point reads per second, seconds of each)."""
    keys = np.random.default_rng(3).integers(0, count, 100_000).tolist()
    times: list[float] = []
    cursor = connection.cursor()
    begin = before = time.perf_counter()
    for key in keys:
        cursor.execute(POINT, (key,), prepare=True)
        assert cursor.fetchone()[0] == key
        now = time.perf_counter()
        times.append(now - before)
        before = now
        if now - begin > seconds:
            break
    return len(times) / (before - begin), times


def measure_point(bench: Bench) -> Iterator[Figure]:
    """Prepared SELECTs by primary key over one connection, one after the other."""
    with bench.server.connect() as connection:
        _ = _points(connection, bench.count, 0.2)
        rate, times = _points(connection, bench.count, bench.seconds)
    yield Figure("point", "point SELECT by key, prepared, idle", rate, "/s", None, "5,000 (8,000)")
    yield Figure("point", "the same, p99", percentiles(times)[1], "ms")


def measure_point_under_load(bench: Bench) -> Iterator[Figure]:
    """The same beside a source that runs as fast as it can into a GROUP BY."""
    with bench.server.connect() as connection:
        connection.execute(LOAD)
        connection.execute(LOAD_VIEW)
        time.sleep(min(bench.seconds, 1.0))
        total = "SELECT coalesce(sum(n), 0) FROM under"
        (before,), begin = connection.execute(total).fetchone(), time.perf_counter()
        rate, times = _points(connection, bench.count, bench.seconds)
        (after,), seconds = connection.execute(total).fetchone(), time.perf_counter() - begin
        connection.execute("DROP SOURCE stream CASCADE")
    half, most = percentiles(times)
    yield Figure("point-load", "point SELECT beside a busy GROUP BY", rate, "/s")
    yield Figure("point-load", "the same, p50", half, "ms")
    yield Figure("point-load", "the same, p99", most, "ms", None, "10 (aim 5)")
    yield Figure("point-load", "rows of the GROUP BY meanwhile", float(after - before) / seconds, "rows/s")


def measure_scan(bench: Bench) -> Iterator[Figure]:
    """All rows of the large view to psycopg, and two queries over it."""
    with bench.server.connect() as connection:
        for query, what, target in (
            ("SELECT count(*) FROM big", "count(*) of the large view", "20"),
            ("SELECT k, sum(w) FROM big GROUP BY k", "GROUP BY over the large view", "60"),
        ):
            connection.execute(query).fetchall()
            times: list[float] = []
            for _ in range(7):
                started = time.perf_counter()
                connection.execute(query).fetchall()
                times.append(time.perf_counter() - started)
            yield Figure("scan", what, percentiles(times)[0], "ms", None, target)
        started = time.perf_counter()
        rows = connection.execute("SELECT * FROM big").fetchall()
        seconds = time.perf_counter() - started
        assert len(rows) == bench.count
    yield Figure("scan", "SELECT of all of the large view", len(rows) / seconds, "rows/s", None, "250,000")


LEFT = (
    "SELECT coalesce(sum(evicted), 0)::bigint FROM (SELECT evicted FROM millpond.tables "
    "UNION ALL SELECT evicted FROM millpond.views) AS x"
)
FIRST = "SELECT w FROM big WHERE id = 5"


def measure_restart(bench: Bench) -> Iterator[Figure]:
    """From the command to the first answer of a point SELECT on the large view; until all is in memory."""
    server = bench.server
    server.stop()
    clean = server.first_answer(FIRST)
    note = f"{server.processor_seconds():.1f} s of processor time"
    yield Figure("restart", "restart after a clean stop", clean, "s", None, "3 (aim 1)", note)
    yield Figure("restart", "until all rows are in memory", clean + _until_warm(server), "s")
    with server.connect() as connection:
        connection.execute("UPDATE base SET v = v + 1 WHERE id % 10 = 0")
    server.kill()
    killed = server.first_answer(FIRST)
    note = f"{server.processor_seconds():.1f} s of processor time"
    yield Figure("restart", "restart after kill -9", killed, "s", None, "5 (aim 2)", note)
    yield Figure("restart", "until all rows are in memory", killed + _until_warm(server), "s")


def _until_warm(server: Server) -> float:
    """Seconds until no row of a table or view is in the store only."""
    started = time.perf_counter()
    with server.connect() as connection:
        while connection.execute(LEFT).fetchone() != (0,):
            time.sleep(0.02)
    return time.perf_counter() - started


def measure_rebuild(bench: Bench) -> Iterator[Figure]:
    """The store deleted: table, view and operators from the changelog."""
    server = bench.server
    server.stop()
    server.forget_store()
    seconds = server.first_answer(FIRST)
    rows = 2 * bench.count
    note = f"{seconds:.1f} s with the start of the process"
    yield Figure("rebuild", "rebuild of a deleted store", rows / seconds, "rows/s", None, "500,000", note)


def measure_memory(bench: Bench) -> Iterator[Figure]:
    """Bytes of the tables by their own account, and growth of the process while they were filled."""
    with bench.server.connect() as connection:
        rows, size = connection.execute(
            "SELECT sum(rows), sum(bytes) FROM (SELECT rows, bytes FROM millpond.views WHERE name = 'big' "
            "UNION ALL SELECT rows, bytes FROM millpond.tables WHERE name = 'base') AS x"
        ).fetchone()
    arrow = ROW_BYTES * float(rows) / 2
    yield Figure("memory", "bytes a resident row", float(size) / float(rows), "bytes")
    yield Figure("memory", "the same over its Arrow bytes", float(size) / arrow, "times", None, "3 (aim 2)")
    grown = bench.full_bytes - bench.empty_bytes
    if grown > 0:
        yield Figure("memory", "growth of the process over Arrow bytes", grown / arrow, "times")


def measure_disk(bench: Bench) -> Iterator[Figure]:
    """Log and store after a clean stop."""
    server = bench.server
    server.stop()
    size = server.disk_bytes()
    server.start()
    arrow = ROW_BYTES * bench.count
    yield Figure("disk", "log and store, bytes a row", size / (2 * bench.count), "bytes")
    yield Figure("disk", "the same over its Arrow bytes", size / arrow, "times", None, "3 (aim 2)")


# The load comes last: what its epochs leave in the log is no cost of the rows that `disk` counts.
LINES = (
    Line("insert", "single INSERT until visible three views up", measure_insert),
    Line("point", "point SELECT", measure_point),
    Line("scan", "large reads", measure_scan),
    Line("memory", "memory of a row", measure_memory),
    Line("disk", "bytes of a row on disk", measure_disk),
    Line("restart", "restart", measure_restart),
    Line("rebuild", "rebuild from the changelog", measure_rebuild),
    Line("point-load", "point SELECT under load", measure_point_under_load),
)
