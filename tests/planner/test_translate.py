"""What translated queries yield, compared with a real PostgreSQL on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest
from psycopg import pq

from millpond.operators.expr import Literal
from millpond.operators.node import walk
from millpond.operators.topn import TopN
from millpond.planner.optimize import optimize
from millpond.planner.rewriting import substitute_node
from millpond.planner.translate import translate_query
from millpond.sql.parameters import ParameterTypes
from millpond.sql.parse import parse_select
from millpond.storage.errors import FeatureNotSupported, InvalidLimit, InvalidParameterValue
from millpond.storage.types import INT4, INT8, TEXT, Type, array_of

from ..sql.bind_oracle import DEFINITIONS, catalog
from .execution_oracle import Database, Row, as_text, postgres_rows, sorted_rows
from .random_queries import QueryMaker

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


ROWS_MAX = 3000


@pytest.mark.parametrize("seed", range(6))
def test_random_queries_give_the_rows_of_postgres(
    oracle: psycopg.Connection, database: Database, seed: int
) -> None:
    maker = QueryMaker(Random(seed))
    compared = 0
    while compared < 20:
        text = maker.query()
        result = oracle.pgconn.exec_(f"SET statement_timeout = 2000; {text}".encode())
        if result.status != pq.ExecStatus.TUPLES_OK or result.ntuples > ROWS_MAX:
            continue
        expected = sorted_rows(postgres_rows(oracle, text))
        assert sorted_rows(database.query(text)) == expected, text
        compared += 1


PARAMETRISED = [
    ("select id, b from t where a = $1 and b like $2 order by id", (1, "%"), (INT4, TEXT)),
    ("select id from t order by id limit $1 offset $2", (2, 1), (INT8, INT8)),
    ("select id from t where id in (select id from t order by n limit $1) order by id", (2,), (INT8,)),
    ("select $1, $2::int + 1", ("x", 41), (TEXT, INT4)),
    ("select id from t where id = any($1) order by id", ([1, 3],), (array_of(INT4),)),
]


@pytest.mark.parametrize(("text", "values", "types"), PARAMETRISED)
def test_parameters_are_typed_by_their_context_and_replaced(
    oracle: psycopg.Connection,
    database: Database,
    text: str,
    values: tuple[object, ...],
    types: tuple[Type, ...],
) -> None:
    parameters = ParameterTypes()
    query = translate_query(parse_select(text), database.catalog, ("public",), parameters)
    assert parameters.types() == types
    plan = optimize(query.node, database.catalog)
    literals = {i: Literal(v, t) for i, (v, t) in enumerate(zip(values, types, strict=True), 1)}
    rows = as_text(database.run(substitute_node(plan, literals)))
    inlined = text
    for i, value in enumerate(values, 1):
        inlined = inlined.replace(f"${i}", f"ARRAY{value}" if isinstance(value, list) else repr(value))
    assert rows == postgres_rows(oracle, inlined)


def test_a_negative_limit_is_refused_when_it_is_known() -> None:
    query = translate_query(parse_select("select id from t limit $1"), catalog(), ("public",))
    with pytest.raises(InvalidLimit):
        substitute_node(query.node, {1: Literal(-1, INT8)})


def test_a_view_keeps_no_order_and_no_volatile_function() -> None:
    plain = translate_query(parse_select("select id from t order by id"), catalog(), ("public",))
    view = translate_query(
        parse_select("select id from t order by id"), catalog(), ("public",), for_view=True
    )
    assert isinstance(plain.node, TopN)
    assert not any(isinstance(node, TopN) for node in walk(view.node))
    with pytest.raises(FeatureNotSupported, match="cannot be used in a materialized view"):
        translate_query(parse_select("select random() from t"), catalog(), ("public",), for_view=True)


def test_hidden_columns_are_found_by_name_only() -> None:
    query = translate_query(parse_select("select *, _row_id from u"), catalog(), ("public",))
    assert query.names == ("id", "tid", "c", "d", "f", "v", "s", "_row_id")
    assert query.origins[0] == (16401, 1)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "select id, window_start, window_end from tumble(t, ts, interval '1 day')"
            " where id < 3 order by 1",
            [
                ("1", "2020-01-01 00:00:00", "2020-01-02 00:00:00"),
                ("2", "2020-01-02 00:00:00", "2020-01-03 00:00:00"),
            ],
        ),
        (
            "select x.id, window_start from hop(t, ts, interval '6 h', interval '12 h') x"
            " where id = 1 order by 2",
            [("1", "2019-12-31 18:00:00"), ("1", "2020-01-01 00:00:00")],
        ),
        (
            "select window_start, count(*)"
            " from tumble((select ts as q from t where id < 3), q, interval '1' day,"
            " interval '2 h') w group by 1 order by 1",
            [("2019-12-31 02:00:00", "1"), ("2020-01-02 02:00:00", "1")],
        ),
    ],
)
def test_time_windows_add_their_bounds(database: Database, text: str, rows: list[Row]) -> None:
    assert database.query(text) == rows


def test_hop_needs_a_whole_number_of_slides(database: Database) -> None:
    with pytest.raises(InvalidParameterValue):
        database.query("select 1 from hop(t, ts, interval '5 h', interval '12 h')")
