"""Aggregates: PostgreSQL's values, and exact retraction."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from millpond.operators.functions import exact_floats, exact_sums
from millpond.operators.functions.aggregates import AGGREGATES, AggregateFunction
from millpond.storage import types as t
from millpond.storage.errors import SqlError
from millpond.storage.textform import format_text, parse_text
from millpond.storage.types import Type

VALUES: dict[Type, list[str | None]] = {
    t.INT2: ["0", "1", "-1", "32767", "-32768", "12", None],
    t.INT4: ["0", "1", "-1", "2147483647", "-2147483648", "12", None],
    t.INT8: ["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "12", None],
    t.numeric(12, 2): ["0.00", "1.25", "-1.10", "1234567890.12", "-99.99", None],
    t.numeric(38, 4): ["0.0000", "1.2500", "-1.1000", "1234567890123456789012345678901234.1234", None],
    t.NUMERIC: ["0", "1.5", "-2.250", "1e30", "0.000001", "12345678901234567890.5", None],
    t.FLOAT4: ["0", "1.5", "-2.25", "1024", "0.125", None],
    t.FLOAT8: ["0", "1.5", "-2.25", "1e9", "0.125", None],
    t.TEXT: ["", "a", "A", "ab", "é", "zz", None],
    t.bpchar(3): ["a", "b  ", "zzz", None],
    t.DATE: ["2020-02-29", "1999-12-31", "infinity", "-infinity", None],
    t.TIMESTAMP: ["2020-02-29 01:02:03.5", "1999-12-31", "infinity", None],
    t.TIMESTAMPTZ: ["2020-02-29 01:02:03.5+02", "1999-12-31", "-infinity", None],
    t.TIME: ["01:02:03", "23:59:59.999", None],
    t.INTERVAL: ["1 day", "24 hours 1 us", "1 month", "31 days", "-1 year 2 days", None],
    t.BOOL: ["t", "f", None],
}  # fmt: skip
LINEAR = [("count", type_) for type_ in VALUES]
LINEAR += [(n, type_) for n in ("sum", "avg") for type_ in VALUES if type_.category in "NT"]
LINEAR += [(n, t.BOOL) for n in ("bool_and", "bool_or", "every")]
EXTREMES = [(n, type_) for n in ("min", "max") for type_ in VALUES if type_ != t.BOOL]


def find(name: str, *types: Type) -> AggregateFunction:
    for function in AGGREGATES[name]:
        if len(function.args) == len(types) and all(
            d.name == "any" or d.same(a) for d, a in zip(function.args, types, strict=True)
        ):
            return function
    raise LookupError(name)


def rows_of(type_: Type, rng: random.Random, count: int, groups: int) -> tuple[list[str | None], list[int]]:
    return [rng.choice(VALUES[type_]) for _ in range(count)], [rng.randrange(groups) for _ in range(count)]


def column(type_: Type, texts: Sequence[str | None]) -> pa.Array:
    return parse_text(type_, pa.array(texts, pa.string()))


def from_postgres(
    postgres: psycopg.Connection,
    call: str,
    type_: Type,
    texts: Sequence[str | None],
    ids: Sequence[int],
    groups: int,
) -> list[str | None]:
    rows = postgres.execute(
        f"SELECT ({call.replace('$', f'v::{type_}')})::text FROM generate_series(0, %s) g "
        "LEFT JOIN unnest(%s::text[], %s::int[]) u(v, i) ON i = g GROUP BY g ORDER BY g",
        [groups - 1, list(texts), list(ids)],
    ).fetchall()
    return [row[0] for row in rows]


def text_of(type_: Type, array: pa.Array) -> list[str | None]:
    if type_.name == "bool":
        return [None if v is None else str(v).lower() for v in array.to_pylist()]
    return format_text(type_, array).to_pylist()


def linear(
    function: AggregateFunction,
    array: pa.Array,
    weights: Sequence[int],
    ids: Sequence[int],
    groups: int,
    type_: Type,
) -> list[pa.Array]:
    state = function.partial([array], np.array(weights, np.int64), np.array(ids, np.int64), groups, (type_,))
    declared = function.accumulators((type_,))
    assert [column.type for column in state] == [a.arrow for a in declared]
    if function.kind == "linear":
        assert all(column.null_count == 0 for column in state)
    return state


@pytest.mark.parametrize(("name", "type_"), LINEAR + EXTREMES, ids=str)
def test_against_postgres(postgres: psycopg.Connection, name: str, type_: Type) -> None:
    function = find(name, type_)
    rng = random.Random(f"{name}{type_}")
    for count, groups in ((0, 1), (1, 1), (9, 3), (400, 20)):
        texts, ids = rows_of(type_, rng, count, groups)
        if type_ == t.numeric(38, 4) and count > 9 and name != "count":
            continue  # its sum has more than 38 digits
        expected = from_postgres(postgres, f"{name}($)", type_, texts, ids, groups)
        half = count // 2
        state = linear(function, column(type_, texts[:half]), [1] * half, ids[:half], groups, type_)
        rest = linear(function, column(type_, texts[half:]), [1] * (count - half), ids[half:], groups, type_)
        result = function.finish(function.merge(state, rest, (type_,)), (type_,))
        wanted = function.result_type((type_,))
        assert result.type == wanted.arrow
        got = text_of(wanted, result)
        if name == "count":
            expected = [
                str(sum(1 for v, i in zip(texts, ids, strict=True) if i == g and v is not None))
                for g in range(groups)
            ]
        if type_.name == "bpchar":
            got = [None if v is None else v.rstrip() for v in got]
        assert got == expected


@pytest.mark.parametrize(("name", "type_"), LINEAR, ids=str)
def test_taking_away_restores_the_state(name: str, type_: Type) -> None:
    function = find(name, type_)
    rng = random.Random(f"{name}{type_}r")
    for count in (1, 3) if type_ == t.numeric(38, 4) else (1, 5, 200):
        groups = 4
        kept, kept_ids = rows_of(type_, rng, count, groups)
        gone, gone_ids = rows_of(type_, rng, count, groups)
        weights = [rng.choice([1, 2, 5]) for _ in range(count)]
        before = linear(function, column(type_, kept), [1] * count, kept_ids, groups, type_)
        came = linear(function, column(type_, gone), weights, gone_ids, groups, type_)
        went = linear(function, column(type_, gone), [-w for w in weights], gone_ids, groups, type_)
        after = function.merge(function.merge(before, came, (type_,)), went, (type_,))
        assert [c.to_pylist() for c in after] == [c.to_pylist() for c in before]
        assert function.finish(after, (type_,)).equals(function.finish(before, (type_,)))


@pytest.mark.parametrize(("name", "type_"), EXTREMES, ids=str)
def test_whole_extremes(postgres: psycopg.Connection, name: str, type_: Type) -> None:
    function = find(name, type_)
    groups, count = 5, 60
    texts, ids = rows_of(type_, random.Random(7), count, groups)
    expected = from_postgres(postgres, f"{name}($)", type_, texts, ids, groups)
    ordered = postgres.execute(
        f"SELECT v, i FROM unnest(%s::text[], %s::int[]) u(v, i) ORDER BY i, v::{type_} NULLS LAST",
        [texts, ids],
    ).fetchall()
    offsets = np.searchsorted([row[1] for row in ordered], np.arange(groups + 1))
    array = column(type_, [row[0] for row in ordered])
    result = function.whole([array], np.ones(count, np.int64), offsets, (type_,))
    got = format_text(function.result_type((type_,)), result).to_pylist()
    assert [v and v.rstrip() for v in got] == expected


SPECIAL = [0.0, -0.0, 5e-324, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan, 0.1, 1e-30]


def test_float_sums_are_exact_whatever_the_order_and_weights() -> None:
    rng = random.Random(3)
    for trial in range(40):
        count, groups = rng.choice([5, 100, 3000]), rng.choice([1, 7, 40])
        data = [
            rng.choice([*SPECIAL, rng.gauss(0, 1) * 10.0 ** rng.randint(-290, 290)]) for _ in range(count)
        ]
        if trial % 2:
            data = [v if math.isfinite(v) else 1.0 for v in data]
        ids = [rng.randrange(groups) for _ in range(count)]
        weights = [rng.choice([1, -1, 3, 10**6, -(10**13)]) for _ in range(count)]
        wanted = [0] * groups
        for value, weight, group in zip(data, weights, ids, strict=True):
            wanted[group] += weight * exact_floats.to_integer(value)
        got = exact_floats.sum_floats(np.array(data), np.array(weights), np.array(ids), groups)
        assert exact_floats.integers(got) == wanted
        assert got.to_pylist() == [exact_floats.pack_integer(v) for v in wanted]
        doubled = exact_floats.pack(*exact_floats.unpack([got, got]))
        assert doubled.to_pylist() == [exact_floats.pack_integer(2 * v) for v in wanted]


def test_float_sum_is_rounded_once() -> None:
    function = find("sum", t.FLOAT8)
    for data in ([0.1] * 10, [1e16, 1.0, -1e16], [1e308, 1e308, -1e308], [1e-320, 2e-320]):
        state = linear(function, pa.array(data, pa.float64()), [1] * len(data), [0] * len(data), 1, t.FLOAT8)
        assert function.finish(state, (t.FLOAT8,)).to_pylist() == [
            math.fsum(data) if max(data) < 1e308 else 1e308
        ]


def test_float_sum_beyond_range_is_an_error_unless_it_comes_back() -> None:
    function = find("sum", t.FLOAT8)
    state = linear(function, pa.array([1e308, 1e308]), [1, 1], [0, 0], 1, t.FLOAT8)
    with pytest.raises(SqlError, match="value out of range: overflow"):
        function.finish(state, (t.FLOAT8,))
    part = linear(function, pa.array([1e308]), [-1], [0], 1, t.FLOAT8)
    assert function.finish(function.merge(state, part, (t.FLOAT8,)), (t.FLOAT8,)).to_pylist() == [1e308]


@pytest.mark.parametrize("weights", [[1, 1, 1], [3, -2, 10**12], [10**6] * 3])
def test_integer_sums_beyond_64_bits(weights: list[int]) -> None:
    data = [2**63 - 1, -(2**63), 123456789012345678]
    wide = exact_sums.sum_by_group(np.array(data), np.array(weights), np.zeros(3, np.int64), 1)
    assert exact_sums.to_ints(wide) == [sum(d * w for d, w in zip(data, weights, strict=True))]


def test_decimal_sums_beyond_38_digits_are_an_error() -> None:
    type_ = t.numeric(38, 0)
    function = find("sum", type_)
    array = pa.array([Decimal(9) * 10**37] * 2, type_.arrow)
    for weights in ([1, 1], [2, 2], [10**12, 10**15]):
        state = linear(function, array, weights, [0, 0], 1, type_)
        with pytest.raises(SqlError) as caught:
            function.finish(state, (type_,))
        assert caught.value.code == "22003"
        back = linear(function, array, [1 - weights[0], -weights[1]], [0, 0], 1, type_)
        result = function.finish(function.merge(state, back, (type_,)), (type_,))
        assert result.to_pylist() == [Decimal(9) * 10**37]


SPREADS = ["var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"]


@pytest.mark.parametrize("type_", [t.INT4, t.INT8, t.numeric(12, 2), t.NUMERIC, t.FLOAT8], ids=str)
@pytest.mark.parametrize("name", SPREADS)
def test_spreads(postgres: psycopg.Connection, name: str, type_: Type) -> None:
    function = find(name, type_)
    rng = random.Random(name)
    for count, groups in ((0, 1), (1, 1), (2, 1), (9, 3), (200, 8)):
        texts, ids = rows_of(type_, rng, count, groups)
        expected = from_postgres(postgres, f"{name}($)", type_, texts, ids, groups)
        half = count // 3
        state = linear(function, column(type_, texts[:half]), [1] * half, ids[:half], groups, type_)
        rest = linear(function, column(type_, texts[half:]), [1] * (count - half), ids[half:], groups, type_)
        result = function.finish(function.merge(state, rest, (type_,)), (type_,))
        if type_ == t.FLOAT8:
            wanted = [None if v is None else float(v) for v in expected]
            assert result.to_pylist() == [v if v is None else pytest.approx(v, rel=1e-12) for v in wanted]
        else:
            assert result.to_pylist() == expected
        back = linear(function, column(type_, texts[half:]), [-1] * (count - half), ids[half:], groups, type_)
        after = function.merge(function.merge(state, rest, (type_,)), back, (type_,))
        assert [c.to_pylist() for c in after] == [c.to_pylist() for c in state]


PAIRS = ["covar_pop", "covar_samp", "corr", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy",
         "regr_slope",
         "regr_intercept", "regr_r2", "regr_count"]  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(postgres: psycopg.Connection, name: str) -> None:
    function = AGGREGATES[name][0]
    types = (t.FLOAT8, t.FLOAT8)
    rng = random.Random(name)
    for count in (0, 1, 2, 30):
        ys = [rng.choice([None, rng.gauss(0, 10)]) if count > 2 else float(i) for i in range(count)]
        xs = [rng.gauss(5, 2) for _ in range(count)]
        row = postgres.execute(
            f"SELECT {name}(y, x) FROM unnest(%s::float8[], %s::float8[]) u(y, x)", [ys, xs]
        ).fetchone()
        args = [pa.array(ys, pa.float64()), pa.array(xs, pa.float64())]
        state = function.partial(args, np.ones(count, np.int64), np.zeros(count, np.int64), 1, types)
        got = function.finish(state, types).to_pylist()[0]
        assert row is not None
        assert got == (row[0] if row[0] is None else pytest.approx(row[0], rel=1e-9, abs=1e-12))


LISTS = [
    ("array_agg(v ORDER BY v)", "array_agg", t.INT4, ()),
    ("string_agg(v, ',' ORDER BY v)", "string_agg", t.TEXT, (",",)),
    ("jsonb_agg(v ORDER BY v)", "jsonb_agg", t.INT4, ()), ("json_agg(v ORDER BY v)", "json_agg", t.TEXT, ()),
    ("json_agg(v ORDER BY v)", "json_agg", t.FLOAT8, ()),
    ("array_agg(v ORDER BY v)", "array_agg", t.TIMESTAMP, ()),
    ("bit_and(v)", "bit_and", t.INT4, ()), ("bit_or(v)", "bit_or", t.INT8, ()),
    ("bit_xor(v)", "bit_xor", t.INT2, ()),
    ("mode() WITHIN GROUP (ORDER BY v)", "mode", t.TEXT, ()),
    ("any_value(v ORDER BY v)", "any_value", t.INT4, ()),
    ("jsonb_object_agg(v, 1) FILTER (WHERE v IS NOT NULL)", "jsonb_object_agg", t.TEXT, ("1",)),
    ("json_object_agg(v, 1 ORDER BY v) FILTER (WHERE v IS NOT NULL)", "json_object_agg", t.TEXT, ("1",)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "name", "type_", "more"), LISTS, ids=str)
def test_lists(
    postgres: psycopg.Connection, call: str, name: str, type_: Type, more: tuple[str, ...]
) -> None:
    function = next(f for f in AGGREGATES[name] if f.args[0].name.startswith("any") or f.args[0].same(type_))
    rng = random.Random(call)
    values = [v for v in VALUES[type_] if v is not None or "FILTER" not in call]
    for count in (0, 1, 3, 40):
        texts = [rng.choice(values) for _ in range(count)]
        array, weights, offsets, expected = sorted_group(postgres, call, type_, texts)
        types = (type_, *(t.INT4 if v == "1" else t.TEXT for v in more))
        constants = [
            pa.array([1] * len(array), pa.int32()) if v == "1" else pa.array([v] * len(array)) for v in more
        ]
        result = function.whole([array, *constants], weights, offsets, types)
        assert text_of(function.result_type(types), result) == [expected]


def sorted_group(
    postgres: psycopg.Connection, call: str, type_: Type, texts: Sequence[str | None]
) -> tuple[pa.Array, np.ndarray, np.ndarray, str | None]:
    """One group's values, distinct and in order, their weights, and PostgreSQL's aggregate of them."""
    source = f"(SELECT x::{type_} v FROM unnest(%s::text[]) x) s"
    expected = postgres.execute(f"SELECT ({call})::text FROM {source}", [list(texts)]).fetchone()
    rows = postgres.execute(
        f"SELECT s.v::text, count(*) FROM {source} GROUP BY s.v ORDER BY s.v NULLS LAST", [list(texts)]
    ).fetchall()
    assert expected is not None
    array = column(type_, [row[0] for row in rows])
    weights = np.array([row[1] for row in rows], np.int64)
    return array, weights, np.array([0, len(rows)]), expected[0]


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("name", "type_"), [("percentile_cont", t.FLOAT8), ("percentile_cont", t.INTERVAL),
                                             ("percentile_disc", t.TEXT), ("percentile_disc", t.FLOAT8)],
                                             ids=str)  # fmt: skip
def test_percentiles(postgres: psycopg.Connection, name: str, type_: Type, fraction: float) -> None:
    function = next(f for f in AGGREGATES[name] if f.args[1].name == "anyelement" or f.args[1].same(type_))
    call = f"{name}({fraction}) WITHIN GROUP (ORDER BY v)"
    rng = random.Random(call)
    for count in (0, 1, 2, 50):
        texts = [rng.choice(VALUES[type_]) for _ in range(count)]
        array, weights, offsets, expected = sorted_group(postgres, call, type_, texts)
        fractions = pa.array([fraction] * len(array), pa.float64())
        result = function.whole([fractions, array], weights, offsets, (t.FLOAT8, type_))
        assert text_of(type_, result) == [expected]


def test_first_last_and_arguments_of_extremes() -> None:
    values, by = pa.array(["a", None, "c", "d"]), pa.array([2, 1, None, 9])
    weights, offsets = np.ones(4, np.int64), np.array([0, 3, 4, 4])
    types = (t.TEXT, t.INT4)
    wanted = {"first_value": ["a", "d", None], "last_value": ["c", "d", None], "any_value": ["a", "d", None]}
    for name, expected in wanted.items():
        assert AGGREGATES[name][0].whole([values], weights, offsets, types[:1]).to_pylist() == expected
    for name, expected in {"arg_max": ["a", "d", None], "arg_min": [None, "d", None]}.items():
        assert AGGREGATES[name][0].whole([values, by], weights, offsets, types).to_pylist() == expected
