"""kill -9 aimed: while a base takes the place of segments, while rows of a table are moved, while rows come
back after a start, while a checkpoint is written, and while a server recovers from the last such kill."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from . import mixed_writers
from .mixed_writers import Writer
from .server_process import ServerProcess

SMALL = ("--checkpoint-kb", "64", "--segment-kb", "64", "--compact-kb", "256")
"""Checkpoints and compactions all the time."""
ROWS = 40_000
REACHED_S = 25
BIG = "SELECT k, count(*) AS n, sum(v) AS v FROM big GROUP BY k"
MOVED = "SELECT id, v * 2 AS w FROM big WHERE id % 3 > 0"

POINTS = {
    "a base, before it is begun": "storage.log_files:FileLog._write_base:{}:before",
    "in the middle of a base": "storage.checkpoint:rows_frames:{}:before",
    "a base written without its name": "storage.log_files:FileLog._write_base:{}:after",
    "a base, before it covers": "storage.log_files:remove_covered:1{}:before",
    "removing what a base covers": "storage.disk:RealDisk.remove:{}:after",
    "rows about to be moved": "storage.compaction:compact_view:{}:before",
    "rows moved": "storage.compaction:compact_view:{}:after",
    "moved rows being brought up": "storage.compaction:Compaction.advance:{}:after",
    "moved rows in place": "storage.compaction:Compaction._finish:{}:after",
    "warming": "storage.table:StateTable.warm:{}:after",
    "a look at what is warm": "storage.warming:Warming._due:{}:before",
    "the store being written": "storage.rocks:RocksStore.write:{}0:after",
    "the store written, not flushed": "storage.rocks:RocksStore.flush:{}:before",
    "a file about to be part of the store": "storage.rocks:RocksStore.ingest:{}:before",
    "a file that has become part of it": "storage.rocks:RocksStore.ingest:{}:after",
    "a checkpoint done": "storage.checkpoint:Checkpointer._measure:{}:before",
    "sizes about to be noted": "storage.mirror:Mirror.note_sizes:{}:before",
    "a segment with its name": "storage.log_files:FileLog._name_segment:{}:after",
    "a claimed log": "storage.log_files:claim:1:after",
    "an epoch written, not synced": "storage.disk:_RealFile.sync:{}0:before",
    "a table about to be opened in recovery": "storage.commit:load_table:{}:before",
    "a table opened cold": "storage.recovery:open_cold:{}:after",
    "the last words replayed": "storage.table:StateTable.replay:{}:before",
}
QUICK = (
    "in the middle of a base",
    "rows moved",
    "warming",
    "a table opened cold",
    "removing what a base covers",
    "the store being written",
    "a file that has become part of it",
)


class DyingServer(ServerProcess):
    """A server that starts cold and dies at a point of its own."""

    def launch(self, point: str) -> None:
        """Begins to start it; what it serves on is known in `died` or `start`."""
        script = Path(__file__).with_name("dying_server.py")
        with self._errors.open("a") as errors:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    str(script),
                    "serve",
                    "--data",
                    str(self.data),
                    "--listen",
                    "127.0.0.1:0",
                    *SMALL,
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "MILLPOND_DIES": point},
            )

    def _launch(self) -> None:
        self.launch("")

    def live_until(self, point: str) -> bool:
        """Starts it and waits until it has died there, or kills it: a recovery may not pass there."""
        self.launch(point)
        assert self._process is not None and self._process.stdout is not None
        found = re.search(r"-p (\d+)", self._process.stdout.readline())
        if found:
            self.port = int(found[1])
        try:
            assert self._process.wait(REACHED_S) == -9, self.errors()[-2000:]
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True


class Churn(threading.Thread):
    """Changes a large table until more of its rows are dead than alive, again and again."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.stop = threading.Event()
        self.turns = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                    while not self.stop.is_set():
                        low = self.turns * 7000 % ROWS
                        connection.execute(
                            f"UPDATE big SET v = v + 1 WHERE id BETWEEN {low} AND {low + 6999}"
                        )
                        self.turns += 1
            except psycopg.OperationalError:
                time.sleep(0.05)


def prepare(server: ServerProcess) -> None:
    server.start()
    with server.connect() as connection:
        for statement in mixed_writers.SCHEMA:
            connection.execute(statement)
        connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, k int, v bigint)")
        connection.execute(f"CREATE MATERIALIZED VIEW grouped AS {BIG}")
        connection.execute(f"CREATE MATERIALIZED VIEW moved AS {MOVED}")
        connection.execute(
            f"INSERT INTO big SELECT i, i % 100, i % 97 FROM generate_series(0, {ROWS - 1}) AS g(i)"
        )
    assert server.stop() == 0


def check(server: DyingServer, writers: list[Writer]) -> None:
    """At once after a start, while rows are still in the store, and after the writers have rested."""
    mixed_writers.check(server, writers)
    with server.connect() as connection:
        for name, query in (("grouped", BIG), ("moved", MOVED)):
            with connection.transaction():
                connection.execute("SET TRANSACTION READ ONLY")
                view = sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
                assert view == sorted(connection.execute(query).fetchall()), name
        assert connection.execute("SELECT count(*), count(DISTINCT id) FROM big").fetchone() == (ROWS, ROWS)


def die_in_turn(folder: Path, points: list[str], seed: int, checked_every: int) -> None:
    """Every life ends at its point and begins with what the one before has left."""
    print("seed", seed)
    server = DyingServer(folder / "data", *SMALL)
    prepare(server)
    writers = [Writer(server, client, seed) for client in range(4)]
    threads, missed = begin(server, writers), 0
    for number, point in enumerate(points, 1):
        reached = server.live_until(point)
        print(point if reached else f"not {point}")
        missed += not reached
        if number % checked_every == 0 or number == len(points):
            for thread in threads:
                thread.stop.set()
            for thread in threads:
                thread.join(30)
            server.start()
            check(server, writers)
            if number < len(points):
                server.kill()
                writers = [writer.successor(seed + number) for writer in writers]
                threads = begin(server, writers)
    assert all(writer.steps for writer in writers) and missed <= len(points) // 3
    assert server.stop() == 0
    checked = subprocess.run(
        [sys.executable, "-m", "millpond.server", "check", str(server.data)], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


def begin(server: DyingServer, writers: list[Writer]) -> list[Writer | Churn]:
    threads = [*writers, Churn(server)]
    for thread in threads:
        thread.start()
    return threads


def test_i6_killed_at_points_in_turn(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    points = [POINTS[name].format(chance.randrange(1, 5)) for name in QUICK]
    die_in_turn(tmp_path, points, seed, len(points))


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(8))
def test_i6_killed_at_all_points_in_any_order(tmp_path: Path, turn: int) -> None:
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    points = [point.format(chance.randrange(1, 6)) for point in POINTS.values()]
    chance.shuffle(points)
    die_in_turn(tmp_path, points, seed, 4)
