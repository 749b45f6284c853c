"""extract and date_part: one field of a date, time, timestamp or interval.

extract gives numeric with PostgreSQL's scale for each field (seconds 6, milliseconds 3, epoch 6 …),
hence text form; date_part gives float8. Fields are computed for whole columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import intervals
from ...storage import types as t
from ...storage.errors import FeatureNotSupported, InvalidParameterValue
from ...storage.textform_zoned import to_local
from ...storage.types import Type
from ...storage.zones import zone
from .casts_temporal import date_to_timestamp
from .exact_numerics import decimal_text
from .registry import Kernel, scalar
from .vector import masked, valid_of, values

if TYPE_CHECKING:
    from ..node import EpochContext

Int64 = npt.NDArray[np.int64]
Field = tuple[Int64, int]
"""(unscaled values, decimals)."""

_SPELLINGS = {
    "microseconds": "us usec usecs microsecond microsecon useconds usecond microseconds",
    "milliseconds": "ms msec msecs millisecond mseconds msecond milliseconds",
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w week weeks",
    "month": "mon mons month months",
    "quarter": "qtr quarter",
    "year": "y yr yrs year years",
    "decade": "dec decs decade decades",
    "century": "c cent century centuries",
    "millennium": "mil mils millennium millennia",
    "timezone_hour": "timezone_h timezone_hour",
    "timezone_minute": "timezone_m timezone_minute",
    **{name: name for name in ("dow", "isodow", "doy", "epoch", "isoyear", "julian", "timezone")},
}
UNITS = {word: name for name, words in _SPELLINGS.items() for word in words.split()}
_RESERVED = frozenset({"dow", "isodow", "doy", "epoch", "isoyear", "julian"})


def canonical(unit: str, type_: Type, reserved: frozenset[str] = _RESERVED) -> str:
    """The unit an abbreviation stands for. Raises 22023 for one that is not known.

    `reserved` are the words among those that are no units of time which the caller takes.
    """
    name = UNITS.get(unit.lower())
    if name is None or (name in _RESERVED and name not in reserved):
        raise InvalidParameterValue(f'unit "{unit.lower()}" not recognized for type {type_.info.sql_name}')
    return name


def unsupported(unit: str, type_: Type, detail: str = "") -> FeatureNotSupported:
    message = f'unit "{unit.lower()}" not supported for type {type_.info.sql_name}'
    return FeatureNotSupported(message, detail=detail)


def year_number(year: Int64) -> Int64:
    """Years as people count them: there is no year 0."""
    return np.where(year <= 0, year - 1, year)


def century(year: Int64, length: int) -> Int64:
    """Number of the century or millennium of an astronomical year."""
    return np.where(year > 0, (year + length - 1) // length, -((length - year) // length))


def iso_week(days: Int64) -> tuple[Int64, Int64]:
    """(ISO year, ISO week) of each day number."""
    thursday = days - (days + 3) % 7 + 3
    year, _, _ = intervals.civil_from_days(thursday)
    first = intervals.days_from_civil(year, np.ones_like(year), np.ones_like(year))
    return year, (thursday - first) // 7 + 1


def _clock_field(name: str, micros: Int64) -> Field | None:
    """A field of the time of day."""
    if name == "hour":
        return micros // 3_600_000_000, 0
    if name == "minute":
        return micros // 60_000_000 % 60, 0
    if name == "second":
        return micros % 60_000_000, 6
    if name == "milliseconds":
        return micros % 60_000_000, 3
    if name == "microseconds":
        return micros % 60_000_000, 0
    return None


def _calendar_field(name: str, days: Int64) -> Field | None:
    """A field of the date."""
    year, month, day = intervals.civil_from_days(days)
    if name in ("day", "month"):
        return (day if name == "day" else month), 0
    if name == "quarter":
        return (month - 1) // 3 + 1, 0
    if name == "year":
        return year_number(year), 0
    if name == "decade":
        return year // 10, 0
    if name in ("century", "millennium"):
        return century(year, 100 if name == "century" else 1000), 0
    if name == "week":
        return iso_week(days)[1], 0
    if name == "isoyear":
        return year_number(iso_week(days)[0]), 0
    if name in ("dow", "isodow"):
        weekday = (days + 4) % 7
        return (np.where(weekday == 0, 7, weekday) if name == "isodow" else weekday), 0
    if name == "doy":
        return days - intervals.days_from_civil(year, np.ones_like(year), np.ones_like(year)) + 1, 0
    return None


_JULIAN = 2_440_588
"""Julian day of 1970-01-01."""


def _moment_field(unit: str, name: str, array: pa.Array, type_: Type, context: EpochContext) -> Field:
    """A field of a finite timestamp, timestamptz or date."""
    if type_ == t.DATE:
        days, clock = values(array).astype(np.int64), None
        instants = days * dt.DAY
    else:
        instants = values(array)
        local = values(to_local(array, context.timezone)) if type_ == t.TIMESTAMPTZ else instants
        days = local // dt.DAY
        clock = local - days * dt.DAY
        if name.startswith("timezone") and type_ == t.TIMESTAMPTZ:
            return _zone_field(name, zone(context.timezone).offsets_at(instants // 1_000_000)), 0
    if name == "epoch":
        return (instants // 1_000_000, 0) if clock is None else (instants, 6)
    if name == "julian":
        return (days + _JULIAN, 0) if clock is None else (clock, -1)
    found = None if clock is None else _clock_field(name, clock)
    found = found or _calendar_field(name, days)
    if found is None:
        raise unsupported(unit, type_)
    return found


def _zone_field(name: str, offsets: Int64) -> Int64:
    if name == "timezone":
        return offsets
    size = np.abs(offsets)
    part = size // 3600 if name == "timezone_hour" else size // 60 % 60
    return np.sign(offsets) * part


def _interval_field(unit: str, name: str, array: pa.Array, type_: Type, context: EpochContext) -> Field:
    months, days, micros = intervals.unpack(array)
    size = np.abs(micros)
    sign = np.sign(micros)
    if name == "hour":
        return sign * (size // 3_600_000_000), 0
    clock = _clock_field(name, size)
    if clock is not None:
        return sign * clock[0], clock[1]
    years = np.sign(months) * (np.abs(months) // 12)
    within = months - years * 12
    if name in ("day", "month", "year"):
        return {"day": days, "month": within, "year": years}[name], 0
    if name == "quarter":
        return np.sign(within) * (np.abs(within) // 3) + 1, 0
    if name in ("decade", "century", "millennium"):
        unit_years = {"decade": 10, "century": 100, "millennium": 1000}[name]
        return np.sign(years) * (np.abs(years) // unit_years), 0
    if name == "epoch":
        whole = years * 31_557_600 + within * 2_592_000 + days * 86_400
        return whole * 1_000_000 + micros, 6
    raise unsupported(unit, type_)


def _time_field(unit: str, name: str, array: pa.Array, type_: Type, context: EpochContext) -> Field:
    if name == "epoch":
        return values(array), 6
    found = _clock_field(name, values(array))
    if found is None:
        raise unsupported(unit, type_)
    return found


_FIELDS: dict[str, Callable[[str, str, pa.Array, Type, Any], Field]] = {
    "date": _moment_field, "timestamp": _moment_field, "timestamptz": _moment_field,
    "interval": _interval_field, "time": _time_field,
}  # fmt: skip
_UNBOUNDED = frozenset({"year", "decade", "century", "millennium", "isoyear", "epoch", "julian"})


def _finish(field: Field, array: pa.Array, days: Int64 | None, numeric: bool) -> pa.Array:
    data, scale = field
    if scale < 0:  # julian with a fraction: days, and microseconds within the day
        assert days is not None
        return _julian(days, data, array, numeric)
    if not numeric:
        return masked(
            data / 10.0**scale if scale else data.astype(np.float64), pa.float64(), valid_of([array])
        )
    items = [decimal_text(v, scale) for v in data.tolist()]
    return pa.array(items, pa.string())


def _julian(days: Int64, clock: Int64, array: pa.Array, numeric: bool) -> pa.Array:
    from ...storage import decimals_value as exact

    if not numeric:
        return pa.array(days + _JULIAN + clock / dt.DAY)
    done: list[str] = []
    for day, micros in zip((days + _JULIAN).tolist(), clock.tolist(), strict=True):
        whole = exact.add(
            exact.parse(str(day)), exact.divide(exact.parse(str(micros)), exact.parse(str(dt.DAY)))
        )
        done.append(exact.to_text(whole))
    return pa.array(done, pa.string())


def _extract(type_: Type, numeric: bool) -> Kernel:
    arrow = pa.string() if numeric else pa.float64()

    def one_unit(unit: str, array: pa.Array, context: EpochContext) -> pa.Array:
        name = canonical(unit, type_)
        if type_ in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
            data = values(array)
            info = np.iinfo(data.dtype)
            infinite = (data == info.max) | (data == info.min)
            if infinite.any():
                return _with_infinities(unit, array, infinite, context)
        days = None
        if name == "julian" and type_ in (t.TIMESTAMP, t.TIMESTAMPTZ):
            local = to_local(array, context.timezone) if type_ == t.TIMESTAMPTZ else array
            days = values(local) // dt.DAY
        return _finish(_FIELDS[type_.name](unit, name, array, type_, context), array, days, numeric)

    def _with_infinities(
        unit: str, array: pa.Array, infinite: npt.NDArray[np.bool_], context: EpochContext
    ) -> pa.Array:
        name = canonical(unit, type_)
        finite = np.flatnonzero(~infinite)
        # With no finite row some date is asked nevertheless: dates refuse what they do not have.
        sample = array.take(pa.array(finite)) if len(finite) else pa.array([0], array.type)
        if name.startswith("timezone") and type_ == t.TIMESTAMP and not len(finite):
            return pa.nulls(len(array), arrow)
        part = one_unit(unit, sample, context)  # also refuses units the type does not have
        positions = np.cumsum(~infinite) - 1
        result = part.take(pa.array(np.where(infinite, 0, positions)))
        items = result.to_pylist()
        for row in np.flatnonzero(infinite).tolist():
            plus = values(array)[row] > 0
            value = "Infinity" if plus else "-Infinity"
            items[row] = (value if numeric else float(value)) if name in _UNBOUNDED else None
        return pa.array(items, arrow)

    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """One field of a moment or an interval."""
        units = args[0].unique().to_pylist() if length > 1 else args[0].to_pylist()
        if len(units) == 1:
            return one_unit(units[0], args[1], context)
        from ..evaluate_conditional import spread

        codes = values(args[0].dictionary_encode().indices)
        parts = []
        for code, unit in enumerate(units):
            positions = np.flatnonzero(codes == code)
            parts.append((positions, one_unit(unit, args[1].take(pa.array(positions)), context)))
        return spread(parts, length)

    return kernel


def _part_of_date(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """One field of the date's midnight."""
    return _extract(t.TIMESTAMP, False)([args[0], date_to_timestamp(args[1])], length, context)


for _type in (t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL):
    _volatility = "stable" if _type == t.TIMESTAMPTZ else "immutable"
    scalar("extract", (t.TEXT, _type), t.NUMERIC, volatility=_volatility)(_extract(_type, True))
    _part = _part_of_date if _type == t.DATE else _extract(_type, False)
    scalar("date_part", (t.TEXT, _type), t.FLOAT8, volatility=_volatility)(_part)
