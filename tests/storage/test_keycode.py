"""Key bytes: PostgreSQL says which values are equal and how they are ordered."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from millpond.storage.keycode import encode_keys, encode_sort_keys
from millpond.storage.keycode_few import FEW_ROWS
from millpond.storage.keycode_fixed import fixed_width
from millpond.storage.keys import HASH_NAME, Keys, group_ids
from millpond.storage.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMPTZ,
    UUID,
    Type,
    array_of,
    fixed_numeric,
)

NUMBERS = [
    "0", "-0.00", "1", "1.0", "1.00", "-1", "-1.5", "-1.50", "-1.49", "9", "10", "10.0", "11", "99", "99.9",
    "100", "100.01", "101", "1000", "-99", "-100", "-101", "0.1", "0.10", "0.01", "0.011", "0.001", "-0.001",
    "-0.0011", "12345678901234567890", "12345678901234567890.5", "99999999999999999999999999",
]  # fmt: skip
WIDE = ["1e200", "-1e200", "1e-200", "NaN", "Infinity", "-Infinity", "0." + "3" * 60, "1" * 60]
US = 86_400_000_000


def interval(us: int, days: int, months: int) -> bytes:
    return np.array([(us, days, months)], "<i8,<i4,<i4").tobytes()


INTERVALS = {
    "0": (0, 0, 0),
    "30 days": (0, 30, 0),
    "1 month": (0, 0, 1),
    "24 hours": (US, 0, 0),
    "1 day": (0, 1, 0),
    "-1 day": (0, -1, 0),
    "-1 day +25 hours": (US // 24 * 25, -1, 0),
    "1 hour": (US // 24, 0, 0),
    "-1 microsecond": (-1, 0, 0),
    "1 month -30 days": (0, -30, 1),
    "178000000 years": (0, 0, 2_136_000_000),
    "-178000000 years": (0, 0, -2_136_000_000),
}
JSONS = [
    "null", "true", "false", "1", "1.0", "1.00", "-5", "1e3", "1000", '""', '"a"', '"ab"', '"b"', "[]",
    "[1]", "[2]", "[1, 2]", "[null]", "[[]]", "{}", '{"a": 1}', '{"a": 2}', '{"b": 1}', '{"a": 1, "b": 2}',
    '{"aa": 1, "b": 1}',    '{"a": []}', '{"a": {}}', "[1.0]",
]  # fmt: skip

Case = tuple[str, Type, list[str], list[Any]]


def cases() -> list[Case]:
    """(PostgreSQL type, type, values as PostgreSQL reads them, values as Arrow takes them)."""
    ints = [0, 1, -1, 127, 128, 255, 256, -256, 32767, -32768]
    floats = ["0", "-0", "1", "-1", "1.5", "-1.5", "1e30", "-1e30", "1e-30", "Infinity", "-Infinity", "NaN"]
    texts = ["", "a", "b", "ab", "a b", "é", "z" * 20, "A", "a\x01", "日本"]
    blanks = ["a", "a  ", "b", "", "   ", " a"]
    raw = [b"", b"\x00", b"\x00\x00", b"\x00\xff", b"\xff", b"a", b"a\x00", b"a\x00b", b"\x01"]
    uuids = [bytes(16), b"\xff" * 16, bytes(range(16)), bytes([0] * 15 + [1])]
    lists: list[Any] = [[], [1], [1, 2], [2], [None], [1, None], [-1]]
    days = [0, 1, -1, 20000]
    found: list[Case] = [
        ("bool", BOOL, ["true", "false"], [True, False]),
        ("int2", INT2, [str(i) for i in ints], ints),
        ("int4", INT4, [str(i) for i in (*ints, -(2**31), 2**31 - 1)], [*ints, -(2**31), 2**31 - 1]),
        ("int8", INT8, [str(i) for i in (*ints, -(2**63), 2**63 - 1)], [*ints, -(2**63), 2**63 - 1]),
        ("float4", FLOAT4, floats, [float(f) for f in floats]),
        ("float8", FLOAT8, floats, [float(f) for f in floats]),
        ("numeric", NUMERIC, NUMBERS + WIDE, NUMBERS + WIDE),
        ("numeric", fixed_numeric(4), NUMBERS, [Decimal(n) for n in NUMBERS]),
        ("text", TEXT, texts, texts),
        ("char(5)", BPCHAR, blanks, blanks),
        ("bytea", BYTEA, ["\\x" + b.hex() for b in raw], raw),
        ("date", DATE, ["1970-01-01", "1970-01-02", "1969-12-31", "2024-10-04"], days),
        ("time", TIME, ["00:00", "00:00:00.000001", "23:59:59.999999"], [0, 1, US - 1]),
        ("timestamptz", TIMESTAMPTZ, ["1970-01-01Z", "1969-12-31Z", "infinity", "-infinity"],
         [0, -US, 2**63 - 1, -(2**63)]),
        ("uuid", UUID, [u.hex() for u in uuids], uuids),
        ("interval", INTERVAL, list(INTERVALS), [interval(*parts) for parts in INTERVALS.values()]),
        ("jsonb", JSONB, JSONS, JSONS),
        ("int4[]", array_of(INT4), ["{}", "{1}", "{1,2}", "{2}", "{NULL}", "{1,NULL}", "{-1}"], lists),
    ]  # fmt: skip
    return found


def array(type_: Type, values: list[Any]) -> pa.Array:
    if type_ in (DATE, TIME, TIMESTAMPTZ):
        return pa.array(values, pa.int32() if type_ == DATE else pa.int64()).view(type_.arrow)
    return pa.array(values, type=type_.arrow)


def ranks(encoded: list[bytes]) -> list[int]:
    distinct = sorted(set(encoded))
    return [distinct.index(key) for key in encoded]


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case[0]}{case[1].scale or ''}")
@pytest.mark.parametrize(
    ("order", "descending", "first"),
    [("ASC NULLS LAST", False, False), ("DESC NULLS FIRST", True, True), ("DESC NULLS LAST", True, False)],
)
def test_bytes_are_equal_and_ordered_as_in_postgresql(
    postgres: psycopg.Connection, case: Case, order: str, descending: bool, first: bool
) -> None:
    name, type_, texts, values = case
    query = (
        f"SELECT i, dense_rank() OVER (ORDER BY v::{name} {order}) - 1"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS t(v, i)"
    )
    expected = [rank for _, rank in sorted(postgres.execute(query.encode(), [[*texts, None]]).fetchall())]
    column = array(type_, [values[0], *values, None])[1:]
    keys = encode_sort_keys([column], [type_], [descending], [first])
    encoded = keys.to_bytes_list()
    assert ranks(encoded) == expected
    assert sorted(range(len(encoded)), key=lambda i: expected[i]) == keys.sort_order().tolist()
    assert not any(a != b and b.startswith(a) for a, b in itertools.permutations(encoded, 2))
    assert keys.width == fixed_width(type_)
    if not descending:
        assert encode_keys([column], [type_]).to_bytes_list() == encoded


def test_equal_values_have_equal_bytes_in_every_physical_form() -> None:
    forms = [
        encode_keys([pa.array([Decimal(n) for n in NUMBERS], pa.decimal128(38, scale))], [NUMERIC])
        for scale in (4, 5, 11)
    ]
    forms.append(encode_keys([pa.array(NUMBERS)], [fixed_numeric(4)]))
    assert len({tuple(form.to_bytes_list()) for form in forms}) == 1
    ints = [encode_keys([pa.array([-3, 7, None], t.arrow)], [t]).to_bytes_list() for t in (INT2, INT4, INT8)]
    assert ints[0] == ints[1] == ints[2]
    floats = [encode_keys([pa.array([1.5, None], t.arrow)], [t]).to_bytes_list() for t in (FLOAT4, FLOAT8)]
    assert floats[0] == floats[1]


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case[0]}{case[1].scale or ''}")
def test_a_few_rows_have_the_bytes_they_have_among_many(case: Case) -> None:
    _, type_, _, values = case
    column = array(type_, [*values, None])
    names = pa.array(["n", None, "z\x00"] * len(column))[: len(column)]
    many = encode_sort_keys([column], [type_], [False], [False])
    both = encode_sort_keys([column, names], [type_, TEXT], [False] * 2, [False] * 2).to_bytes_list()
    for rows in range(1, FEW_ROWS + 1):
        for start in range(len(column) - rows + 1):
            here = slice(start, start + rows)
            few = encode_keys([column[here]], [type_])
            assert (few.width, few.to_bytes_list()) == (many.width, many.to_bytes_list()[here])
            pair = encode_keys([column[here], names[here]], [type_, TEXT])
            assert pair.to_bytes_list() == both[here]


def test_every_nan_is_the_same() -> None:
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001], np.uint64).view(np.float64)
    assert len(set(encode_keys([pa.array(odd)], [FLOAT8]).to_bytes_list())) == 1
    sorted_keys = encode_sort_keys([pa.array(odd)], [FLOAT8], [False], [False])
    assert sorted_keys.to_bytes_list() == encode_keys([pa.array(odd)], [FLOAT8]).to_bytes_list()


def test_several_columns_order_as_tuples() -> None:
    rng = random.Random(5)
    rows = [
        (rng.choice(["", "a", "ab", None]), rng.choice([1, 2, None]), rng.choice(["1", "1.0", "-2", None]))
        for _ in range(200)
    ]
    columns = [pa.array(c) for c in zip(*rows, strict=True)]
    keys = encode_sort_keys(columns, [TEXT, INT8, NUMERIC], [False, True, True], [False, False, True])

    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        text, number, decimal = row
        return (
            (text is None, text or ""),
            (number is None, -(number or 0)),
            (decimal is not None, -Decimal(decimal or 0)),
        )

    assert ranks(keys.to_bytes_list()) == ranks_of([key(row) for row in rows])
    assert keys.sort_order().tolist() == sorted(range(200), key=lambda i: key(rows[i]))


def ranks_of(values: list[Any]) -> list[int]:
    distinct = sorted(set(values))
    return [distinct.index(value) for value in values]


@pytest.mark.parametrize("type_", [INT8, TEXT, NUMERIC, FLOAT8, array_of(INT4)])
@pytest.mark.parametrize("rows", [0, 1, 2, 500])
def test_groups_are_numbered_in_order_of_appearance(type_: Type, rows: int) -> None:
    rng = random.Random(rows)
    texts = [None, *map(str, range(20))]
    values: list[Any] = [rng.choice(texts) for _ in range(rows)]
    if type_ in (INT8, FLOAT8):
        values = [None if v is None else int(v) for v in values]
    elif type_.element is not None:
        values = [None if v is None else [int(v)] * 2 for v in values]
    keys = encode_keys([array(type_, values)], [type_])
    ids, first = group_ids(keys)
    seen: dict[bytes, int] = {}
    assert ids.tolist() == [seen.setdefault(key, len(seen)) for key in keys.to_bytes_list()]
    assert [ids[row] for row in first] == list(range(len(seen)))
    assert all(row == ids.tolist().index(group) for group, row in enumerate(first.tolist()))


def test_no_columns_is_one_key() -> None:
    keys = encode_keys([], [], 3)
    assert len(keys) == 3 and len(set(keys.to_bytes_list())) == 1
    assert group_ids(keys)[0].tolist() == [0, 0, 0]


STAMPED = ["0x9ebb83824c1e0ba8", "0xcc0186e914ba81d9", "0x394f3dbd1fb8dc1d", "0xe283914c91801a87"]


def test_hash_is_the_one_stamped_in_stores() -> None:
    """These numbers may change only together with HASH_NAME."""
    assert HASH_NAME == "millpond-64-1"
    keys = encode_keys([pa.array(["", "a", "millpond, a streaming database", None])], [TEXT])
    assert [hex(h) for h in keys.hash().tolist()] == STAMPED
    assert keys.vnode().tolist() == [int(h, 16) & 255 for h in STAMPED]


def test_vnodes_are_even() -> None:
    vnodes = encode_keys([pa.array(range(100_000))], [INT8]).vnode()
    counts = np.bincount(vnodes, minlength=256)
    assert counts.min() > 250 and counts.max() < 550


def test_keys_as_arrow() -> None:
    for keys in (encode_keys([pa.array([1, 2])], [INT8]), encode_keys([pa.array(["x", ""])], [TEXT])):
        assert isinstance(keys, Keys)
        assert keys.to_arrow().to_pylist() == keys.to_bytes_list()
