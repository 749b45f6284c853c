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
from ..storage.kernels_claims import claim_in_order
from ..storage.keycode import encode_keys
from ..storage.keys import group_ids

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
    ids, first = _numbered(table, columns, arbiter)
    return (ids < 0) | (first[ids] == np.arange(len(ids)))


def rows_without_conflict(
    table: Table, columns: Sequence[pa.Array], access: UniqueAccess, arbiter: int | None
) -> npt.NDArray[np.intp]:
    """The proposed rows that DO NOTHING inserts, in their order.

    A row that is not inserted is in nobody's way: with several arbiters it may have been the first of
    those with its key and yet leave that key to a later one.
    """
    arbiters = tuple(arbiters_of(table, arbiter))
    free = np.ones(len(columns[0]), np.bool_)
    for number in arbiters:
        free &= existing_rows(table, columns, access, number) < 0
    rows = np.flatnonzero(free)
    chosen = [column.take(pa.array(rows)) for column in columns]
    if len(arbiters) == 1:
        return rows[first_of_each(table, chosen, arbiters[0])]
    ids = np.stack([_numbered(table, chosen, number)[0] for number in arbiters])
    kept = np.zeros(len(rows), np.uint8)
    claim_in_order(ids, len(rows), kept)
    return rows[kept.view(np.bool_)]


def _numbered(table: Table, columns: Sequence[pa.Array], arbiter: int) -> tuple[Positions, Positions]:
    """For each row the number of its key, −1 for one that clashes with nothing; each key's first row."""
    keys = _key_columns(table, columns, arbiter)
    ids, first = group_ids(encode_keys(keys, [table.schema[i].type for i in _positions(table, arbiter)]))
    if arbiter:
        for key in keys:
            if key.null_count:
                ids[key.is_null().to_numpy(zero_copy_only=False)] = -1
    return ids, first


def _positions(table: Table, arbiter: int) -> tuple[int, ...]:
    return (table.key or ()) if arbiter == 0 else table.uniques[arbiter - 1].columns


def _key_columns(table: Table, columns: Sequence[pa.Array], arbiter: int) -> list[pa.Array]:
    return [columns[i] for i in _positions(table, arbiter)]
