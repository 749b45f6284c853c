"""Small steps over columns and positions that several operators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage.keycode import encode_keys
from ..storage.keys import dense_group_ids, group_ids
from ..storage.types import INTEGERS, Type
from .zset import gather as gather

if TYPE_CHECKING:
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


SMALL_ROWS = 12
"""Up to so many rows are grouped by a dictionary: encoding keys costs more than that many lookups."""

_AS_THEY_ARE = frozenset(
    {"bool", "int2", "int4", "int8", "oid", "text", "varchar", "name", "bytea", "uuid", "regclass"}
)
_VIEWS = {"date": pa.int32(), "time": pa.int64(), "timestamp": pa.int64(), "timestamptz": pa.int64()}


def group_rows(
    columns: Sequence[pa.Array], types: Sequence[Type], length: int
) -> tuple[Int64Array, Int64Array]:
    """(group of each row, first row of each group); rows are equal when not distinct in SQL's sense."""
    if length <= 1 or not columns:
        return np.zeros(length, np.int64), np.zeros(min(length, 1), np.int64)
    if length <= SMALL_ROWS:
        values = [_comparable(column, type_) for column, type_ in zip(columns, types, strict=True)]
        if all(column is not None for column in values):
            return _group_few(list(zip(*values, strict=True)))  # pyright: ignore[reportArgumentType]
    if len(columns) == 1 and types[0].name in INTEGERS and not columns[0].null_count:
        found = dense_group_ids(columns[0].to_numpy().astype(np.int64, copy=False))
        if found is not None:
            return found
    return group_ids(encode_keys(columns, types))


def _comparable(column: pa.Array, type_: Type) -> list[object] | None:
    """Python values that are equal when the SQL values are; None for a type that has none at hand."""
    name = type_.name
    if name in _AS_THEY_ARE or (name == "numeric" and type_.scale is not None):
        return column.to_pylist()
    if name in _VIEWS:
        return column.view(_VIEWS[name]).to_pylist()
    if name in ("float4", "float8"):
        return ["NaN" if value != value else value for value in column.to_pylist()]
    return None


def _group_few(rows: list[tuple[object, ...]]) -> tuple[Int64Array, Int64Array]:
    numbers: dict[tuple[object, ...], int] = {}
    first: list[int] = []
    ids: list[int] = []
    for position, row in enumerate(rows):
        number = numbers.setdefault(row, len(first))
        if number == len(first):
            first.append(position)
        ids.append(number)
    return np.array(ids), np.array(first)


def sum_by(ids: Int64Array, weights: Int64Array, groups: int) -> Int64Array:
    """Sum of `weights` per group (exact while the sums stay below 2**53)."""
    if groups == 1:
        return weights.copy() if len(weights) == 1 else np.array([weights.sum()], np.int64)
    return np.bincount(ids, weights, groups).astype(np.int64)


def poll(context: EpochContext) -> None:
    """Raises QueryCanceled when the work is no longer wanted."""
    if context.cancelled is not None:
        context.cancelled()
