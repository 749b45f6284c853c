"""Several set-returning functions side by side: ROWS FROM, or more than one in a select list.

They run in lockstep: row k has the k-th row of each, NULL where one has ended already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.expr import Expr
from ..operators.functions.registry import TableFunction
from ..operators.node import EpochContext
from ..storage.types import Type

Calls = Sequence[tuple[TableFunction, tuple[Expr, ...]]]
Int64 = npt.NDArray[np.int64]


def lockstep(calls: Calls) -> tuple[TableFunction, tuple[Expr, ...]]:
    """One table function that is all `calls` at once, and its arguments (theirs, one after the other)."""
    if len(calls) == 1:
        return calls[0]
    functions = [function for function, _ in calls]
    counts = [len(args) for _, args in calls]
    args = tuple(arg for _, given in calls for arg in given)
    columns = tuple(c for function, given in calls for c in _columns(function, given))

    def kernel(
        arrays: Sequence[pa.Array], length: int, context: EpochContext
    ) -> tuple[pa.Array, list[pa.Array]]:
        results: list[tuple[Int64, list[pa.Array]]] = []
        start = 0
        for function, count in zip(functions, counts, strict=True):
            origins, values = function.kernel(arrays[start : start + count], length, context)
            results.append((np.asarray(origins), values))
            start += count
        return zip_rows(results, length)

    name = "rows from (" + ", ".join(function.name for function in functions) + ")"
    return TableFunction(name, tuple(arg.type for arg in args), columns, kernel), args


def _columns(function: TableFunction, args: tuple[Expr, ...]) -> tuple[tuple[str, Type], ...]:
    declared = function.columns
    return declared if isinstance(declared, tuple) else declared(tuple(arg.type for arg in args))


def zip_rows(results: Sequence[tuple[Int64, list[pa.Array]]], length: int) -> tuple[pa.Array, list[pa.Array]]:
    """Results (input row of each output row, columns) joined on (input row, rank within it)."""
    counts = [np.bincount(origins, minlength=length) for origins, _ in results]
    most = np.maximum.reduce(counts) if counts else np.zeros(length, np.int64)
    rows = np.repeat(np.arange(length), most)
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(most) - most, most)
    columns: list[pa.Array] = []
    for (origins, values), count in zip(results, counts, strict=True):
        order = np.argsort(origins, kind="stable")
        starts = np.cumsum(count) - count
        there = rank < count[rows]
        positions = np.where(there, starts[rows] + rank, 0)
        source = order[positions] if len(order) else positions
        indices = pa.array(source, pa.int64(), mask=~there)
        columns += [
            value.take(indices) if len(order) else pa.nulls(len(rows), value.type) for value in values
        ]
    return pa.array(rows, pa.int64()), columns
