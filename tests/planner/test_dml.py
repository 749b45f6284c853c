"""Writes: their effect and what they return, compared with a real PostgreSQL statement by statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import pq

from millpond.operators.expr import Literal
from millpond.planner.dml import WriteKind, substitute_write, translate_write
from millpond.planner.rows import Rows
from millpond.sql import statements as st
from millpond.sql.parameters import ParameterTypes
from millpond.sql.parse import parse_statement
from millpond.storage.errors import SqlError
from millpond.storage.types import INT4, TEXT

from ..sql.bind_oracle import DEFINITIONS, catalog
from .execution_oracle import Database, postgres_rows, sorted_rows

FOLDER = Path(__file__).parent / "queries"
TABLES = ("t", "u", "w", "e")


@pytest.fixture(scope="module")
def oracle(postgres_uri: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA dml; SET search_path = dml; SET timezone = 'UTC'")
        connection.execute(DEFINITIONS)
        connection.execute((FOLDER / "data.sql").read_bytes())
        yield connection
        connection.execute("DROP SCHEMA dml CASCADE")


def test_writes_do_what_those_of_postgres_do(oracle: psycopg.Connection) -> None:
    """One after the other, on tables that start equal: RETURNING, and all tables afterwards."""
    database = Database(catalog())
    database.execute((FOLDER / "data.sql").read_text())
    for text in (FOLDER / "writes.sql").read_text().splitlines():
        expected = sorted_rows(postgres_rows(oracle, text))
        assert sorted_rows(database.execute(text)) == expected, text
        for table in TABLES:
            rows = sorted_rows(postgres_rows(oracle, f"SELECT * FROM {table}"))
            assert sorted_rows(database.rows(table)) == rows, (text, table)


def test_literal_rows_are_read_column_by_column() -> None:
    statement = parse_statement("INSERT INTO t (id, b) VALUES (1, 'x'), (2, NULL)")
    assert isinstance(statement, st.Insert)
    write = translate_write(statement, catalog(), ("public",))
    (given,) = write.node.inputs
    assert isinstance(given, Rows)
    assert [column.to_pylist() for column in given.columns] == [[1, 2], ["x", None]]


def test_parameters_of_a_write_are_typed_by_its_columns_and_substituted() -> None:
    statement = parse_statement("UPDATE t SET b = $1 WHERE id = $2 RETURNING b || $1")
    assert isinstance(statement, st.Update)
    parameters = ParameterTypes()
    write = translate_write(statement, catalog(), ("public",), parameters)
    assert parameters.types() == (TEXT, INT4)
    assert write.kind is WriteKind.UPDATE
    bound = substitute_write(write, {1: Literal("x", TEXT), 2: Literal(1, INT4)})
    assert "Parameter" in repr(write)
    assert "Parameter" not in repr(bound)


@pytest.mark.parametrize(
    "text",
    [
        "insert into u (v) values ('12345678901')",
        "insert into t (id) values (99999999999)",
        "insert into t (id) values (7001), ('x')",
        "insert into t (id, n) values (7001, 123456789.1)",
        "insert into t (id, n) values (7001, 'abc')",
        "insert into u (s) values (70000)",
        "insert into u (s) values ('70000')",
        "insert into t (id, j) values (7001, '{')",
        "insert into t (id, ok) values (7001, 'maybe')",
        "insert into t (id, ts) values (7001, '2020-13-01')",
        "insert into u (v) select '12345678901'",
    ],
)
def test_bad_values_are_refused_as_by_postgres(oracle: psycopg.Connection, text: str) -> None:
    field = oracle.pgconn.exec_(text.encode()).error_field
    with pytest.raises(SqlError) as caught:
        Database(catalog()).execute(text)
    assert caught.value.code.encode() == field(pq.DiagnosticField.SQLSTATE)
    assert caught.value.message.encode() == field(pq.DiagnosticField.MESSAGE_PRIMARY)
    assert caught.value.position == int(field(pq.DiagnosticField.STATEMENT_POSITION) or 0)
