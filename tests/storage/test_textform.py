"""Text forms against PostgreSQL: the same text out for every text in, and the same errors."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings, format_text, parse_text
from millpond.storage.types import (
    BOOL,
    BYTEA,
    CHAR,
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
    format_type,
    numeric,
    varchar,
)

SEED = 20260728
UTC = TextSettings()


def round_trip(type_: Type, text: str, settings: TextSettings = UTC) -> Any:
    """What we make of one text: its text out, or (SQLSTATE, message)."""
    try:
        return format_text(type_, parse_text(type_, pa.array([text]), settings), settings)[0].as_py()
    except SqlError as error:
        assert error.rows is not None
        assert error.rows.tolist() == [0]
        return error.code, error.message


def sql_name(type_: Type) -> str:
    if type_.element is not None:
        return format_type(Type(type_.element.name, type_.typmod)) + "[]"
    return "bpchar" if type_ == Type("bpchar") else format_type(type_)


def check(oracle: Any, type_: Type, texts: Sequence[str], settings: TextSettings = UTC) -> None:
    """Every text alone, and all valid ones as one column (the bulk path)."""
    oracle.set("timezone", settings.timezone)
    expected = [
        (found.code, found.message) if hasattr(found, "code") else found
        for found in oracle.read(sql_name(type_), texts)
    ]
    found = [round_trip(type_, text, settings) for text in texts]
    wrong = [row for row in zip(texts, expected, found, strict=True) if row[1] != row[2]]
    assert not wrong, "\n".join(f"{text!r}: expected {e!r}, got {f!r}" for text, e, f in wrong[:40])
    valid = [row for row in zip(texts, expected, strict=True) if not isinstance(row[1], tuple)]
    if valid:
        many: list[str | None] = [text for text, _ in valid] * (40 // len(valid) + 1)
        many.insert(1, None)
        column = parse_text(type_, pa.array(many), settings)
        assert column.type == type_.arrow
        out = [shown for _, shown in valid] * (40 // len(valid) + 1)
        out.insert(1, None)
        assert format_text(type_, column, settings).to_pylist() == out
        assert format_text(type_, column.slice(1, 25), settings).to_pylist() == out[1:26]
        assert format_text(type_, column.slice(1, 5), settings).to_pylist() == out[1:6]


INTEGER_TEXTS = [
    "0", "1", "-1", "+5", " 42 ", "\t7\n", "007", "32767", "32768", "-32768", "-32769", "2147483647",
    "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "0x1F", "0XfF", "-0x10", "0o17", "0b101", "1_000",
    "1__0", "_1", "1_", "0x", "0x_1F", "0xFFFFFFFF", "0b2", "0o8", "", " ", "-", "+", "--1", "1.0", "1e3",
    "abc", "12abc", "1 2", "٣", "0_1",
]  # fmt: skip


@pytest.mark.parametrize("type_", [INT2, INT4, INT8], ids=str)
def test_integers(oracle: Any, type_: Type) -> None:
    check(oracle, type_, INTEGER_TEXTS)


FLOAT_TEXTS = [
    "0", "-0", "1", "1.5", "-1.5", "+2", ".5", "5.", " 3.25 ", "1e5", "1E+5", "1e-5", "1e15", "1e14",
    "123456789012345", "1234567890123456", "12345678901234567", "0.0001", "0.00001", "0.00012345",
    "1e300", "1e308", "1.7976931348623157e308", "1e309", "-1e400", "4.9e-324", "1e-400",
    "2.2250738585072014e-308", "nan", "NaN", "inf", "Infinity", "-inf", "-infinity", "+Infinity", "", " ",
    "abc", "1e", "1e+", ".", "1.2.3", "1,5", "0x1F", "0x1p3", "1_000", "3.4028235e38", "3.4028236e38",
    "1e-45", "1e-46", "16777217", "1000000", "999999", "100000", "123456.7", "1e23", "9007199254740993",
    "0.1", "0.2", "0.30000000000000004", "1e22", "1e21", "0e0", "0e-400", "000.000", "nano", "infinit",
    "9.5e-7",
]  # fmt: skip


@pytest.mark.parametrize("type_", [FLOAT4, FLOAT8], ids=str)
def test_floats(oracle: Any, type_: Type) -> None:
    check(oracle, type_, FLOAT_TEXTS)


def test_random_floats(oracle: Any, postgres: Any) -> None:
    generator = random.Random(SEED)
    bits = [struct.unpack("<d", generator.randbytes(8))[0] for _ in range(3000)]
    near = [generator.randrange(1 << 53, 1 << generator.randrange(54, 90)) * 1.0 for _ in range(6000)]
    common = [round(generator.uniform(-1000, 1000), generator.randrange(8)) for _ in range(1000)]
    values = [value for value in bits + near + common if value == value]
    rows = postgres.execute("SELECT v::text FROM unnest(%s::float8[]) v", (values,)).fetchall()
    expected = [row[0] for row in rows]
    assert format_text(FLOAT8, pa.array(values)).to_pylist() == expected
    assert [format_text(FLOAT8, pa.array([value]))[0].as_py() for value in values[:500]] == expected[:500]
    assert parse_text(FLOAT8, pa.array(expected)).to_pylist() == values


def test_random_reals(postgres: Any) -> None:
    generator = np.random.default_rng(SEED)
    raw = generator.integers(0, 1 << 32, 6000, dtype=np.uint32).view(np.float32)
    large = generator.integers(1 << 24, 1 << 62, 3000).astype(np.float32)
    column = pa.array(np.concatenate([raw[np.isfinite(raw)], large]))
    sql = "SELECT v::text FROM unnest(%s::float4[]) v"
    expected = [row[0] for row in postgres.execute(sql, (column.to_pylist(),)).fetchall()]
    assert format_text(FLOAT4, column).to_pylist() == expected
    assert parse_text(FLOAT4, pa.array(expected)).equals(column)


def test_extra_float_digits(oracle: Any, postgres: Any) -> None:
    values = [0.1, 1 / 3, 1e15, 123456789.123456789, 1e-7, -2.5, float("nan"), float("inf"), 1e100, 100000.0]
    for digits in (0, -3, -15, 3):
        oracle.set("extra_float_digits", str(digits))
        rows = postgres.execute("SELECT v::text FROM unnest(%s::float8[]) v", (values,)).fetchall()
        found = format_text(FLOAT8, pa.array(values), TextSettings(extra_float_digits=digits))
        assert found.to_pylist() == [row[0] for row in rows]


NUMERIC_TEXTS = [
    "0", "-0", "0.00", "-0.00", "1", "1.10", "-1.005", "+7", " 12.50 ", ".5", "5.", "1e5", "1e-5",
    "1.5e3", "1.23E-2", "12345678901234567890123456789012345678901234567890.123", "NaN", "nan",
    "Infinity", "-inf", "", ".", "abc", "1e", "1_000.5_5", "1__0", "0x1F", "0b11", "0o17", "-0x10",
    "1e1000", "1e131072", "1e-16383", "1e-16384", "1e200000", "99999.995", "999.994", "999.995", "0.005",
    "-0.005", "0.004", "1.2.3", "--1", "1,000", "12345.678", "9.99", "+.5e1", "0e5", "0e-5", "1e0",
    "1000000000000000000000000000000000000", "0.000000000001", "Infinit", "1 2", "1_e5",
]  # fmt: skip


@pytest.mark.parametrize(
    "type_", [NUMERIC, numeric(5, 2), numeric(10, 0), numeric(3, 3), numeric(38, 10), numeric(50, 5)], ids=str
)
def test_numerics(oracle: Any, type_: Type) -> None:
    texts = NUMERIC_TEXTS
    if type_.scale is not None:  # The fixed form has no NaN: 22003, see decimals_value.fit.
        texts = [text for text in texts if "nan" not in text.lower()]
    check(oracle, type_, texts)


def test_negative_scale(oracle: Any) -> None:
    check(oracle, numeric(3, -2), ["12345", "12355", "99949", "99950", "0", "-150", "49", "50"])


def test_random_numerics(oracle: Any) -> None:
    generator = random.Random(SEED)
    texts = [
        f"{generator.randrange(-(10 ** generator.randrange(1, 18)), 10**18)}.{generator.randrange(10**9):09d}"
        for _ in range(500)
    ]
    for type_ in (NUMERIC, numeric(38, 9), numeric(30, 4), numeric(20, 12)):
        check(oracle, type_, texts)


def test_booleans(oracle: Any) -> None:
    check(oracle, BOOL, [
        "t", "f", "true", "false", "TRUE", "tru", "fal", "yes", "no", "y", "n", "on", "off", "of", "o",
        "1", "0", " t ", "2", "", "truee", "ye", "yess", "10", "T", "oN",
    ])  # fmt: skip


def test_strings(oracle: Any) -> None:
    texts = [
        "",
        "a",
        "abc",
        "abcd",
        "abc  ",
        "ab  ",
        "äöü",
        "äöüß",
        "a b c",
        "x" * 100,
        "日本語",
        "日本語x",
        "    ",
    ]
    for type_ in (TEXT, varchar(3), varchar(), bpchar(3), bpchar(5), Type("bpchar")):
        check(oracle, type_, texts)
    check(oracle, NAME, ["", "a", "x" * 63, "x" * 64, "ä" * 40])
    check(oracle, CHAR, ["", "a", "abc", "ä", "\\101", "\\303", "\\1", "\\", "\\400", " "])


def test_uuids(oracle: Any) -> None:
    plain = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    check(oracle, UUID, [
        plain, plain.upper(), "{" + plain + "}", plain.replace("-", ""),
        "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "", "x",
        plain[:-1], plain + "0", "{" + plain, plain + "}", " " + plain,
        "a0eebc9-99c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000", plain[:-1] + "g",
        "a0eebc99--9c0b4ef8bb6d6bb9bd380a11", plain[:-1] + "-",
    ])  # fmt: skip


def test_bytea(oracle: Any) -> None:
    texts = [
        "", "abc", "\\x", "\\x00ff", "\\xDEADBEEF", "\\xde ad be ef", "\\xabc", "\\xzz", "\\x0g",
        "a\\\\b", "\\000\\377", "\\400", "\\1", "\\", "a\\", "ä", "'", "\\x a", "\\x\nab", "\\xa b",
        "\\134", "x\\x41", "\\x4 1",
    ]  # fmt: skip
    check(oracle, BYTEA, texts)
    oracle.set("bytea_output", "escape")
    check(oracle, BYTEA, texts, TextSettings(bytea_output="escape"))
    every = pa.array([bytes(range(256))])
    shown = oracle.connection.execute("SELECT %s::bytea::text", (bytes(range(256)),)).fetchone()
    assert format_text(BYTEA, every, TextSettings(bytea_output="escape"))[0].as_py() == shown[0]


def test_oids(oracle: Any) -> None:
    check(oracle, OID, [
        "0", "1", "16384", "4294967295", "4294967296", "-1", "-2147483648", "-2147483649", " 5 ", "", "x",
        "5x", "0x10", "010", "+3", "08", "99999999999999999999", "1_0",
    ])  # fmt: skip


DATE_TEXTS = [
    "2020-01-31", "2020-02-29", "2021-02-29", "2020-13-01", "2020-00-10", "2020-01-32", "2020-1-5",
    "1999-01-08", "January 8, 1999", "Jan 8 1999", "8 Jan 1999", "1/8/1999", "1/18/1999", "18/1/1999",
    "01/02/03", "1999-Jan-08", "Jan-08-1999", "08-Jan-1999", "99-Jan-08", "08-Jan-99", "Jan-08-99",
    "19990108", "990108", "1999.008", "J2451187", "January 8, 99 BC", "0044-03-15 BC", "0001-01-01",
    "0000-01-01", "0001-01-01 BC", "4714-11-24 BC", "4714-11-23 BC", "5874897-12-31", "5874898-01-01",
    "10000-01-01", "12345-06-07", "infinity", "-infinity", "epoch", "Infinity", "2020-01-31 10:20:30",
    "2020-01-31T10:20:30", "2020-01-31 10:20:30+02", "", " ", "x", "2020", "2020-01", "2020/01/31",
    "2020.01.31", "1-2-3", "Monday, January 8, 1999", "Mon Jan 08 1999", "8-Feb-2020", "30-Feb-2020",
    "  2020-01-31  ", "2020-01-31 BC", "2020-01-31 AD", "Sept 5 2020", "september 5, 2020", "sep-5-2020",
    "2020-12-31 24:00:00", "2020-01-31 25:00:00", "20200131T101112", "2020-366", "2020-060", "13/13/2020",
    "1.2.2020", "31.12.2020", "today x", "2020-01-31 garbage", "5/6", "now now", "1-1-1", "99-99-99",
    "70-01-01", "69-01-01", "1/1/69", "1/1/70", "100-01-01", "2020-01-31-05", "January 2020",
    "8th Jan 2020", "2020-01--31", "J0", "J2451187 10:00", "12 12 2012", "2012 12 12", "2020-01-31Z",
    "2020-01-31 z", "2020-01-31 +02:00",
]  # fmt: skip


def test_dates(oracle: Any) -> None:
    check(oracle, DATE, DATE_TEXTS)


@pytest.mark.parametrize("order", ["DMY", "YMD"])
def test_date_order(oracle: Any, order: str) -> None:
    oracle.set("datestyle", f"ISO, {order}")
    check(oracle, DATE, DATE_TEXTS, TextSettings(date_style=f"ISO, {order}"))


TIME_TEXTS = [
    "10:20:30", "10:20", "10:20:30.5", "10:20:30.123456", "10:20:30.1234567", "10:20:30.9999999", "1:2:3",
    "24:00:00", "24:00:01", "25:00", "10:60", "10:20:60", "10:20:61", "102030", "1020", "10:20 am",
    "10:20 pm", "12:00 am", "12:00 pm", "13:00 pm", "10:20:30 PST", "10:20:30+02",
    "10:20:30 America/New_York", "2020-01-31 10:20:30", "allballs", "x", "", "10", "10:20:30.",
    "00:00:00", "23:59:59.999999", "T102030", "040506-08", "04:05-08:00",
    "2003-04-12 04:05:06 America/New_York", "04:05:06.789-8", "04:05 PM PST", "infinity", "102030.25",
    "10.5", "12:34:56.7 am", "10:20:30:40",
]  # fmt: skip


def test_times(oracle: Any) -> None:
    check(oracle, TIME, TIME_TEXTS)
    for digits in (0, 3):
        check(
            oracle, Type("time", digits), ["10:20:30.123456", "23:59:59.9999", "10:20:30.0005", "10:20:30.5"]
        )


TIMESTAMP_TEXTS = [
    "2020-01-31 10:20:30", "2020-01-31T10:20:30", "2020-01-31 10:20", "2020-01-31",
    "2020-01-31 10:20:30.5", "2020-01-31 10:20:30.123456789", "2020-01-31 10:20:30.000001",
    "2020-01-31 10:20:30.1234565", "2020-01-31 10:20:30Z", "2020-01-31 10:20:30+02",
    "2020-01-31 10:20:30-03:30", "2020-01-31 10:20:30+0530", "2020-01-31 10:20:30 +5",
    "2020-01-31 10:20:30 PST", "2020-01-31 10:20:30 EST5EDT", "2020-07-31 10:20:30 America/New_York",
    "2020-01-31 10:20:30 europe/paris", "2020-01-31 10:20:30 Nowhere/Land", "2020-01-31 10:20:30 xyz",
    "20200131T102030", "20200131 102030", "20200131102030", "2020-01-31T10:20:30.25Z",
    "Jan 31 10:20:30 2020", "Jan 31, 2020 10:20 PM", "31 January 2020 10:20", "1/31/2020 10:20",
    "Fri Jan 31 10:20:30 2020", "Fri Jan 31 10:20:30 2020 PST", "2020-01-31 24:00:00",
    "2020-01-31 24:00:01", "2020-01-31 10:20:60", "2020-01-31 10:61", "2020-02-30 10:00", "infinity",
    "-infinity", "epoch", "0044-03-15 12:00 BC", "0001-01-01 00:00:00", "0000-01-01 00:00",
    "12345-01-01 00:00", "4714-11-24 00:00:00 BC", "4714-11-23 23:59:59 BC", "294300-01-01", "", "x",
    "10:20:30", "2020-01-31 10", "2020-01-31 10:20:30+16", "2020-01-31 10:20:30+15:59",
    "2020-01-31 10:20:30+02:60", "J2451187 10:20:30", "2020-01-31 10:20:30 +02:00 ",
    "2020-01-31 10:20:30 UTC", "2020-01-31 10:20:30 GMT", "1900-01-01 00:00", "1800-01-01 12:00",
    "2020-03-29 02:30:00", "2020-10-25 02:30:00", "2020-03-08 02:30:00", "2020-11-01 01:30:00",
    "2500-07-01 12:00", "3000-01-01 12:00", "9999-12-31 23:59:59.999999", "20000-07-01 12:00",
    "2038-01-20 00:00", "2020-01-31 10:20:30 a", "2020-01-31 10:20:30 am", "2020-01-31 22:20:30 pm",
    "1999-12-31 23:59:59.9999995", "2020-01-31 10:20:30 +05:30:15", "2020-01-31 102030",
    "1969-12-31 23:59:59.5", "1883-11-18 12:03:58", "2020-01-31 10:20:30-1", "2020-01-31 10:20:30 Z",
    "2020-01-31 10:20:30 zulu", "2020-1-1 1:2:3", "99-1-1 1:2", "2020-01-31  10:20:30",
    "2020-01-31,10:20:30", "2020-01-31 10:20:30 Japan", "2011-13-01 00:00",
]  # fmt: skip


def test_timestamps(oracle: Any) -> None:
    check(oracle, TIMESTAMP, TIMESTAMP_TEXTS)
    for digits in (0, 1, 3):
        check(
            oracle,
            Type("timestamp", digits),
            [t for t in TIMESTAMP_TEXTS if "." in t] + ["1969-12-31 23:59:59.25"],
        )


ZONES = [
    "UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo",
    "Africa/Casablanca", "<+03>-3", "Asia/Kathmandu", "Europe/Dublin",
]  # fmt: skip


@pytest.mark.parametrize("timezone", ZONES)
def test_timestamps_with_zone(oracle: Any, timezone: str) -> None:
    check(oracle, TIMESTAMPTZ, TIMESTAMP_TEXTS, TextSettings(timezone=timezone))


@pytest.mark.parametrize(
    "timezone", ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Santiago"]
)
def test_random_instants(oracle: Any, postgres: Any, timezone: str) -> None:
    """Instants near and far, hours apart over DST changes, both directions."""
    generator = random.Random(SEED)
    micros = [generator.randrange(-5 * 10**15, 20 * 10**15) for _ in range(2000)]
    micros += [hour * 1_800_000_000 + 1_580_000_000_000_000 for hour in range(20_000)]
    oracle.set("timezone", timezone)
    sql = (
        "SELECT to_char(v, 'YYYY-MM-DD HH24:MI:SS'), v::text "
        "FROM (SELECT 'epoch'::timestamptz + (m || ' us')::interval AS v FROM unnest(%s::int8[]) m) s"
    )
    rows = postgres.execute(sql, (micros,)).fetchall()
    settings = TextSettings(timezone=timezone)
    column = pa.array(micros, pa.timestamp("us", "UTC"))
    assert format_text(TIMESTAMPTZ, column, settings).to_pylist() == [row[1] for row in rows]
    assert parse_text(TIMESTAMPTZ, pa.array([row[1] for row in rows]), settings).equals(column)
    local = [row[0] for row in rows]
    sql = "SELECT t::timestamptz::text FROM unnest(%s::text[]) t"
    expected = [row[0] for row in postgres.execute(sql, (local,)).fetchall()]
    found = format_text(TIMESTAMPTZ, parse_text(TIMESTAMPTZ, pa.array(local), settings), settings)
    assert found.to_pylist() == expected


def test_unknown_zone() -> None:
    with pytest.raises(SqlError, match='time zone "Mars/Base" not recognized') as caught:
        format_text(TIMESTAMPTZ, pa.array([0], pa.timestamp("us", "UTC")), TextSettings(timezone="Mars/Base"))
    assert caught.value.code == "22023"


ARRAY_TEXTS = [
    "{}", "{1}", "{1,2,3}", "{ 1 , 2 }", "{NULL,1,null}", '{"NULL"}', '{a,"b c",d}', '{"a\\"b"}',
    '{"a\\\\b"}', "{a\\,b}", "{a b}", "{ a b , c }", '{""}', "{,}", "{1,}", "{1", "1}", "", "x", "{1}x",
    "{1} ", " {1}", "[1:2]={1,2}", '{"a"b}', '{a"b"}', "{ }", "{a{b}", '{"x"', "{nUll}", "{ä,ß}",
    '{"{}"}', '{"a,b"}', "{'a'}", '{"\t"}',
]  # fmt: skip


def test_arrays(oracle: Any) -> None:
    check(oracle, array_of(TEXT), ARRAY_TEXTS)
    check(oracle, array_of(INT4), ["{1,2}", "{x}", "{1,99999999999}", "{NULL}", "{}", "{ 7 }"])
    check(oracle, array_of(FLOAT8), ["{1,2.50,1e20,NaN}"])
    check(oracle, array_of(TIMESTAMP), ['{"2020-01-01 10:00",2020-01-02}', "{infinity}"])
    check(oracle, array_of(numeric(5, 2)), ["{1,2.345,-0}", "{9999}"])
    check(oracle, array_of(BYTEA), ['{"\\\\x00ff"}'])
    check(oracle, array_of(JSONB), ['{"{\\"a\\":1}","[]"}'])
    check(oracle, array_of(BOOL), ["{t,f,true}"])
    check(oracle, array_of(varchar(2)), ["{ab,c}", "{abc}"])


def test_nested_arrays_are_refused() -> None:
    assert round_trip(array_of(INT4), "{{1,2},{3,4}}") == (
        "0A000",
        "multidimensional arrays are not supported",
    )


def test_json_types(oracle: Any) -> None:
    texts = [
        '{"a":1}',
        " [1, 2 ,3] ",
        "1",
        '"x"',
        "null",
        "tru",
        "{",
        "",
        "{'a':1}",
        "[1,]",
        "01",
        "1.",
        "NaN",
        '"\\u00e9"',
    ]
    check(oracle, JSON, texts)
    check(oracle, JSONB, texts)


def test_errors_name_all_failing_rows() -> None:
    for size in (1, 50):
        texts = ["1", "x", None, "2", "y"] * size
        with pytest.raises(SqlError) as caught:
            parse_text(INT4, pa.array(texts))
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == [i for i, text in enumerate(texts) if text in ("x", "y")]
        assert caught.value.message == 'invalid input syntax for type integer: "x"'
        with pytest.raises(SqlError) as caught:
            parse_text(DATE, pa.array(["2020-01-01", None, "2020-02-30"] * size))
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == list(range(2, 3 * size, 3))
        with pytest.raises(SqlError) as caught:
            parse_text(array_of(INT4), pa.array(["{1,2}", "{1,x,y}", None, "{z}"] * size))
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == [i for i in range(4 * size) if i % 4 in (1, 3)]


@pytest.mark.parametrize("type_", [
    INT4, FLOAT8, NUMERIC, numeric(9, 2), DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL, BOOL, UUID, BYTEA,
    JSONB, TEXT, array_of(INT4), OID,
], ids=str)  # fmt: skip
def test_empty_and_all_null(type_: Type) -> None:
    for column in (
        pa.array([], pa.string()),
        pa.array([None] * 3, pa.string()),
        pa.array([None] * 50, pa.string()),
    ):
        parsed = parse_text(type_, column)
        assert parsed.type == type_.arrow
        assert format_text(type_, parsed).to_pylist() == column.to_pylist()
