"""Casts between types against PostgreSQL, and pg_cast's contexts."""

from __future__ import annotations

import psycopg
import pytest

from millpond.operators.functions.casts import cast_context
from millpond.storage import types as t
from millpond.storage.types import INFO, Type

INTEGERS = ["0", "1", "-1", "32767", "32768", "-32769", "2147483648", "-2147483649", None]
FLOATS = [
    "0",
    "-0",
    "0.5",
    "1.5",
    "2.5",
    "-2.5",
    "1e10",
    "1e20",
    "1e-40",
    "1e39",
    "NaN",
    "Infinity",
    "1.23456789",
    None,
]
NUMERICS = ["0", "0.5", "1.5", "-2.5", "99.995", "1e10", "1e20", "NaN", "1.10", "123456", None]
TEXTS = ["1", " 12 ", "abc", "", "1.5", "true", "f", "99999999999", "1e3", None]
SOURCES = {
    "int2": INTEGERS[:4], "int4": [*INTEGERS[:6], None], "int8": INTEGERS, "float4": FLOATS[:8],
    "float8": FLOATS,
    "numeric": NUMERICS, "text": TEXTS,
}  # fmt: skip
TARGETS = [t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.numeric(5, 2), t.numeric(38, 0), t.TEXT,
           t.varchar(2), t.bpchar(3), t.BOOL, t.NAME]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_numbers(oracle, source: str, target: Type) -> None:
    if cast_context(t.type_by_name(source), target) is None:
        pytest.skip("no such cast")
    texts = [v for v in SOURCES[source] if v != "NaN" or target.scale is None]  # decimal128 has no NaN
    oracle.check_cast(source, target, str(target), texts)


def test_booleans(oracle) -> None:
    for target in (t.TEXT, t.INT4, t.varchar(2), t.bpchar(6)):
        oracle.check_cast("bool", target, str(target), ["t", "f", None])
    oracle.check_cast("int4", t.BOOL, "bool", ["0", "1", "-5", None])


def test_strings(oracle) -> None:
    for target in (t.TEXT, t.VARCHAR, t.varchar(2), t.bpchar(4), t.BPCHAR, t.NAME, t.CHAR):
        for source in ("text", "varchar", "bpchar", "name"):
            name = "bpchar" if target == t.BPCHAR else str(target)
            oracle.check_cast(source, target, name, ["", "a", "abc", "ab  ", "äöü", None])


def test_contexts_are_those_of_pg_cast(postgres: psycopg.Connection) -> None:
    """Every cast PostgreSQL has between types we have is here, in the same context, and no other."""
    rows = postgres.execute(
        "SELECT s.typname, t.typname, castcontext FROM pg_cast JOIN pg_type s ON s.oid = castsource "
        "JOIN pg_type t ON t.oid = casttarget WHERE s.typname = ANY(%s) AND t.typname = ANY(%s)",
        [list(INFO), list(INFO)],
    ).fetchall()
    words = {"i": "implicit", "a": "assignment", "e": "explicit"}
    theirs = {(s, target): words[c] for s, target, c in rows if s != target}
    skipped = {"xid", "record", "void", "unknown"}
    wrong = []
    for s in INFO:
        for target in INFO:
            if s == target or skipped & {s, target}:
                continue
            ours = cast_context(Type(s), Type(target))
            want = theirs.get((s, target))
            if want is None:  # casts through the text form
                want = (
                    "assignment"
                    if Type(target).category == "S"
                    else "explicit"
                    if Type(s).category == "S"
                    else None
                )
            if ours != want:
                wrong.append((s, target, ours, want))
    assert not wrong, "\n".join(map(str, wrong))
