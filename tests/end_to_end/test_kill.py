"""I6: kill -9 at random moments under write load and during recovery; what was acknowledged is there once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from .server_process import ServerProcess

SCHEMA = (
    "CREATE TABLE entry (id bigint PRIMARY KEY, client int NOT NULL, amount int NOT NULL)",
    "CREATE SOURCE bid WITH (connector = 'nexmark', nexmark.table.type = 'Bid', "
    "nexmark.event.num = '2000000', nexmark.min.event.gap.in.ns = '2000')",
    "CREATE MATERIALIZED VIEW per_client AS SELECT client, count(*) AS n, sum(amount) AS amount FROM entry "
    "GROUP BY client",
    "CREATE MATERIALIZED VIEW top AS SELECT * FROM per_client ORDER BY amount DESC, client LIMIT 3",
    "CREATE MATERIALIZED VIEW bids AS SELECT auction % 100 AS a, count(*) AS n, sum(price) AS p FROM bid "
    "GROUP BY auction % 100",
)
EQUAL = {
    "per_client": "SELECT client, count(*), sum(amount) FROM entry GROUP BY client",
    "top": "SELECT client, count(*) AS n, sum(amount) AS amount FROM entry GROUP BY client "
    "ORDER BY amount DESC, client LIMIT 3",
    "bids": "SELECT auction % 100, count(*), sum(price) FROM bid GROUP BY auction % 100",
}


class Load(threading.Thread):
    """Inserts under ever new ids and remembers which were acknowledged; the one in flight is unknown."""

    def __init__(self, server: ServerProcess, client: int) -> None:
        super().__init__(daemon=True)
        self.server, self.client = server, client
        self.acknowledged: dict[int, int] = {}
        self.unknown: set[int] = set()
        self.stop = threading.Event()
        self._next = client << 40

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                    self._insert(connection)
            except psycopg.OperationalError:
                time.sleep(0.05)

    def _insert(self, connection: psycopg.Connection) -> None:
        while not self.stop.is_set():
            self._next += 1
            amount = self._next % 1000
            self.unknown.add(self._next)
            connection.execute("INSERT INTO entry VALUES (%s, %s, %s)", (self._next, self.client, amount))
            self.unknown.discard(self._next)
            self.acknowledged[self._next] = amount


def check(server: ServerProcess, loads: list[Load]) -> None:
    """Every acknowledged row is there once and every view equals its query, at one moment."""
    acknowledged = [load.acknowledged.copy() for load in loads]
    with server.connect(autocommit=False) as connection:
        found = dict(connection.execute("SELECT id, amount FROM entry").fetchall())
        for name, query in EQUAL.items():
            view = sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall()))
            assert view == sorted(map(repr, connection.execute(query).fetchall())), name
    for before in acknowledged:
        lost = {i: a for i, a in before.items() if found.get(i) != a}
        assert not lost, f"{len(lost)} acknowledged rows are lost: {sorted(lost)[:3]}"
    known = {i for load in loads for i in (*load.acknowledged.copy(), *load.unknown.copy())}
    assert set(found) <= known | {load._next for load in loads}


def goes_on(work: Callable[[], bool], timeout_s: float = 120.0) -> None:
    """Waits until the clients have got work done: a server that recovers serves them again."""
    deadline = time.monotonic() + timeout_s
    while not work():
        assert time.monotonic() < deadline, "clients get nothing done"
        time.sleep(0.05)


def kill_again_and_again(folder: Path, kills: int, seed: int, *options: str) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    server = ServerProcess(folder / "data", *options)
    server.start()
    with server.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)
    loads = [Load(server, client) for client in (1, 2)]
    for load in loads:
        load.start()
    for number in range(kills):
        time.sleep(chance.uniform(0.05, 1.0))
        server.kill()
        if chance.random() < 0.3:
            # Killed again while it recovers.
            server.start_and_kill(chance.uniform(0.3, 2.0))
        server.start()
        if number % 5 == 4:
            check(server, loads)
    goes_on(lambda: all(len(load.acknowledged) > kills for load in loads))
    for load in loads:
        load.stop.set()
    for load in loads:
        load.join(10)
    check(server, loads)
    assert server.stop() == 0


def test_i6_kill_at_random_moments(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 6, random.randrange(1 << 30))


@pytest.mark.slow
def test_i6_kill_fifty_times(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 50, random.randrange(1 << 30))
