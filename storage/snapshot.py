"""`TableSnapshot`: a table as one committed epoch left it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from .absent import Absent
from .coldview import ColdView, parts_of, scan_incomplete
from .keycode_few import encode_plain
from .one_row import OneRow
from .tablespec import Int64Array, Positions, TableSpec
from .version_rows import FrozenRows


class TableSnapshot:
    """Immutable; may be read in any thread, without locks, while the table is being written.

    Holding one keeps the memory of the rows it shows. Of an incomplete table it has only the rows that are in
    memory, and fetches others from the store (`coldview.py`).
    """

    __slots__ = ("_absent", "_cold", "_rows", "epoch", "spec")

    def __init__(self, spec: TableSpec, epoch: int, rows: FrozenRows, absent: Absent | None = None) -> None:
        self.spec = spec
        self.epoch = epoch
        self._rows = rows
        self._absent = absent
        self._cold = None if absent is None else ColdView(rows, absent)

    def __len__(self) -> int:
        """Rows (of a bag: distinct rows)."""
        return self._rows.live + (0 if self._absent is None else self._absent.count)

    @property
    def evicted(self) -> int:
        """Rows that are in the store only."""
        return 0 if self._absent is None else self._absent.count

    def scan(self, columns: Sequence[int] | None = None) -> tuple[list[pa.Array], Int64Array]:
        """All rows (all columns, or those asked for) and their weights."""
        if self._absent is not None:
            return scan_incomplete(self._rows, self._absent, columns)
        return self._rows.scan(columns)

    def parts(self, columns: Sequence[int] | None = None) -> Iterator[tuple[list[pa.Array], Int64Array]]:
        """What `scan` gives, in parts: never all rows of a large table at once.

        Of no columns: rows are alike then, and those of a keyed table come as one, its weight their number.
        """
        if columns is not None and not len(columns) and not self.spec.bag:
            return iter([([], np.full(1 if len(self) else 0, len(self), np.int64))])
        return parts_of(self._rows, self._absent, columns)

    def lookup(self, keys: Sequence[pa.Array], length: int | None = None) -> Positions:
        """Position of the row with each key, −1 where there is none. See `StateTable.lookup`."""
        if self._cold is not None:
            return self._cold.lookup(keys, length)
        return self._rows.lookup(keys, length)

    def key_of(self, values: Sequence[object]) -> bytes | None:
        """The bytes of a primary key, for `row`; None if only `lookup` will do: for values that are not
        simple, and where rows may be in the store only."""
        return encode_plain(values, self._rows.key_types) if self._cold is None else None

    def row(self, key: bytes, columns: Sequence[int]) -> OneRow | None:
        """The row with a key that `key_of` gave, its `columns`; None if there is none."""
        rows = self._rows
        position = rows.row(key)
        return None if position < 0 else OneRow([rows.columns[i] for i in columns], position)

    def matches(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool = False, length: int | None = None
    ) -> tuple[Int64Array, Positions]:
        """(probe row, position) of all rows found by secondary index `index`. See `StateTable.matches`."""
        if self._cold is not None:
            return self._cold.matches(index, keys, null_equal, length)
        return self._rows.matches(index, keys, null_equal, length)

    def take(self, positions: Positions, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """The rows at `positions`; NULLs where it is −1."""
        if self._cold is not None:
            return self._cold.take(positions, columns)
        return self._rows.take(positions, columns)

    def weights(self, positions: Positions) -> Int64Array:
        """How often each row is there, 0 where the position is −1."""
        if self._cold is not None:
            return self._cold.weights(positions)
        return self._rows.weights(positions)

    @property
    def limit(self) -> int:
        """Every row's position is below."""
        return self._rows.limit if self._cold is None else self._cold.limit()

    def positions(self, start: int, stop: int) -> Positions:
        """Positions of the rows from `start` up to `stop`, ascending."""
        if self._cold is not None:
            return self._cold.positions(start, stop)
        rows = self._rows
        return start + np.flatnonzero(rows.died[start : min(stop, rows.limit)] > rows.as_of)

    def at(self, epoch: int) -> TableSnapshot:
        """The same rows as of a later epoch that did not touch them."""
        return TableSnapshot(self.spec, epoch, self._rows, self._absent)

    @property
    def nbytes(self) -> int:
        """Bytes in use for rows and indexes; mostly shared with the table."""
        return self._rows.nbytes

    @property
    def fetched_bytes(self) -> int:
        """Bytes of rows from the store that only this snapshot has."""
        return 0 if self._cold is None else self._cold.nbytes
