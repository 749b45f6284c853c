"""Intervals against PostgreSQL: text in every style, order, arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import intervals
from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings, format_text, parse_text
from millpond.storage.types import FLOAT8, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, Type

SEED = 20260728
TEXTS = [
    "1 day", "2 days", "-1 day", "1 year 2 mons 3 days 04:05:06", "1 day ago", "@ 1 minute",
    "@ 1 minute ago", "1-2", "-1-2", "1 2:03:04", "-1 2:03:04", "1 -2:03:04", "2:03:04", "2:03",
    "-2:03:04.5", "30", "-30", "1.5", "1.5 days", "1.5 months", "1.7 mons", "-1.5 months", "1.5 years",
    "1.37 years", "0.1 years", "1.5 weeks", "1 week", "1.5 hours", "1.5 min", "1.5 seconds", "1 decade",
    "1 century", "2 centuries", "1 millennium", "1.5 decades", "100 us", "5 ms", "1.5 ms",
    "1 microsecond", "1.5 us", "1d2h", "1d 2h 3m 4s", "1 y 2 mon", "P1Y2M3DT4H5M6S", "P1Y", "PT1H", "P1W",
    "P1.5D", "P-1Y-2M3DT-4H", "P0001-02-03T04:05:06", "PT", "P", "P1", "PT1.5S", "P1YT", "P1Y2M10DT2H30M",
    "PT-0.5S", "1 year -1 day", "-1 year +1 day", "1 mon -1 day +00:00:01", "-1 day +02:03:04", "0",
    "0 days", "", " ", "x", "1 x", "1 day 1 day", "day", "1 day 2", "1 2 3", "1:2:3:4", "10:60",
    "10:20:61", "100:20", "1000000:00:00", "-100:20:30.25", "2147483647 days", "2147483648 days",
    "178956970 years", "178956971 years", "1 day 02:03:04.123456789", "00:00:00.0000005",
    "9223372036854775807 us", "3 days ago 2 hours", "1 year ago", "1 day, 2 hours", "1 DAY 2 Hours",
    "12:34.5", "1 mon", "11 mons", "12 mons", "13 months", "-13 months", "1 hour 2:03", "+1 day",
    "1 + day", "1e3 days", "1 day 0.5", "90 seconds", "3600 s", "86400 sec", "25 hours",
    "1 minute 90 seconds", "0.000001 sec", "-0.25 sec", "1 day -0.5 hours", "1-13", "1-11",
    "1 month 1.5 days 1.5 hours", "-1 mon -2 days -03:04:05.678", "1.2.3 days", "1 y 1 yr", "5 mins ago",
]  # fmt: skip


def interval(texts: Sequence[str | None]) -> pa.Array:
    return parse_text(INTERVAL, pa.array(texts, pa.string()))


def shown(array: pa.Array) -> list[str | None]:
    return format_text(INTERVAL, array).to_pylist()


@pytest.mark.parametrize("style", ["postgres", "iso_8601", "sql_standard", "postgres_verbose"])
def test_text_in_each_style(oracle: Any, style: str) -> None:
    oracle.set("intervalstyle", style)
    settings = TextSettings(interval_style=style)
    expected = [
        (found.code, found.message) if hasattr(found, "code") else found
        for found in oracle.read("interval", TEXTS)
    ]
    found: list[Any] = []
    for text in TEXTS:
        try:
            value = parse_text(INTERVAL, pa.array([text]), settings)
            found.append(format_text(INTERVAL, value, settings)[0].as_py())
        except SqlError as error:
            found.append((error.code, error.message))
    wrong = [row for row in zip(TEXTS, expected, found, strict=True) if row[1] != row[2]]
    assert not wrong, "\n".join(map(str, wrong))
    valid = [i for i, shown_text in enumerate(expected) if isinstance(shown_text, str)]
    column = parse_text(INTERVAL, pa.array([TEXTS[i] for i in valid]), settings)
    assert format_text(INTERVAL, column, settings).to_pylist() == [expected[i] for i in valid]
    assert parse_text(INTERVAL, format_text(INTERVAL, column, settings), settings).equals(column)


def _random_intervals(generator: random.Random, count: int) -> list[str]:
    return [
        f"{generator.randrange(-30, 30)} mons {generator.randrange(-60, 60)} days "
        f"{generator.randrange(-200_000_000_000, 200_000_000_000)} us"
        for _ in range(count)
    ]


def _scalar(oracle: Any, template: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
    found = oracle.evaluate([template.format(*row) for row in rows])
    return [(row.code, row.message) if hasattr(row, "code") else row for row in found]


def _attempt(compute: Callable[..., pa.Array], *columns: pa.Array) -> list[Any]:
    """The text of each row; a failing row by itself gives (SQLSTATE, message)."""
    results: list[Any] = []
    for row in range(len(columns[0])):
        try:
            results.extend(shown(compute(*(column.slice(row, 1) for column in columns))))
        except SqlError as error:
            results.append((error.code, error.message))
    return results


def test_sums(oracle: Any) -> None:
    generator = random.Random(SEED)
    a, b = _random_intervals(generator, 200), _random_intervals(generator, 200)
    rows = list(zip(a, b, strict=True))
    assert shown(intervals.add(interval(a), interval(b))) == _scalar(
        oracle, "'{}'::interval + '{}'::interval", rows
    )
    assert shown(intervals.subtract(interval(a), interval(b))) == _scalar(
        oracle, "'{}'::interval - '{}'::interval", rows
    )
    assert shown(intervals.negate(interval(a))) == _scalar(oracle, "-'{}'::interval", rows)


def test_products(oracle: Any) -> None:
    generator = random.Random(SEED)
    a = [
        *_random_intervals(generator, 200),
        "1 mon",
        "1 day",
        "3 mons 5 days",
        "1 year",
        "100 years",
        "1 day",
    ]
    factors = [round(generator.uniform(-10, 10), generator.randrange(4)) for _ in range(200)]
    factors += [1 / 3, 0.1, -2.5, 1e9, 1e12, 0.0]
    rows = list(zip(a, factors, strict=True))
    columns = interval(a), pa.array(factors)
    assert _attempt(intervals.multiply, *columns) == _scalar(oracle, "'{}'::interval * ({})::float8", rows)
    assert _attempt(intervals.divide, *columns) == _scalar(oracle, "'{}'::interval / ({})::float8", rows)


def test_sum_beyond_the_range() -> None:
    with pytest.raises(SqlError, match="interval out of range") as caught:
        intervals.add(interval(["1 day", "2147483647 days", None]), interval(["1 day"] * 3))
    assert caught.value.code == "22008"
    assert caught.value.rows is not None
    assert caught.value.rows.tolist() == [1]


def test_order(oracle: Any) -> None:
    generator = random.Random(SEED)
    a = [*_random_intervals(generator, 100), "1 mon", "30 days", "24:00", "1 day", "-1 day", "1 day -24:00"]
    b = [*_random_intervals(generator, 100), "30 days", "720:00", "1 day", "24:00:00.000001", "-24:00", "0"]
    rows = list(zip(a, b, strict=True))
    compared = intervals.compare(interval(a), interval(b)).tolist()
    assert [str(value < 0).lower() for value in compared] == _scalar(
        oracle, "'{}'::interval < '{}'::interval", rows
    )
    assert [str(value == 0).lower() for value in compared] == _scalar(
        oracle, "'{}'::interval = '{}'::interval", rows
    )


@pytest.mark.parametrize("justify", ["justify_hours", "justify_days", "justify_interval"])
def test_justify(oracle: Any, justify: str) -> None:
    texts = [
        *_random_intervals(random.Random(SEED), 300),
        "1 mon -1 hour",
        "-1 mon 1 hour",
        "35 days -50:00",
        "0",
    ]
    expected = _scalar(oracle, justify + "('{}'::interval)", [[text] for text in texts])
    assert shown(getattr(intervals, justify)(interval(texts))) == expected


STAMPS = [
    "2020-01-31 10:20:30", "2020-02-29", "2019-12-31 23:59:59.999999", "2021-03-28 02:30", "2020-03-08 01:30",
    "2020-10-25 00:30", "1900-01-01", "0001-01-01", "9999-12-31", "2020-11-01 00:59", "0044-03-15 BC",
]  # fmt: skip
STEPS = [
    "1 mon", "-1 mon", "1 day", "24:00", "1 year", "-1 year", "13 mons", "1 mon 1 day 01:00",
    "-25 mons -3 days", "0", "6 mons", "-00:00:00.000001", "100 years", "1 day -24:00",
]  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "timezone"),
    [
        (TIMESTAMP, "UTC"),
        (TIMESTAMPTZ, "Europe/Paris"),
        (TIMESTAMPTZ, "America/New_York"),
        (TIMESTAMPTZ, "UTC"),
    ],
)
def test_moving_timestamps(oracle: Any, type_: Type, timezone: str) -> None:
    oracle.set("timezone", timezone)
    settings = TextSettings(timezone=timezone)
    rows = [(stamp, step) for stamp in [*STAMPS, "infinity", "-infinity"] for step in STEPS]
    stamps = parse_text(type_, pa.array([row[0] for row in rows]), settings)
    steps = interval([row[1] for row in rows])
    zone = timezone if type_ == TIMESTAMPTZ else None
    for sign, move in (("+", intervals.add_to_timestamps), ("-", intervals.subtract_from_timestamps)):
        found = format_text(type_, move(stamps, steps, zone), settings).to_pylist()
        expected = _scalar(oracle, f"'{{}}'::{type_.name} {sign} '{{}}'::interval", rows)
        wrong = [row for row in zip(rows, expected, found, strict=True) if row[1] != row[2]]
        assert not wrong, wrong[:10]


def test_moving_out_of_range() -> None:
    stamps = parse_text(TIMESTAMP, pa.array(["2020-01-01", "4714-12-01 BC", None, "infinity"]))
    with pytest.raises(SqlError, match="timestamp out of range") as caught:
        intervals.add_to_timestamps(stamps, interval(["-1 mon"] * 4))
    assert caught.value.rows is not None
    assert caught.value.rows.tolist() == [1]


@pytest.mark.parametrize(("type_", "timezone"), [(TIMESTAMP, None), (TIMESTAMPTZ, "Europe/Paris")])
def test_differences_and_age(oracle: Any, type_: Type, timezone: str | None) -> None:
    settings = TextSettings(timezone=timezone or "UTC")
    oracle.set("timezone", settings.timezone)
    rows = [(a, b) for a in [*STAMPS, "infinity"] for b in STAMPS]
    a, b = (parse_text(type_, pa.array([row[i] for row in rows]), settings) for i in (0, 1))
    assert _attempt(intervals.timestamp_difference, a, b) == _scalar(
        oracle, f"'{{}}'::{type_.name} - '{{}}'", rows
    )
    rows = [row for row in rows if row[0] != "infinity"]  # PostgreSQL 16 takes infinity for a date in age().
    a, b = a[: len(rows)], b[: len(rows)]
    assert _attempt(lambda x, y: intervals.age(x, y, timezone), a, b) == _scalar(
        oracle, f"age('{{}}'::{type_.name}, '{{}}')", rows
    )


def test_random_ages(oracle: Any) -> None:
    generator = random.Random(SEED)
    micros = [[generator.randrange(-(10**15), 10**15) for _ in range(400)] for _ in range(2)]
    a, b = (pa.array(values, pa.timestamp("us")) for values in micros)
    rows = list(
        zip(format_text(TIMESTAMP, a).to_pylist(), format_text(TIMESTAMP, b).to_pylist(), strict=True)
    )
    assert shown(intervals.age(a, b)) == _scalar(oracle, "age('{}'::timestamp, '{}')", rows)


def test_packing_round_trips() -> None:
    generator = np.random.default_rng(SEED)
    months, days = (generator.integers(-(1 << 31), 1 << 31, 100) for _ in range(2))
    micros = generator.integers(-(1 << 63), (1 << 63) - 1, 100)
    column = intervals.pack(months, days, micros)
    assert [part.tolist() for part in intervals.unpack(column)] == [
        months.tolist(),
        days.tolist(),
        micros.tolist(),
    ]
    for row, value in enumerate(column.to_pylist()):
        parts = intervals.unpack_one(value)
        assert parts == (months[row], days[row], micros[row])
        assert intervals.pack_one(*parts) == value


def test_nulls_pass() -> None:
    a, b = interval(["1 day", None, "1 day"]), interval(["1 day", "1 day", None])
    assert shown(intervals.add(a, b)) == ["2 days", None, None]
    assert shown(intervals.multiply(a, pa.array([2.0, 2.0, None]))) == ["2 days", None, None]
    assert shown(intervals.divide(a, pa.array([None, 0.0, 2.0]))) == [None, None, "12:00:00"]
    times = parse_text(TIME, pa.array(["10:20", None]))
    assert shown(intervals.from_times(times)) == ["10:20:00", None]
    assert FLOAT8.arrow == pa.float64()
