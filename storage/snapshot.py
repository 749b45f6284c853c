"""`TableSnapshot`: a table as one committed epoch left it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from .tablespec import Int64Array, Positions, TableSpec
from .versions import FrozenRows


class TableSnapshot:
    """Immutable; may be read in any thread, without locks, while the table is being written.

    Holding one keeps the memory of the rows it shows.
    """

    __slots__ = ("_rows", "epoch", "spec")

    def __init__(self, spec: TableSpec, epoch: int, rows: FrozenRows) -> None:
        self.spec = spec
        self.epoch = epoch
        self._rows = rows

    def __len__(self) -> int:
        """Rows (of a bag: distinct rows)."""
        return self._rows.live

    def scan(self, columns: Sequence[int] | None = None) -> tuple[list[pa.Array], Int64Array]:
        """All rows (all columns, or those asked for) and their weights."""
        return self._rows.scan(columns)

    def lookup(self, keys: Sequence[pa.Array], length: int | None = None) -> Positions:
        """Position of the row with each key, −1 where there is none. See `StateTable.lookup`."""
        return self._rows.lookup(keys, length)

    def matches(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool = False, length: int | None = None
    ) -> tuple[Int64Array, Positions]:
        """(probe row, position) of all rows found by secondary index `index`. See `StateTable.matches`."""
        return self._rows.matches(index, keys, null_equal, length)

    def take(self, positions: Positions, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """The rows at `positions`; NULLs where it is −1."""
        return self._rows.take(positions, columns)

    def weights(self, positions: Positions) -> Int64Array:
        """How often each row is there, 0 where the position is −1."""
        return self._rows.weights(positions)

    @property
    def limit(self) -> int:
        """Every row's position is below."""
        return self._rows.limit

    def positions(self, start: int, stop: int) -> Positions:
        """Positions of the rows from `start` up to `stop`, ascending."""
        rows = self._rows
        return start + np.flatnonzero(rows.died[start : min(stop, rows.limit)] > rows.as_of)

    def at(self, epoch: int) -> TableSnapshot:
        """The same rows as of a later epoch that did not touch them."""
        return TableSnapshot(self.spec, epoch, self._rows)

    @property
    def nbytes(self) -> int:
        """Bytes in use for rows and indexes; mostly shared with the table."""
        return self._rows.nbytes
