"""What linear aggregates have in common: the rows that count, and accumulator columns as arrays.

The first accumulator of nearly all is the number of values that are not NULL, int64; a sum of integers is
decimal128, used as a 128-bit integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage.arrowview import one_integer
from ...storage.columns import GrowingColumn, GrowingFixed
from ...storage.types import fixed_numeric
from . import exact_sums
from .aggregates import Int64
from .vector import values

Rows = tuple[pa.Array, Int64, Int64]
"""Values, weights, and the group of each."""

COUNT_ARROW = pa.int64()
COUNT_DTYPE = np.dtype(np.int64)
"""Of the accumulator that counts, as an Arrow and as a numpy array."""

WIDE = fixed_numeric(0)
"""The type of an accumulator that is a 128-bit integer."""


def present(array: pa.Array, weights: Int64, ids: Int64) -> Rows:
    """The rows whose value is not NULL."""
    if not array.null_count:
        return array, weights, ids
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return array.drop_null(), weights[valid], ids[valid]


def present_numbers(
    array: pa.Array, weights: Int64, ids: Int64, dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], Int64, Int64]:
    """`present`, the values as numbers of that kind."""
    array, weights, ids = present(array, weights, ids)
    return values(array).astype(dtype, copy=False), weights, ids


def opened(column: GrowingColumn, start: int, count: int) -> npt.NDArray[Any]:
    """The values of a column with room for `count` rows from `start` on."""
    assert isinstance(column, GrowingFixed)
    column.open(start, start + count)
    return column.values


def add_counts(old: pa.Array, part: pa.Array) -> pa.Array:
    """Sum of two int64 accumulators."""
    if len(old) == 1:
        return one_integer(old.to_pylist()[0] + part.to_pylist()[0], COUNT_ARROW)
    return pa.array(values(old) + values(part))


def add_wide(old: pa.Array, part: pa.Array) -> pa.Array:
    """Sum of two decimal128 accumulators, as 128-bit integers."""
    return exact_sums.add_decimals(old, part)


def nonempty(count: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Which groups have a value; None when all have."""
    if len(count) == 1 and count.to_pylist()[0] > 0:
        return None
    valid = values(count) > 0
    return None if valid.all() else valid
