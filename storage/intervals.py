"""Interval columns: packing, text, comparison, arithmetic with timestamps.

An interval is three numbers (months, days, microseconds) that do not convert into one another, because
months and days differ in length; they are packed into 16 bytes, see `types.py`. Arithmetic follows
PostgreSQL's timestamp.c: months first, clamped to the end of the month, then days, then time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import datetimes as dt
from . import interval_text
from .errors import DatetimeOverflow, DivisionByZero, SqlError
from .interval_text import out_of_range
from .textform_rows import fixed_values, from_values, raise_at, valid_mask
from .textform_zoned import to_instants, to_local

Int64s = npt.NDArray[np.int64]
Parts = tuple[Int64s, Int64s, Int64s]
"""(months, days, microseconds), each int64."""

_LAYOUT = np.dtype([("micros", "<i8"), ("days", "<i4"), ("months", "<i4")])
ARROW = pa.binary(16)


def pack_one(months: int, days: int, micros: int) -> bytes:
    """The 16 bytes of one interval. Raises 22008 out of range."""
    try:
        return micros.to_bytes(8, "little", signed=True) + (
            days.to_bytes(4, "little", signed=True) + months.to_bytes(4, "little", signed=True)
        )
    except OverflowError:
        raise out_of_range() from None


def unpack_one(value: bytes) -> tuple[int, int, int]:
    """(months, days, microseconds)."""
    return (
        int.from_bytes(value[12:], "little", signed=True),
        int.from_bytes(value[8:12], "little", signed=True),
        int.from_bytes(value[:8], "little", signed=True),
    )


def pack(months: Int64s, days: Int64s, micros: Int64s, like: pa.Array | None = None) -> pa.Array:
    """A column of intervals, NULL where `like` is. Raises 22008 with `rows` out of range."""
    wrong = (months != months.astype(np.int32)) | (days != days.astype(np.int32))
    _check(wrong, like)
    packed = np.empty(len(months), _LAYOUT)
    packed["months"], packed["days"], packed["micros"] = months, days, micros
    return from_values(packed, ARROW, like)


def unpack(array: pa.Array) -> Parts:
    """(months, days, microseconds) as int64; NULL rows hold anything."""
    packed = fixed_values(array, _LAYOUT)
    return (
        packed["months"].astype(np.int64),
        packed["days"].astype(np.int64),
        packed["micros"].astype(np.int64),
    )


def _check(wrong: npt.NDArray[np.bool_], like: pa.Array | None, error: SqlError | None = None) -> None:
    if wrong.any() and like is not None:
        wrong = wrong & valid_mask(like)
    if wrong.any():
        raise_at(error or out_of_range(), np.flatnonzero(wrong))


def _both(a: pa.Array, b: pa.Array) -> pa.Array | None:
    """Something NULL where either is."""
    if not (a.null_count or b.null_count):
        return None
    return pa.array(np.ones(len(a), bool), mask=~(valid_mask(a) & valid_mask(b)))


def parse_interval(text: str, style: str = "postgres") -> bytes:
    """One interval from its text. Raises 22007, 22015."""
    return pack_one(*interval_text.parse(text, style))


def format_interval(value: bytes, style: str = "postgres") -> str:
    """`1 year 2 mons -3 days +04:05:06.7` in the style of `IntervalStyle`."""
    return interval_text.format_parts(*unpack_one(value), style)


def order_keys(array: pa.Array) -> tuple[Int64s, Int64s]:
    """(days, microseconds of the day) by which intervals compare, lexicographically.

    PostgreSQL takes a month for 30 days of 24 hours here, so '1 mon' equals '30 days'.
    """
    months, days, micros = unpack(array)
    whole = micros // dt.DAY
    return months * 30 + days + whole, micros - whole * dt.DAY


def compare(a: pa.Array, b: pa.Array) -> npt.NDArray[np.int8]:
    """−1, 0 or 1 a row; anything where either is NULL."""
    days_a, micros_a = order_keys(a)
    days_b, micros_b = order_keys(b)
    result = np.sign(days_a - days_b) * 2 + np.sign(micros_a - micros_b)
    return np.sign(result).astype(np.int8)


def _sum_micros(a: Int64s, b: Int64s, like: pa.Array | None) -> Int64s:
    total = a + b
    _check(((a ^ total) & (b ^ total)) < 0, like)
    return total


def add(a: pa.Array, b: pa.Array) -> pa.Array:
    like = _both(a, b)
    x, y = unpack(a), unpack(b)
    return pack(x[0] + y[0], x[1] + y[1], _sum_micros(x[2], y[2], like), like)


def subtract(a: pa.Array, b: pa.Array) -> pa.Array:
    return add(a, negate(b))


def negate(a: pa.Array) -> pa.Array:
    months, days, micros = unpack(a)
    _check(micros == dt.MINUS_INFINITY, a)
    return pack(-months, -days, -micros, a)


def _round_seconds(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.rint(values * 1e6) / 1e6


def multiply(a: pa.Array, factors: pa.Array) -> pa.Array:
    """interval × float8: fractions of months spill into days, of days into time."""
    return _scale(a, factors, np.multiply)


def divide(a: pa.Array, divisors: pa.Array) -> pa.Array:
    """interval / float8. Raises 22012."""
    like = _both(a, divisors)
    zero = fixed_values(divisors, np.float64) == 0
    _check(zero, like if like is not None else None, DivisionByZero("division by zero"))
    return _scale(a, divisors, np.divide)


def _scale(a: pa.Array, factors: pa.Array, operation: np.ufunc) -> pa.Array:
    like = _both(a, factors)
    by = fixed_values(factors, np.float64)
    by = np.where(valid_mask(factors), by, 1.0)
    with np.errstate(all="ignore"):
        months, days, micros = (operation(part.astype(np.float64), by) for part in unpack(a))
        whole_months, whole_days = np.trunc(months), np.trunc(days)
        bad = ~((np.abs(whole_months) < 2**31) & (np.abs(whole_days) < 2**31) & (np.abs(micros) < 2**63))
        _check(bad, like)
        spill = _round_seconds((months - whole_months) * 30)
        seconds = _round_seconds((days - whole_days + spill - np.trunc(spill)) * 86400)
        carried = np.where(np.abs(seconds) >= 86400, np.trunc(seconds / 86400), 0.0)
        total = np.rint(micros + (seconds - carried * 86400) * 1e6)
        _check(~(np.abs(total) < 2**63), like)
        all_days = whole_days + carried + np.trunc(spill)
        clean = [np.where(bad, 0, part).astype(np.int64) for part in (whole_months, all_days, total)]
    return pack(clean[0], clean[1], clean[2], like)


def civil_from_days(days: Int64s) -> Parts:
    """(year, month, day of month) of each day number; the columns of `datetimes.civil_from_days`."""
    shifted = days + 719_468
    era = shifted // 146_097
    rest = shifted - era * 146_097
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    day_of_year = rest - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    calendar = np.where(month < 10, month + 3, month - 9)
    return era * 400 + year + (calendar <= 2), calendar, day


def days_from_civil(year: Int64s, month: Int64s, day: Int64s) -> Int64s:
    """Day number of each date; the column form of `datetimes.days_from_civil`."""
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    day_of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + day_of_year - 719_468


def add_months(days: Int64s, months: Int64s) -> Int64s:
    """Day numbers moved by months, the day clamped to the length of the month reached."""
    year, month, day = civil_from_days(days)
    count = year * 12 + month - 1 + months
    year, month = count // 12, count % 12 + 1
    first = days_from_civil(year, month, np.ones_like(day))
    following = days_from_civil(year + month // 12, month % 12 + 1, np.ones_like(day))
    return first + np.minimum(day, following - first) - 1


def add_to_timestamps(timestamps: pa.Array, a: pa.Array, timezone: str | None = None) -> pa.Array:
    """timestamp + interval, or timestamptz + interval in `timezone`, where days keep the local time.

    Infinite timestamps stay. Raises 22008 with `rows`.
    """
    like = _both(timestamps, a)
    months, days, micros = unpack(a)
    original = fixed_values(timestamps, np.int64)
    finite = (original != dt.INFINITY) & (original != dt.MINUS_INFINITY)
    if like is not None:
        finite = finite & valid_mask(like)
    start = np.where(finite, original, 0)
    moved = start
    if ((months != 0) | (days != 0)).any():
        moved = _move_days(start, months, days, timezone, finite)
    result = moved + np.where(finite, micros, 0)
    wrapped = ((moved ^ result) & (micros ^ result)) < 0
    wrong = wrapped | (result < dt.MIN_TIMESTAMP) | (result > dt.MAX_TIMESTAMP)
    _check(wrong & finite, like, DatetimeOverflow("timestamp out of range"))
    return from_values(np.where(finite, result, original), timestamps.type, like)


def _move_days(
    start: Int64s, months: Int64s, days: Int64s, timezone: str | None, finite: npt.NDArray[np.bool_]
) -> Int64s:
    local = start
    if timezone is not None:
        local = fixed_values(to_local(from_values(start, pa.timestamp("us", "UTC")), timezone), np.int64)
    day = local // dt.DAY
    moved = np.where(months != 0, add_months(day, months), day) + days
    wrong = finite & ((moved < dt.MIN_DATE) | (moved > dt.MAX_TIMESTAMP // dt.DAY))
    _check(wrong, None, DatetimeOverflow("timestamp out of range"))
    moved = np.where(finite, moved, 0) * dt.DAY + (local - day * dt.DAY)
    if timezone is None:
        return moved
    touched = (months != 0) | (days != 0)
    instants = to_instants(from_values(moved, pa.timestamp("us")), timezone)
    return np.where(touched, fixed_values(instants, np.int64), start)


def subtract_from_timestamps(timestamps: pa.Array, a: pa.Array, timezone: str | None = None) -> pa.Array:
    return add_to_timestamps(timestamps, negate(a), timezone)


def timestamp_difference(a: pa.Array, b: pa.Array) -> pa.Array:
    """a − b in days and time, of one sign. Raises 22008 when either is infinite."""
    like = _both(a, b)
    x, y = fixed_values(a, np.int64), fixed_values(b, np.int64)
    infinite = np.isin(x, (dt.INFINITY, dt.MINUS_INFINITY)) | np.isin(y, (dt.INFINITY, dt.MINUS_INFINITY))
    _check(infinite, like, DatetimeOverflow("cannot subtract infinite timestamps"))
    micros = x - y
    _check(((x ^ y) & (x ^ micros)) < 0, like)
    days = _cut(micros, dt.DAY)
    return pack(np.zeros_like(days), days, micros - days * dt.DAY, like)


def _cut(values: Int64s, by: int) -> Int64s:
    """Quotient towards zero."""
    quotient = values // by
    return quotient + ((values < 0) & (quotient * by != values))


def age(a: pa.Array, b: pa.Array, timezone: str | None = None) -> pa.Array:
    """a − b counted in calendar years, months and days; timestamptz as local times of `timezone`.

    Raises 22008 when either is infinite.
    """
    like = _both(a, b)
    if timezone is not None:
        a, b = to_local(a, timezone), to_local(b, timezone)
    x, y = fixed_values(a, np.int64), fixed_values(b, np.int64)
    infinite = np.isin(x, (dt.INFINITY, dt.MINUS_INFINITY)) | np.isin(y, (dt.INFINITY, dt.MINUS_INFINITY))
    _check(infinite, like, DatetimeOverflow("cannot subtract infinite timestamps"))
    later, earlier = np.maximum(x, y), np.minimum(x, y)
    day_1, day_2 = later // dt.DAY, earlier // dt.DAY
    year_1, month_1, date_1 = civil_from_days(day_1)
    year_2, month_2, date_2 = civil_from_days(day_2)
    micros = (later - day_1 * dt.DAY) - (earlier - day_2 * dt.DAY)
    borrow = micros < 0
    days = date_1 - date_2 - borrow
    months = (year_1 - year_2) * 12 + month_1 - month_2
    # A missing day is borrowed from the month of the earlier time, or of `a` when that is the earlier.
    ones = np.ones_like(days)
    length = days_from_civil(year_2 + month_2 // 12, month_2 % 12 + 1, ones) - days_from_civil(
        year_2, month_2, ones
    )
    for _ in range(2):
        short = days < 0
        days, months = days + short * length, months - short
    sign = np.where(x < y, -1, 1)
    return pack(months * sign, days * sign, (micros + borrow * dt.DAY) * sign, like)


def _one_sign(large: Int64s, small: Int64s, unit: int) -> tuple[Int64s, Int64s]:
    """Moves one unit so that both have the same sign."""
    down = ((large > 0) & (small < 0)).astype(np.int64)
    up = ((large < 0) & (small > 0)).astype(np.int64)
    return large - down + up, small + (down - up) * unit


def _justified(operation: Callable[[Int64s, Int64s, Int64s], Parts]) -> Callable[[pa.Array], pa.Array]:
    def justify(a: pa.Array) -> pa.Array:
        return pack(*operation(*unpack(a)), like=a)

    justify.__doc__ = operation.__doc__
    return justify


@_justified
def justify_hours(months: Int64s, days: Int64s, micros: Int64s) -> Parts:
    """24 hours become days."""
    whole = _cut(micros, dt.DAY)
    days, micros = _one_sign(days + whole, micros - whole * dt.DAY, dt.DAY)
    return months, days, micros


@_justified
def justify_days(months: Int64s, days: Int64s, micros: Int64s) -> Parts:
    """30 days become months."""
    whole = _cut(days, 30)
    months, days = _one_sign(months + whole, days - whole * 30, 30)
    return months, days, micros


@_justified
def justify_interval(months: Int64s, days: Int64s, micros: Int64s) -> Parts:
    """Hours become days and days months, all of one sign."""
    whole = _cut(micros, dt.DAY)
    days, micros = days + whole, micros - whole * dt.DAY
    whole = _cut(days, 30)
    months, days = months + whole, days - whole * 30
    down = ((months > 0) & ((days < 0) | ((days == 0) & (micros < 0)))).astype(np.int64)
    up = ((months < 0) & ((days > 0) | ((days == 0) & (micros > 0)))).astype(np.int64)
    months, days = months - down + up, days + (down - up) * 30
    days, micros = _one_sign(days, micros, dt.DAY)
    return months, days, micros


def from_times(times: pa.Array) -> pa.Array:
    """A time of day as interval."""
    micros = fixed_values(times, np.int64)
    zero = np.zeros(len(times), np.int64)
    return pack(zero, zero, micros, times)
