"""Overloads, coercions and common types, against PostgreSQL: pg_typeof of thousands of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import psycopg
import pytest

from millpond.operators.expr import Cast, ColumnRef, Expr, Literal
from millpond.operators.functions.registry import SCALARS
from millpond.sql.bind_results import result_type
from millpond.sql.coerce import can_coerce, coerce, common_type
from millpond.sql.resolve import resolve_function, resolve_operator
from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings
from millpond.storage.types import (
    DATE,
    INT4,
    INT8,
    INTERVAL,
    NUMERIC,
    REGCLASS,
    TEXT,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
    array_of,
    fixed_numeric,
    numeric,
    type_by_name,
    varchar,
)

NAMES = """bool int2 int4 int8 float4 float8 numeric text varchar bpchar name date time timestamp timestamptz
interval uuid jsonb json bytea oid int4[] text[] unknown"""
Outcome = tuple[str, str]


def of(name: str) -> Type:
    found = type_by_name(name)
    assert found is not None
    return found


TYPES = {name: of(name) for name in NAMES.split()}


def value(name: str) -> str:
    return "NULL" if name == "unknown" else f"NULL::{name}"


def theirs(postgres: psycopg.Connection, expressions: list[str]) -> list[Outcome]:
    """For each expression ("ok", its type) or (SQLSTATE, message)."""
    postgres.execute("""
        CREATE FUNCTION pg_temp.typeof(expressions text[]) RETURNS SETOF text[] LANGUAGE plpgsql AS $$
        DECLARE expression text; answer text;
        BEGIN
            FOREACH expression IN ARRAY expressions LOOP
                BEGIN
                    EXECUTE 'SELECT pg_typeof(' || expression || ')' INTO answer;
                    RETURN NEXT ARRAY['ok', answer];
                EXCEPTION WHEN OTHERS THEN
                    RETURN NEXT ARRAY[SQLSTATE, SQLERRM];
                END;
            END LOOP;
        END $$""")
    rows = postgres.execute("SELECT * FROM pg_temp.typeof(%s)", (expressions,)).fetchall()
    postgres.execute("DROP FUNCTION pg_temp.typeof")
    return [(row[0][0], row[0][1]) for row in rows]


def ours(resolve: Callable[[], str]) -> Outcome:
    try:
        return "ok", resolve()
    except SqlError as error:
        return error.code, error.message


def operation(symbol: str, left: Type | None, right: Type) -> str:
    found = resolve_operator(symbol, left, right, SCALARS.get(symbol, ()))
    return str(result_type(found.function, found.targets))


@pytest.mark.parametrize(
    "symbol", ["+", "-", "*", "/", "%", "=", "<", "||", "->", "->>", "~~", "~", "&", "^"]
)
def test_operators_resolve_as_in_postgresql(postgres: psycopg.Connection, symbol: str):
    pairs = [(left, right) for left in TYPES for right in TYPES]
    expected = theirs(postgres, [f"{value(left)} {symbol} {value(right)}" for left, right in pairs])
    found = [ours(lambda a=a, b=b: operation(symbol, TYPES[a], TYPES[b])) for a, b in pairs]
    wrong = [
        (pair, want, got) for pair, want, got in zip(pairs, expected, found, strict=True)
        if want != got and not (symbol == "~~" and "bytea" in pair)
    ]  # fmt: skip
    assert wrong == []


def test_prefix_operators_resolve_as_in_postgresql(postgres: psycopg.Connection):
    cases = [(symbol, name) for symbol in ("-", "@", "~") for name in TYPES if name != "unknown"]
    expected = theirs(postgres, [f"{symbol} {value(name)}" for symbol, name in cases])
    found = [ours(lambda s=s, n=n: operation(s, None, TYPES[n])) for s, n in cases]
    assert found == expected


FUNCTIONS = """abs round ceil sqrt sign trunc:2 round:2 mod:2 power:2 length lower upper substr:2 left:2
strpos:2 concat:2 concat_ws:2 repeat:2 replace:3 md5 date_trunc:2 age:2 to_timestamp array_length:2
array_append:2 array_prepend:2 array_cat:2 array_position:2 cardinality jsonb_typeof to_jsonb
starts_with:2 encode:2
octet_length split_part:3 chr ascii btrim lpad:3"""


@pytest.mark.parametrize("spec", FUNCTIONS.split())
def test_functions_resolve_as_in_postgresql(postgres: psycopg.Connection, spec: str):
    name, _, count = spec.partition(":")
    arguments = [[a] * int(count or 1) for a in TYPES]
    if count == "2":
        arguments = [[a, b] for a in TYPES for b in TYPES]
    if count == "3":
        arguments = [["text", a, b] for a in TYPES for b in ("text", "int4", "unknown")]
    calls = [f"{name}({', '.join(map(value, args))})" for args in arguments]
    expected = theirs(postgres, calls)

    def call(args: list[str]) -> str:
        found = resolve_function(name, [TYPES[a] for a in args], SCALARS[name])
        return str(result_type(found.function, found.targets))

    found = [ours(lambda args=args: call(args)) for args in arguments]
    skipped = ("could not find array type", "function trunc(unknown)", "function length(bytea, ")
    wrong = [
        (text, want, got) for text, want, got in zip(calls, expected, found, strict=True)
        if want != got and not want[1].startswith(skipped)
    ]  # fmt: skip
    assert wrong == []


def common(names: Sequence[str], construct: str) -> str:
    found = common_type([TYPES[name] for name in names], construct).bare()
    return "text" if found == UNKNOWN else str(found)


@pytest.mark.parametrize(
    ("construct", "text"),
    [("CASE", "CASE WHEN true THEN {1} ELSE {0} END"), ("COALESCE", "COALESCE({0}, {1})")],
)
def test_common_types_are_those_of_postgresql(postgres: psycopg.Connection, construct: str, text: str):
    pairs = [(left, right) for left in TYPES for right in TYPES]
    expected = theirs(postgres, [text.format(value(left), value(right)) for left, right in pairs])
    found = [ours(lambda a=a, b=b: common([a, b], construct)) for a, b in pairs]
    wrong = [x for x in zip(pairs, expected, found, strict=True) if x[1] != x[2]]
    assert wrong == []


def test_three_types_have_the_common_type_of_postgresql(postgres: psycopg.Connection):
    few = ["int2", "int8", "numeric", "float4", "unknown", "varchar", "name", "bpchar", "date", "timestamp"]
    triples = [(a, b, c) for a in few for b in few for c in few]
    expected = theirs(postgres, [f"COALESCE({', '.join(map(value, t))})" for t in triples])
    found = [ours(lambda t=t: common(t, "COALESCE")) for t in triples]
    assert [x for x in zip(triples, expected, found, strict=True) if x[1] != x[2]] == []


def test_declared_modifiers_survive_where_all_agree():
    assert common_type([varchar(3), varchar(3)], "CASE") == varchar(3)
    assert common_type([varchar(3), varchar(4)], "CASE") == varchar()
    assert common_type([numeric(5, 2), numeric(5, 2)], "CASE") == numeric(5, 2)


def test_a_common_numeric_has_a_scale_only_if_all_values_show_it():
    assert common_type([numeric(5, 2), numeric(9, 2)], "CASE") == fixed_numeric(2)
    assert common_type([numeric(5, 2), numeric(5, 3)], "CASE") == NUMERIC
    assert common_type([INT4, numeric(5, 2)], "CASE") == NUMERIC
    assert common_type([INT4, numeric(5, 0)], "CASE") == fixed_numeric(0)
    assert common_type([fixed_numeric(2), NUMERIC], "CASE") == NUMERIC
    assert common_type([INT4, numeric(5, 2), numeric(5, 3)], "IN") == fixed_numeric(3)
    assert common_type([UNKNOWN, UNKNOWN], "CASE") == UNKNOWN


def test_a_function_keeps_the_scale_of_its_numerics():
    found = resolve_operator("+", numeric(5, 2), INT4, SCALARS["+"])
    assert found.targets == (numeric(5, 2), fixed_numeric(0))


def unknown(text: str) -> Literal:
    return Literal(text, UNKNOWN)


@pytest.mark.parametrize(
    ("expr", "target", "context", "expected"),
    [
        (unknown("12"), INT4, "implicit", Literal(12, INT4)),
        (unknown("2020-01-02"), DATE, "implicit", Literal(18263, DATE)),
        (unknown("{1,NULL}"), array_of(INT4), "implicit", Literal([1, None], array_of(INT4))),
        (unknown("{2020-01-02}"), array_of(DATE), "implicit", Literal([18263], array_of(DATE))),
        (unknown("1.50"), NUMERIC, "implicit", Literal("1.50", NUMERIC)),
        (unknown("1.5"), numeric(5, 2), "implicit", Literal(Decimal("1.50"), numeric(5, 2))),
        (unknown("x"), TEXT, "implicit", Literal("x", TEXT)),
        (unknown("today"), DATE, "implicit", Cast(Literal("today", TEXT), DATE, True)),
        (unknown("t"), REGCLASS, "implicit", Cast(Literal("t", TEXT), REGCLASS, True)),
        (unknown("1259"), REGCLASS, "implicit", Literal(1259, REGCLASS)),
        (unknown("abc"), varchar(2), "explicit", Cast(Literal("abc", varchar()), varchar(2), True)),
        (Literal(None, UNKNOWN), INTERVAL, "implicit", Literal(None, INTERVAL)),
        (Literal(1, INT4), INT8, "implicit", Literal(1, INT8)),
        (Literal(1, INT4), numeric(5, 2), "implicit", Cast(Literal(1, INT4), numeric(5, 2))),
        (Literal(1, INT4), fixed_numeric(2), "implicit", Literal(Decimal("1.00"), fixed_numeric(2))),
        (Literal(2**40, INT8), INT4, "assignment", Cast(Literal(2**40, INT8), INT4)),
        (ColumnRef(0, INT4), INT4, "implicit", ColumnRef(0, INT4)),
        (ColumnRef(0, varchar(3)), varchar(), "implicit", ColumnRef(0, varchar(3))),
        (ColumnRef(0, varchar()), varchar(3), "assignment", Cast(ColumnRef(0, varchar()), varchar(3))),
        (ColumnRef(0, numeric(5, 2)), NUMERIC, "implicit", Cast(ColumnRef(0, numeric(5, 2)), NUMERIC)),
    ],
)
def test_coerce(expr: Expr, target: Type, context: str, expected: Expr):
    assert coerce(expr, target, context) == expected


def test_literals_are_read_by_the_sessions_settings():
    berlin = TextSettings(timezone="Europe/Berlin")
    assert coerce(unknown("2020-01-01"), TIMESTAMPTZ, settings=berlin) == Literal(
        1577833200000000, TIMESTAMPTZ
    )
    german = TextSettings(date_style="ISO, DMY")
    assert coerce(unknown("02/01/2020"), DATE, settings=german) == Literal(18263, DATE)


def test_a_bad_literal_is_blamed_where_it_stands():
    with pytest.raises(SqlError, match='invalid input syntax for type integer: "x"') as error:
        coerce(unknown("x"), INT4, position=7)
    assert (error.value.code, error.value.position, error.value.rows) == ("22P02", 7, None)


def test_casts_that_do_not_exist():
    with pytest.raises(SqlError, match="cannot cast type boolean to date") as error:
        coerce(ColumnRef(0, of("bool")), DATE, "explicit", 3)
    assert (error.value.code, error.value.position) == ("42846", 3)
    with pytest.raises(SqlError) as error:
        coerce(ColumnRef(0, TEXT), INT4, "assignment")
    assert error.value.code == "42804"
    assert not can_coerce(TEXT, INT4, "assignment")
    assert can_coerce(TEXT, INT4, "explicit")
    assert can_coerce(INT8, INT4, "assignment")
    assert not can_coerce(INT8, INT4)
