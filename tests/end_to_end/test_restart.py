"""A restarted server answers before it has read its large tables, and is right until it has."""

from __future__ import annotations

import time

import psycopg

from .server_process import ServerProcess

ROWS = 500_000
SCHEMA = (
    "CREATE TABLE small (g int PRIMARY KEY, name text)",
    "INSERT INTO small SELECT i, 'group ' || i FROM generate_series(0, 9) AS s(i)",
    "CREATE TABLE entry (id bigint PRIMARY KEY, g int, v bigint)",
    "CREATE TABLE nameless (id bigint, v bigint)",
    "CREATE MATERIALIZED VIEW twice AS SELECT id, g, 2 * v AS w FROM entry",
    "CREATE MATERIALIZED VIEW grouped AS SELECT g, count(*) AS n, sum(v) AS s FROM entry GROUP BY g",
    "CREATE MATERIALIZED VIEW named AS SELECT e.id, s.name FROM entry e JOIN small s ON e.g = s.g "
    "WHERE e.v % 10 = 0",
    f"INSERT INTO entry SELECT i, i % 10, i FROM generate_series(0, {ROWS - 1}) AS s(i)",
    f"INSERT INTO nameless SELECT i, i FROM generate_series(0, {ROWS - 1}) AS s(i)",
)
EQUAL = {
    "grouped": "SELECT g, count(*), sum(v) FROM entry GROUP BY g",
    "(SELECT g, sum(w) FROM twice GROUP BY g) x": "SELECT g, sum(2 * v) FROM entry GROUP BY g",
    "(SELECT name, count(*) FROM named GROUP BY name) x": "SELECT s.name, count(*) FROM entry e "
    "JOIN small s ON e.g = s.g WHERE e.v % 10 = 0 GROUP BY s.name",
}
LEFT = (
    "SELECT name, evicted FROM millpond.tables UNION ALL SELECT name, evicted FROM millpond.views "
    "ORDER BY name"
)


def check(connection: psycopg.Connection) -> None:
    for view, query in EQUAL.items():
        found = sorted(map(repr, connection.execute(f"SELECT * FROM {view}").fetchall()))
        assert found == sorted(map(repr, connection.execute(query).fetchall())), view


def change(connection: psycopg.Connection, turn: int) -> None:
    """Rows come, go and change, old ones and new ones."""
    first = ROWS + 10 * turn
    connection.execute(
        f"INSERT INTO entry SELECT i, i % 10, i FROM generate_series({first}, {first + 9}) AS s(i)"
    )
    connection.execute("DELETE FROM entry WHERE id = %s", (100 + turn,))
    connection.execute("UPDATE entry SET v = v + 10 WHERE id = %s", (200 + turn,))
    connection.execute("INSERT INTO nameless VALUES (%s, 1)", (first,))


def left(connection: psycopg.Connection) -> dict[str, int]:
    return dict(connection.execute(LEFT).fetchall())


def test_answers_are_right_while_rows_come_back_also_after_kills(server: ServerProcess) -> None:
    with server.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)
    server.stop()
    for turn in range(3):
        server.start()
        with server.connect() as connection:
            cold = left(connection)
            assert cold["small"] == cold["grouped"] == 0
            assert cold["entry"] or cold["twice"] or cold["nameless"]
            found = connection.execute("SELECT w FROM twice WHERE id = 499999").fetchone()
            assert found == (999998,)
            change(connection, turn)
            if turn != 1:
                check(connection)
        # The second time in the middle of it all.
        server.kill()
    server.start()
    with server.connect() as connection:
        while any(left(connection).values()):
            time.sleep(0.05)
        check(connection)
        count = ROWS + 3 * 9
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (count,)
        found = connection.execute("SELECT count(*), sum(v) FROM nameless").fetchone()
        assert found == (ROWS + 3, ROWS * (ROWS - 1) // 2 + 3)
