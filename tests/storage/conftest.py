"""The oracle of the value tests: what a real PostgreSQL makes of a text, a binary value, an expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

_INPUT = """
CREATE OR REPLACE FUNCTION pg_temp.read_text(value text, type_name text) RETURNS text[] AS $$
DECLARE problem record; shown text; sent bytea;
BEGIN
    SELECT * INTO problem FROM pg_input_error_info(value, type_name);
    IF problem.message IS NOT NULL THEN
        RETURN ARRAY['!', problem.sql_error_code, problem.message];
    END IF;
    EXECUTE format('SELECT format(''%%s'', %L::%s)', value, type_name) INTO shown;
    RETURN ARRAY['=', shown];
EXCEPTION WHEN OTHERS THEN
    RETURN ARRAY['!', SQLSTATE, SQLERRM];
END $$ LANGUAGE plpgsql
"""
_EVALUATE = """
CREATE OR REPLACE FUNCTION pg_temp.evaluate(expression text) RETURNS text[] AS $$
DECLARE shown text;
BEGIN
    EXECUTE 'SELECT (' || expression || ')::text' INTO shown;
    RETURN ARRAY['=', shown];
EXCEPTION WHEN OTHERS THEN
    RETURN ARRAY['!', SQLSTATE, SQLERRM];
END $$ LANGUAGE plpgsql
"""


@dataclass(frozen=True)
class Failure:
    """An error by what clients see of it."""

    code: str
    message: str


Outcome = str | Failure | None


@dataclass
class Oracle:
    connection: Any

    def _outcomes(self, sql: str, parameters: Sequence[Any]) -> list[Outcome]:
        rows = self.connection.execute(sql, parameters).fetchall()
        return [Failure(row[0][1], row[0][2]) if row[0][0] == "!" else row[0][1] for row in rows]

    def read(self, type_name: str, texts: Sequence[str]) -> list[Outcome]:
        """Each text through the type's input and output functions."""
        return self._outcomes(
            "SELECT pg_temp.read_text(t, %s) FROM unnest(%s::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n",
            (type_name, list(texts)),
        )

    def evaluate(self, expressions: Sequence[str]) -> list[Outcome]:
        """Each SQL expression, as text."""
        return self._outcomes(
            "SELECT pg_temp.evaluate(t) FROM unnest(%s::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n",
            (list(expressions),),
        )

    def send(self, type_name: str, texts: Sequence[str]) -> list[bytes]:
        """The binary form of each text."""
        sql = f"SELECT t::{type_name} FROM unnest(%s::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n"
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(sql, (list(texts),))
            result = cursor.pgresult
            assert result is not None
            values = [result.get_value(row, 0) for row in range(result.ntuples)]
        return [value for value in values if value is not None]

    def set(self, name: str, value: str) -> None:
        self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))


@pytest.fixture
def oracle(postgres: psycopg.Connection[Any]) -> Oracle:
    postgres.execute(_INPUT)
    postgres.execute(_EVALUATE)
    return Oracle(postgres)


@pytest.fixture
def differences() -> Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]:
    """(input, expected, found) of every mismatch, so that a failing test shows all of them."""

    def compare(inputs: Sequence[Any], expected: Sequence[Any], found: Sequence[Any]) -> list[Any]:
        assert len(inputs) == len(expected) == len(found)
        return [row for row in zip(inputs, expected, found, strict=True) if row[1] != row[2]]

    return compare
