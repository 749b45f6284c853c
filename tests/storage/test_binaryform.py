"""Binary forms against PostgreSQL: its bytes for every value, both ways."""

from __future__ import annotations

import random
import struct
from typing import Any

import pyarrow as pa
import pytest

from millpond.storage.binaryform import decode_binary, encode_binary
from millpond.storage.errors import SqlError
from millpond.storage.textform import parse_text
from millpond.storage.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    Type,
    array_of,
    bpchar,
    numeric,
    varchar,
)

SEED = 20260728
_NUMBERS = [
    "0", "0.00", "1", "-1", "1.10", "10000", "9999", "99990000", "0.0001", "0.00001", "-12345.678",
    "123456789.123456789", "0.10", "100", "100000000", "0.5", "12345678901234567.89",
]  # fmt: skip
SAMPLES: dict[Type, list[str]] = {
    BOOL: ["t", "f"],
    INT2: ["0", "-1", "32767", "-32768"],
    INT4: ["0", "-1", "2147483647", "-2147483648"],
    INT8: ["0", "-1", "9223372036854775807", "-9223372036854775808"],
    FLOAT4: ["0", "-0", "1.5", "NaN", "Infinity", "-Infinity", "1e-45"],
    FLOAT8: ["0", "-0", "1.5", "NaN", "Infinity", "-Infinity", "5e-324"],
    NUMERIC: [
        *_NUMBERS,
        "NaN",
        "Infinity",
        "-Infinity",
        "1e100",
        "1e-100",
        "123456789012345678901234567890.5",
    ],
    numeric(38, 10): _NUMBERS,
    numeric(30, 3): _NUMBERS,
    numeric(20, 0): _NUMBERS,
    TEXT: ["", "abc", "äöü", "日本語"],
    varchar(5): ["", "abc"],
    bpchar(5): ["", "abc", "abcde"],
    NAME: ["abc"],
    BYTEA: ["", "\\x00ff", "abc"],
    DATE: [
        "2000-01-01",
        "1970-01-01",
        "1999-12-31",
        "infinity",
        "-infinity",
        "0044-03-15 BC",
        "5874897-12-31",
    ],
    TIME: ["00:00", "10:20:30.123456", "24:00"],
    TIMESTAMP: [
        "2000-01-01",
        "1970-01-01",
        "1999-12-31 23:59:59.999999",
        "infinity",
        "-infinity",
        "0044-03-15 BC",
    ],
    TIMESTAMPTZ: ["2000-01-01", "2020-06-01 12:00+02", "infinity", "-infinity", "4714-11-24 BC"],
    INTERVAL: ["0", "1 year 2 mons -3 days 04:05:06.7", "-1 day", "2147483647 mons"],
    UUID: ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"],
    JSON: ['{"a" : 1}', "null"],
    JSONB: ['{"a" : 1, "b":[1.50]}', "null", '"x"'],
    OID: ["0", "4294967295", "16384"],
    array_of(INT4): ["{}", "{1}", "{1,NULL,3}"],
    array_of(TEXT): ["{}", '{a,"",NULL}', "{äöü}"],
    array_of(NUMERIC): ["{1.10,NULL,NaN}"],
    array_of(TIMESTAMPTZ): ["{2020-01-01,infinity}"],
}


def _same(a: pa.Array, b: pa.Array) -> bool:
    """Equality that takes NaN as equal to itself."""
    return a.type == b.type and (a.equals(b) or str(a) == str(b))


@pytest.mark.parametrize("type_", SAMPLES, ids=str)
def test_bytes_equal(oracle: Any, type_: Type) -> None:
    texts = SAMPLES[type_]
    expected = oracle.send(str(type_), texts)
    values = parse_text(type_, pa.array(texts))
    assert encode_binary(type_, values).to_pylist() == expected
    assert _same(decode_binary(type_, pa.array(expected)), values)
    for row in range(len(texts)):
        assert encode_binary(type_, values.slice(row, 1)).to_pylist() == expected[row : row + 1]
    repeats = 40 // len(texts) + 1
    many = parse_text(type_, pa.array([None, *texts * repeats, None]))
    encoded = encode_binary(type_, many)
    assert encoded.to_pylist() == [None, *expected * repeats, None]
    assert _same(decode_binary(type_, encoded), many)
    assert encode_binary(type_, many.slice(1, 20)).to_pylist() == (expected * repeats)[:20]
    assert _same(decode_binary(type_, encoded.slice(1, 20)), many.slice(1, 20))
    for empty in (pa.array([], type_.arrow), pa.array([None], type_.arrow)):
        assert decode_binary(type_, encode_binary(type_, empty)).equals(empty)


def test_random_numerics(oracle: Any) -> None:
    generator = random.Random(SEED)
    for scale in (0, 1, 2, 3, 4, 5, 7, 9, 18):
        digits = 38 - scale
        wholes = [generator.randrange(10 ** generator.randrange(1, min(digits, 20))) for _ in range(200)]
        texts = [
            f"{generator.choice(['', '-'])}{whole}"
            + (f".{generator.randrange(10**scale):0{scale}d}" if scale else "")
            for whole in wholes
        ]
        expected = oracle.send(f"numeric(38,{scale})", texts)
        for size in (1, 10, 200):
            for type_ in (numeric(38, scale), NUMERIC):
                values = parse_text(type_, pa.array(texts[:size]))
                encoded = encode_binary(type_, values)
                assert encoded.to_pylist() == expected[:size]
                assert decode_binary(type_, encoded).equals(values)


@pytest.mark.parametrize(
    ("type_", "raw", "code", "message"),
    [
        (INT4, b"\0\0\0", "08P01", "insufficient data left in message"),
        (INT4, b"\0\0\0\0\0", "22P03", "incorrect binary data format"),
        (UUID, b"\0", "08P01", "insufficient data left in message"),
        (TEXT, b"a\xffb", "22021", 'invalid byte sequence for encoding "UTF8": 0xff'),
        (JSONB, b"\x02{}", "22P03", "unsupported jsonb version number 2"),
        (JSONB, b"\x01{", "22P02", "invalid input syntax for type json"),
        (NUMERIC, struct.pack(">hhHH", 0, 0, 0x1234, 0), "22P03", 'invalid sign in external "numeric" value'),
        (
            NUMERIC,
            struct.pack(">hhHHH", 1, 0, 0, 0, 10000),
            "22P03",
            'invalid digit in external "numeric" value',
        ),
        (DATE, struct.pack(">i", 2**31 - 2), "22008", "date out of range"),
        (TIME, struct.pack(">q", -1), "22008", "time out of range"),
        (varchar(2), b"abc", "22001", "value too long for type character varying(2)"),
        (array_of(INT4), struct.pack(">iii", 2, 0, 23), "0A000", "multidimensional arrays are not supported"),
    ],
)
def test_malformed(type_: Type, raw: bytes, code: str, message: str) -> None:
    good = encode_binary(type_, parse_text(type_, pa.array([None])))
    for values in (pa.array([raw]), pa.array([None, raw, None, raw])):
        with pytest.raises(SqlError) as caught:
            decode_binary(type_, values)
        assert (caught.value.code, caught.value.message) == (code, message)
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == [i for i, v in enumerate(values.to_pylist()) if v is not None]
    assert decode_binary(type_, good).null_count == 1


def test_array_of_another_type() -> None:
    raw = encode_binary(array_of(INT8), parse_text(array_of(INT8), pa.array(["{1}"])))
    with pytest.raises(SqlError) as caught:
        decode_binary(array_of(INT4), raw)
    assert caught.value.code == "42804"
    assert (
        caught.value.message
        == "binary data has array element type 20 (bigint) instead of expected 23 (integer)"
    )
