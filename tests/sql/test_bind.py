"""Names, types, parameters and errors of statements, as a real PostgreSQL gives them without running one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from .bind_oracle import DEFINITIONS, ask_millpond, ask_postgres

FOLDER = Path(__file__).parent / "bind"


def statements(name: str) -> list[str]:
    return [line for line in (FOLDER / name).read_text().splitlines() if line.strip()]


@pytest.fixture(scope="module")
def oracle(postgres_uri: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA bind; SET search_path = bind")
        connection.execute(DEFINITIONS)
        yield connection
        connection.execute("DROP SCHEMA bind CASCADE")


@pytest.mark.parametrize("text", statements("valid.sql"))
def test_columns_and_parameters_are_those_of_postgres(oracle: psycopg.Connection, text: str) -> None:
    expected = ask_postgres(oracle, text)
    assert not expected.code, expected
    assert ask_millpond(text) == expected


@pytest.mark.parametrize("text", statements("invalid.sql"))
def test_errors_are_those_of_postgres(oracle: psycopg.Connection, text: str) -> None:
    assert ask_millpond(text) == ask_postgres(oracle, text)
