"""Arithmetic of dates, times, timestamps and intervals, time zones, and the clock of the epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import intervals
from ...storage import types as t
from ...storage.errors import DatetimeOverflow, InvalidParameterValue
from ...storage.textform_zoned import to_instants, to_local
from ...storage.types import Type
from .casts_temporal import date_to_timestamp, timestamp_to_date
from .numeric import fail_valid
from .registry import Kernel, scalar
from .vector import from_numpy, null_safe, values

if TYPE_CHECKING:
    from ..node import EpochContext

MOMENTS = (t.TIMESTAMP, t.TIMESTAMPTZ)


def _swap(kernel: Kernel) -> Kernel:
    def swapped(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        return kernel([args[1], args[0]], length, context)

    swapped.__doc__ = kernel.__doc__
    return null_safe(swapped)


# Dates.


def _move_date(sign: int) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """The date so many days away."""
        days, count = values(args[0]).astype(np.int64), values(args[1]).astype(np.int64)
        infinite = (days == dt.DATE_INFINITY) | (days == dt.DATE_MINUS_INFINITY)
        result = np.where(infinite, days, days + sign * count)
        beyond = ((result < dt.MIN_DATE) | (result > dt.MAX_DATE)) & ~infinite
        fail_valid(DatetimeOverflow, "date out of range", beyond, args)
        return from_numpy(np.where(beyond, 0, result), pa.date32(), args)

    return kernel


@scalar("-", (t.DATE, t.DATE), t.INT4)
@null_safe
def _days_between(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Days between two dates."""
    a, b = (values(arg).astype(np.int64) for arg in args)
    ends = (dt.DATE_INFINITY, dt.DATE_MINUS_INFINITY)
    infinite = np.isin(a, ends) | np.isin(b, ends)
    fail_valid(DatetimeOverflow, "cannot subtract infinite dates", infinite, args)
    return from_numpy(np.where(infinite, 0, a - b), pa.int32(), args)


@null_safe
def _date_at_time(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The date at that time of day."""
    days = date_to_timestamp(args[0])
    micros = values(days)
    infinite = (micros == dt.INFINITY) | (micros == dt.MINUS_INFINITY)
    clock = np.where(infinite, 0, values(args[1]))
    return from_numpy(micros + clock, pa.timestamp("us"), args)


scalar("+", (t.DATE, t.INT4), t.DATE)(_move_date(1))
scalar("+", (t.INT4, t.DATE), t.DATE)(_swap(_move_date(1)))
scalar("-", (t.DATE, t.INT4), t.DATE)(_move_date(-1))
scalar("+", (t.DATE, t.TIME), t.TIMESTAMP)(_date_at_time)
scalar("+", (t.TIME, t.DATE), t.TIMESTAMP)(_swap(_date_at_time))


# Timestamps and intervals.


def _as_timestamp(array: pa.Array) -> pa.Array:
    return date_to_timestamp(array) if pa.types.is_date(array.type) else array


def _moved(sign: int) -> Kernel:
    move = intervals.add_to_timestamps if sign > 0 else intervals.subtract_from_timestamps

    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """The moment an interval away; months end at the month's last day."""
        moment = _as_timestamp(args[0])
        zone = context.timezone if moment.type.tz else None
        return move(moment, args[1], zone)

    return kernel


@null_safe
def _difference(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Time between two moments, in days and hours."""
    return intervals.timestamp_difference(args[0], args[1])


for _type in (t.DATE, *MOMENTS):
    _result = t.TIMESTAMP if _type == t.DATE else _type
    _volatility = "stable" if _type == t.TIMESTAMPTZ else "immutable"
    scalar("+", (_type, t.INTERVAL), _result, volatility=_volatility)(_moved(1))
    scalar("+", (t.INTERVAL, _type), _result, volatility=_volatility)(_swap(_moved(1)))
    scalar("-", (_type, t.INTERVAL), _result, volatility=_volatility)(_moved(-1))
for _type in MOMENTS:
    scalar("-", (_type, _type), t.INTERVAL)(_difference)


def _clock(sign: int) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """The time of day an interval away, around midnight; only its hours count."""
        micros = intervals.unpack(args[1])[2] % dt.DAY
        return from_numpy((values(args[0]) + sign * micros) % dt.DAY, pa.time64("us"), args)

    return kernel


@scalar("-", (t.TIME, t.TIME), t.INTERVAL)
@null_safe
def _times_between(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Time between two times of day."""
    return intervals.subtract(intervals.from_times(args[0]), intervals.from_times(args[1]))


scalar("+", (t.TIME, t.INTERVAL), t.TIME)(_clock(1))
scalar("+", (t.INTERVAL, t.TIME), t.TIME)(_swap(_clock(1)))
scalar("-", (t.TIME, t.INTERVAL), t.TIME)(_clock(-1))


def _direct(function: Callable[..., pa.Array], doc: str) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        return function(*args)

    kernel.__doc__ = doc
    return kernel


_I = t.INTERVAL
scalar("+", (_I, _I), _I)(_direct(intervals.add, "Sum, field by field."))
scalar("-", (_I, _I), _I)(_direct(intervals.subtract, "Difference, field by field."))
scalar("-", (_I,), _I)(_direct(intervals.negate, "The interval with its sign changed."))
scalar("+", (_I,), _I)(_direct(lambda a: a, "The interval itself."))
scalar("*", (_I, t.FLOAT8), _I)(_direct(intervals.multiply, "Multiple; fractions go to the smaller field."))
scalar("*", (t.FLOAT8, _I), _I)(_swap(_direct(intervals.multiply, "Multiple of an interval.")))
scalar("/", (_I, t.FLOAT8), _I)(_direct(intervals.divide, "Fraction; fractions go to the smaller field."))
for _name, _function in (
    ("justify_hours", intervals.justify_hours),
    ("justify_days", intervals.justify_days),
    ("justify_interval", intervals.justify_interval),
):
    scalar(_name, (_I,), _I)(_direct(_function, (_function.__doc__ or "").strip()))


# age


def _age(type_: Type) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """The difference in years, months and days."""
        zone = context.timezone if type_ == t.TIMESTAMPTZ else None
        if len(args) == 2:
            return intervals.age(args[0], args[1], zone)
        today = midnight(context)
        moment = pa.repeat(pa.scalar(today, pa.int64()), length).view(pa.timestamp("us"))
        if zone is not None:
            moment = to_instants(moment, zone)
        return intervals.age(moment, args[0], zone)

    return kernel


def midnight(context: EpochContext) -> int:
    """Local midnight at the beginning of the epoch's day, as a timestamp."""
    local = to_local(pa.array([context.now_us], pa.timestamp("us", "UTC")), context.timezone)
    return int(values(local)[0]) // dt.DAY * dt.DAY


for _type in MOMENTS:
    scalar("age", (_type, _type), _I, volatility="stable" if _type == t.TIMESTAMPTZ else "immutable")(
        _age(_type)
    )
    scalar("age", (_type,), _I, volatility="stable")(_age(_type))


# Time zones.


def _in_zones(args: Sequence[pa.Array], convert: Callable[[pa.Array, str], pa.Array]) -> pa.Array:
    """Converts each row in its own zone: one conversion a distinct zone."""
    names = args[0].to_pylist() if len(args[0]) == 1 else args[0].unique().to_pylist()
    if len(names) == 1:
        return convert(args[1], names[0])
    from ..evaluate_conditional import spread

    codes = values(args[0].dictionary_encode().indices)
    parts = []
    for code, name in enumerate(names):
        positions = np.flatnonzero(codes == code)
        parts.append((positions, convert(args[1].take(pa.array(positions)), name)))
    return spread(parts, len(args[1]))


def zone_name(interval: bytes) -> str:
    """The fixed zone that an interval names as a distance from UTC."""
    months, days, micros = intervals.unpack_one(interval)
    if months or days:
        text = intervals.format_interval(interval)
        raise InvalidParameterValue(f'interval time zone "{text}" must not include months or days')
    seconds = -micros // 1_000_000
    sign = "-" if seconds < 0 else "+"
    size = abs(seconds)
    return f"<X>{sign}{size // 3600}:{size // 60 % 60:02d}:{size % 60:02d}"


def _zoned(convert: Callable[[pa.Array, str], pa.Array], by_interval: bool) -> Kernel:
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """AT TIME ZONE: an instant as local time, or a local time as instant."""
        if by_interval:
            names = pa.array([zone_name(v) for v in args[0].to_pylist()], pa.string())
            return _in_zones([names, args[1]], convert)
        return _in_zones(args, convert)

    return kernel


for _zone in (t.TEXT, t.INTERVAL):
    scalar("timezone", (_zone, t.TIMESTAMP), t.TIMESTAMPTZ)(_zoned(to_instants, _zone == t.INTERVAL))
    scalar("timezone", (_zone, t.TIMESTAMPTZ), t.TIMESTAMP)(_zoned(to_local, _zone == t.INTERVAL))


# The clock: the time of the epoch, the same for all its rows.


def _instant(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The time of the epoch or transaction."""
    return pa.repeat(pa.scalar(context.now_us, pa.int64()), length).view(pa.timestamp("us", "UTC"))


def _local(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The time of the epoch as local time."""
    return to_local(_instant(args, length, context), context.timezone)


def _today(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The day of the epoch."""
    return timestamp_to_date(_local(args, length, context))


def _clock_now(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The time of day of the epoch."""
    return from_numpy(values(_local(args, length, context)) % dt.DAY, pa.time64("us"))


for _name in (
    "now", "transaction_timestamp", "statement_timestamp", "current_timestamp", "clock_timestamp", "proctime",
):  # fmt: skip
    scalar(_name, (), t.TIMESTAMPTZ, volatility="stable")(_instant)
scalar("localtimestamp", (), t.TIMESTAMP, volatility="stable")(_local)
scalar("current_date", (), t.DATE, volatility="stable")(_today)
scalar("localtime", (), t.TIME, volatility="stable")(_clock_now)


def _is_finite(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Whether the moment is neither infinity nor -infinity."""
    data = values(args[0])
    info = np.iinfo(data.dtype)
    return from_numpy((data != info.max) & (data != info.min), pa.bool_(), args)


for _type in (t.DATE, *MOMENTS):
    scalar("isfinite", (_type,), t.BOOL)(null_safe(_is_finite))


@scalar("isfinite", (_I,), t.BOOL)
@null_safe
def _finite_interval(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Always true."""
    return from_numpy(np.ones(length, np.bool_), pa.bool_(), args)
