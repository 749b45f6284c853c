"""Rows to DataRow messages: against PostgreSQL, against a plain twin, and their speed."""

from __future__ import annotations

import struct
import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.server.datarow import PIECE_BYTES, RowEncoder, frame_values, piece_rows, variable_values
from millpond.storage.binaryform import encode_binary
from millpond.storage.columns import ColumnView, growing_column
from millpond.storage.one_row import OneRow
from millpond.storage.textform import TextSettings, format_text
from millpond.storage.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    OID,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    array_of,
    fixed_numeric,
)

SETTINGS = TextSettings()


def plain_rows(columns: list[list[bytes | None]]) -> bytes:
    """What the kernels do, the slow and obvious way."""
    out = b""
    for row in zip(*columns, strict=True):
        body = struct.pack("!H", len(row))
        for value in row:
            body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        out += b"D" + struct.pack("!I", len(body) + 4) + body
    return out


values = st.lists(
    st.tuples(st.none() | st.binary(max_size=20), st.none() | st.text(max_size=5)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(values, st.integers(0, 10))
def test_kernels_agree_with_the_plain_twin(rows: list[tuple[bytes | None, str | None]], skip: int) -> None:
    raw = pa.array([row[0] for row in rows], pa.binary()).slice(skip)
    text = pa.array([row[1] for row in rows], pa.string()).slice(skip)
    framed = frame_values([variable_values(raw), variable_values(text)], len(raw), ord("D"), counted=True)
    encoded = [None if value is None else value.encode() for value in text.to_pylist()]
    assert framed.tobytes() == plain_rows([raw.to_pylist(), encoded])


TYPES = [INT2, INT4, INT8, BOOL, FLOAT8, TEXT, BYTEA, fixed_numeric(7), array_of(INT4), TIMESTAMPTZ]


def sample(count: int) -> list[pa.Array]:
    numbers = list(range(-2, count - 2))
    arrays = [
        pa.array(numbers, INT2.arrow),
        pa.array(numbers, INT4.arrow),
        pa.array([number << 33 for number in numbers], INT8.arrow),
        pa.array([number % 2 == 0 for number in numbers]),
        pa.array([number / 7 for number in numbers]),
        pa.array([f"ä{number}" for number in numbers]),
        pa.array([bytes([number % 256]) for number in numbers]),
        pa.array(numbers, pa.int64()).cast(pa.decimal128(38, 7)),
        pa.array([[number, None] for number in numbers], pa.list_(pa.int32())),
        pa.array(numbers, TIMESTAMPTZ.arrow),
    ]
    return [
        pa.array([None if i % 3 else v for i, v in enumerate(array.to_pylist())], array.type)
        for array in arrays
    ]


def stored(array: pa.Array) -> ColumnView:
    """A column of a table that holds these values."""
    column = growing_column(array.type)
    column.append(array, 0)
    return column.freeze()


@pytest.mark.parametrize("code", [0, 1])
def test_one_row_and_many_rows_give_the_same_bytes(code: int) -> None:
    columns = sample(30)
    encoder = RowEncoder(TYPES, [code] * len(TYPES), SETTINGS)
    whole = encoder.encode(columns, 30)
    assert whole == b"".join(
        encoder.encode_one([column.slice(row, 1) for column in columns]) for row in range(30)
    )
    rows = (OneRow([stored(column) for column in columns], row) for row in range(30))
    assert whole == b"".join(map(encoder.encode_row, rows))
    forms = [
        [None if v is None else v if isinstance(v, bytes) else v.encode() for v in form.to_pylist()]
        for form in (
            encode_binary(type_, column) if code else format_text(type_, column, SETTINGS)
            for type_, column in zip(TYPES, columns, strict=True)
        )
    ]
    assert whole == plain_rows(forms)


@pytest.mark.parametrize("code", [0, 1])
def test_shortcuts_agree_with_the_general_forms(code: int) -> None:
    top = 9223372036854775807
    cases = {
        FLOAT8: [
            0.0,
            -0.0,
            1.5,
            -1e-4,
            9.9e-5,
            1e15,
            999999999999999.0,
            123456789012345.6,
            1e300,
            float("nan"),
            float("inf"),
            0.1 + 0.2,
            100.0,
        ],
        TIMESTAMPTZ: [
            0,
            1,
            -1,
            1_500_000,
            1_000_000_000_000_000,
            -62135596800000000,
            253370764800000000,
            top,
            -top - 1,
            -62135596800000001,
            1234567890120000,
        ],
        TIMESTAMP: [0, -1, 946684800000000, 946684800000100],
        DATE: [0, -1, 10957, 20000, -719162, -719163, 2932896, 2147483647, -2147483648],
        NUMERIC: ["1.10", "NaN", "-0.00001", "1" + "0" * 50],
        fixed_numeric(10): [
            Decimal("1e-10"),
            Decimal(0),
            Decimal("-12.5"),
            Decimal("-9999999999999999999999999999.9999999999"),
        ],
        fixed_numeric(0): [Decimal(0), Decimal(-7), Decimal("9" * 38), Decimal("-" + "9" * 38)],
        fixed_numeric(1): [Decimal("0.1"), Decimal("-0.1"), Decimal("-10.0")],
        JSONB: ['{"a": 1}'],
        JSON: ["[1 ]"],
        BPCHAR: ["ab  "],
        NAME: ["n"],
        OID: [0, 4294967295],
        BOOL: [True, False],
    }
    for type_, values in cases.items():
        column = pa.array(values, type_.arrow)
        encoder = RowEncoder([type_], [code], SETTINGS)
        ones = b"".join(encoder.encode_one([column.slice(row, 1)]) for row in range(len(values)))
        rows = (OneRow([stored(column)], row) for row in range(len(values)))
        assert b"".join(map(encoder.encode_row, rows)) == ones, type_
        forms = encode_binary(type_, column) if code else format_text(type_, column, SETTINGS)
        assert ones == plain_rows([[v if isinstance(v, bytes) else v.encode() for v in forms.to_pylist()]]), (
            type_
        )


def test_shortcuts_leave_other_settings_alone() -> None:
    column = pa.array([1_000_000_000_000_000], TIMESTAMPTZ.arrow)
    for settings_ in (TextSettings(timezone="Europe/Berlin"), TextSettings(date_style="German, DMY")):
        row = RowEncoder([TIMESTAMPTZ], [0], settings_).encode_one([column])
        assert row == plain_rows([[format_text(TIMESTAMPTZ, column, settings_)[0].as_py().encode()]])


def test_formats_may_differ_by_column() -> None:
    encoder = RowEncoder([INT4, INT4], [0, 1], SETTINGS)
    column = pa.array([7, 8], pa.int32())
    assert encoder.encode([column, column], 2) == plain_rows([[b"7", b"8"], [b"\0\0\0\7", b"\0\0\0\x08"]])


def test_rows_without_columns_and_no_rows() -> None:
    encoder = RowEncoder([], [], SETTINGS)
    assert encoder.encode([], 3) == b"D\0\0\0\6\0\0" * 3
    assert RowEncoder([INT4], [0], SETTINGS).encode([pa.array([], pa.int32())], 0) == b""


def test_rows_are_what_postgres_sends(postgres) -> None:
    """The values of DataRow, text and binary, by psycopg's raw result."""
    query = """SELECT n::int2, n::int4, n::int8 << 33, n % 2 = 0, n / 7::float8, 'ä' || n, n::numeric(20, 7)
               FROM generate_series(-2, 20) n"""
    for code in (0, 1):
        result = postgres.execute(query, binary=bool(code)).pgresult
        theirs = [[result.get_value(row, column) for row in range(23)] for column in range(7)]
        numbers = list(range(-2, 21))
        columns = [
            pa.array(numbers, pa.int16()),
            pa.array(numbers, pa.int32()),
            pa.array([number << 33 for number in numbers], pa.int64()),
            pa.array([number % 2 == 0 for number in numbers]),
            pa.array([number / 7 for number in numbers]),
            pa.array([f"ä{number}" for number in numbers]),
            pa.array(numbers, pa.int64()).cast(pa.decimal128(38, 7)),
        ]
        types = [INT2, INT4, INT8, BOOL, FLOAT8, TEXT, fixed_numeric(7)]
        assert RowEncoder(types, [code] * 7, SETTINGS).encode(columns, 23) == plain_rows(theirs)


def test_pieces_are_bounded() -> None:
    wide = pa.array(["x" * 100_000] * 100)
    assert piece_rows([wide]) == 2
    narrow = pa.array(range(1_000_000), pa.int64())
    assert 1000 < piece_rows([narrow]) * 16 <= PIECE_BYTES
    assert piece_rows([pa.array([1])]) == 1 and piece_rows([]) == 1


def test_speed() -> None:
    """Floors far under what a quiet machine does (see the bench), so that a slip of an order shows."""
    count = 100_000
    ints = pa.array(np.arange(count) * 12345)
    words = pa.array([f"some text {number}" for number in range(count)])
    mixed = [
        ints,
        words,
        ints.cast(pa.float64()),
        ints.cast(pa.timestamp("us", "UTC")),
        ints.cast(pa.int32(), safe=False),
    ]
    cases = {
        "one int": ([INT8], [ints], 500_000),
        "mixed": ([INT8, TEXT, FLOAT8, TIMESTAMPTZ, INT4], mixed, 100_000),
    }
    for name, (types, columns, floor) in cases.items():
        encoder = RowEncoder(types, [0] * len(types), SETTINGS)
        encoder.encode(columns, count)
        begin = time.perf_counter()
        for start in range(0, count, 8192):
            piece = [column.slice(start, 8192) for column in columns]
            encoder.encode(piece, len(piece[0]))
        assert count / (time.perf_counter() - begin) > floor, name
