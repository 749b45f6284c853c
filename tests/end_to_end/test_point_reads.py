"""Prepared SELECTs of one row by its key give what PostgreSQL gives, whatever the key and the columns are."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from .server_process import ServerProcess

COLUMNS = (
    "n int, big bigint, f double precision, b bool, word text, code char(4), money numeric(12, 3),"
    " loose numeric, at timestamptz, day date, raw bytea, doc jsonb, list int[]"
)
FULL = (
    7, -(1 << 60), 0.1, True, "wörd", "ab", Decimal("-0.050"), Decimal("1.50"),
    dt.datetime(2026, 5, 4, 3, 2, 1, 500, tzinfo=dt.UTC), dt.date(1, 1, 1), b"\0\xff", '{"a": [1]}', [1],
)  # fmt: skip
EMPTY = (None,) * len(FULL)
KEYS: dict[str, tuple[list[Any], list[Any]]] = {
    "smallint": ([1, -3], [1, -3, 5, None]),
    "integer": ([1, -3], [1, 99_999_999_999, 2, None]),
    "bigint": ([1, -(1 << 62)], [1, -(1 << 62), 2, None]),
    "text": (["", "ä"], ["ä", "", "a", None]),
    "varchar(5)": (["ab", "ab "], ["ab", "ab ", "abcdefgh", None]),
    "char(4)": (["ab", "x"], ["ab", "ab  ", "y"]),
    "double precision": ([0.0, 2.5], [-0.0, 2.5, float("nan")]),
    "numeric(6, 2)": ([Decimal("1.00"), Decimal("2.5")], [Decimal("1"), Decimal("2.500"), 2]),
    "date": ([dt.date(2026, 1, 1), dt.date(1999, 1, 1)], [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]),
    "bool": ([True, False], [True, None]),
}


def asked(connection: psycopg.Connection, text: str, values: tuple[Any, ...], binary: bool) -> list[Any]:
    return connection.execute(text, values, prepare=True, binary=binary).fetchall()


@pytest.mark.parametrize("binary", [False, True])
def test_keys_of_all_types(server: ServerProcess, postgres: psycopg.Connection, binary: bool) -> None:
    rows = (FULL, EMPTY)
    with server.connect() as ours:
        for number, (type_, (stored, probes)) in enumerate(KEYS.items()):
            name = f"keyed_{number}_{int(binary)}"
            for connection in (ours, postgres):
                connection.execute(f"CREATE TABLE {name} (id {type_} PRIMARY KEY, {COLUMNS})")
                for key, row in zip(stored, rows, strict=True):
                    marks = ", ".join(["%s"] * (1 + len(row)))
                    connection.execute(f"INSERT INTO {name} VALUES ({marks})", (key, *row))
            for what in ("*", "word, id, id", "money", "id + 1" if type_ == "bigint" else "id"):
                text = f"SELECT {what} FROM {name} WHERE id = %s"
                for probe in probes:
                    found = asked(ours, text, (probe,), binary)
                    assert repr(found) == repr(asked(postgres, text, (probe,), binary)), (type_, what, probe)
            assert ours.execute(f"SELECT FROM {name} WHERE id = %s", (stored[0],), prepare=True).rowcount == 1


def test_keys_of_several_columns_while_rows_come_and_go(server: ServerProcess) -> None:
    """Inserts, updates and deletes; within a block that has written, and in one that sees the old rows."""
    text = "SELECT v FROM pairs WHERE name = %s AND number = %s"
    with server.connect() as one, server.connect() as other:
        one.execute("CREATE TABLE pairs (name text, number int, v int, PRIMARY KEY (number, name))")
        one.execute("INSERT INTO pairs SELECT 'n' || i % 7, i, i FROM generate_series(1, 3000) AS g(i)")
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for number in range(1, 3000, 113):
            assert asked(other, text, (f"n{number % 7}", number), False) == [(number,)]
            assert asked(one, text, (f"n{number % 7 + 1}", number), False) == []
            one.execute("UPDATE pairs SET v = -v WHERE number = %s", (number,))
            assert asked(one, text, (f"n{number % 7}", number), False) == [(-number,)]
            with one.transaction():
                one.execute("DELETE FROM pairs WHERE number = %s", (number,))
                assert asked(one, text, (f"n{number % 7}", number), False) == []
            assert asked(one, text, (f"n{number % 7}", number), False) == []
            assert asked(other, text, (f"n{number % 7}", number), False) == [(number,)]
        other.execute("COMMIT")
        assert asked(other, text, ("n1", 1), False) == []


def test_rows_without_columns(server: ServerProcess, postgres: psycopg.Connection) -> None:
    """They are rows all the same: by key, of a whole table, of a union, and of cursors."""
    for connection in (server.connect(), postgres):
        connection.execute("CREATE TABLE bare (id int PRIMARY KEY)")
        connection.execute("INSERT INTO bare SELECT i FROM generate_series(1, 5) AS g(i)")
        for query, rows in {
            "SELECT FROM bare WHERE id = 3": 1,
            "SELECT FROM bare WHERE id = 9": 0,
            "SELECT FROM bare": 5,
            "SELECT FROM bare LIMIT 2": 2,
            "SELECT FROM bare UNION ALL SELECT FROM bare": 10,
        }.items():
            for prepare in (False, True):
                found = connection.execute(query, prepare=prepare)
                assert (found.rowcount, found.statusmessage) == (rows, f"SELECT {rows}"), query
        with connection.transaction():
            connection.execute("DECLARE c SCROLL CURSOR FOR SELECT FROM bare")
            moves = [
                "FETCH 2 FROM c",
                "FETCH BACKWARD 1 FROM c",
                "MOVE 2 IN c",
                "FETCH ALL FROM c",
                "FETCH c",
            ]
            assert [connection.execute(move).statusmessage for move in moves] == [
                "FETCH 2", "FETCH 1", "MOVE 2", "FETCH 2", "FETCH 0",
            ]  # fmt: skip


def test_a_cursor_over_a_row_by_its_key(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE one (id int PRIMARY KEY, v text)")
        connection.execute("INSERT INTO one VALUES (1, 'a'), (2, NULL)")
        for key, rows in ((1, [("a", 1)]), (2, [(None, 2)]), (3, [])):
            with connection.transaction(), connection.cursor("named") as cursor:
                cursor.execute("SELECT v, id FROM one WHERE id = %s", (key,))
                assert cursor.fetchall() == rows
