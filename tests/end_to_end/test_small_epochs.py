"""The same changes row by row and all at once, of values of every awkward kind, with restarts between.

The tables, their views and what a query says are the same text.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.adapt import Loader

from .test_aimed_kills import DyingServer

COLUMNS = {
    "f": "float8",
    "n": "numeric",
    "t": "text",
    "i": "interval",
    "a": "int[]",
    "j": "jsonb",
    "b": "boolean",
    "z": "timestamptz",
    "s": "text[]",
}
VALUES: dict[str, tuple[str | None, ...]] = {
    "f": (None, "0", "-0", "NaN", "Infinity", "-Infinity", "1e308", "-1e308", "1e-320", "0.1", "3"),
    "n": (
        None,
        "0",
        "0.00",
        "NaN",
        "1.0",
        "1.000",
        "1e40",
        "-123456789012345678901234567890.123456789",
        "0.1",
    ),
    "t": (None, "", "a", "a ", "é\u0301", "x" * 3000, "y" * 70_000, "'\"\\,{}"),
    "i": (None, "1 mon", "30 days", "720:00:00", "-1 day 24:00:00", "0", "00:00:00.000001", "100 years"),
    "a": (None, "{}", "{1}", "{1,NULL}", "{NULL}", "{1,2,3}"),
    "j": (
        None,
        "null",
        "1",
        "1.0",
        '"x"',
        '{"b": 1, "a": [1, {"c": null}]}',
        '{"a": [1, {"c": null}], "b": 1}',
    ),
    "b": (None, "true", "false"),
    "z": (None, "infinity", "-infinity", "2024-02-29 23:59:59.999999+02", "0044-03-15 12:00:00+00 BC"),
    "s": (None, "{}", '{"a,b"}', '{NULL,"NULL"}', '{""}'),
}
CANONICAL = {
    "f": "f + 0.0",
    "n": "trim_scale(n)",
    "i": "extract(epoch FROM i)",
    "j": "j::text = '1' OR j::text = '1.0'",
}
"""Equal values of these may look different: which of them a group shows is not said."""
VIEWS = {
    **{
        f"by_{c}": f"SELECT {c}, count(*) AS c, min(id) AS low, sum(n) AS total FROM %s GROUP BY {c}"
        for c in COLUMNS
    },
    "distinct_two": "SELECT DISTINCT i, b FROM %s",
    "total": "SELECT count(*) AS c, count(f) AS cf, sum(f) AS sf, avg(n) AS an, sum(n) AS sn, "
    "count(DISTINCT t) AS ct, count(DISTINCT i) AS ci FROM %s",
    "extremes": "SELECT b, min(t) AS lt, max(t) AS ht, min(z) AS lz, max(z) AS hz FROM %s GROUP BY b",
    "lists": "SELECT b, string_agg(left(t, 3), '|' ORDER BY id) AS ts, "
    "array_agg(f + 0.0 ORDER BY id) AS fs FROM %s "
    "GROUP BY b",
    "rows": "SELECT id, f, n, t, i, a, j, z, s FROM %s WHERE b",
    "pairs": "SELECT x.id AS l, y.id AS r FROM %s x JOIN %s y ON x.f = y.f AND x.id < y.id",
    "outer": "SELECT x.id AS l, y.id AS r, y.t FROM %s x LEFT JOIN %s y ON x.n = y.n AND y.b",
    "top": "SELECT id, f, n FROM %s ORDER BY f DESC NULLS LAST, id LIMIT 5",
    "ranks": "SELECT id, rank() OVER (PARTITION BY b ORDER BY n) AS r FROM %s",
}
KEYS = 40
Row = tuple[int, *tuple[str | None, ...]]


def define(connection: psycopg.Connection) -> None:
    for table in ("small", "large"):
        connection.execute(
            f"CREATE TABLE {table} (id bigint PRIMARY KEY, {', '.join(map(' '.join, COLUMNS.items()))})"
        )
        for name, query in VIEWS.items():
            connection.execute(f"CREATE MATERIALIZED VIEW {table}_{name} AS {query.replace('%s', table)}")


def new_row(chance: random.Random, id_: int) -> Row:
    return (id_, *(chance.choice(VALUES[c]) for c in COLUMNS))


class Changes:
    """Random changes: to `small` one after the other, to `large` what they come to, at once."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.rows: dict[int, Row] = {}
        self.touched: set[int] = set()
        casts = [f"%s::{type_}" for type_ in COLUMNS.values()]
        values = f"VALUES (%s, {', '.join(casts)})"
        everything = ", ".join(f"{c} = excluded.{c}" for c in COLUMNS)
        self.insert = f"INSERT INTO small {values}"
        self.upsert = f"{self.insert} ON CONFLICT (id) DO UPDATE SET {everything}"
        self.ignore = f"{self.insert} ON CONFLICT DO NOTHING"
        self.many = "INSERT INTO large VALUES "
        self.row = f"(%s, {', '.join(casts)})"

    def one(self, connection: psycopg.Connection) -> None:
        chance, id_ = self.chance, self.chance.randrange(KEYS)
        row, what = new_row(self.chance, id_), self.chance.random()
        self.touched.add(id_)
        if what < 0.2:
            connection.execute(self.ignore, row)
            self.rows.setdefault(id_, row)
        elif what < 0.45:
            connection.execute(self.upsert, row)
            self.rows[id_] = row
        elif id_ not in self.rows:
            connection.execute(self.insert, row)
            self.rows[id_] = row
        elif what < 0.75:
            place = chance.randrange(1, len(row))
            column = list(COLUMNS)[place - 1]
            query = f"UPDATE small SET {column} = %s::{COLUMNS[column]} WHERE id = %s"
            connection.execute(query, (row[place], id_))
            old = self.rows[id_]
            self.rows[id_] = (id_, *old[1:place], row[place], *old[place + 1 :])
        else:
            connection.execute("DELETE FROM small WHERE id = %s", (id_,))
            del self.rows[id_]

    def all_at_once(self, connection: psycopg.Connection) -> None:
        ids = sorted(self.touched)
        rows = [self.rows[i] for i in ids if i in self.rows]
        with connection.transaction():
            connection.execute("DELETE FROM large WHERE id = ANY(%s)", (ids,))
            if rows:
                connection.execute(
                    self.many + ", ".join([self.row] * len(rows)), [value for row in rows for value in row]
                )
        self.touched.clear()


def texts(connection: psycopg.Connection, relation: str, alike: bool) -> list[Any]:
    """The rows of a relation, sorted. `alike`: any of several equal values is shown as the same."""
    column = relation.partition("_by_")[2]
    shown = "t.*"
    if alike and column in CANONICAL:
        shown = f"({CANONICAL[column]})::text, c, low, trim_scale(total)"
    elif alike and "distinct" in relation:
        shown = "extract(epoch FROM i), b"
    cursor = connection.execute(f"SELECT {shown} FROM {relation} t")
    return sorted(map(repr, cursor.fetchall()))


def compare(connection: psycopg.Connection) -> None:
    connection.execute("SET extra_float_digits = 3")
    assert texts(connection, "small", False) == texts(connection, "large", False)
    for name in VIEWS:
        small, large = (texts(connection, f"{table}_{name}", True) for table in ("small", "large"))
        assert small == large, name
    for name, query in VIEWS.items():
        if name.partition("_")[2] not in CANONICAL and name != "distinct_two":
            fresh = sorted(map(repr, connection.execute(query.replace("%s", "small")).fetchall()))
            assert texts(connection, f"small_{name}", False) == fresh, name


class AsText(Loader):
    """What the server sent, undecoded: dates before Christ are none to Python."""

    def load(self, data: Any) -> bytes:
        return bytes(data)


def connected(server: DyingServer) -> psycopg.Connection:
    connection = server.connect(prepare_threshold=0)
    for type_ in (701, 1700, 25, 1186, 1007, 3802, 1184, 1009, 16, 1022):
        connection.adapters.register_loader(type_, AsText)
    return connection


def run(folder: Path, rounds: int, seed: int) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    server = DyingServer(folder / "data")
    server.start()
    connection = connected(server)
    try:
        define(connection)
        changes = Changes(chance)
        for number in range(rounds):
            for _ in range(chance.randrange(1, 30)):
                changes.one(connection)
            changes.all_at_once(connection)
            compare(connection)
            if number % 3 == 2:
                connection.close()
                server.kill() if chance.random() < 0.5 else server.stop()
                server.start()
                connection = connected(server)
                if chance.random() < 0.5:
                    compare(connection)
    finally:
        connection.close()
        server.stop()


def test_row_by_row_is_all_at_once(tmp_path: Path) -> None:
    run(tmp_path, 7, int(os.environ.get("MILLPOND_SMALL_SEED", random.randrange(1 << 30))))


@pytest.mark.slow
def test_row_by_row_is_all_at_once_for_long(tmp_path: Path) -> None:
    for number in range(10):
        run(tmp_path / str(number), 20, random.randrange(1 << 30))
