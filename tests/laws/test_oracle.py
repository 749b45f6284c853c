"""The plain forms against PostgreSQL: the same rows, the same query, the same bag of rows out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal

import psycopg
import pytest

from millpond.operators.aggregate import Aggregate
from millpond.operators.dataflow import run
from millpond.operators.distinct import Distinct
from millpond.operators.join import Join, JoinKind
from millpond.operators.node import EpochContext, Node
from millpond.operators.set_operation import SetOperation
from millpond.operators.sorting import SortKey
from millpond.operators.topn import TopN
from millpond.operators.window import Window
from millpond.operators.zset import ZSet
from millpond.storage import types as t
from millpond.storage.types import format_type

from .examples import (
    call,
    column,
    equi,
    frame,
    group,
    joined_condition,
    joined_unequal,
    lists,
    number,
    operator,
    over,
    positive,
    relations,
    scans,
    sides,
    statistics,
    windowed_lists,
)
from .relations import Relation

SEEDS = range(3)
ORDER = "c1 DESC NULLS FIRST, c2 NULLS FIRST, c0, c3"
KEYS = (SortKey(1, True, True), SortKey(2, False, True))


def loaded(postgres: psycopg.Connection, seed: int) -> list[Relation]:
    """Relations of some sixty rows, and the same rows in tables of PostgreSQL."""
    inputs = relations(seed, t.numeric(10, 2))
    for relation in inputs:
        for _ in range(12):
            relation.change(8)
        columns = ", ".join(f"{c.name} {format_type(c.type)}" for c in relation.schema)
        postgres.execute(f"CREATE TABLE {relation.name} ({columns})".encode())
        places = ", ".join(["%s"] * len(relation.schema))
        with postgres.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {relation.name} VALUES ({places})".encode(), relation.rows)
    return inputs


def plain_value(value: object) -> object:
    """Numerics as text, so that their display scale counts."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list):
        return tuple(value)
    return value


def rows_of(zset: ZSet) -> Counter:
    values = [column.to_pylist() for column in zset.columns]
    total: Counter = Counter()
    for row, weight in zip(zip(*values, strict=True), zset.weights.tolist(), strict=True):
        total[tuple(plain_value(v) for v in row)] += weight
    return total


def check(postgres: psycopg.Connection, inputs: list[Relation], node: Node, query: str) -> ZSet:
    contents = {relation.name: relation.content() for relation in inputs}
    result = run(node, lambda scan: contents[scan.relation], EpochContext(1, 0))
    expected = Counter(
        tuple(plain_value(v) for v in row) for row in postgres.execute(query.encode()).fetchall()
    )
    assert rows_of(result) == expected
    assert expected or "intersect" in query
    return result


SQL_KINDS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_joins(postgres: psycopg.Connection, seed: int) -> None:
    inputs = loaded(postgres, seed)
    r = scans(inputs)
    for kind, words in SQL_KINDS.items():
        node = equi(r["r"], r["s"], kind, 0, 0)
        check(postgres, inputs, node, f"SELECT * FROM r {words} s ON r.c0 = s.c0")
        if kind is not JoinKind.FULL:
            query = f"SELECT * FROM r {words} s ON r.c0 = s.c0 AND r.c2 < s.c1"
            check(postgres, inputs, joined_condition(kind)(r), query)
            query = f"SELECT * FROM k {words} s ON k.c1 < s.c0"
            check(postgres, inputs, joined_unequal(kind)(r), query)
    for kind, words in ((JoinKind.SEMI, ""), (JoinKind.ANTI, "NOT")):
        node = equi(r["r"], r["s"], kind, 0, 0)
        condition = f"{words} EXISTS (SELECT FROM s WHERE s.c0 = r.c0"
        check(postgres, inputs, node, f"SELECT * FROM r WHERE {condition})")
        check(
            postgres, inputs, joined_condition(kind)(r), f"SELECT * FROM r WHERE {condition} AND r.c2 < s.c1)"
        )
    null_equal = equi(r["r"], r["s"], JoinKind.INNER, 3, 2, null_equal=True)
    check(postgres, inputs, null_equal, "SELECT * FROM r JOIN s ON r.c3 IS NOT DISTINCT FROM s.c2")
    check(postgres, inputs, Join(r["k"], r["s"], JoinKind.INNER), "SELECT * FROM k CROSS JOIN s")


@pytest.mark.parametrize("seed", SEEDS)
def test_aggregates(postgres: psycopg.Connection, seed: int) -> None:
    inputs = loaded(postgres, seed)
    r = scans(inputs)
    a = r["r"]
    c0, c1, c2, c3 = (column(a, i) for i in range(4))
    calls = (
        call("count"), call("count", c2), call("sum", c0), call("sum", c1), call("avg", c1), call("avg", c3),
        call("min", c2), call("max", c3), call("count", c0, distinct=True), call("sum", c3, distinct=True),
        call("sum", c1, filter=positive(a, 0)), call("bit_or", c1), call("min", c1, filter=positive(a, 0)),
    )  # fmt: skip
    listed = """count(*), count(c2), sum(c0), sum(c1), avg(c1), avg(c3), min(c2), max(c3), count(DISTINCT c0),
        sum(DISTINCT c3), sum(c1) FILTER (WHERE c0 > 0), bit_or(c1), min(c1) FILTER (WHERE c0 > 0)"""
    check(postgres, inputs, Aggregate(a, (c2,), calls, ("g",)), f"SELECT c2, {listed} FROM r GROUP BY c2")
    check(postgres, inputs, Aggregate(a, (), calls), f"SELECT {listed} FROM r")
    nothing = TopN(a, (), KEYS, 0)
    check(postgres, inputs, Aggregate(nothing, (), calls), f"SELECT {listed} FROM r WHERE false")
    guarded = group(a, (2,), call("sum", operator("/", number(100), c0), filter=positive(a, 0)))
    check(postgres, inputs, guarded, "SELECT c2, sum(100 / c0) FILTER (WHERE c0 > 0) FROM r GROUP BY c2")


@pytest.mark.parametrize("seed", SEEDS)
def test_ordered_aggregates(postgres: psycopg.Connection, seed: int) -> None:
    inputs = loaded(postgres, seed)
    r = scans(inputs)
    ordered = "ORDER BY c1 DESC NULLS FIRST, c0, c2"
    query = f"""SELECT c0, string_agg(c2, ',' {ordered}), string_agg(DISTINCT c2, ','),
        array_agg(c1 ORDER BY c1), array_agg(c2 ORDER BY c1 NULLS FIRST, c2) FILTER (WHERE c1 > 0),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY c0::float8),
        percentile_disc(0.5) WITHIN GROUP (ORDER BY c1), mode() WITHIN GROUP (ORDER BY c2)
        FROM r GROUP BY c0"""
    check(postgres, inputs, lists(r), query)
    # Only those over integers: a variance of floats is exact here and rounds otherwise in PostgreSQL.
    whole = statistics(r)
    query = "SELECT c2, stddev(c0), var_pop(c0) FROM r GROUP BY c2"
    check(postgres, inputs, replace(whole, calls=whole.calls[:2]), query)
    running = """SELECT *, string_agg(c2, ',') OVER w,
        array_agg(c1) FILTER (WHERE c1 > 0) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING),
        stddev(c1) OVER w
        FROM k WINDOW w AS (PARTITION BY c2 ORDER BY c0)"""
    check(postgres, inputs, windowed_lists(r), running)


@pytest.mark.parametrize("seed", SEEDS)
def test_sets(postgres: psycopg.Connection, seed: int) -> None:
    inputs = loaded(postgres, seed)
    r = scans(inputs)
    for operation in ("intersect", "except"):
        for every in (False, True):
            words = operation + (" ALL" if every else "")
            query = f"SELECT c0, c3 FROM r {words} SELECT c0, c2 FROM s"
            check(postgres, inputs, SetOperation(*sides(r), operation, every), query)
    check(postgres, inputs, Distinct(sides(r)[0]), "SELECT DISTINCT c0, c3 FROM r")


@pytest.mark.parametrize("seed", SEEDS)
def test_order_and_limit(postgres: psycopg.Connection, seed: int) -> None:
    inputs = loaded(postgres, seed)
    a = scans(inputs)["r"]
    for limit, offset in ((5, 0), (4, 3), (None, 6), (1000, 2)):
        limits = f"LIMIT {'ALL' if limit is None else limit} OFFSET {offset}"
        node = TopN(a, (), KEYS, limit, offset)
        result = check(postgres, inputs, node, f"SELECT * FROM r ORDER BY {ORDER} {limits}")
        in_order = [row[1] for row in postgres.execute(f"SELECT * FROM r ORDER BY {ORDER} {limits}".encode())]
        got = [
            v for v, w in zip(result.columns[1].to_pylist(), result.weights, strict=True) for _ in range(w)
        ]
        assert got == in_order
    ties = "SELECT * FROM r ORDER BY c1 DESC NULLS FIRST, c2 NULLS FIRST FETCH FIRST 3 ROWS WITH TIES"
    check(postgres, inputs, TopN(a, (), KEYS, 3, 0, True), ties)
    partition = f"""SELECT c0, c1, c2, c3 FROM
        (SELECT *, row_number() OVER (PARTITION BY c0 ORDER BY {ORDER}) AS n FROM r)
        WHERE n BETWEEN 2 AND 3"""
    check(postgres, inputs, TopN(a, (0,), KEYS, 2, 1), partition)


@pytest.mark.parametrize("seed", SEEDS)
def test_windows(postgres: psycopg.Connection, seed: int) -> None:
    inputs = loaded(postgres, seed)
    a = scans(inputs)["r"]
    c0, c1, c2, c3 = (column(a, i) for i in range(4))
    order = (SortKey(1), SortKey(2), SortKey(0), SortKey(3))
    total = (
        over("row_number"), over("rank"), over("dense_rank"), over("percent_rank"), over("cume_dist"),
        over("ntile", number(4)), over("lag", c2), over("lead", c1, number(2)),
        over("lag", c0, number(1), number(-5)), over("first_value", c3), over("last_value", c3),
        over("nth_value", c2, number(2)), over("sum", c3), over("count", c2),
        over("sum", c0, frame=frame("rows", -2, 1)), over("max", c0, frame=frame("rows", -1, 3)),
        over("avg", c0, frame=frame("rows", 2, 4)), over("min", c2, frame=frame("groups", -1, 1)),
        over("sum", c0, frame=frame("rows", -3, -1), filter=positive(a, 0)),
        over("bit_or", c0, frame=frame("rows", None, None)),
        over("last_value", c0, frame=frame("rows", -9, 2)),
    )  # fmt: skip
    query = """SELECT c0, c1, c2, c3, row_number() OVER w, rank() OVER w, dense_rank() OVER w,
        percent_rank() OVER w, cume_dist() OVER w, ntile(4) OVER w, lag(c2) OVER w, lead(c1, 2) OVER w,
        lag(c0, 1, -5) OVER w, first_value(c3) OVER w, last_value(c3) OVER w, nth_value(c2, 2) OVER w,
        sum(c3) OVER w, count(c2) OVER w,
        sum(c0) OVER (w ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING),
        max(c0) OVER (w ROWS BETWEEN 1 PRECEDING AND 3 FOLLOWING),
        avg(c0) OVER (w ROWS BETWEEN 2 FOLLOWING AND 4 FOLLOWING),
        min(c2) OVER (w GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING),
        sum(c0) FILTER (WHERE c0 > 0) OVER (w ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING),
        bit_or(c0) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING),
        last_value(c0) OVER (w ROWS BETWEEN 9 PRECEDING AND 2 FOLLOWING)
        FROM r WINDOW w AS (PARTITION BY c2 ORDER BY c1, c2, c0, c3)"""
    check(postgres, inputs, Window(a, (2,), order, total), query)
    for descending, nulls_first, words in (
        (False, False, ""),
        (True, True, "DESC"),
        (False, True, "NULLS FIRST"),
    ):
        calls = (
            over("sum", c0, frame=frame("range", -2, 3)), over("count", frame=frame("range", None, 1)),
            over("count", frame=frame("range", 1, None)), over("rank"), over("sum", c0),
            over("count", frame=frame("groups", -1, 0)), over("sum", c0, frame=frame("range", 0, 0)),
        )  # fmt: skip
        query = f"""SELECT c0, c1, c2, c3,
            sum(c0) OVER (w RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING),
            count(*) OVER (w RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING),
            count(*) OVER (w RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING),
            rank() OVER w, sum(c0) OVER w,
            count(*) OVER (w GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW),
            sum(c0) OVER (w RANGE BETWEEN CURRENT ROW AND CURRENT ROW)
            FROM r WINDOW w AS (PARTITION BY c3 ORDER BY c0 {words})"""
        check(postgres, inputs, Window(a, (3,), (SortKey(0, descending, nulls_first),), calls), query)
