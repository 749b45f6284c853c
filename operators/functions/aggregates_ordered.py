"""Ordered-set aggregates: percentile_cont, percentile_disc, mode.

Arguments are the direct ones, then the value of WITHIN GROUP (ORDER BY value); rows come sorted by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import intervals
from ...storage import types as t
from ...storage.errors import NumericOutOfRange
from ...storage.types import Type
from .aggregates import AggregateFunction, Int64, Types, register
from .aggregates_extremes import ranks, take_or_null
from .vector import fail, masked, values

Floats = npt.NDArray[np.float64]


class _Groups:
    """The known values of each group: how many, and where the k-th of them lies."""

    def __init__(self, array: pa.Array, weights: Int64, offsets: Int64) -> None:
        known = np.where(values(array.is_valid()), weights, 0) if array.null_count else weights
        self.sums = np.cumsum(known)
        before = np.concatenate(([0], self.sums))
        self.base = before[offsets[:-1]]
        self.count = before[offsets[1:]] - self.base

    def positions(self, number: Int64) -> Int64:
        """The row of each group's number-th value (0-based); −1 for a group without values."""
        rows = np.searchsorted(self.sums, self.base + np.clip(number, 0, None), "right")
        return np.where(self.count > 0, rows, -1)


def _fractions(array: pa.Array, offsets: Int64) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """(the fraction of each group, whether it is known): the direct argument is a constant of the group."""
    starts = np.minimum(offsets[:-1], max(len(array) - 1, 0))
    if not len(array):
        return np.zeros(len(starts)), np.zeros(len(starts), np.bool_)
    taken = array.take(pa.array(starts))
    known = values(taken.is_valid())
    fractions = np.where(known, values(taken), 0.0)
    bad = (fractions < 0) | (fractions > 1) | np.isnan(fractions)
    if bad.any():
        shown = f"{fractions[np.flatnonzero(bad)[0]]:g}"
        fail(NumericOutOfRange, f"percentile value {shown} is not between 0 and 1", bad)
    return fractions, known


def _continuous(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    fractions, known = _fractions(args[0], offsets)
    groups = _Groups(args[1], weights, offsets)
    place = fractions * (groups.count - 1)
    below = np.floor(place).astype(np.int64)
    low, high = groups.positions(below), groups.positions(np.ceil(place).astype(np.int64))
    valid = (low >= 0) & known
    if types[1].name == "interval":
        return _between_intervals(args[1], low, high, place - below, valid)
    data = values(args[1]) if len(args[1]) else np.zeros(1)
    first, second = data[np.maximum(low, 0)], data[np.maximum(high, 0)]
    with np.errstate(invalid="ignore"):
        result = np.where(low == high, first, first + (place - below) * (second - first))
    return masked(result, pa.float64(), valid)


def _between_intervals(
    array: pa.Array, low: Int64, high: Int64, part: Floats, valid: npt.NDArray[np.bool_]
) -> pa.Array:
    first, second = (
        take_or_null(array, np.where(valid, low, -1)),
        take_or_null(array, np.where(valid, high, -1)),
    )
    step = intervals.multiply(intervals.subtract(second, first), pa.array(part))
    return intervals.add(first, step)


def _discrete(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    fractions, known = _fractions(args[0], offsets)
    groups = _Groups(args[1], weights, offsets)
    number = np.ceil(fractions * groups.count).astype(np.int64) - 1
    return take_or_null(args[1], np.where(known, groups.positions(number), -1))


def _mode(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    array = args[0]
    known = np.flatnonzero(values(array.is_valid()))
    found = np.full(len(offsets) - 1, -1, np.int64)
    if not len(known):
        return take_or_null(array, found)
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[known]
    order = ranks(array.take(pa.array(known)), types[0])
    new = np.ones(len(known), np.bool_)
    new[1:] = (group[1:] != group[:-1]) | (order[1:] != order[:-1])
    heads = np.flatnonzero(new)
    sizes = np.add.reduceat(weights[known], heads)
    best = np.lexsort((heads, -sizes, group[heads]))[::-1]
    found[group[heads][best]] = known[heads[best]]
    return take_or_null(array, found)


def _value(types: Types) -> Type:
    return types[1].bare()


for _type in (t.FLOAT8, t.INTERVAL):
    register(
        AggregateFunction(
            "percentile_cont", (t.FLOAT8, _type), _type, "ordered", whole=_continuous, value_argument=1,
            within_group=True, doc="The value at a fraction of the ordered values, interpolated.",
        )
    )  # fmt: skip
register(
    AggregateFunction(
        "percentile_disc", (t.FLOAT8, Type("anyelement")), _value, "ordered", whole=_discrete,
        value_argument=1,
        within_group=True, doc="The first of the ordered values that reaches the fraction.",
    )
)  # fmt: skip
register(
    AggregateFunction(
        "mode", (Type("anyelement"),), lambda types: types[0].bare(), "ordered", whole=_mode,
        within_group=True,
        doc="The most frequent value, the first of them in order.",
    )
)  # fmt: skip


def _approximate(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    return _discrete([args[0], args[-1]], weights, offsets, (types[0], types[-1]))


for _args in ((t.FLOAT8, t.FLOAT8), (t.FLOAT8, t.FLOAT8, t.FLOAT8)):
    register(
        AggregateFunction(
            "approx_percentile", _args, t.FLOAT8, "ordered", whole=_approximate,
            value_argument=len(_args) - 1,
            within_group=True, doc="percentile_disc, exact; the allowed relative error is not needed.",
        )
    )  # fmt: skip
