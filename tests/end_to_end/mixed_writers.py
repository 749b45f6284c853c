"""Clients that write single rows to the same keys in every way there is, and know what was acknowledged.

Each step of a client adds 1 to a counter that all clients share, and writes rows of its own: by statements
alone, in a pipeline, in a transaction block. What was in flight when the connection broke is in doubt.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter

import psycopg
from psycopg import errors

from .server_process import ServerProcess

KEYS = 6
SCHEMA = (
    "CREATE TABLE counter (k int PRIMARY KEY, n bigint NOT NULL)",
    "CREATE TABLE own (id bigint PRIMARY KEY, client int NOT NULL, k int NOT NULL, twin bigint)",
    "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS keys, sum(n) AS n FROM counter",
    "CREATE MATERIALIZED VIEW owned AS SELECT client, k, count(*) AS n, max(id) AS last FROM own "
    "GROUP BY client, k",
    "CREATE MATERIALIZED VIEW joined AS SELECT o.id, c.n FROM own o JOIN counter c ON c.k = o.k "
    "WHERE o.twin > 0",
    "CREATE MATERIALIZED VIEW best AS SELECT * FROM counter ORDER BY n DESC, k LIMIT 2",
)
EQUAL = {
    "counted": "SELECT count(*), sum(n) FROM counter",
    "owned": "SELECT client, k, count(*), max(id) FROM own GROUP BY client, k",
    "joined": "SELECT o.id, c.n FROM own o JOIN counter c ON c.k = o.k WHERE o.twin > 0",
    "best": "SELECT * FROM counter ORDER BY n DESC, k LIMIT 2",
}
COUNT = "INSERT INTO counter VALUES (%s, 1) ON CONFLICT (k) DO UPDATE SET n = counter.n + 1"
ADD = "UPDATE counter SET n = n + 1 WHERE k = %s"
INSERT = "INSERT INTO own VALUES (%s, %s, %s, %s)"
DELETE = "DELETE FROM own WHERE id = %s"


class Writer(threading.Thread):
    """`there`, `gone`: its own rows as acknowledged; `doubtful`: those of which nobody can tell."""

    def __init__(self, server: ServerProcess, client: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.server, self.client, self.chance = server, client, random.Random(f"{seed} {client}")
        self.there: set[int] = set()
        self.gone: set[int] = set()
        self.doubtful: set[int] = set()
        self.counted: Counter[int] = Counter()
        self.in_doubt: Counter[int] = Counter()
        self.halves: list[tuple[frozenset[int], frozenset[int]]] = []
        """(rows coming, rows going) of transactions in doubt."""
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.steps = 0
        self._next = client << 32

    def successor(self, seed: int) -> Writer:
        """Another that knows what this one knows; it has ended."""
        other = Writer(self.server, self.client, seed)
        other.there, other.gone, other.doubtful = self.there, self.gone, self.doubtful
        other.counted, other.in_doubt, other.halves = self.counted, self.in_doubt, self.halves
        other.steps, other._next = self.steps, self._next
        return other

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                    connection.prepare_threshold = 0
                    while not self.stop.is_set():
                        self._step(connection)
            except psycopg.OperationalError:
                time.sleep(0.05)
            except BaseException as failure:
                self.failure = failure
                raise

    def _step(self, connection: psycopg.Connection) -> None:
        key = self.chance.randrange(KEYS)
        ids = range(self._next + 1, self._next + 1 + self.chance.randrange(1, 5))
        old = set(self.chance.sample(sorted(self.there), min(len(self.there) // 8, 2)))
        self._next = ids[-1]
        self.doubtful |= {*ids, *old}
        self.there -= old
        self.in_doubt[key] += 1
        way = self.chance.choice((self._alone, self._pipeline, self._block))
        if way != self._alone:
            self.halves.append((frozenset(ids), frozenset(old)))
        try:
            committed = way(connection, key, ids, old)
        except (errors.SerializationFailure, errors.UniqueViolation):
            # At the end of a transaction: another client was first to change the counter, or to insert it.
            assert way != self._alone
            committed = False
        if way != self._alone:
            self.halves.pop()
        self.doubtful -= {*ids, *old}
        self.in_doubt[key] -= 1
        if committed:
            self.there |= set(ids)
            self.gone |= old
            self.counted[key] += 1
        else:
            self.there |= old
            self.gone |= set(ids)
        self.steps += 1

    def _alone(self, connection: psycopg.Connection, key: int, ids: range, old: set[int]) -> bool:
        for id_ in ids:
            connection.execute(INSERT, (id_, self.client, key, None))
            self.there.add(id_)
            self.doubtful.discard(id_)
        for id_ in old:
            assert connection.execute(DELETE, (id_,)).rowcount == 1, id_
            self.gone.add(id_)
            self.doubtful.discard(id_)
        connection.execute(COUNT, (key,))
        return True

    def _pipeline(self, connection: psycopg.Connection, key: int, ids: range, old: set[int]) -> bool:
        with connection.pipeline():
            self._all(connection, key, ids, old)
        return True

    def _block(self, connection: psycopg.Connection, key: int, ids: range, old: set[int]) -> bool:
        refused = self.chance.random() < 0.2
        with connection.transaction(force_rollback=refused):
            self._all(connection, key, ids, old)
            if self.chance.random() < 0.5:
                connection.execute(ADD, (key,))
                connection.execute("UPDATE counter SET n = n - 1 WHERE k = %s", (key,))
        return not refused

    def _all(self, connection: psycopg.Connection, key: int, ids: range, old: set[int]) -> None:
        """Rows that belong together name the first of them as their twin."""
        for id_ in ids:
            connection.execute(INSERT, (id_, self.client, key, ids[0]))
        for id_ in old:
            connection.execute(DELETE, (id_,))
        connection.execute(COUNT, (key,))


def check(server: ServerProcess, writers: list[Writer]) -> None:
    """After the writers have stopped: each acknowledged step once, each other one whole or not at all."""
    assert not any(writer.failure for writer in writers)
    with server.connect() as connection:
        same(connection)
        found = {id_ for (id_,) in connection.execute("SELECT id FROM own").fetchall()}
        counts = dict(connection.execute("SELECT k, n FROM counter").fetchall())
    for key in range(KEYS):
        least = sum(writer.counted[key] for writer in writers)
        most = least + sum(writer.in_doubt[key] for writer in writers)
        assert least <= counts.get(key, 0) <= most, f"counter {key}: {counts.get(key)} not in {least}..{most}"
    for writer in writers:
        assert writer.there <= found, f"lost: {sorted(writer.there - found)[:5]}"
        assert not writer.gone & found, f"back: {sorted(writer.gone & found)[:5]}"
    known = {id_ for writer in writers for id_ in writer.there | writer.doubtful}
    assert found <= known
    for writer in writers:
        for coming, going in writer.halves:
            here = coming if coming & found else going
            assert (coming | going) & found == here, f"a half of {sorted(coming)}, {sorted(going)}"


def same(connection: psycopg.Connection) -> None:
    """Every view equals its query, at one moment."""
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        for name, query in EQUAL.items():
            view = sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall()))
            assert view == sorted(map(repr, connection.execute(query).fetchall())), name
