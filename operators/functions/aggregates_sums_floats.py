"""sum and avg of floats, linear and exact: a superaccumulator (`exact_floats.py`) beside the count.

A float sum is therefore the exact sum, rounded once, and not PostgreSQL's running sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import types as t
from ...storage.arrowview import fixed_values, from_fixed
from ...storage.columns import GrowingColumn, GrowingFixed, GrowingText
from ...storage.errors import NumericOutOfRange
from . import exact_floats, exact_sums
from .accumulators import COUNT_ARROW, COUNT_DTYPE, add_counts, nonempty, opened, present_numbers
from .aggregates import AggregateFunction, Int64, State, Types, register
from .vector import fail, masked, values


def _partial_floats(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    data, weights, ids = present_numbers(args[0], weights, ids, np.float64)
    sums = exact_floats.sum_floats(data, weights, ids, groups)
    return [pa.array(exact_sums.counts(weights, ids, groups)), sums]


def _advance_floats(
    args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, old: Sequence[pa.Array], types: Types
) -> State:
    data, weights, ids = present_numbers(args[0], weights, ids, np.float64)
    counts = exact_sums.counts(weights, ids, groups)
    if old:
        counts[: len(old[0])] += fixed_values(old[0], COUNT_DTYPE)
    sums = exact_floats.add_floats(old[1] if old else None, data, weights, ids, groups)
    return [from_fixed(COUNT_ARROW, counts), sums]


def _write_floats(
    args: Sequence[pa.Array],
    weights: Int64,
    ids: Int64,
    positions: Int64,
    start: int,
    columns: Sequence[GrowingColumn],
    types: Types,
) -> int | None:
    data, weights, ids = present_numbers(args[0], weights, ids, np.float64)
    counts = opened(columns[0], start, len(positions))
    return exact_floats.write_floats(columns[1], counts, data, weights, ids, positions, start)


def _show_average(columns: Sequence[GrowingColumn], start: int, stop: int, result: GrowingFixed) -> bool:
    counts, sums = columns
    assert isinstance(counts, GrowingFixed) and isinstance(sums, GrowingText)
    found = opened(result, start, stop - start)[start:stop]
    bounds = sums.offsets[start : stop + 1]
    return exact_floats.divide_into(bounds, sums.data, counts.values[start:stop], found)


def _merge_floats(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    return [add_counts(old[0], part[0]), exact_floats.merge(old[1], part[1])]


def _finish_floats(divide: bool) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        single = types[0].name == "float4" and not divide
        count = values(state[0])
        divisors = np.maximum(count, 1) if divide else np.ones_like(count)
        data = exact_floats.divided(state[1], divisors)
        finite = data is not None and not single
        if data is None:
            pairs = zip(exact_floats.integers(state[1]), divisors.tolist(), strict=True)
            data = np.array([exact_floats.to_float(total, by) for total, by in pairs], np.float64)
        arrow = pa.float32() if single else pa.float64()
        with np.errstate(over="ignore"):
            data = data.astype(np.float32) if single else data
        if not finite:
            _check_overflow(data, state[1])
        return masked(data, arrow, nonempty(state[0]))

    return finish


def _check_overflow(data: npt.NDArray[Any], sums: pa.Array) -> None:
    """A sum of finite values beyond the largest double is an error, not infinity."""
    infinite = np.isinf(data)
    if not infinite.any():
        return
    special = np.array([any(exact_floats.split_special(s)[1:]) for s in exact_floats.integers(sums)])
    fail(NumericOutOfRange, "value out of range: overflow", infinite & ~special)


for _type in (t.FLOAT4, t.FLOAT8):
    for _name in ("sum", "avg"):
        register(
            AggregateFunction(
                _name, (_type,), _type if _name == "sum" else t.FLOAT8, "linear",
                lambda types: (t.INT8, t.BYTEA), _partial_floats, _merge_floats,
                _finish_floats(_name == "avg"), total=_name == "avg", advance=_advance_floats,
                write=_write_floats, show=_show_average if _name == "avg" else None,
                doc="Exact sum or average, rounded once.",
            )
        )  # fmt: skip
