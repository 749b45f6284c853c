"""Integrating a delta into a state table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_rows
from .change import Change, DistinctRows
from .errors import InternalError
from .index import Entries
from .keycode import Keys, encode_keys, group_ids
from .tablespec import Int64Array, Positions, TableSpec
from .types import INT4, INT8, TEXT, UUID, Type
from .versions import ALIVE, NOW, GrowingRows, consecutive

SPARSE = 256
"""Entries of an index for each one given, beyond which these are sorted: an array of all would cost more."""

_NONE = np.empty(0, np.int64)
_FIRST = np.zeros(1, np.int64)


class _Table(Protocol):
    name: str
    spec: TableSpec

    def upsert(self, columns: Sequence[pa.Array], weights: Int64Array | None = None) -> Positions: ...
    def upsert_entered(
        self, columns: Sequence[pa.Array], weights: Int64Array | None, entries: Entries
    ) -> Positions: ...
    def delete(self, positions: Positions) -> None: ...


def apply_delta(
    table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array, exact: bool
) -> Change:
    """`StateTable.apply`."""
    nonzero = None
    if not weights.all():
        nonzero = np.flatnonzero(weights)
        columns, weights = _take(columns, nonzero), weights[nonzero]
    if not len(weights):
        return Change(rows, _NONE, _NONE, _NONE, _NONE, True, DistinctRows(_NONE, _NONE, _NONE))
    if table.spec.bag:
        return _apply_bag(table, rows, columns, weights, nonzero)
    return _apply_keyed(table, rows, columns, weights, exact)


def _take(columns: Sequence[pa.Array], places: Positions) -> Sequence[pa.Array]:
    if consecutive(places):
        start, count = int(places[0]), len(places)
        return [column.slice(start, count) for column in columns]
    indices = pa.array(places)
    return [column.take(indices) for column in columns]


def _upsert(
    table: _Table,
    columns: Sequence[pa.Array],
    weights: Int64Array | None,
    entries: Entries,
    places: Positions,
) -> Positions:
    """Upserts the rows at `places`."""
    if not len(places):
        return _NONE
    return table.upsert_entered(_take(columns, places), weights, entries[places])


# -- bags


def _net(keys: Keys, weights: Int64Array) -> tuple[Positions, Int64Array]:
    """The first row of each distinct key, and the sum of its weights."""
    if keys.length == 1:
        return np.zeros(1, np.int64), weights
    ids, first = group_ids(keys)
    if len(first) == keys.length:
        return first, weights
    net = np.zeros(len(first), np.int64)
    np.add.at(net, ids, weights)
    return first, net


def group_entries(entries: Entries) -> tuple[Int64Array, Positions]:
    """(group of each entry, first place of each group): equal entries are equal keys, without hashing."""
    highest = int(entries.max(initial=-1))
    if highest > SPARSE * len(entries):
        _, first, ids = np.unique(entries, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return np.argsort(order)[ids], first[order]
    ids, first = np.empty(len(entries), np.int64), np.empty(len(entries), np.int64)
    numbers = np.zeros(highest + 1, np.int32)
    return ids, first[: kernels_rows.group_entries(entries, numbers, ids, first)]


def _apply_bag(
    table: _Table,
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    weights: Int64Array,
    nonzero: Positions | None,
) -> Change:
    """`nonzero`: where in the delta these rows are, None if they are all of it."""
    entries = rows.enter(columns, len(weights))
    old = rows.primary.plan_bag(entries, rows.died)
    simple = old is not None
    if old is None:
        ids, first = group_entries(entries)
        entries, net = entries[first], np.zeros(len(first), np.int64)
        np.add.at(net, ids, weights)
        old = rows.primary.latest(entries, rows.died, rows.limit, NOW)
    else:
        first, net = np.arange(len(weights)), weights
    had = rows.weights(old)
    left = had + net
    if (left < 0).any():
        raise InternalError(f'table "{table.name}": a row goes more often than it came')
    grew, shrank = net > 0, net < 0
    kept = np.flatnonzero((left > 0) & (net != 0))
    new = np.full(len(first), -1, np.int64)
    if len(kept):
        new[kept] = table.upsert_entered(_take(columns, first[kept]), left[kept], entries[kept])
    table.delete(old[shrank & (left == 0)])
    distinct = DistinctRows(first if nonzero is None else nonzero[first], net, had)
    return Change(rows, old[shrank], -net[shrank], new[grew], net[grew], simple, distinct)


# -- keyed tables


def _apply_keyed(
    table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array, exact: bool
) -> Change:
    schema = table.spec.schema
    given = len(weights)
    plan = _plan(rows, columns, weights, None, exact)
    for types in () if plan else (tuple(map(_image, schema.types)), schema.types):
        columns, weights = _consolidated(columns, weights, types)
        if not len(weights):
            return Change(rows, _NONE, _NONE, _NONE, _NONE)
        plan = _plan(rows, columns, weights, schema.types, False)
        if plan is not None:
            break
    if plan is None:
        raise InternalError(
            f'table "{table.name}": a second row of a key came, or a row went that was not there'
        )
    entries, coming, removed = plan
    inserted = _upsert(table, columns, None, entries, coming)
    if len(removed):
        table.delete(removed[rows.died[removed] == ALIVE])
    ones = np.ones(max(len(removed), len(inserted)), np.int64)
    simple = len(weights) == given
    return Change(rows, removed, ones[: len(removed)], inserted, ones[: len(inserted)], simple)


def _plan(
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    weights: Int64Array,
    types: tuple[Type, ...] | None,
    exact: bool,
) -> tuple[Entries, Positions, Positions] | None:
    """(entries of the delta's rows, which of them to upsert, positions of rows going), or None if not simple.

    It is if each key has at most one row coming and one going, the one going is the live row, and
    nothing comes on top of a live row. Rows are compared by their bits, or by value given their `types`,
    or not at all (`exact`).
    """
    entries = rows.enter(columns, len(weights))
    old = rows.primary.plan_keyed(entries, weights, rows.died)
    if old is None:
        return None
    if len(weights) == 1:
        coming, going = (_FIRST, _NONE) if weights[0] > 0 else (_NONE, _FIRST)
    else:
        coming, going = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
    removed = old[going]
    if len(going) and not exact and not _equal(rows, columns, going, removed, types):
        return None
    return entries, coming, removed


def _equal(
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    places: Positions,
    positions: Positions,
    types: tuple[Type, ...] | None,
) -> bool:
    """Whether the delta rows at `places` are the stored rows at `positions`."""
    given = _take(columns, places)
    stored = rows.take(positions)
    if types is None:
        return all(a.equals(b) for a, b in zip(given, stored, strict=True))
    a, b = encode_keys(given, types, len(places)), encode_keys(stored, types, len(places))
    return _same_bytes(a.data, b.data) and _same_bytes(a.offsets, b.offsets)


def _same_bytes(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> bool:
    return len(a) == len(b) and bool((a == b).all())


def _consolidated(
    columns: Sequence[pa.Array], weights: Int64Array, types: Sequence[Type]
) -> tuple[Sequence[pa.Array], Int64Array]:
    """The delta with rows that are equal as `types` added up."""
    given = [
        column.view(type_.arrow) if pa.types.is_floating(column.type) else column
        for column, type_ in zip(columns, types, strict=True)
    ]
    first, net = _net(encode_keys(given, types, len(weights)), weights)
    kept = np.flatnonzero(net)
    return _take(columns, first[kept]), net[kept]


def _image(type_: Type) -> Type:
    """The type as which values are equal only when they look the same: 1.0 is not 1.00.

    An update that changes no more than the looks is still an update.
    """
    if pa.types.is_string(type_.arrow):
        return TEXT
    return {"float4": INT4, "float8": INT8, "interval": UUID}.get(type_.name, type_)
