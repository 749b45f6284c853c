"""`TableOverlay`: a transaction's own uncommitted rows of one table, over the snapshot it reads.

The overlay is a scratch `StateTable` with the table's key: for every key the transaction touched it
holds the row as the transaction has it, or a tombstone. So a statement costs what it touches, however
many came before it in the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.zset import ZSet, concat
from ..planner.define_alter import column_origins
from ..sql.entries import Table
from ..storage.keycode import encode_keys
from ..storage.schema import Column, Schema
from ..storage.snapshot import TableSnapshot
from ..storage.table import StateTable, TableSpec
from ..storage.types import BOOL
from .writes import Columns, RowChanges, take_all

OWN = np.int64(1) << 40
"""Positions from here on are the overlay's own rows; those below are the snapshot's."""

Positions = npt.NDArray[np.int64]


class TableOverlay:
    """Reads as the table would after the transaction's writes; implements `TableAccess`."""

    def __init__(self, table: Table, base: TableSnapshot | None) -> None:
        """`base` is the table in the transaction's snapshot, None if the transaction created it."""
        self.table = table
        self.base = base
        self.added: frozenset[str] = frozenset()
        """Columns the transaction added: their values in `base` are the transaction's own."""
        self.on_conflict = False
        """Whether a statement with ON CONFLICT wrote to it."""
        self.shared = False
        """Whether a result of which rows are still to be made reads it: it does not change any more."""
        self._deleted = len(table.schema)
        schema = Schema((*table.schema, Column("deleted", BOOL, False, True)))
        self._own = _scratch(table, schema)

    @property
    def nbytes(self) -> int:
        """Bytes of the transaction's own rows; 0 while there are none."""
        return self._own.nbytes if len(self._own) else 0

    def copy(self) -> TableOverlay:
        """The same content, to be changed on its own."""
        other = TableOverlay(self.table, self.base)
        other.added, other.on_conflict = self.added, self.on_conflict
        columns, _ = self._own.scan()
        if len(columns[0]):
            other._own.upsert(columns)
        return other

    def reshaped(self, table: Table, reshape: Callable[[Columns], Columns]) -> TableOverlay:
        """The same rows with the columns of `table`; `reshape` makes its rows of ours."""
        base = None
        if self.base is not None:
            scratch = _scratch(table, table.schema)
            scratch.upsert(reshape(self.base.scan()[0]))
            _ = scratch.commit()
            base = scratch.snapshot()
        other = TableOverlay(table, base)
        other.on_conflict = self.on_conflict
        names = self.table.schema.names
        other.added = frozenset(
            column.name
            for column, origin in zip(table.schema, column_origins(self.table, table), strict=True)
            if origin is None or names[origin] in self.added
        )
        own, _ = self._own.scan()
        if len(own[0]):
            other._own.upsert([*reshape(own[: self._deleted]), own[self._deleted]])
        return other

    def lookup(self, keys: Sequence[pa.Array]) -> Positions:
        own = self._own.lookup(keys)
        found = self.base.lookup(keys) if self.base is not None else np.full(len(own), -1, np.int64)
        mine = np.flatnonzero(own >= 0)
        if len(mine):
            dead = self._is_deleted(own[mine])
            found = found.copy()
            found[mine] = np.where(dead, -1, own[mine] + OWN)
        return found

    def matches(self, index: int, keys: Sequence[pa.Array]) -> tuple[Positions, Positions]:
        probe, found = self._own.matches(index, keys)
        live = ~self._is_deleted(found)
        probe, found = probe[live], found[live] + OWN
        if self.base is None:
            return probe, found
        base_probe, base_found = self.base.matches(index, keys)
        untouched = self._own.lookup(self._keys_of(self.base.take(base_found))) < 0
        return (
            np.concatenate([base_probe[untouched], probe]),
            np.concatenate([base_found[untouched], found]),
        )

    def take(self, positions: Positions) -> Columns:
        own = positions >= OWN
        if self.base is None or own.all():
            return self._own.take(positions - OWN, range(self._deleted))
        if not own.any():
            return self.base.take(positions)
        mine = self._own.take(positions[own] - OWN, range(self._deleted))
        theirs = self.base.take(positions[~own])
        order = np.empty(len(positions), np.int64)
        order[~own] = np.arange(len(theirs[0]))
        order[own] = np.arange(len(mine[0])) + len(theirs[0])
        return take_all([pa.concat_arrays([a, b]) for a, b in zip(theirs, mine, strict=True)], order)

    def apply(self, changes: RowChanges) -> None:
        """Takes over what a statement of the transaction did."""
        self.on_conflict |= changes.on_conflict
        if len(changes.removed[0]):
            self._own.upsert([*changes.removed, pa.repeat(pa.scalar(True), len(changes.removed[0]))])
        if len(changes.inserted[0]):
            self._own.upsert([*changes.inserted, pa.repeat(pa.scalar(False), len(changes.inserted[0]))])

    def content(self) -> ZSet:
        """All rows as the transaction sees them."""
        return concat(self.table.schema, list(self.parts()))

    def parts(self) -> Iterator[ZSet]:
        """The same in parts, the transaction's own rows last."""
        for theirs, _ in self.base.parts() if self.base is not None else ():
            untouched = self._own.lookup(self._keys_of(theirs)) < 0
            rows = theirs if untouched.all() else take_all(theirs, np.flatnonzero(untouched))
            yield ZSet.inserts(self.table.schema, rows)
        own, _ = self._own.scan()
        live = ~_bools(own[self._deleted])
        mine = own[: self._deleted] if live.all() else take_all(own[: self._deleted], np.flatnonzero(live))
        yield ZSet.inserts(self.table.schema, mine)

    def touched(self) -> tuple[Columns, Columns, Columns]:
        """(keys touched, the snapshot's rows of them, the transaction's rows of them)."""
        own, _ = self._own.scan()
        keys = self._keys_of(own)
        live = np.flatnonzero(~_bools(own[self._deleted]))
        mine = take_all(own[: self._deleted], live)
        if self.base is None:
            return keys, [column.slice(0, 0) for column in mine], mine
        found = self.base.lookup(keys)
        return keys, self.base.take(found[found >= 0]), mine

    def _keys_of(self, columns: Sequence[pa.Array]) -> Columns:
        assert self.table.key is not None
        return [columns[i] for i in self.table.key]

    def _is_deleted(self, positions: Positions) -> npt.NDArray[np.bool_]:
        return _bools(self._own.take(positions, [self._deleted])[0])


def _scratch(table: Table, schema: Schema) -> StateTable:
    """An empty table of the rows `schema`, keyed and indexed as `table` is."""
    indexes = tuple(unique.columns for unique in table.uniques)
    scratch = StateTable(f"{table.id}/overlay", TableSpec(schema, table.key, indexes))
    scratch.begin(1)
    return scratch


def _bools(column: pa.Array) -> npt.NDArray[np.bool_]:
    return column.to_numpy(zero_copy_only=False).astype(np.bool_)


def same_rows(
    table: Table, left: Sequence[pa.Array], right: Sequence[pa.Array], beside: frozenset[str]
) -> bool:
    """Whether two lists of rows are the same rows in the same order, but for the columns `beside`."""
    if len(left[0]) != len(right[0]):
        return False
    places = [i for i, column in enumerate(table.schema) if column.name not in beside]
    types = [table.schema[i].type for i in places]
    mine, other = ([rows[i] for i in places] for rows in (left, right))
    return encode_keys(mine, types).to_bytes_list() == encode_keys(other, types).to_bytes_list()
