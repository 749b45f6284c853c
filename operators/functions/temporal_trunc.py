"""date_trunc and date_bin, and the functions that make moments and intervals of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import intervals
from ...storage import types as t
from ...storage.errors import (
    DatetimeOverflow,
    FeatureNotSupported,
)
from ...storage.textform_zoned import to_instants, to_local
from ...storage.types import Type
from ...storage.zones import zone
from .registry import Kernel, scalar
from .temporal_fields import canonical, unsupported
from .vector import as_array, each, from_numpy, native, null_safe, values

if TYPE_CHECKING:
    from ..node import EpochContext

Int64 = npt.NDArray[np.int64]

_MICROS = {
    "microseconds": 1,
    "milliseconds": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12_000}


def truncate_local(micros: Int64, name: str) -> Int64:
    """Local microseconds cut to the beginning of their unit."""
    if name in _MICROS:
        unit = _MICROS[name]
        return micros // unit * unit
    days = micros // dt.DAY
    if name == "day":
        return days * dt.DAY
    if name == "week":
        return (days - (days + 3) % 7) * dt.DAY
    year, month, _ = intervals.civil_from_days(days)
    return intervals.days_from_civil(*_first_day(year, month, name)) * dt.DAY


def _first_day(year: Int64, month: Int64, name: str) -> tuple[Int64, Int64, Int64]:
    ones = np.ones_like(year)
    if name == "month":
        return year, month, ones
    if name == "quarter":
        return year, (month - 1) // 3 * 3 + 1, ones
    if name == "decade":
        year = np.where(year >= 0, year // 10 * 10, -((8 - (year - 1)) // 10) * 10)
    elif name in ("century", "millennium"):
        length = 100 if name == "century" else 1000
        year = np.where(year > 0, (year + length - 1) // length * length - length + 1,
                        -((length - 1 - (year - 1)) // length) * length + 1)  # fmt: skip
    return year, ones, ones


def _truncate_moments(unit: str, array: pa.Array, zone_name: str | None, type_: Type) -> pa.Array:
    name = canonical(unit, type_, frozenset())
    if name not in _MICROS and name not in _MONTHS and name not in ("day", "week"):
        raise unsupported(unit, type_)
    local = array if zone_name is None else to_local(array, zone_name)
    micros = values(local)
    infinite = (micros == dt.INFINITY) | (micros == dt.MINUS_INFINITY)
    cut = truncate_local(np.where(infinite, 0, micros), name)
    result = from_numpy(np.where(infinite, micros, cut), pa.timestamp("us"), [array])
    if zone_name is None:
        return result
    if name in _MICROS:  # the offset stays what it was
        cut = np.where(infinite, values(array), values(array) - micros + cut)
        return from_numpy(cut, array.type, [array])
    return to_instants(result, zone_name)


def _truncate_intervals(unit: str, array: pa.Array) -> pa.Array:
    name = canonical(unit, t.INTERVAL, frozenset())
    months, days, micros = intervals.unpack(array)
    if name in _MICROS:
        size = _MICROS[name]
        micros = np.sign(micros) * (np.abs(micros) // size * size)
    elif name == "day":
        micros = np.zeros_like(micros)
    elif name in _MONTHS:
        size = _MONTHS[name]
        months = np.sign(months) * (np.abs(months) // size * size)
        days = micros = np.zeros_like(micros)
    else:
        detail = "Months usually have fractional weeks." if name == "week" else ""
        raise unsupported(unit, t.INTERVAL, detail)
    return intervals.pack(months, days, micros, array)


def _by_unit(units: pa.Array, array: pa.Array, function: Callable[[str, pa.Array], pa.Array]) -> pa.Array:
    """`function(unit, rows)` for each distinct unit, which is nearly always one."""
    names = units.to_pylist() if len(units) == 1 else units.unique().to_pylist()
    if len(names) == 1:
        return function(names[0], array)
    from ..evaluate_conditional import spread

    codes = values(units.dictionary_encode().indices)
    parts = []
    for code, name in enumerate(names):
        positions = np.flatnonzero(codes == code)
        parts.append((positions, function(name, array.take(pa.array(positions)))))
    return spread(parts, len(array))


def _with_unit(function: Callable[[str, pa.Array, EpochContext], pa.Array]) -> Kernel:
    """A kernel of a unit and a column, quick when the unit is a constant."""

    def general(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        return _by_unit(args[0], args[1], lambda unit, rows: function(unit, rows, context))

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Cut to the beginning of the unit."""
        if isinstance(args[0], pa.Scalar):
            unit = args[0].as_py()
            array = as_array(args[1], length)
            return pa.nulls(length, array.type) if unit is None else function(unit, array, context)
        from ..evaluate_core import call_kernel

        arrays = [as_array(arg, length) for arg in args]
        return call_kernel(general, True, arrays, length, arrays[1].type, context)

    return kernel


scalar("date_trunc", (t.TEXT, t.TIMESTAMP), t.TIMESTAMP)(
    _with_unit(lambda unit, array, context: _truncate_moments(unit, array, None, t.TIMESTAMP))
)
scalar("date_trunc", (t.TEXT, t.TIMESTAMPTZ), t.TIMESTAMPTZ, volatility="stable")(
    _with_unit(lambda unit, array, context: _truncate_moments(unit, array, context.timezone, t.TIMESTAMPTZ))
)
scalar("date_trunc", (t.TEXT, t.INTERVAL), t.INTERVAL)(
    _with_unit(lambda unit, array, context: _truncate_intervals(unit, array))
)


@scalar("date_trunc", (t.TEXT, t.TIMESTAMPTZ, t.TEXT), t.TIMESTAMPTZ)
def _truncate_in_zone(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Cut to the beginning of the unit in a time zone."""

    def one(key: str, rows: pa.Array) -> pa.Array:
        unit, _, name = key.partition("\0")
        return _truncate_moments(unit, rows, name, t.TIMESTAMPTZ)

    keys = pa.array([f"{u}\0{z}" for u, z in zip(args[0].to_pylist(), args[2].to_pylist(), strict=True)])
    return _by_unit(keys, args[1], one)


@null_safe
def _bin(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The beginning of the interval, of a raster from the third argument on, that the moment is in."""
    months, days, micros = intervals.unpack(args[0])
    moment, origin = values(args[1]), values(args[2])
    from .numeric import fail_valid

    message = "timestamps cannot be binned into intervals containing months or years"
    infinite = (moment == dt.INFINITY) | (moment == dt.MINUS_INFINITY)
    fail_valid(FeatureNotSupported, message, (months != 0) & ~infinite, args)
    stride = days * dt.DAY + micros
    fail_valid(DatetimeOverflow, "stride must be greater than zero", (stride <= 0) & ~infinite, args)
    endless = (origin == dt.INFINITY) | (origin == dt.MINUS_INFINITY)
    fail_valid(DatetimeOverflow, "origin out of range", endless, args)
    size = np.where(stride > 0, stride, 1)
    distance = np.where(infinite | endless, 0, moment - origin)
    return from_numpy(np.where(infinite, moment, origin + distance // size * size), args[1].type, args)


for _type in (t.TIMESTAMP, t.TIMESTAMPTZ):
    scalar("date_bin", (t.INTERVAL, _type, _type), _type)(_bin)


# Moments of their parts.


def make_days(year: int, month: int, day: int) -> int:
    """Day number of a date; a negative year is BC. Raises 22008."""
    text = f"{year}-{month:02d}-{day:02d}"
    astronomical = year + 1 if year < 0 else year
    if year == 0 or not 1 <= month <= 12 or not 1 <= day <= dt.days_in_month(astronomical, month):
        raise DatetimeOverflow(f"date field value out of range: {text}")
    days = dt.days_from_civil(astronomical, month, day)
    if not dt.MIN_DATE <= days <= dt.MAX_DATE:
        raise DatetimeOverflow(f"date out of range: {text}")
    return days


def make_clock(hour: int, minute: int, second: float) -> int:
    """Microseconds of a time of day. Raises 22008."""
    if not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= second <= 60):
        raise DatetimeOverflow(f"time field value out of range: {hour}:{minute:02d}:{second:02g}")
    micros = hour * 3_600_000_000 + minute * 60_000_000 + round(second * 1_000_000)
    if micros > dt.DAY:
        raise DatetimeOverflow(f"time field value out of range: {hour}:{minute:02d}:{second:02g}")
    return micros


def make_micros(year: int, month: int, day: int, hour: int, minute: int, second: float) -> int:
    """Local microseconds of a date and a time of day."""
    return dt.check_timestamp(make_days(year, month, day) * dt.DAY + make_clock(hour, minute, second))


def _made(function: Callable[..., int], storage: pa.DataType, type_: Type) -> Kernel:
    inner = each(function, storage)

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        return inner(args, length, context).view(type_.arrow)

    kernel.__doc__ = function.__doc__
    return kernel


_I4, _F8 = t.INT4, t.FLOAT8
scalar("make_date", (_I4, _I4, _I4), t.DATE)(_made(make_days, pa.int32(), t.DATE))
scalar("make_time", (_I4, _I4, _F8), t.TIME)(_made(make_clock, pa.int64(), t.TIME))
_PARTS = (_I4, _I4, _I4, _I4, _I4, _F8)
scalar("make_timestamp", _PARTS, t.TIMESTAMP)(_made(make_micros, pa.int64(), t.TIMESTAMP))


@scalar("make_timestamptz", _PARTS, t.TIMESTAMPTZ, volatility="stable")
@native
def _make_instant(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
    """The instant of a date and a time of day in the session's time zone."""
    local = each(make_micros, pa.int64())(args, length, context).view(pa.timestamp("us"))
    return to_instants(local, context.timezone)


def _micros_in(year: int, month: int, day: int, hour: int, minute: int, second: float, zone_name: str) -> int:
    """The instant of a date and a time of day in a time zone."""
    local = make_micros(year, month, day, hour, minute, second)
    return local - zone(zone_name).local_offset(local // 1_000_000) * 1_000_000


scalar("make_timestamptz", (*_PARTS, t.TEXT), t.TIMESTAMPTZ)(_made(_micros_in, pa.int64(), t.TIMESTAMPTZ))


def _make_interval(
    years: int = 0,
    months: int = 0,
    weeks: int = 0,
    days: int = 0,
    hours: int = 0,
    mins: int = 0,
    secs: float = 0.0,
) -> bytes:
    """An interval of its parts."""
    if secs != secs or secs in (float("inf"), float("-inf")):
        raise DatetimeOverflow("interval out of range")
    micros = hours * 3_600_000_000 + mins * 60_000_000 + round(secs * 1_000_000)
    return intervals.pack_one(years * 12 + months, weeks * 7 + days, micros)


@scalar("make_interval", (), t.INTERVAL)
def _no_interval(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """An interval of its parts."""
    return pa.array([_make_interval()] * length, pa.binary(16))


for _count in range(1, 8):
    scalar("make_interval", (_I4, _I4, _I4, _I4, _I4, _I4, _F8)[:_count], t.INTERVAL)(
        each(_make_interval, pa.binary(16))
    )


def _from_epoch(seconds: float) -> int:
    """The instant so many seconds after 1970-01-01 UTC."""
    if seconds != seconds:
        raise DatetimeOverflow("timestamp cannot be NaN")
    if seconds in (float("inf"), float("-inf")):
        return dt.INFINITY if seconds > 0 else dt.MINUS_INFINITY
    if not -210_866_803_200 <= seconds < 9_224_318_016_000:
        raise DatetimeOverflow(f'timestamp out of range: "{seconds:g}"')
    return round((seconds - 946_684_800) * 1_000_000) + dt.POSTGRES_EPOCH


scalar("to_timestamp", (t.FLOAT8,), t.TIMESTAMPTZ)(_made(_from_epoch, pa.int64(), t.TIMESTAMPTZ))
