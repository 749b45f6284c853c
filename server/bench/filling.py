"""Lines about views being filled: what single INSERTs into the table they read, and point SELECTs of
another view, wait meanwhile, against what they wait when nothing else goes on: before there is the view, and
when an INSERT has it to bring up to date, too.

The table `wide` has all of the benchmark's rows, `other` a tenth of them. One connection inserts a row and
then reads one, again and again; another one waits for CREATE MATERIALIZED VIEW.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .figures import Figure, Line
from .process import Server

SCHEMA = (
    "CREATE TABLE wide (id bigint PRIMARY KEY, k bigint, v bigint)",
    "CREATE TABLE other (k bigint PRIMARY KEY, w bigint)",
    "CREATE TABLE small (id bigint PRIMARY KEY, v bigint)",
    "CREATE MATERIALIZED VIEW apart AS SELECT id, v, v * 2 AS w FROM small",
    "INSERT INTO small SELECT i, i FROM generate_series(0, 9999) AS g(i)",
)
VIEWS = {
    "fill-rows": ("a projection", "SELECT id, k, v * 2 AS w FROM wide"),
    "fill-grouped": ("a GROUP BY", "SELECT k, count(*) AS n, sum(v) AS s FROM wide GROUP BY k"),
    "fill-join": ("a join", "SELECT wide.id, wide.v, other.w FROM wide JOIN other ON other.k = wide.k"),
}
POINT = "SELECT id, v, w FROM apart WHERE id = %s"
INSERT = "INSERT INTO wide VALUES (%s, %s, %s)"
PIECE = 200_000
IDLE_S = 4.0


class Filling:
    """A server with the tables; a context manager that leaves nothing."""

    def __init__(self, rows: int) -> None:
        self.rows = max(rows, 20)
        self.idle_s = IDLE_S if rows >= 500_000 else 0.2
        self._folder = tempfile.TemporaryDirectory(prefix="millpond-bench-")
        self.server = Server(Path(self._folder.name) / "data")
        self._next = self.rows

    def __enter__(self) -> Filling:
        self.server.start()
        with self.server.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
            keys = max(self.rows // 10, 1)
            connection.execute(f"INSERT INTO other SELECT i, i FROM generate_series(0, {keys - 1}) AS g(i)")
            for first in range(0, self.rows, PIECE):
                last = min(first + PIECE, self.rows) - 1
                series = f"generate_series({first}, {last}) AS g(i)"
                connection.execute(f"INSERT INTO wide SELECT i, i % {keys}, i * 7 FROM {series}")
        return self

    def __exit__(self, *error: object) -> None:
        if self.server.running:
            self.server.kill()
        self._folder.cleanup()

    def idle(self) -> tuple[list[float], list[float]]:
        """`waits` for a few seconds in which nothing else goes on."""
        end = time.perf_counter() + self.idle_s
        return self.waits(lambda: time.perf_counter() > end)

    def waits(self, over: Any) -> tuple[list[float], list[float]]:
        """Seconds of each INSERT and of each point SELECT until `over` says so."""
        writes: list[float] = []
        reads: list[float] = []
        with self.server.connect() as connection:
            cursor = connection.cursor()
            while not over() or not writes:
                started = time.perf_counter()
                cursor.execute(INSERT, (self._next, self._next % 1000, 1), prepare=True)
                written = time.perf_counter()
                cursor.execute(POINT, (self._next % 10_000,), prepare=True)
                cursor.fetchall()
                reads.append(time.perf_counter() - written)
                writes.append(written - started)
                self._next += 1
        return writes, reads


def measure_fill(name: str, rows: int) -> Iterator[Figure]:
    """Idle first, then during the fill of the view of that line, then idle with the view."""
    what, query = VIEWS[name]
    with Filling(rows) as filling:
        idle = filling.idle()
        busy, seconds = _during(filling, f"CREATE MATERIALIZED VIEW filled AS {query}")
        later = filling.idle()
    yield Figure(name, f"filling {what}", filling.rows / seconds, "rows/s")
    for position, kind in enumerate(("INSERT", "point SELECT")):
        for share in (0.5, 0.99, 1.0):
            before, after, then = (_percentile(waits[position], share) for waits in (idle, busy, later))
            label = "longest" if share == 1.0 else f"p{share * 100:.0f}"
            note = f"{before:.2f} ms idle; {then:.2f} idle with the view; {len(busy[position])} of them"
            target = "twice idle" if share == 0.99 else ""
            yield Figure(name, f"{kind} meanwhile, {label}", after, "ms", None, target, note)


def _during(filling: Filling, statement: str) -> tuple[tuple[list[float], list[float]], float]:
    """The waits while the statement runs, and how long that is."""
    took: list[float] = []

    def create() -> None:
        with filling.server.connect() as connection:
            started = time.perf_counter()
            connection.execute(statement)
            took.append(time.perf_counter() - started)

    creating = threading.Thread(target=create)
    creating.start()
    waits = filling.waits(lambda: not creating.is_alive())
    creating.join()
    return waits, took[0]


def _percentile(seconds: list[float], share: float) -> float:
    """In ms."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _line(name: str) -> Line:
    return Line(name, f"filling {VIEWS[name][0]}", lambda rows: measure_fill(name, rows))


LINES = tuple(_line(name) for name in VIEWS)
