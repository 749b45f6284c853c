"""`TableSnapshot`: a table as one committed epoch left it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from .tablespec import Int64Array, Positions, TableSpec


class TableSnapshot:
    """Immutable; safe in any thread, without locks, while the table is being written."""

    epoch: int
    spec: TableSpec

    def __len__(self) -> int:
        raise NotImplementedError

    def scan(self, columns: Sequence[int] | None = None) -> tuple[list[pa.Array], Int64Array]:
        raise NotImplementedError

    def lookup(self, keys: Sequence[pa.Array], length: int | None = None) -> Positions:
        raise NotImplementedError

    def matches(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool = False, length: int | None = None
    ) -> tuple[Int64Array, Positions]:
        raise NotImplementedError

    def take(self, positions: Positions, columns: Sequence[int] | None = None) -> list[pa.Array]:
        raise NotImplementedError

    def weights(self, positions: Positions) -> Int64Array:
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        raise NotImplementedError
