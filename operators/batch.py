"""Small steps over columns and positions that several operators share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage.keycode import encode_keys, group_ids
from ..storage.table import StateTable
from ..storage.types import Type
from .node import EpochContext

BoolArray = npt.NDArray[np.bool_]
Int64Array = npt.NDArray[np.int64]

NO_POSITIONS: Int64Array = np.empty(0, np.int64)


def truth(array: pa.Array) -> BoolArray:
    """Where a boolean array is true (NULL counts as false)."""
    if array.null_count:
        array = array.fill_null(False)
    return array.to_numpy(zero_copy_only=False)


def nulls(array: pa.Array) -> BoolArray | None:
    """Where an array is NULL; None when nowhere."""
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def any_null(columns: Sequence[pa.Array], length: int) -> BoolArray:
    """The rows with a NULL in any of `columns`."""
    result = np.zeros(length, np.bool_)
    for column in columns:
        if column.null_count:
            result |= column.is_null().to_numpy(zero_copy_only=False)
    return result


def group_rows(
    columns: Sequence[pa.Array], types: Sequence[Type], length: int
) -> tuple[Int64Array, Int64Array]:
    """(group of each row, first row of each group); rows are equal when not distinct in SQL's sense."""
    if length <= 1 or not columns:
        return np.zeros(length, np.int64), np.zeros(min(length, 1), np.int64)
    return group_ids(encode_keys(columns, types))


def sum_by(ids: Int64Array, weights: Int64Array, groups: int) -> Int64Array:
    """Sum of `weights` per group (exact while the sums stay below 2**53)."""
    if groups == 1:
        return np.array([weights.sum()], np.int64)
    return np.bincount(ids, weights, groups).astype(np.int64)


def weights_at(table: StateTable, positions: Int64Array) -> Int64Array:
    """Weight of each position, 0 for −1."""
    found = positions >= 0
    if found.all():
        return table.weights(positions)
    result = np.zeros(len(positions), np.int64)
    result[found] = table.weights(positions[found])
    return result


def gather(columns: Sequence[pa.Array], positions: Int64Array) -> list[pa.Array]:
    """The rows at `positions` of each column."""
    indices = pa.array(positions)
    return [column.take(indices) for column in columns]


def poll(context: EpochContext) -> None:
    """Raises QueryCanceled when the work is no longer wanted."""
    if context.cancelled is not None:
        context.cancelled()
