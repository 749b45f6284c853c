"""Integrating a delta into a state table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_bag, kernels_rows
from .change import Change, DistinctRows
from .errors import InternalError
from .index import Entries
from .keycode import encode_keys, joined_keys
from .keys import Keys, group_ids
from .looks import looks
from .tablespec import Int64Array, Positions, TableSpec
from .types import Type
from .version_rows import ALIVE, consecutive
from .versions import GrowingRows

SPARSE = 256
"""Entries of an index for each one given, beyond which these are sorted: an array of all would cost more."""

_NONE = np.empty(0, np.int64)
_FIRST = np.zeros(1, np.int64)
_NO_ROWS = DistinctRows(_NONE, _NONE, _NONE)


@dataclass(frozen=True, slots=True)
class NumberedKeys:
    """Different keys, and the number of that of each row of a delta. Every key has a row."""

    keys: Sequence[pa.Array]
    count: int
    ids: Int64Array


class _Table(Protocol):
    name: str
    spec: TableSpec

    def upsert(self, columns: Sequence[pa.Array], weights: Int64Array | None = None) -> Positions: ...
    def upsert_entered(
        self,
        columns: Sequence[pa.Array],
        weights: Int64Array | None,
        entries: Entries,
        chains: Entries | None = None,
    ) -> Positions: ...
    def delete(self, positions: Positions, entries: Entries | None = None) -> None: ...


def apply_delta(
    table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array, exact: bool
) -> Change:
    """`StateTable.apply`."""
    columns, weights, nonzero = _nonzero(columns, weights)
    if not len(weights):
        return Change(rows, _NONE, _NONE, _NONE, _NONE, True, _NO_ROWS)
    if table.spec.bag:
        return _integrated(table, rows, columns, weights, None).change(rows, nonzero)
    return _apply_keyed(table, rows, columns, weights, exact)


def _nonzero(
    columns: Sequence[pa.Array], weights: Int64Array
) -> tuple[Sequence[pa.Array], Int64Array, Positions | None]:
    """A delta without rows of weight 0, and where its rows were, None if it is all of them."""
    if weights.all():
        return columns, weights, None
    places = np.flatnonzero(weights)
    return _take(columns, places), weights[places], places


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


@dataclass(frozen=True, slots=True)
class _BagDelta:
    """A delta that a bag has taken in."""

    distinct: DistinctRows
    old: Positions
    """The live row before of each distinct row, −1 if there was none."""
    new: Positions
    """The rows written, in this order."""
    simple: bool
    """Whether no row occurs twice."""

    def within(self, nonzero: Positions | None) -> DistinctRows:
        """`distinct` of the delta whose rows at `nonzero` this is of, None being all."""
        rows = self.distinct
        return rows if nonzero is None else replace(rows, places=nonzero[rows.places])

    def change(self, rows: GrowingRows, nonzero: Positions | None) -> Change:
        net = self.distinct.net
        grew, shrank = net > 0, net < 0
        written = net[(net != 0) & (self.distinct.before + net > 0)]
        inserted = self.new[written > 0]
        distinct = self.within(nonzero)
        return Change(rows, self.old[shrank], -net[shrank], inserted, net[grew], self.simple, distinct)


def integrate_bag(
    table: _Table,
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    weights: Int64Array,
    keys: NumberedKeys | None,
) -> DistinctRows:
    """`StateTable.integrate`."""
    columns, weights, nonzero = _nonzero(columns, weights)
    if not len(weights):
        return _NO_ROWS
    chains = encoded = None
    if keys is not None:
        ids = keys.ids if nonzero is None else keys.ids[nonzero]
        indexed = encode_keys(keys.keys, rows.index_types[0], keys.count)
        chains = rows.secondary[0].enter(indexed)[ids]
        width = len(rows.index_types[0])
        if width and rows.spec.indexes[0] == tuple(range(width)):
            encoded = joined_keys(indexed, ids, columns[width:], rows.key_types[width:])
    return _integrated(table, rows, columns, weights, chains, encoded).within(nonzero)


def _integrated(
    table: _Table,
    rows: GrowingRows,
    columns: Sequence[pa.Array],
    weights: Int64Array,
    chains: Entries | None,
    encoded: Keys | None = None,
) -> _BagDelta:
    """Takes at least one row into a bag, none of weight 0.

    `chains`: the entry of each in the only secondary index, and `encoded` the key of each, None if they are
    not known.
    """
    given = len(weights)
    weights = np.ascontiguousarray(weights)
    index, counts = rows.primary, rows.counts
    assert counts is not None
    made = index.count
    entries = rows.enter(columns, given) if encoded is None else index.enter(encoded)
    first, net, old, had = np.empty((4, given), np.int64)
    slots = np.zeros(2 << int(np.count_nonzero(entries < made)).bit_length(), np.int32)
    numbers = np.zeros(index.count - made, np.int32)
    count = kernels_bag.net_rows(
        entries, weights, made, index.head, rows.died, counts, slots, numbers, first, net, old, had
    )
    first, net, old, had = first[:count], net[:count], old[:count], had[:count]
    kept, left, gone = np.empty((3, count), np.int64)
    kept_entries, gone_entries = np.empty((2, count), np.int32)
    written, ended = kernels_bag.settle_rows(
        entries, first, net, old, had, kept, left, kept_entries, gone, gone_entries
    )
    if written < 0:
        raise InternalError(f'table "{table.name}": a row goes more often than it came')
    kept, new = kept[:written], _NONE
    if written:
        chosen = chains if chains is None or written == given else chains[kept]
        new = table.upsert_entered(_take(columns, kept), left[:written], kept_entries[:written], chosen)
    if ended:
        table.delete(gone[:ended], gone_entries[:ended])
    return _BagDelta(DistinctRows(first, net, had), old, new, count == given)


# -- keyed tables


def _apply_keyed(
    table: _Table, rows: GrowingRows, columns: Sequence[pa.Array], weights: Int64Array, exact: bool
) -> Change:
    schema = table.spec.schema
    given = len(weights)
    plan = _plan(rows, columns, weights, None, exact)
    for alike in () if plan else (True, False):
        columns, weights = _consolidated(columns, weights, schema.types, alike)
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


def _consolidated(
    columns: Sequence[pa.Array], weights: Int64Array, types: Sequence[Type], alike: bool
) -> tuple[Sequence[pa.Array], Int64Array]:
    """The delta with equal rows added up; `alike`: only those that look the same.

    An update that changes no more than the looks is still an update.
    """
    given, types = looks(columns, types) if alike else (columns, types)
    first, net = _net(encode_keys(given, types, len(weights)), weights)
    kept = np.flatnonzero(net)
    return _take(columns, first[kept]), net[kept]
