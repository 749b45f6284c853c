"""`StateTable`: the rows an operator or a table remembers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from .snapshot import TableSnapshot
from .tablespec import Int64Array, Positions, TableChange, TableSpec

__all__ = ["Change", "StateTable", "TableChange", "TableSnapshot", "TableSpec"]


class Change:
    """The effect of one `apply`, all weights positive: what went and what came."""

    removed_columns: list[pa.Array]
    removed_weights: Int64Array
    inserted_columns: list[pa.Array]
    inserted_weights: Int64Array


class StateTable:
    """Versioned rows, found by key and by secondary indexes. One writer, any number of readers."""

    name: str
    spec: TableSpec

    def __init__(self, name: str, spec: TableSpec) -> None:
        self.name = name
        self.spec = spec

    def __len__(self) -> int:
        raise NotImplementedError

    def begin(self, epoch: int) -> None:
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

    def upsert(self, columns: Sequence[pa.Array], weights: Int64Array | None = None) -> Positions:
        raise NotImplementedError

    def delete(self, positions: Positions) -> None:
        raise NotImplementedError

    def truncate(self) -> None:
        raise NotImplementedError

    def apply(self, columns: Sequence[pa.Array], weights: Int64Array) -> Change:
        raise NotImplementedError

    def scan(self) -> tuple[list[pa.Array], Int64Array]:
        raise NotImplementedError

    def commit(self) -> TableChange:
        raise NotImplementedError

    def rollback(self) -> None:
        raise NotImplementedError

    def snapshot(self) -> TableSnapshot:
        raise NotImplementedError

    def restore(self, columns: Sequence[pa.Array], weights: Int64Array | None, epoch: int) -> None:
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        raise NotImplementedError
