"""What translated queries yield, compared with a real PostgreSQL on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ..sql.bind_oracle import DEFINITIONS, catalog
from .execution_oracle import Database, postgres_rows, sorted_rows

FOLDER = Path(__file__).parent / "queries"
QUERIES = [line for line in (FOLDER / "select.sql").read_text().splitlines() if line.strip()]


@pytest.fixture(scope="module")
def oracle(postgres_uri: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA translate; SET search_path = translate; SET timezone = 'UTC'")
        connection.execute(DEFINITIONS)
        connection.execute((FOLDER / "data.sql").read_bytes())
        yield connection
        connection.execute("DROP SCHEMA translate CASCADE")


@pytest.fixture(scope="module")
def database() -> Database:
    database = Database(catalog())
    database.execute((FOLDER / "data.sql").read_text())
    return database


@pytest.mark.parametrize("text", QUERIES)
def test_rows_are_those_of_postgres(oracle: psycopg.Connection, database: Database, text: str) -> None:
    """In order where ORDER BY decides it."""
    expected, found = postgres_rows(oracle, text), database.query(text)
    if " order by " not in text or " over " in text:
        expected, found = sorted_rows(expected), sorted_rows(found)
    assert found == expected
