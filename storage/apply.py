"""Integrating a delta into a state table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .change import Change
from .errors import InternalError
from .keycode import Keys, encode_keys, group_ids
from .tablespec import Int64Array, Positions, TableSpec
from .types import INT4, INT8, TEXT, UUID, Type
from .versions import GrowingRows, consecutive

_NONE = np.empty(0, np.int64)
_FIRST = np.zeros(1, np.int64)


class _Table(Protocol):
    name: str
    spec: TableSpec

    def upsert(self, columns: Sequence[pa.Array], weights: Int64Array | None = None) -> Positions: ...
    def upsert_encoded(
        self, columns: Sequence[pa.Array], weights: Int64Array | None, keys: Keys
    ) -> Positions: ...
    def delete(self, positions: Positions) -> None: ...


def apply_delta(table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array) -> Change:
    """`StateTable.apply`."""
    if not weights.all():
        nonzero = np.flatnonzero(weights)
        columns, weights = _take(columns, nonzero), weights[nonzero]
    if not len(weights):
        return Change(rows, _NONE, _NONE, _NONE, _NONE)
    if table.spec.bag:
        return _apply_bag(table, rows, columns, weights)
    return _apply_keyed(table, rows, columns, weights)


def _take(columns: Sequence[pa.Array], places: Positions) -> Sequence[pa.Array]:
    if consecutive(places):
        start, count = int(places[0]), len(places)
        return [column.slice(start, count) for column in columns]
    indices = pa.array(places)
    return [column.take(indices) for column in columns]


def _upsert(
    table: _Table, columns: Sequence[pa.Array], weights: Int64Array | None, keys: Keys, places: Positions
) -> Positions:
    """Upserts the rows at `places`, whose keys need no second encoding if they are consecutive."""
    chosen = _take(columns, places)
    if consecutive(places):
        return table.upsert_encoded(chosen, weights, keys.slice(int(places[0]), len(places)))
    return table.upsert(chosen, weights) if len(places) else _NONE


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


def _apply_bag(table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array) -> Change:
    keys = rows.encode_rows(columns, len(weights))
    first, net = _net(keys, weights)
    old = rows.lookup_encoded(keys)[first]
    had = rows.weights(old)
    left = had + net
    if (left < 0).any():
        raise InternalError(f'table "{table.name}": a row goes more often than it came')
    grew, shrank = net > 0, net < 0
    kept = np.flatnonzero((left > 0) & (net != 0))
    new = np.full(len(first), -1, np.int64)
    new[kept] = _upsert(table, columns, left[kept], keys, first[kept])
    table.delete(old[shrank & (left == 0)])
    return Change(rows, old[shrank], -net[shrank], new[grew], net[grew])


# -- keyed tables


def _apply_keyed(
    table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array
) -> Change:
    schema = table.spec.schema
    plan = _plan(rows, columns, weights, None)
    for types in () if plan else (tuple(map(_image, schema.types)), schema.types):
        columns, weights = _consolidated(columns, weights, types)
        if not len(weights):
            return Change(rows, _NONE, _NONE, _NONE, _NONE)
        plan = _plan(rows, columns, weights, schema.types)
        if plan is not None:
            break
    if plan is None:
        raise InternalError(
            f'table "{table.name}": a second row of a key came, or a row went that was not there'
        )
    keys, coming, removed, going = plan
    inserted = _upsert(table, columns, None, keys, coming)
    table.delete(going)
    ones = np.ones(max(len(removed), len(inserted)), np.int64)
    return Change(rows, removed, ones[: len(removed)], inserted, ones[: len(inserted)])


def _plan(
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    weights: Int64Array,
    types: tuple[Type, ...] | None,
) -> tuple[Keys, Positions, Positions, Positions] | None:
    """(keys, delta rows to upsert, positions of rows going, those not replaced), or None if not simple.

    It is if each key has at most one row coming and one going, the one going is the live row, and
    nothing comes on top of a live row. Rows are compared by their bits, or by value given their `types`.
    """
    if (np.abs(weights) != 1).any():
        return None
    keys = rows.encode_rows(columns, len(weights))
    old = rows.lookup_encoded(keys)
    if len(weights) == 1:
        return _plan_one(rows, columns, int(weights[0]), keys, old, types)
    plus = weights > 0
    ids, first = group_ids(keys)
    if not _once(ids[plus], len(first)) or not _once(ids[~plus], len(first)):
        return None
    minus = np.flatnonzero(~plus)
    has_minus = np.zeros(len(first), np.bool_)
    has_minus[ids[minus]] = True
    if ((old[first] >= 0) != has_minus).any():
        return None
    if len(minus) and not _equal(rows, columns, minus, old[minus], types):
        return None
    has_plus = np.zeros(len(first), np.bool_)
    has_plus[ids[plus]] = True
    removed = old[minus]
    return keys, np.flatnonzero(plus), removed, removed[~has_plus[ids[minus]]]


def _plan_one(
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    weight: int,
    keys: Keys,
    old: Positions,
    types: tuple[Type, ...] | None,
) -> tuple[Keys, Positions, Positions, Positions] | None:
    """`_plan` of a single row, at a third of the cost."""
    if weight > 0:
        return (keys, _FIRST, _NONE, _NONE) if old[0] < 0 else None
    if old[0] < 0 or not _equal(rows, columns, _FIRST, old, types):
        return None
    return keys, _NONE, old, old


def _once(ids: Positions, groups: int) -> bool:
    if len(ids) < 2:
        return True
    if len(ids) > groups:
        return False
    return bool(np.bincount(ids, minlength=1).max() <= 1)


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
