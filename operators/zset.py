"""`ZSet`: a bag of rows with integer weights, the only thing that travels between operators.

A weight of +1 says the row came, −1 that it went, +2 that it came twice. A *consolidated* ZSet has
no row twice and no weight 0; two rows are the same when they are not distinct in SQL's sense (NULL
is NULL, 1.0 is 1.00). Operators accept unconsolidated input; who needs a consolidated one calls
`consolidate`. The whole content of a relation is a ZSet of positive weights.

Rows lie as columns: one Arrow array a column (never chunked), as `schema.types[i].arrow` says, and
one int64 numpy array of weights of the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage import kernels_take
from ..storage.arrowview import byte_values, fixed_dtype, fixed_values, from_bytes, from_fixed, is_bytes
from ..storage.schema import Schema

FEW_ROWS = 4096
"""Up to so many rows are gathered by numpy where it can."""

Weights = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZSet:
    """Rows (columns of equal length) and their weights."""

    schema: Schema
    columns: tuple[pa.Array, ...]
    weights: Weights

    @staticmethod
    def empty(schema: Schema) -> ZSet:
        return ZSet(schema, schema.empty(), np.empty(0, np.int64))

    @staticmethod
    def inserts(schema: Schema, columns: Sequence[pa.Array], length: int | None = None) -> ZSet:
        """Each row once. `length` is needed only when there are no columns."""
        count = len(columns[0]) if columns else length
        assert count is not None
        return ZSet(schema, tuple(columns), np.ones(count, np.int64))

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, positions: Positions) -> ZSet:
        """The rows at `positions`, in that order, repeats allowed."""
        return ZSet(self.schema, tuple(gather(self.columns, positions)), self.weights[positions])

    def filter(self, mask: npt.NDArray[np.bool_]) -> ZSet:
        """The rows where `mask` is true."""
        if len(mask) == 1:
            return self if mask[0] else self.slice(0, 0)
        if np.count_nonzero(mask) == len(mask):
            return self
        return self.take(mask.nonzero()[0])

    def select(self, positions: Sequence[int]) -> ZSet:
        """The columns at `positions`, weights as they are (the result may hold a row twice)."""
        return ZSet(self.schema.select(positions), tuple(self.columns[i] for i in positions), self.weights)

    def slice(self, offset: int, length: int) -> ZSet:
        columns = tuple(c.slice(offset, length) for c in self.columns)
        return ZSet(self.schema, columns, self.weights[offset : offset + length])

    def negate(self) -> ZSet:
        return ZSet(self.schema, self.columns, -self.weights)

    def with_columns(self, schema: Schema, columns: Sequence[pa.Array]) -> ZSet:
        """Other columns for the same rows and weights."""
        return ZSet(schema, tuple(columns), self.weights)

    def with_weights(self, weights: Weights) -> ZSet:
        return ZSet(self.schema, self.columns, weights)


def gather(columns: Sequence[pa.Array], positions: Positions) -> list[pa.Array]:
    """The rows at `positions` (0 or more) of each column; a single row as a slice."""
    count = len(positions)
    if count < 2:
        start = int(positions[0]) if count else 0
        return [column.slice(start, count) for column in columns]
    if count > FEW_ROWS:
        indices = pa.array(positions)
        return [column.take(indices) for column in columns]
    return [_picked(column, positions) for column in columns]


def _picked(column: pa.Array, positions: Positions) -> pa.Array:
    """`take` of few rows: numpy, or a loop, has half the fixed cost."""
    type_ = column.type
    dtype = fixed_dtype(type_)
    if column.null_count or not (dtype is not None or is_bytes(type_)):
        return column.take(pa.array(positions))
    if dtype is not None:
        return from_fixed(type_, fixed_values(column, dtype)[positions])
    offsets, data = byte_values(column)
    positions = np.ascontiguousarray(positions, np.int64)
    places = np.empty(len(positions) + 1, np.int32)
    size = kernels_take.place_strings(offsets, positions, places)
    if size < 0:
        return column.take(pa.array(positions))
    strings = np.empty(size, np.uint8)
    kernels_take.copy_strings(offsets, data, positions, strings)
    return from_bytes(type_, places, strings)


def concat(schema: Schema, parts: Sequence[ZSet]) -> ZSet:
    """All rows of all parts, unconsolidated. Columns take the types of `schema`."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return ZSet.empty(schema)
    if len(parts) == 1:
        return ZSet(schema, parts[0].columns, parts[0].weights)
    columns = tuple(pa.concat_arrays([part.columns[i] for part in parts]) for i in range(len(schema)))
    return ZSet(schema, columns, np.concatenate([part.weights for part in parts]))
