"""generate_series: numbers and moments at equal distances, made in pieces of PIECE_ROWS rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import decimals_value as exact
from ...storage import intervals
from ...storage import types as t
from ...storage.errors import InvalidParameterValue, ProgramLimitExceeded, SqlError
from ...storage.room import refuse_beyond_room
from ...storage.types import Type
from .. import pieces
from ..batch import poll
from .ordering import numeric_text
from .tables import Result, TableKernel, TablePieces, table
from .vector import valid_of, values

if TYPE_CHECKING:
    from ..node import EpochContext

SERIES_ROWS_MAX = 1 << 62
"""Rows of all series of a column: beyond, their numbers would overflow."""

Int64s = npt.NDArray[np.int64]


def _counts(start: Int64s, stop: Int64s, step: Int64s) -> Int64s:
    """Members of each series. Raises 22023 for a step of zero and 54000 for too many."""
    zero = step == 0
    if zero.any():
        raise InvalidParameterValue("step size cannot equal zero", rows=np.flatnonzero(zero))
    distance = np.where(step > 0, stop.astype(np.float64) - start, start - stop.astype(np.float64))
    rough = np.where(distance < 0, 0, distance // np.abs(step.astype(np.float64)) + 1)
    if rough.sum() > SERIES_ROWS_MAX:
        raise ProgramLimitExceeded(f"generate_series of more than {SERIES_ROWS_MAX} rows")
    span = np.where(rough > 0, np.where(step > 0, stop - start, start - stop), -1)
    return np.where(rough > 0, span // np.where(rough > 0, np.abs(step), 1) + 1, 0)


def numbered(counts: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
    """(i, 0 … counts[i] − 1) for each i, in pieces."""
    ends = np.cumsum(counts)
    begins = ends - counts
    for start in range(0, int(ends[-1]) if len(ends) else 0, pieces.PIECE_ROWS):
        stop = min(start + pieces.PIECE_ROWS, int(ends[-1]))
        first, last = np.searchsorted(ends, (start, stop - 1), side="right").tolist()
        here = np.arange(first, last + 1)
        lengths = np.minimum(ends[here], stop) - np.maximum(begins[here], start)
        origin = np.repeat(here, lengths)
        yield origin, np.arange(start, stop) - begins[origin]


def _evenly(start: Int64s, stop: Int64s, step: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
    for origin, number in numbered(_counts(start, stop, step)):
        yield origin, start[origin] + number * step[origin]


def _integers(type_: Type) -> TablePieces:
    def parts(args: Sequence[pa.Array], length: int, context: EpochContext) -> Iterator[Result]:
        start, stop = (values(arg).astype(np.int64) for arg in args[:2])
        step = values(args[2]).astype(np.int64) if len(args) > 2 else np.ones(length, np.int64)
        for origin, members in _evenly(start, stop, step):
            yield pa.array(origin), [pa.array(members).cast(type_.arrow)]

    return parts


def _moments(type_: Type) -> TablePieces:
    def parts(args: Sequence[pa.Array], length: int, context: EpochContext) -> Iterator[Result]:
        start, stop = (values(arg) for arg in args[:2])
        months, days, micros = intervals.unpack(args[2])
        zoned = type_ == t.TIMESTAMPTZ
        if months.any() or (zoned and days.any() and context.timezone.upper() != "UTC"):
            walked = _walk(args, type_, context.timezone if zoned else None, context)
            # In a view a row on which this fails must do so before it gives any.
            yield from walked if context.errors is None else list(walked)
            return
        for origin, members in _evenly(start, stop, days * dt.DAY + micros):
            yield pa.array(origin), [pa.array(members).view(type_.arrow)]

    return parts


def _walk(
    args: Sequence[pa.Array], type_: Type, timezone: str | None, context: EpochContext
) -> Iterator[Result]:
    """All series at once, a step at a time: months have no fixed length."""
    stop = values(args[1])
    months, days, micros = intervals.unpack(args[2])
    direction = np.sign(months * 30.0 * dt.DAY + days * float(dt.DAY) + micros)
    if (direction == 0).any():
        raise InvalidParameterValue("step size cannot equal zero", rows=np.flatnonzero(direction == 0))
    rows, current = np.arange(len(stop)), args[0]
    origins: list[Int64s] = []
    members: list[Int64s] = []
    held = 0
    while len(rows):
        poll(context)
        now = values(current)
        alive = np.flatnonzero(np.where(direction[rows] > 0, now <= stop[rows], now >= stop[rows]))
        rows, current = rows[alive], current.take(pa.array(alive))
        origins.append(rows)
        members.append(values(current))
        held += len(rows)
        if held and (held >= pieces.PIECE_ROWS or not len(rows)):
            yield _sorted(origins, members, type_)
            origins, members, held = [], [], 0
        current = intervals.add_to_timestamps(current, args[2].take(pa.array(rows)), timezone)


def _sorted(origins: list[Int64s], members: list[Int64s], type_: Type) -> Result:
    origin = np.concatenate(origins)
    order = np.argsort(origin, kind="stable")
    return pa.array(origin[order]), [pa.array(np.concatenate(members)[order]).view(type_.arrow)]


def _numeric_members(start: Decimal, stop: Decimal, step: Decimal = Decimal(1)) -> Iterator[str]:
    for value, what in ((start, "start"), (stop, "stop"), (step, "step size")):
        if not value.is_finite():
            shown = "NaN" if value.is_nan() else "infinity"
            noun = what if what == "step size" else f"{what} value"
            raise InvalidParameterValue(f"{noun} cannot be {shown}")
    if not step:
        raise InvalidParameterValue("step size cannot equal zero")
    return _numeric_walk(start, stop, step)


def _numeric_walk(value: Decimal, stop: Decimal, step: Decimal) -> Iterator[str]:
    while (value <= stop) if step > 0 else (value >= stop):
        yield exact.to_text(value)
        value = exact.add(value, step)


def _numerics(args: Sequence[pa.Array], length: int, context: EpochContext) -> Iterator[Result]:
    texts = [numeric_text(arg).to_pylist() for arg in args]
    series: list[Iterator[str]] = []
    failed: dict[int, SqlError] = {}
    for row, given in enumerate(zip(*texts, strict=True)):
        try:
            series.append(_numeric_members(*(exact.parse(text) for text in given)))
        except SqlError as error:
            failed[row] = error
    if failed:
        first = next(iter(failed.values()))
        first.rows = np.array(list(failed), np.int64)
        raise first
    for row, members in enumerate(series):
        while found := list(islice(members, min(pieces.PIECE_ROWS, _NUMERICS_AT_ONCE))):
            poll(context)
            yield pa.array(np.full(len(found), row)), [pa.array(found, pa.string())]


_NUMERICS_AT_ONCE = 4096
"""They are made one by one: so many between two looks whether they are still wanted."""


def _strict(parts: TablePieces) -> TablePieces:
    """Rows with a NULL argument give nothing, and `parts` sees none of them."""

    def strict(args: Sequence[pa.Array], length: int, context: EpochContext) -> Iterator[Result]:
        valid = valid_of(args)
        if valid is None:
            yield from parts(args, length, context)
            return
        positions = np.flatnonzero(valid)
        indices = pa.array(positions)
        for origin, columns in parts([arg.take(indices) for arg in args], len(positions), context):
            yield pa.array(positions[values(origin)]), columns

    return strict


def _at_once(parts: TablePieces, type_: Type) -> TableKernel:
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
        """The values from the first to the second, by the third (of numbers by 1 without it)."""
        origins, members = [pa.array([], pa.int64())], [pa.array([], type_.arrow)]
        held = 0
        for origin, columns in parts(args, length, context):
            poll(context)
            origins.append(origin)
            members.append(columns[0])
            held += origin.nbytes + columns[0].nbytes
            refuse_beyond_room(held)
        origin, member = pa.concat_arrays(origins), pa.concat_arrays(members)
        order = pa.array(np.argsort(values(origin), kind="stable"))
        return origin.take(order), [member.take(order)]

    return kernel


def _register(parts: TablePieces, result: Type, *signatures: tuple[Type, ...]) -> None:
    parts = _strict(parts)
    for args in signatures:
        kernel = _at_once(parts, result)
        table("generate_series", args, (("generate_series", result),), pieces=parts)(kernel)


for _type in (t.INT4, t.INT8):
    _register(_integers(_type), _type, (_type,) * 2, (_type,) * 3)
for _type in (t.TIMESTAMP, t.TIMESTAMPTZ):
    _register(_moments(_type), _type, (_type, _type, t.INTERVAL))
_register(_numerics, t.NUMERIC, (t.NUMERIC,) * 2, (t.NUMERIC,) * 3)
