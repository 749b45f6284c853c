"""Casts among dates, times, timestamps and intervals, and their fractional-second modifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import intervals
from ...storage.errors import DatetimeOverflow
from ...storage.textform_zoned import to_instants, to_local
from ...storage.types import Type
from .casts import cast
from .numeric import fail_valid
from .vector import from_numpy, masked, valid_of, values

if TYPE_CHECKING:
    from ..node import EpochContext

Int64 = npt.NDArray[np.int64]


def date_to_timestamp(array: pa.Array) -> pa.Array:
    """Midnight of each date; infinities stay. Raises 22008 with `rows`."""
    days = values(array).astype(np.int64)
    plus, minus = days == dt.DATE_INFINITY, days == dt.DATE_MINUS_INFINITY
    beyond = (days > dt.MAX_TIMESTAMP // dt.DAY) & ~plus
    fail_valid(DatetimeOverflow, "date out of range for timestamp", beyond, [array])
    micros = np.where(plus | minus | beyond, 0, days) * dt.DAY
    micros = np.where(plus, dt.INFINITY, np.where(minus, dt.MINUS_INFINITY, micros))
    return from_numpy(micros, pa.timestamp("us"), [array])


def timestamp_to_date(array: pa.Array) -> pa.Array:
    """The day of each timestamp; infinities stay."""
    micros = values(array)
    days = micros // dt.DAY
    days = np.where(micros == dt.INFINITY, dt.DATE_INFINITY, days)
    days = np.where(micros == dt.MINUS_INFINITY, dt.DATE_MINUS_INFINITY, days)
    return from_numpy(days, pa.date32(), [array])


def timestamp_to_time(array: pa.Array) -> pa.Array:
    """The time of day; NULL for infinities."""
    micros = values(array)
    infinite = (micros == dt.INFINITY) | (micros == dt.MINUS_INFINITY)
    valid = valid_of([array])
    if infinite.any():
        valid = ~infinite if valid is None else valid & ~infinite
    return masked(micros % dt.DAY, pa.time64("us"), valid)


def _date_timestamp(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return date_to_timestamp(a)


def _date_instant(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return to_instants(date_to_timestamp(a), context.timezone)


def _timestamp_date(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return timestamp_to_date(a)


def _instant_date(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return timestamp_to_date(to_local(a, context.timezone))


def _timestamp_time(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return _rounded(timestamp_to_time(a), target)


def _instant_time(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return _rounded(timestamp_to_time(to_local(a, context.timezone)), target)


def _timestamp_instant(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return _rounded(to_instants(a, context.timezone), target)


def _instant_timestamp(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return _rounded(to_local(a, context.timezone), target)


def _time_interval(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return intervals.from_times(a)


def _interval_time(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return from_numpy(intervals.unpack(a)[2] % dt.DAY, pa.time64("us"), [a])


def _same_type(a: pa.Array, s: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return _rounded(a, target)


def _rounded(array: pa.Array, target: Type) -> pa.Array:
    """Rounded to the modifier's fractional digits; ties away from 2000-01-01 (or midnight)."""
    if not 0 <= target.typmod < 6:
        return array
    micros = values(array)
    unit = 10 ** (6 - target.typmod)
    origin = 0 if target.name == "time" else dt.POSTGRES_EPOCH
    infinite = (micros == dt.INFINITY) | (micros == dt.MINUS_INFINITY)
    shifted = np.where(infinite, 0, micros) - origin
    size = (np.abs(shifted) + unit // 2) // unit * unit
    result = np.where(infinite, micros, np.where(shifted >= 0, size, -size) + origin)
    return from_numpy(result, array.type, [array])


def _register() -> None:
    for source, target, context, kernel in (
        ("date", "timestamp", "implicit", _date_timestamp),
        ("date", "timestamptz", "implicit", _date_instant),
        ("timestamp", "timestamptz", "implicit", _timestamp_instant),
        ("timestamp", "date", "assignment", _timestamp_date),
        ("timestamptz", "date", "assignment", _instant_date),
        ("timestamptz", "timestamp", "assignment", _instant_timestamp),
        ("timestamp", "time", "assignment", _timestamp_time),
        ("timestamptz", "time", "assignment", _instant_time),
        ("time", "interval", "implicit", _time_interval),
        ("interval", "time", "assignment", _interval_time),
        ("timestamp", "timestamp", "implicit", _same_type),
        ("timestamptz", "timestamptz", "implicit", _same_type),
        ("time", "time", "implicit", _same_type),
    ):
        cast(source, target, context)(kernel)


_register()
