"""`Change`: what one `apply` did to a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .tablespec import Int64Array, Positions
from .versions import GrowingRows


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The distinct rows of a delta to a bag. All arrays have an element for each of them."""

    places: Int64Array
    """Where in the delta it is first, ascending."""
    net: Int64Array
    """The sum of its weights in the delta; 0 if they cancel."""
    before: Int64Array
    """The weight it had in the table."""

    @property
    def came_and_went(self) -> Int64Array:
        """+1 for a row that was not there and is, −1 for one that was and is not, else 0."""
        return ((self.before + self.net) > 0).astype(np.int64) - (self.before > 0)


class Change:
    """Rows that went and rows that came, all weights positive; their difference is the delta.

    Valid until the end of the epoch: columns are fetched when asked for. In a keyed table an updated
    row is in both, as it was and as it is; in a bag, a row is in the one or the other, with the
    difference of its weight. `simple`: no row was in the delta twice with the same sign. `distinct`, of
    a bag: what the delta's distinct rows had and were given.
    """

    __slots__ = ("_rows", "distinct", "inserted", "inserted_weights", "removed", "removed_weights", "simple")

    def __init__(
        self,
        rows: GrowingRows,
        removed: Positions,
        removed_weights: Int64Array,
        inserted: Positions,
        inserted_weights: Int64Array,
        simple: bool = False,
        distinct: DistinctRows | None = None,
    ) -> None:
        self._rows = rows
        self.distinct = distinct
        self.simple = simple
        self.removed = removed
        self.removed_weights = removed_weights
        self.inserted = inserted
        self.inserted_weights = inserted_weights

    @property
    def removed_columns(self) -> list[pa.Array]:
        return self._rows.take(self.removed)

    @property
    def inserted_columns(self) -> list[pa.Array]:
        return self._rows.take(self.inserted)
