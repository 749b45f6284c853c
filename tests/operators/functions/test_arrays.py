"""Array functions against PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

NUMBERS = ["{1,2,3}", "{}", "{NULL,2,2}", "{5}", None]
WORDS = ["{a,b,NULL}", "{}", '{"x y",a}', None]
STAMPS = ["{infinity,2020-01-01}", "{}", None]
ELEMENTS = ["2", "9", None]


@pytest.mark.parametrize("name", ["array_length", "array_upper", "array_lower", "array_position",
                         "array_positions",
                                  "array_remove", "array_append", "||"])  # fmt: skip
def test_array_and_number(oracle, name) -> None:
    oracle.check(name, ("int4[]", "int4"), list(itertools.product(NUMBERS, ["1", *ELEMENTS])))


@pytest.mark.parametrize("name", ["array_position", "array_remove", "array_append"])
def test_array_and_element(oracle, name) -> None:
    oracle.check(name, ("text[]", "text"), list(itertools.product(WORDS, ["a", "x y", None])))
    oracle.check(
        name, ("timestamp[]", "timestamp"), list(itertools.product(STAMPS, ["infinity", "2020-01-01", None]))
    )


@pytest.mark.parametrize("name", ["cardinality", "array_ndims", "array_dims"])
def test_unary(oracle, name) -> None:
    oracle.check(name, ("int4[]",), [(v,) for v in NUMBERS])


@pytest.mark.parametrize("name", ["array_cat", "||", "@>", "<@", "&&", "=", "<", ">="])
def test_pairs(oracle, name) -> None:
    oracle.check(name, ("int4[]", "int4[]"), list(itertools.product(NUMBERS, NUMBERS)))


def test_prepend_and_replace(oracle) -> None:
    oracle.check("array_prepend", ("int4", "int4[]"), list(itertools.product(ELEMENTS, NUMBERS)))
    oracle.check("||", ("int4", "int4[]"), list(itertools.product(ELEMENTS, NUMBERS)))
    oracle.check(
        "array_replace", ("int4[]", "int4", "int4"), list(itertools.product(NUMBERS, ELEMENTS, ELEMENTS))
    )
    oracle.check(
        "trim_array", ("int4[]", "int4"), list(itertools.product(NUMBERS, ["0", "1", "4", "-1", None]))
    )
    oracle.check("array_fill", ("int4", "int4[]"), list(itertools.product(ELEMENTS, ["{3}", "{0}"])))


@pytest.mark.parametrize("subscript", ["1", "3", "0", "-1"])
def test_subscripts(oracle, subscript) -> None:
    for array in NUMBERS[:4]:
        want = oracle.ask(
            [
                f"SELECT (('{array}'::int4[])[{subscript}])::text",
                f"SELECT (('{array}'::int4[])[{subscript}:2])::text",
            ]
        )
        assert oracle.ours("[]", ("int4[]", "int4"), (array, subscript)) == want[0]
        assert oracle.ours("[:]", ("int4[]", "int4", "int4"), (array, subscript, "2")) == want[1]


def test_strings(oracle) -> None:
    oracle.check("array_to_string", ("int4[]", "text"), list(itertools.product(NUMBERS, [",", "", None])))
    oracle.check(
        "array_to_string",
        ("text[]", "text", "text"),
        list(itertools.product(WORDS, [",", None], ["*", None])),
    )
    oracle.check("array_to_string", ("bool[]", "text"), [("{t,f}", ",")])
    oracle.check(
        "string_to_array",
        ("text", "text"),
        list(itertools.product(["a,b,,c", "", "abc", None], [",", "", None])),
    )
    oracle.check(
        "string_to_array",
        ("text", "text", "text"),
        list(itertools.product(["a,b,,c"], [","], ["b", "", None])),
    )


EXTRAS = [
    ("array_max", "int4[]", "{3,NULL,7,1}", "7"), ("array_max", "int4[]", "{}", None),
    ("array_min", "text[]", "{b,a,NULL}", "a"),
    ("array_min", "timestamp[]", "{infinity,2020-01-01}", "2020-01-01 00:00:00"),
    ("array_sum", "int4[]", "{1,2,NULL}", "3"),
    ("array_sum", "float8[]", "{0.1,0.2}", "0.30000000000000004"), ("array_sum", "int8[]", "{}", None),
    ("array_sort", "int4[]", "{3,NULL,1,2}", "{1,2,3,NULL}"), ("array_sort", "text[]", "{}", "{}"),
    ("array_max", "int4[]", None, None),
    ("array_reverse", "int4[]", "{3,NULL,1}", "{1,NULL,3}"),
    ("array_distinct", "int4[]", "{2,1,2,NULL,NULL}", "{2,1,NULL}"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "type_", "text", "wanted"), EXTRAS)
def test_functions_postgres_lacks(oracle, name, type_, text, wanted) -> None:
    assert oracle.ours(name, (type_,), (text,)) == wanted
