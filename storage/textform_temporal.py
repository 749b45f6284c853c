"""Text form of date, time, timestamp, timestamptz and interval columns.

ISO spellings within the years 1 to 9999 are converted by Arrow; the rest goes through
`datetime_parser.py` and `datetimes.py` one by one. Output is always in ISO style.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import datetime_parser as parser
from . import datetimes as dt
from . import intervals
from .arrow_compute import pc
from .textform_rows import (
    SMALL,
    convert_each,
    fixed_values,
    from_values,
    matches,
    parse_distinct,
    parse_each,
    parse_mixed,
    patch_rows,
    valid_mask,
)
from .textform_zoned import to_instants, to_local
from .types import Type
from .zones import zone

if TYPE_CHECKING:
    from .textform import TextSettings

_MIN_DAYS, _MAX_DAYS = dt.days_from_civil(1, 1, 1), dt.days_from_civil(9999, 12, 31)
_MIN_MICROS, _MAX_MICROS = _MIN_DAYS * dt.DAY, (_MAX_DAYS + 1) * dt.DAY - 1
_DATE = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
_OFFSET = r"(Z|[+-](0\d|1[0-5])(:?[0-5]\d)?)"


def date_order(settings: TextSettings) -> str:
    """MDY, DMY or YMD."""
    style = settings.date_style.upper()
    return next((order for order in ("DMY", "YMD") if order in style), "MDY")


def _ints(array: pa.Array, dtype: npt.DTypeLike) -> list[int | None]:
    """The raw numbers of a small temporal column."""
    values = fixed_values(array, dtype).tolist()
    if not array.null_count:
        return values
    return [value if known else None for value, known in zip(values, valid_mask(array).tolist(), strict=True)]


def _format_each(values: list[int | None], convert: Callable[[int], str]) -> pa.Array:
    return pa.array([None if value is None else convert(value) for value in values], pa.string())


def _parse(
    texts: pa.Array, arrow: pa.DataType, pattern: str, bulk: Callable[[pa.Array], pa.Array],
    convert: Callable[[str], int], lowest: int,
) -> pa.Array:  # fmt: skip
    """Rows matching `pattern` through `bulk` unless one of them is no valid date, the others by `convert`.

    What comes out below `lowest` (the year 0, which Arrow knows) is read again by `convert`.
    """
    if len(texts) <= SMALL:
        return parse_each(texts, convert, arrow)
    plain = matches(texts, pattern)
    if not plain.any():
        return parse_distinct(texts, convert, arrow)
    try:
        values = parse_mixed(texts, plain, bulk, convert)
    except pa.ArrowInvalid:
        return parse_distinct(texts, convert, arrow)
    dtype = np.int32 if pa.types.is_date32(arrow) else np.int64
    numbers = fixed_values(values, dtype)
    early = np.flatnonzero((numbers < lowest) & plain & valid_mask(values))
    return patch_rows(texts, early, values, convert)


def parse_dates(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    order, timezone = date_order(settings), settings.timezone
    return _parse(
        texts, type_.arrow, f"^{_DATE}$", lambda rows: pc.cast(rows, pa.date32()),
        lambda text: parser.parse_date(text, order, timezone), _MIN_DAYS,
    )  # fmt: skip


def format_dates(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    if len(array) <= SMALL:
        return _format_each(_ints(array, np.int32), dt.format_date)
    return _format_bulk(
        array, fixed_values(array, np.int32), _MIN_DAYS, _MAX_DAYS, _arrow_text, dt.format_date
    )


def _arrow_text(array: pa.Array) -> pa.Array:
    return pc.cast(array, pa.string())


def _trimmed(array: pa.Array) -> pa.Array:
    """Arrow's text always has six digits of fraction here."""
    return pc.utf8_rtrim(pc.utf8_rtrim(pc.cast(array, pa.string()), "0"), ".")


def _format_bulk(
    array: pa.Array, numbers: npt.NDArray[Any], low: int, high: int,
    bulk: Callable[[pa.Array], pa.Array], convert: Callable[[int], str],
) -> pa.Array:  # fmt: skip
    """Arrow's text within low … high, `convert` of the number beyond."""
    odd = np.flatnonzero(((numbers < low) | (numbers > high)) & valid_mask(array))
    texts = bulk(array)
    if not len(odd):
        return texts
    patch = pa.array([convert(number) for number in numbers[odd].tolist()], pa.string())
    mask = np.zeros(len(array), dtype=bool)
    mask[odd] = True
    return pc.replace_with_mask(texts, pa.array(mask), patch)


def round_fraction(type_: Type, array: pa.Array) -> pa.Array:
    """Rounded to the declared digits of timestamp(p), timestamptz(p) or time(p)."""
    if not 0 <= type_.typmod < 6 or type_.name not in ("timestamp", "timestamptz", "time"):
        return array
    numbers = fixed_values(array, np.int64)
    unit = 10 ** (6 - type_.typmod)
    origin = 0 if type_.name == "time" else dt.POSTGRES_EPOCH
    finite = (numbers != dt.INFINITY) & (numbers != dt.MINUS_INFINITY)
    shifted = np.where(finite, numbers, 0) - origin
    size = (np.abs(shifted) + unit // 2) // unit * unit
    return from_values(np.where(finite, np.sign(shifted) * size + origin, numbers), array.type, array)


def parse_timestamps(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    order = date_order(settings)
    if type_.name == "timestamp":
        values = _parse(
            texts, type_.arrow, f"^{_DATE}([ T]{_CLOCK})?$", lambda rows: pc.cast(rows, type_.arrow),
            lambda text: parser.parse_timestamp(text, order, None, settings.timezone), _MIN_MICROS,
        )  # fmt: skip
        return round_fraction(type_, values)

    def convert(text: str) -> int:
        return parser.parse_timestamp(text, order, settings.timezone)

    def with_zone(rows: pa.Array) -> pa.Array:
        return pc.cast(rows, type_.arrow)

    def without_zone(rows: pa.Array) -> pa.Array:
        return to_instants(pc.cast(rows, pa.timestamp("us")), settings.timezone)

    zoned = len(texts) > SMALL and bool(matches(texts.slice(0, SMALL), f"{_OFFSET}$").any())
    pattern, bulk = (f"^{_DATE}[ T]{_CLOCK}{_OFFSET}$", with_zone) if zoned else (
        f"^{_DATE}([ T]{_CLOCK})?$", without_zone)  # fmt: skip
    # A day early, so that no offset hides the year 0.
    return round_fraction(type_, _parse(texts, type_.arrow, pattern, bulk, convert, _MIN_MICROS + dt.DAY))


def format_timestamps(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    if type_.name == "timestamptz":
        return _format_instants(array, settings.timezone)
    if len(array) <= SMALL:
        return _format_each(_ints(array, np.int64), dt.format_timestamp)
    numbers = fixed_values(array, np.int64)
    return _format_bulk(array, numbers, _MIN_MICROS, _MAX_MICROS, _trimmed, dt.format_timestamp)


def _format_instants(array: pa.Array, timezone: str) -> pa.Array:
    where = zone(timezone)

    def convert(micros: int) -> str:
        if micros in (dt.INFINITY, dt.MINUS_INFINITY):
            return dt.format_timestamp(micros)
        offset = where.offset_at(micros // 1_000_000)
        return dt.format_timestamp(micros + offset * 1_000_000, offset)

    if len(array) <= SMALL:
        return _format_each(_ints(array, np.int64), convert)

    def bulk(rows: pa.Array) -> pa.Array:
        offsets = where.offsets_at(fixed_values(rows, np.int64) // 1_000_000)
        distinct, codes = np.unique(offsets, return_inverse=True)
        suffixes = [dt.format_offset(offset) for offset in distinct.tolist()]
        ends = suffixes[0] if len(suffixes) == 1 else pa.array(suffixes).take(pa.array(codes))
        return pc.binary_join_element_wise(_trimmed(to_local(rows, timezone)), ends, "")

    numbers = fixed_values(array, np.int64)
    return _format_bulk(array, numbers, _MIN_MICROS + dt.DAY, _MAX_MICROS - dt.DAY, bulk, convert)


def _parse_clocks(texts: pa.Array) -> pa.Array:
    # Arrow reads times only as part of a timestamp.
    stamps = pc.cast(pc.binary_join_element_wise("1970-01-01", texts, " "), pa.timestamp("us"))
    return from_values(fixed_values(stamps, np.int64), pa.time64("us"), stamps)


def parse_times(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    order = date_order(settings)
    values = _parse(
        texts, type_.arrow, f"^{_CLOCK}$", _parse_clocks,
        lambda text: parser.parse_time(text, order, settings.timezone), 0,
    )  # fmt: skip
    return round_fraction(type_, values)


def format_times(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    numbers = fixed_values(array, np.int64)
    if len(array) <= SMALL:
        return _format_each(_ints(array, np.int64), dt.format_time)
    return _format_bulk(array, numbers, 0, dt.DAY - 1, _trimmed, dt.format_time)


def parse_intervals(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    style = settings.interval_style
    parse = parse_each if len(texts) <= SMALL else parse_distinct
    return parse(texts, lambda text: intervals.parse_interval(text, style), type_.arrow)


def format_intervals(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    style = settings.interval_style
    texts = convert_each(array.to_pylist(), lambda value: intervals.format_interval(value, style))
    return pa.array(texts, pa.string())
