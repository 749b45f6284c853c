"""What a state table is (`TableSpec`) and what an epoch did to it (`TableChange`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .schema import Schema
from .types import Type

Int64Array = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TableSpec:
    """Columns, primary key and secondary indexes of a state table.

    `key` None makes the table a bag: the whole row is the key and a weight counts it. `()` says: at
    most one row. `indexes` are non-unique, each on some columns (`()` chains all rows together).
    Key values are the same when they are not distinct in SQL's sense (NULL is NULL, 1.0 is 1.00).
    """

    schema: Schema
    key: tuple[int, ...] | None
    indexes: tuple[tuple[int, ...], ...] = ()

    @property
    def bag(self) -> bool:
        return self.key is None

    @property
    def key_columns(self) -> tuple[int, ...]:
        """The columns that tell one row from another: `key`, or all of a bag."""
        return tuple(range(len(self.schema))) if self.key is None else self.key

    @property
    def key_types(self) -> tuple[Type, ...]:
        return tuple(self.schema[i].type for i in self.key_columns)


@dataclass(slots=True)
class TableChange:
    """The net effect of one epoch on one table, as the changelog records it.

    `columns` are the new versions of rows (all columns) and `weights` their counts as of this epoch
    (absolute, not differences; 1 in a keyed table). `deleted` are the key columns (of a bag: all
    columns) of rows that were there before the epoch and are gone. No key is in both. `truncated`
    says that everything older than `columns` is gone (`deleted` is then empty).
    """

    name: str
    epoch: int
    columns: Sequence[pa.Array]
    weights: Int64Array
    deleted: list[pa.Array]
    deleted_count: int = 0
    truncated: bool = False

    def __len__(self) -> int:
        """How many rows and keys the change touches; 0 means the epoch left the table alone."""
        return len(self.weights) + self.deleted_count + self.truncated
