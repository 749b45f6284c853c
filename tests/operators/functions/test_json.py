"""json and jsonb against PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

from millpond.storage import types as t

VALUES = ['{"a": 1, "b": {"c": [1, 2.50, null, "x"]}, "n": null}', "[1, \"a\", {\"k\": true}, [2]]", "1.10",
          '"text"',
          "true", "null", "{}", "[]", '{"a": {"b": 1}}', "1e3", None]  # fmt: skip
KEYS = ["a", "b", "n", "k", "0", "", None]
INDEXES = ["0", "1", "-1", "9", None]
PATHS = ["{a}", "{b,c,1}", "{b,c}", "{2,k}", "{}", "{-1,0}", "{n}", "{zz,y}", None]


@pytest.mark.parametrize("type_", ["json", "jsonb"])
@pytest.mark.parametrize("symbol", ["->", "->>"])
def test_access(oracle, symbol, type_) -> None:
    oracle.check(symbol, (type_, "text"), list(itertools.product(VALUES, KEYS)))
    oracle.check(symbol, (type_, "int4"), list(itertools.product(VALUES, INDEXES)))


@pytest.mark.parametrize("type_", ["json", "jsonb"])
@pytest.mark.parametrize("symbol", ["#>", "#>>"])
def test_paths(oracle, symbol, type_) -> None:
    oracle.check(symbol, (type_, "text[]"), list(itertools.product(VALUES, PATHS)))


def test_extract_path(oracle) -> None:
    for name in ("jsonb_extract_path", "jsonb_extract_path_text"):
        oracle.check(name, ("jsonb", "text", "text"), list(itertools.product(VALUES, KEYS, KEYS)))


@pytest.mark.parametrize("symbol", ["@>", "<@", "||", "=", "<", ">"])
def test_pairs(oracle, symbol) -> None:
    oracle.check(symbol, ("jsonb", "jsonb"), list(itertools.product(VALUES, VALUES)))


def test_keys(oracle) -> None:
    oracle.check("?", ("jsonb", "text"), list(itertools.product(VALUES, KEYS)))
    for symbol in ("?|", "?&"):
        oracle.check(symbol, ("jsonb", "text[]"), list(itertools.product(VALUES, PATHS)))


def test_deletion(oracle) -> None:
    oracle.check("-", ("jsonb", "text"), list(itertools.product(VALUES, KEYS)))
    oracle.check("-", ("jsonb", "int4"), list(itertools.product(VALUES, INDEXES)))
    oracle.check("-", ("jsonb", "text[]"), list(itertools.product(VALUES, PATHS)))
    oracle.check("#-", ("jsonb", "text[]"), list(itertools.product(VALUES, PATHS)))


@pytest.mark.parametrize("name", ["jsonb_typeof", "jsonb_array_length", "jsonb_strip_nulls", "jsonb_pretty"])
def test_unary(oracle, name) -> None:
    oracle.check(name, ("jsonb",), [(v,) for v in VALUES])


@pytest.mark.parametrize("name", ["jsonb_set", "jsonb_insert"])
def test_setting(oracle, name) -> None:
    rows = list(itertools.product(VALUES, PATHS, ['{"new": 1}', None], ["t", "f"]))
    oracle.check(name, ("jsonb", "text[]", "jsonb", "bool"), rows)


@pytest.mark.parametrize(
    "target", [t.BOOL, t.INT4, t.INT8, t.FLOAT8, t.NUMERIC, t.numeric(6, 1), t.TEXT, t.JSON], ids=str
)
def test_casts(oracle, target) -> None:
    oracle.check_cast("jsonb", target, str(target), VALUES)


def test_json_to_jsonb(oracle) -> None:
    oracle.check_cast("json", t.JSONB, "jsonb", ['{"b":1,"a":2,"b":3}', "[1,2]", " 1.0 ", None])


@pytest.mark.parametrize("name", ["to_json", "to_jsonb", "json_build_array", "jsonb_build_array"])
def test_conversion(oracle, name) -> None:
    for type_, values in (
        ("int4", ["1", None]), ("float8", ["1.5", "1e30", "NaN", "-Infinity"]), ("numeric", ["1.10", "NaN"]),
        ("text", ["a\"b\n", ""]), ("bool", ["t", "f"]), ("date", ["2020-01-02"]),
        ("timestamp", ["2020-01-02 03:04:05.6"]),
        ("timestamptz", ["2020-01-02 03:04:05+02", "infinity"]), ("interval", ["1 day"]),
        ("json", ['{"b":1, "a":[1]}']),
        ("jsonb", ['{"b":1, "a":[1]}']), ("int4[]", ["{1,NULL,3}", "{}"]), ("text[]", ["{a,\"b c\"}"]),
        ("uuid", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]), ("bytea", ["\\x00ff"]),
    ):  # fmt: skip
        oracle.check(name, (type_,), [(v,) for v in values])


@pytest.mark.parametrize("name", ["json_build_object", "jsonb_build_object"])
def test_objects(oracle, name) -> None:
    oracle.check(name, ("text", "int4", "text", "jsonb"), [("b", "1", "a", "[1,2]"), ("x", None, "x", None)])
    oracle.check(name, ("text", "int4"), [(None, "1")])
    oracle.check(name, ("int4", "bool"), [("1", "t")])
    oracle.check(name, (), [()])


@pytest.mark.parametrize("name", ["json_object", "jsonb_object"])
def test_objects_of_texts(oracle, name) -> None:
    oracle.check(name, ("text[]",), [("{a,1,b,2}",), ("{}",), ("{a}",), ("{a,NULL}",)])
    oracle.check(name, ("text[]", "text[]"), [("{a,b}", "{1,2}"), ("{a}", "{1,2}")])
