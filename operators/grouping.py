"""`Grouping`: which group each row of a delta is in.

Several views group the same rows of an epoch by the same columns. What follows from the columns alone is
found for the first of them and kept in the epoch's context for the others: the numbers of the groups, their
keys and the bytes of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ..storage.keycode import KeyColumns
from ..storage.types import Type
from .batch import Int64Array, gather, group_rows, sum_by
from .node import EpochContext

SHARED_ROWS_MAX = 4096
"""Rows up to which a grouping is kept: for more, finding it anew costs little beside everything else."""

SHARED_MAX = 256
"""Groupings kept in an epoch."""


@dataclass(slots=True)
class Grouping:
    """The group of each row, and the key of each group, in order of first appearance."""

    rows: Sequence[pa.Array]
    """The columns it is of: they are held, so that their identities stay theirs."""
    ids: Int64Array
    keys: KeyColumns
    count: int
    _sums: tuple[Int64Array, Int64Array] | None = field(default=None, repr=False)

    def sums(self, weights: Int64Array) -> Int64Array:
        """The sum of the rows' weights in each group. Not to be changed."""
        if self._sums is None or self._sums[0] is not weights:
            self._sums = weights, sum_by(self.ids, weights, self.count)
        return self._sums[1]


def grouping(
    columns: Sequence[pa.Array], types: tuple[Type, ...], length: int, context: EpochContext
) -> Grouping:
    """The grouping of `length` rows by `columns`; without columns one group, with or without rows."""
    if length > SHARED_ROWS_MAX or not columns:
        return _grouping(columns, types, length)
    name = (*map(id, columns), *types)
    found = context.groupings.get(name)
    if found is None:
        if len(context.groupings) >= SHARED_MAX:
            context.groupings.clear()
        found = context.groupings[name] = _grouping(columns, types, length)
    return found


def _grouping(columns: Sequence[pa.Array], types: Sequence[Type], length: int) -> Grouping:
    ids, first = group_rows(columns, types, length)
    count = len(first) if columns else 1
    keys = gather(columns, first) if count < length else columns
    return Grouping(columns, ids, KeyColumns(keys), count)
