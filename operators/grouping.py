"""`Grouping`: which group each row of a delta is in.

Several views group the same rows of an epoch by the same columns. What follows from the columns alone is
found for the first of them and kept in the epoch's context for the others: the numbers of the groups, their
keys and the bytes of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..storage.keycode import KeyColumns
from ..storage.types import Type
from .batch import Int64Array, gather, group_rows, sum_by
from .node import EpochContext

SHARED_ROWS_MAX = 4096
"""Rows up to which a grouping is kept: for more, finding it anew costs little beside everything else."""

SHARED_MAX = 256
"""Groupings kept in an epoch."""

FEWER_MAX = 4
"""How many times as many rows as a filter lets through are grouped for them."""


@dataclass(slots=True)
class Grouping:
    """The group of each row, and the key of each group."""

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
        found = _of_chosen(columns, types, context) or _grouping(columns, types, length)
        if len(context.groupings) >= SHARED_MAX:
            context.groupings.clear()
        context.groupings[name] = found
    return found


def note_chosen(
    columns: Sequence[pa.Array], chosen: Sequence[pa.Array], places: Int64Array, context: EpochContext
) -> None:
    """Says that `chosen` are the rows of `columns` at `places`."""
    if len(context.chosen) >= SHARED_MAX:
        context.chosen.clear()
    for column, rows in zip(columns, chosen, strict=True):
        context.chosen[id(rows)] = (rows, column, places)


def _of_chosen(
    columns: Sequence[pa.Array], types: tuple[Type, ...], context: EpochContext
) -> Grouping | None:
    """The grouping of rows that a filter let through, if all of them were grouped or are not many more."""
    noted = [context.chosen.get(id(column)) for column in columns]
    first = noted[0]
    if first is None or any(note is None or note[2] is not first[2] for note in noted):
        return None
    places: Int64Array = first[2]
    whole = [note[1] for note in noted if note is not None]
    length = len(whole[0])
    if length > FEWER_MAX * len(places) and (*map(id, whole), *types) not in context.groupings:
        return None
    found = grouping(whole, types, length, context)
    ids, seen = found.ids[places], np.zeros(found.count, np.bool_)
    seen[ids] = True
    kept = np.flatnonzero(seen)
    if len(kept) == found.count:
        return Grouping(columns, ids, found.keys, found.count)
    keys = found.keys.some(gather(found.keys, kept), kept)
    return Grouping(columns, (np.cumsum(seen) - 1)[ids], keys, len(kept))


def _grouping(columns: Sequence[pa.Array], types: Sequence[Type], length: int) -> Grouping:
    ids, first = group_rows(columns, types, length)
    count = len(first) if columns else 1
    keys = gather(columns, first) if count < length else columns
    return Grouping(columns, ids, KeyColumns(keys), count)
