"""`Change`: what one `apply` did to a table."""

from __future__ import annotations

import pyarrow as pa

from .tablespec import Int64Array, Positions
from .versions import GrowingRows


class Change:
    """Rows that went and rows that came, all weights positive; their difference is the delta.

    Valid until the end of the epoch: columns are fetched when asked for. In a keyed table an updated
    row is in both, as it was and as it is; in a bag, a row is in the one or the other, with the
    difference of its weight. `simple`: no row was in the delta twice with the same sign. `before`, of a
    simple delta to a bag: the weight that each row of it had (rows of weight 0 not counted).
    """

    __slots__ = ("_rows", "before", "inserted", "inserted_weights", "removed", "removed_weights", "simple")

    def __init__(
        self,
        rows: GrowingRows,
        removed: Positions,
        removed_weights: Int64Array,
        inserted: Positions,
        inserted_weights: Int64Array,
        simple: bool = False,
        before: Int64Array | None = None,
    ) -> None:
        self._rows = rows
        self.before = before
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
