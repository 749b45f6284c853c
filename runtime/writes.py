"""INSERT, UPDATE and DELETE: from the rows a `TableWrite` yields to a checked change of one table.

Nothing is applied here. `evaluate_write` sees the table through `TableAccess` (the engine's own table, or a
transaction's overlay), checks NOT NULL, CHECK, PRIMARY KEY and UNIQUE as PostgreSQL does, and returns
the rows that go and the rows that come. A statement that fails has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.evaluate import evaluate, predicate_mask
from ..operators.expr import Expr
from ..operators.flow import flow
from ..operators.node import EpochContext, Node
from ..operators.scan import Scan
from ..operators.zset import ZSet, concat
from ..planner.dml import ConflictAction, TableWrite, WriteKind
from ..sql.entries import Table
from ..storage.errors import CardinalityViolation, OutOfMemory, UniqueViolation
from ..storage.keycode import encode_keys
from ..storage.keys import group_ids
from .conflicts import existing_rows, first_of_each, rows_without_conflict
from .constraints import check_rows, key_detail

Positions = npt.NDArray[np.int64]
Columns = list[pa.Array]


class TableAccess(Protocol):
    """The current rows of one table, by key. Positions are valid until the next write."""

    def lookup(self, keys: Sequence[pa.Array]) -> Positions:
        """Position of each primary key, −1 where there is no such row."""
        ...

    def matches(self, index: int, keys: Sequence[pa.Array]) -> tuple[Positions, Positions]:
        """(probe row, position) of every row with these values of UNIQUE constraint number `index`."""
        ...

    def take(self, positions: Positions) -> Columns:
        """Whole rows."""
        ...


@dataclass(slots=True)
class RowChanges:
    """What one statement does to one table: rows that go, rows that come, and its answer."""

    table: Table
    removed: Columns
    inserted: Columns
    affected: int
    returning: Columns | None = None
    origins: Positions | None = None
    """The row of the write's node that each affected row is of; None: they are the same rows, in order."""
    on_conflict: bool = False
    """Whether the statement says what is to be done when a key is there already."""


@dataclass(slots=True)
class _Batch:
    removed: Columns
    inserted: Columns
    result: Columns
    """The rows as RETURNING's expressions expect them."""
    affected: int
    origins: Positions | None = None


def written_rows(node: Node, inputs: Callable[[Scan], ZSet], context: EpochContext, bytes_max: int) -> ZSet:
    """What the node of a write yields, kept once. Raises OutOfMemory as soon as it is beyond `bytes_max`."""
    parts: list[ZSet] = []
    held = 0
    for piece in flow(node, inputs, context):
        held += bytes_of(piece.columns)
        refuse_beyond(held, bytes_max)
        parts.append(piece)
    return parts[0] if len(parts) == 1 else concat(node.schema, parts)


def bytes_of(columns: Sequence[pa.Array]) -> int:
    return sum(column.nbytes for column in columns)


def refuse_beyond(held: int, bytes_max: int) -> None:
    """The bound of what one statement, or one open transaction, writes. Raises OutOfMemory."""
    if held > bytes_max:
        raise OutOfMemory(
            "out of memory",
            detail=f"Writing more than {bytes_max >> 20} MB in one transaction is refused.",
            hint="Write the rows in several transactions, or start the server with a larger --write-mb-max.",
        )


def evaluate_write(
    write: TableWrite,
    rows: ZSet,
    access: TableAccess,
    context: EpochContext,
    draw_row_ids: Callable[[int], int],
) -> RowChanges:
    """The change that `write` makes, given the `rows` its node yields.

    `draw_row_ids(n)` gives the first of n fresh values for a hidden row id.
    Raises the constraint's error (class 23), or 21000.
    """
    columns = _expand(rows)
    if write.kind is WriteKind.INSERT:
        batch = _insert(write, columns, access, context, draw_row_ids)
    elif write.kind is WriteKind.UPDATE:
        batch = _update(write, columns, access, context)
    else:
        batch = _delete(write, columns)
    returning = None
    if write.returning is not None:
        returning = evaluate_all(write.returning, batch.result, context)
    return RowChanges(
        write.table, batch.removed, batch.inserted, batch.affected, returning, batch.origins,
        write.conflict is not None,
    )  # fmt: skip


def _expand(rows: ZSet) -> Columns:
    """Rows with weight n appear n times."""
    if len(rows) == 0 or (rows.weights == 1).all():
        return list(rows.columns)
    assert (rows.weights >= 0).all()
    return take_all(rows.columns, np.repeat(np.arange(len(rows)), rows.weights))


def take_all(columns: Sequence[pa.Array], positions: npt.NDArray[np.int64] | npt.NDArray[np.intp]) -> Columns:
    indices = pa.array(positions)
    return [column.take(indices) for column in columns]


def evaluate_all(exprs: Sequence[Expr], columns: Columns, context: EpochContext) -> Columns:
    length = len(columns[0])
    return [evaluate(expr, columns, length, context) for expr in exprs]


def _keys(table: Table, columns: Columns) -> Columns:
    assert table.key is not None
    return [columns[i] for i in table.key]


def _insert(
    write: TableWrite,
    columns: Columns,
    access: TableAccess,
    context: EpochContext,
    draw_row_ids: Callable[[int], int],
) -> _Batch:
    table = write.table
    count = len(columns[0])
    columns = with_row_ids(table, columns, count, draw_row_ids)
    check_rows(table, columns, context)
    if write.conflict is not None:
        return _insert_on_conflict(write, write.conflict, columns, access, context)
    refuse_existing_keys(table, columns, access)
    _refuse_duplicates(table, columns, access, replaced=None)
    return _Batch(_none(columns), columns, columns, count)


def with_row_ids(table: Table, columns: Columns, count: int, draw: Callable[[int], int]) -> Columns:
    """The hidden row id of a table without primary key, drawn for every row."""
    hidden = [i for i, column in enumerate(table.schema) if column.hidden]
    if not hidden or not count:
        return columns
    columns = list(columns)
    first = draw(count)
    columns[hidden[0]] = pa.array(np.arange(first, first + count))
    return columns


def refuse_existing_keys(table: Table, columns: Columns, access: TableAccess) -> None:
    """PRIMARY KEY: neither twice among the new rows nor already there."""
    keys = _keys(table, columns)
    count = len(columns[0])
    if count == 0:
        return
    if count > 1:
        _refuse_repeated(table, table.primary_key_name, table.key or (), keys)
    found = np.flatnonzero(access.lookup(keys) >= 0)
    if len(found):
        raise _duplicate_key(table, table.primary_key_name, table.key or (), keys, int(found[0]))


def _refuse_repeated(table: Table, name: str, positions: Sequence[int], keys: Columns) -> None:
    types = [table.schema[i].type for i in positions]
    ids, first = group_ids(encode_keys(keys, types))
    if len(first) < len(ids):
        repeated = np.flatnonzero(first[ids] != np.arange(len(ids)))
        raise _duplicate_key(table, name, positions, keys, int(repeated[0]))


def _refuse_duplicates(
    table: Table, columns: Columns, access: TableAccess, replaced: Positions | None
) -> None:
    """UNIQUE constraints; a NULL is unique always. Rows at `replaced` are about to go and do not count."""
    for number, unique in enumerate(table.uniques):
        keys = [columns[i] for i in unique.columns]
        whole = np.ones(len(columns[0]), np.bool_)
        for key in keys:
            if key.null_count:
                whole &= key.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(whole)
        if not len(rows):
            continue
        keys = take_all(keys, rows)
        if len(rows) > 1:
            _refuse_repeated(table, unique.name, unique.columns, keys)
        probe, found = access.matches(number, keys)
        if replaced is not None and len(found):
            probe = probe[~np.isin(found, replaced)]
        if len(probe):
            raise _duplicate_key(table, unique.name, unique.columns, keys, int(probe[0]))


def _duplicate_key(
    table: Table, name: str, positions: Sequence[int], keys: Columns, row: int
) -> UniqueViolation:
    return UniqueViolation(
        f'duplicate key value violates unique constraint "{name}"',
        detail=key_detail(table, positions, keys, row),
        schema=table.schema_name,
        table=table.name,
        constraint=name,
    )


def _insert_on_conflict(
    write: TableWrite, action: ConflictAction, columns: Columns, access: TableAccess, context: EpochContext
) -> _Batch:
    table = write.table
    if not len(columns[0]):
        return _Batch(_none(columns), columns, columns, 0)
    if action.update is None:
        free = rows_without_conflict(table, columns, access, action.arbiter)
        kept = take_all(columns, free)
        refuse_existing_keys(table, kept, access)
        _refuse_duplicates(table, kept, access, replaced=None)
        return _Batch(_none(kept), kept, kept, len(kept[0]), free)
    assert action.arbiter is not None
    existing = existing_rows(table, columns, access, action.arbiter)
    if not first_of_each(table, columns, action.arbiter).all():
        raise CardinalityViolation(
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
            hint="Ensure that no rows proposed for insertion within the same command have duplicate "
            "constrained values.",
        )
    return _upsert(write, action, columns, existing, access, context)


def _upsert(
    write: TableWrite,
    action: ConflictAction,
    columns: Columns,
    existing: Positions,
    access: TableAccess,
    context: EpochContext,
) -> _Batch:
    """ON CONFLICT DO UPDATE: rows without conflict are inserted, the others updated where `where` holds."""
    assert action.update is not None
    clashing = np.flatnonzero(existing >= 0)
    old = access.take(existing[clashing])
    both = old + take_all(columns, clashing)
    if action.where is not None and len(clashing):
        mask = predicate_mask(action.where, both, len(clashing), context)
        clashing, old = clashing[mask], take_all(old, np.flatnonzero(mask))
        both = old + take_all(columns, clashing)
    updated = evaluate_all(action.update, both, context) if len(clashing) else _none(columns)
    check_rows(write.table, updated, context)
    new = np.flatnonzero(existing < 0)
    fresh = take_all(columns, new)
    inserted = [pa.concat_arrays([a, b]) for a, b in zip(fresh, updated, strict=True)]
    _refuse_moved_keys(write.table, old, inserted, access)
    _refuse_duplicates(write.table, inserted, access, replaced=existing[clashing])
    return _Batch(old, inserted, inserted, len(inserted[0]), np.concatenate([new, clashing]))


def _update(write: TableWrite, columns: Columns, access: TableAccess, context: EpochContext) -> _Batch:
    table = write.table
    width = len(table.schema)
    columns = _first_of_each_row(table, columns)
    old, new = columns[:width], columns[width : 2 * width]
    check_rows(table, new, context)
    _refuse_moved_keys(table, old, new, access)
    if table.uniques and len(old[0]):
        _refuse_duplicates(table, new, access, replaced=access.lookup(_keys(table, old)))
    return _Batch(old, new, columns, len(old[0]))


def _first_of_each_row(table: Table, columns: Columns) -> Columns:
    """A row that the FROM items matched several times is changed once, by its first match."""
    if len(columns[0]) < 2:
        return columns
    keys = _keys(table, columns)
    ids, first = group_ids(encode_keys(keys, [table.schema[i].type for i in table.key or ()]))
    return columns if len(first) == len(ids) else take_all(columns, first)


def _refuse_moved_keys(table: Table, old: Columns, new: Columns, access: TableAccess) -> None:
    """PRIMARY KEY of changed rows: a key may only be one that nothing else has once `old` is gone."""
    if not len(new[0]):
        return
    keys = _keys(table, new)
    if len(new[0]) > 1:
        _refuse_repeated(table, table.primary_key_name, table.key or (), keys)
    found = access.lookup(keys)
    going = access.lookup(_keys(table, old)) if len(old[0]) else np.empty(0, np.int64)
    clash = np.flatnonzero((found >= 0) & ~np.isin(found, going))
    if len(clash):
        raise _duplicate_key(table, table.primary_key_name, table.key or (), keys, int(clash[0]))


def _delete(write: TableWrite, columns: Columns) -> _Batch:
    columns = _first_of_each_row(write.table, columns)
    old = columns[: len(write.table.schema)]
    return _Batch(old, _none(old), columns, len(old[0]))


def _none(columns: Columns) -> Columns:
    return [column.slice(0, 0) for column in columns]
