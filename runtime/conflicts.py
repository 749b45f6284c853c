"""Which proposed rows clash with rows of the table, and with each other: the arbiter of ON CONFLICT.

An arbiter is one constraint: 0 is the primary key, n the table's n-th UNIQUE. A NULL in a UNIQUE column
clashes with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..sql.entries import Table
from ..storage.keycode import encode_keys, group_ids

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class UniqueAccess(Protocol):
    """Rows of one table by its constraints (a part of `writes.TableAccess`)."""

    def lookup(self, keys: Sequence[pa.Array]) -> Positions: ...

    def matches(self, index: int, keys: Sequence[pa.Array]) -> tuple[Positions, Positions]: ...


def arbiters_of(table: Table, arbiter: int | None) -> Iterable[int]:
    """The constraints that decide: the one named, or all of them."""
    return range(len(table.uniques) + 1) if arbiter is None else (arbiter,)


def existing_rows(table: Table, columns: Sequence[pa.Array], access: UniqueAccess, arbiter: int) -> Positions:
    """For each proposed row the position of the row it clashes with, −1 for none."""
    if arbiter == 0:
        return access.lookup(_key_columns(table, columns, 0))
    keys = _key_columns(table, columns, arbiter)
    found = np.full(len(columns[0]), -1, np.int64)
    probe, positions = access.matches(arbiter - 1, keys)
    found[probe] = positions
    return found


def first_of_each(table: Table, columns: Sequence[pa.Array], arbiter: int) -> Mask:
    """The proposed rows that no earlier proposed row clashes with."""
    keys = _key_columns(table, columns, arbiter)
    ids, first = group_ids(encode_keys(keys, [table.schema[i].type for i in _positions(table, arbiter)]))
    mask = first[ids] == np.arange(len(ids))
    if arbiter:
        for key in keys:
            if key.null_count:
                mask |= key.is_null().to_numpy(zero_copy_only=False)
    return mask


def rows_without_conflict(
    table: Table, columns: Sequence[pa.Array], access: UniqueAccess, arbiter: int | None
) -> npt.NDArray[np.intp]:
    """The proposed rows that DO NOTHING inserts, in their order."""
    rows = np.arange(len(columns[0]))
    for number in arbiters_of(table, arbiter):
        chosen = [column.take(pa.array(rows)) for column in columns]
        free = existing_rows(table, chosen, access, number) < 0
        rows = rows[free]
        chosen = [column.take(pa.array(rows)) for column in columns]
        rows = rows[first_of_each(table, chosen, number)]
    return rows


def _positions(table: Table, arbiter: int) -> tuple[int, ...]:
    return (table.key or ()) if arbiter == 0 else table.uniques[arbiter - 1].columns


def _key_columns(table: Table, columns: Sequence[pa.Array], arbiter: int) -> list[pa.Array]:
    return [columns[i] for i in _positions(table, arbiter)]
