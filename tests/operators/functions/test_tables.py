"""Set-returning functions against PostgreSQL: the rows of each, and errors."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from millpond.operators.functions.registry import TABLE_FUNCTIONS
from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings, format_text, parse_text
from millpond.storage.types import Type, type_by_name

CASES: list[tuple[str, tuple[str, ...], list[tuple[str | None, ...]]]] = [
    ("generate_series", ("int4", "int4"), [("1", "3"), ("3", "1"), ("-1", "1"), (None, "1"), ("2147483646",
    "2147483647")]),
    ("generate_series", ("int8", "int8", "int8"), [("1", "10", "4"), ("5", "1", "-2"), ("1", "2", "0"),
    ("1", "1", "5"),
                                                   ("9223372036854775806", "9223372036854775807", "1")]),
    ("generate_series", ("numeric", "numeric"), [("1.5", "4"), ("2", "1"), ("NaN", "1")]),
    ("generate_series", ("numeric", "numeric", "numeric"), [("1", "2", "0.25"), ("2", "1", "-0.5"), ("1",
    "2", "0")]),
    ("generate_series", ("timestamp", "timestamp", "interval"), [
        ("2024-01-31", "2024-06-01", "1 month"), ("2024-01-01", "2024-01-02", "6 hours"),
        ("2024-01-02", "2024-01-01", "-1 day"),
        ("2024-01-01", "2024-01-02", "0")]),
    ("generate_series", ("timestamptz", "timestamptz", "interval"), [
        ("2024-03-09 12:00-05", "2024-03-12 12:00-04", "1 day"), ("2024-03-09", "2024-03-10", "12 hours")]),
    ("unnest", ("int4[]",), [("{1,NULL,3}",), ("{}",), (None,)]),
    ("unnest", ("int4[]", "text[]"), [("{1,2,3}", "{a}"), (None, "{x,y}")]),
    ("generate_subscripts", ("text[]", "int4"), [("{a,b}", "1"), ("{a,b}", "2"), ("{}", "1")]),
    ("generate_subscripts", ("text[]", "int4", "bool"), [("{a,b,c}", "1", "t")]),
    ("string_to_table", ("text", "text"), [("a,b,,c", ","), ("abc", None), ("", ","), (None, ",")]),
    ("string_to_table", ("text", "text", "text"), [("a,b", ",", "b")]),
    ("regexp_split_to_table", ("text", "text"), [("a1b22c", "[0-9]+"), ("abc", ""), ("", "x"), (None, "x")]),
    ("regexp_matches", ("text", "text", "text"), [("foobarbequebaz", "(b[^b]+)(b[^b]+)", "g"), ("aXbX", "X",
    ""), ("a", "x", "")]),
    ("jsonb_array_elements", ("jsonb",), [('[1, {"a": 2}, null]',), ("[]",), ('{"a": 1}',), ("1",), (None,)]),
    ("jsonb_array_elements_text", ("jsonb",), [('[1, "x", null, [2]]',), ("true",)]),
    ("json_array_elements", ("json",), [('[1, {"a":2} , null]',), ('{"a": 1}',), ("1",)]),
    ("json_array_elements_text", ("json",), [('[1, "x", null]',)]),
    ("jsonb_object_keys", ("jsonb",), [('{"bb": 1, "a": 2}',), ("[]",), ("1",)]),
    ("json_object_keys", ("json",), [('{"bb": 1, "a": 2}',), ("[]",), ("1",)]),
    ("jsonb_each", ("jsonb",), [('{"bb": "x", "a": null}',), ("[]",), ("1",)]),
    ("jsonb_each_text", ("jsonb",), [('{"bb": "x", "a": null}',), ("1",)]),
    ("json_each", ("json",), [('{"bb": "x",  "a":{"k":1}}',), ("[]",), ("1",)]),
    ("json_each_text", ("json",), [('{"bb": "x", "a": null}',)]),
]  # fmt: skip


def evaluate(
    context, name: str, types: Sequence[Type], rows: Sequence[Sequence[str | None]]
) -> list[tuple[int, str]]:
    """(input row, text of the result row) of all rows of one batch."""
    settings = TextSettings(context.timezone)
    function = next(f for f in TABLE_FUNCTIONS[name] if fits(f, types))
    columns = [
        parse_text(ty, pa.array([r[i] for r in rows], pa.string()), settings) for i, ty in enumerate(types)
    ]
    origin, results = function.kernel(columns, len(rows), context)
    declared = function.columns if isinstance(function.columns, tuple) else function.columns(tuple(types))
    assert [r.type for r in results] == [type_.arrow for _, type_ in declared]
    texts = [format_text(ty, r, settings).to_pylist() for (_, ty), r in zip(declared, results, strict=True)]
    return list(zip(origin.to_pylist(), (str(list(row)) for row in zip(*texts, strict=True)), strict=True))


def fits(function, types: Sequence[Type]) -> bool:
    if function.variadic:
        return all(ty.element is not None for ty in types)
    return len(function.args) == len(types) and all(
        d.same(a) or (d.name == "anyarray" and a.element is not None)
        for d, a in zip(function.args, types, strict=True)
    )


@pytest.mark.parametrize(("name", "types", "rows"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_against_postgres(oracle, context, name, types, rows) -> None:
    oracle.use_zone("America/New_York")
    resolved = [type_by_name(type_) for type_ in types]
    together: list[tuple[int, str]] = []
    good: list[int] = []
    for row in rows:
        args = ", ".join(
            "NULL::" + ty if v is None else f"'{v}'::{ty}" for v, ty in zip(row, types, strict=True)
        )
        command = f"SELECT * FROM {name}({args})"
        try:
            want = [str([None if v is None else v for v in r]) for r in oracle.texts(command)]
        except oracle.Error as error:
            with pytest.raises(SqlError) as caught:
                evaluate(context, name, resolved, [row])
            assert (caught.value.code, caught.value.message) == (
                error.sqlstate,
                error.diag.message_primary,
            ), command
        else:
            assert [text for _, text in evaluate(context, name, resolved, [row])] == want, command
            together += [(len(good), text) for text in want]
            good.append(rows.index(row))
    assert evaluate(context, name, resolved, [rows[i] for i in good]) == together
