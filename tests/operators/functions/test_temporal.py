"""Dates, times and intervals against PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

from millpond.storage import types as t

DATES = [
    "2024-02-29",
    "1999-12-31",
    "0001-01-01",
    "0044-03-15 BC",
    "2000-01-01",
    "infinity",
    "-infinity",
    None,
]
STAMPS = ["2024-02-29 12:34:56.789012", "1999-12-31 23:59:59.999999", "1969-07-20 20:17:00", "0044-03-15 BC",
          "2023-01-01", "2021-01-03 00:00:01", "infinity", "-infinity", None]  # fmt: skip
TIMES = ["00:00", "12:34:56.789012", "23:59:59.999999", None]
SPANS = ["1 day", "-1 day", "1 month", "1 year 2 mons 3 days 04:05:06.789", "-13 mons -5 days -25:00:00.5",
         "0", "36:00",
         "100 years", None]  # fmt: skip
VALUES = {"date": DATES, "timestamp": STAMPS, "timestamptz": STAMPS, "time": TIMES, "interval": SPANS,
          "int4": ["0", "1", "-40", "400000", None], "float8": ["0.5", "2", "-1.5", "1e-3",
          None]}  # fmt: skip
ARITHMETIC = [
    ("+", "date", "int4"), ("+", "int4", "date"), ("-", "date", "int4"), ("-", "date", "date"),
    ("+", "date", "time"),
    ("+", "date", "interval"), ("-", "date", "interval"), ("+", "interval", "date"),
    ("+", "timestamp", "interval"),
    ("-", "timestamp", "interval"), ("+", "timestamptz", "interval"), ("-", "timestamptz", "interval"),
    ("-", "timestamp", "timestamp"), ("-", "timestamptz", "timestamptz"), ("+", "time", "interval"),
    ("-", "time", "interval"), ("-", "time", "time"), ("+", "interval", "interval"),
    ("-", "interval", "interval"),
    ("*", "interval", "float8"), ("*", "float8", "interval"), ("/", "interval", "float8"),
    ("+", "time", "date"),
    ("age", "timestamp", "timestamp"), ("age", "timestamptz", "timestamptz"),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "a", "b"), ARITHMETIC)
def test_arithmetic(oracle, symbol, a, b) -> None:
    rows = list(itertools.product(VALUES[a], VALUES[b]))
    if symbol == "age":  # this PostgreSQL computes with infinities as numbers; later ones refuse
        rows = [row for row in rows if not any(v and "infinity" in v for v in row)]
    oracle.check(symbol, (a, b), rows)


@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz", "time", "interval"])
@pytest.mark.parametrize("symbol", ["=", "<", ">="])
def test_comparison(oracle, type_, symbol) -> None:
    oracle.check(symbol, (type_, type_), list(itertools.product(VALUES[type_], VALUES[type_])))


@pytest.mark.parametrize(
    ("a", "b"), [("date", "timestamp"), ("timestamptz", "date"), ("timestamp", "timestamptz")]
)
def test_mixed_comparison(oracle, a, b) -> None:
    oracle.check("<", (a, b), list(itertools.product(VALUES[a], VALUES[b])))


UNITS = ["century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian",
         "microseconds",
         "millennium", "milliseconds", "minute", "month", "quarter", "second", "timezone", "timezone_hour",
         "timezone_minute", "week", "year", "YEARS", "nonsense", None]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz", "time", "interval"])
@pytest.mark.parametrize("name", ["extract", "date_part"])
def test_fields(oracle, name, type_, zone) -> None:
    oracle.use_zone(zone)
    oracle.check(name, ("text", type_), list(itertools.product(UNITS, VALUES[type_])), digits=15)


CASTS = [
    ("date", t.TIMESTAMP), ("date", t.TIMESTAMPTZ), ("timestamp", t.DATE), ("timestamptz", t.DATE),
    ("timestamp", t.TIME), ("timestamptz", t.TIME), ("timestamp", t.TIMESTAMPTZ),
    ("timestamptz", t.TIMESTAMP),
    ("time", t.INTERVAL), ("interval", t.TIME), ("timestamp", t.Type("timestamp", 3)), ("timestamp", t.TEXT),
    ("timestamptz", t.TEXT), ("date", t.TEXT), ("interval", t.TEXT), ("time", t.Type("time", 0)),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), CASTS, ids=str)
def test_casts(oracle, source, target) -> None:
    oracle.check_cast(source, target, str(target), VALUES[source])


def test_zones(oracle) -> None:
    zones = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", None]
    stamps = ["2024-03-10 02:30", "2024-11-03 01:30", "2024-07-01", "infinity", None]
    for type_ in ("timestamp", "timestamptz"):
        oracle.check("timezone", ("text", type_), list(itertools.product(zones, stamps)))
        oracle.check(
            "timezone", ("interval", type_), list(itertools.product(["-05:00", "5:30", "1 day"], stamps[:3]))
        )


def test_timezone_arithmetic_keeps_the_clock(oracle) -> None:
    oracle.use_zone("America/New_York")
    stamps = ["2024-03-09 12:00-05", "2024-11-02 12:00-04", "2024-03-10 02:30"]
    oracle.check(
        "+", ("timestamptz", "interval"), list(itertools.product(stamps, ["1 day", "24 hours", "1 month"]))
    )


@pytest.mark.parametrize("name", ["justify_hours", "justify_days", "justify_interval", "-", "isfinite"])
def test_spans(oracle, name) -> None:
    oracle.check(name, ("interval",), [(v,) for v in [*SPANS, "35 days -30 hours", "-1 mon 40 days"]])


@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz"])
def test_isfinite(oracle, type_) -> None:
    oracle.check("isfinite", (type_,), [(v,) for v in VALUES[type_]])


TRUNCATIONS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month",
               "quarter", "year",
               "decade", "century", "millennium", "Years", "dow", "nonsense", None]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("type_", ["timestamp", "timestamptz", "interval"])
def test_date_trunc(oracle, type_, zone) -> None:
    oracle.use_zone(zone)
    rows = list(itertools.product(TRUNCATIONS, VALUES[type_]))
    # this PostgreSQL does not look at the unit when the moment is infinite
    rows = [r for r in rows if not (r[0] in ("dow", "nonsense") and r[1] and "infinity" in r[1])]
    oracle.check("date_trunc", ("text", type_), rows)


def test_date_trunc_in_a_zone(oracle) -> None:
    rows = list(itertools.product(["day", "month", "hour"], STAMPS, ["Asia/Kolkata", "America/New_York"]))
    oracle.check("date_trunc", ("text", "timestamptz", "text"), rows)


def test_date_bin(oracle) -> None:
    strides = ["15 minutes", "1 day", "2 days 01:00", "1 month", "0", "-1 hour", None]
    for type_ in ("timestamp", "timestamptz"):
        rows = list(itertools.product(strides, STAMPS, ["2001-01-01 00:02:30", "2030-05-05 00:00:07"]))
        oracle.check("date_bin", ("interval", type_, type_), rows)


def test_making(oracle) -> None:
    dates = [
        ("2024", "2", "29"),
        ("2023", "2", "29"),
        ("-44", "3", "15"),
        ("0", "1", "1"),
        ("2024", "13", "1"),
    ]
    oracle.check("make_date", ("int4",) * 3, dates)
    clocks = [("12", "34", "56.789"), ("24", "0", "0"), ("24", "0", "1"), ("1", "60", "0"), ("1", "1", "60")]
    oracle.check("make_time", ("int4", "int4", "float8"), clocks)
    rows = [(*d, *c) for d in dates for c in clocks]
    oracle.check("make_timestamp", ("int4",) * 5 + ("float8",), rows)
    oracle.use_zone("America/New_York")
    oracle.check("make_timestamptz", ("int4",) * 5 + ("float8",), rows)
    oracle.check(
        "make_timestamptz", ("int4",) * 5 + ("float8", "text"), [(*r, "Europe/Berlin") for r in rows]
    )
    parts = [("1", "2", "3", "4", "5", "6", "7.5"), ("-1", "0", "0", "0", "0", "0", "-0.25"), ("0",) * 7]
    oracle.check("make_interval", ("int4",) * 6 + ("float8",), parts)


def test_to_timestamp(oracle) -> None:
    values = ["0", "1.5", "-1.25", "1700000000.123456", "Infinity", "-Infinity", "NaN", "1e13", None]
    oracle.check("to_timestamp", ("float8",), [(v,) for v in values])
