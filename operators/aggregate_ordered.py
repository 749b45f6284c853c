"""Aggregates that need the values of a group: min and max, and those over an ordered list of them.

Derivation: a table keeps the bag of values of each group. `ListMeasure` (string_agg, array_agg,
percentiles …) computes a touched group again from its values. `ExtremeMeasure` (min, max) keeps the
extreme in the group's row: values that come can only improve it, values that go matter only when they
equal it, and only then is the group looked at again. Over an append-only input it needs no values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.keycode import encode_sort_keys
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8, Type
from .aggregate_calls import AggregateCall, Groups, MeasureContext, Rows, value_schema
from .aggregate_linear import merge_known
from .batch import Int64Array, gather, group_rows


@dataclass(slots=True)
class GroupValues:
    """The bag of values of each group: group columns, then value columns."""

    table: StateTable
    width: int
    """Number of group columns."""

    def apply(self, rows: Rows, groups: Groups) -> None:
        """Takes in a consolidated delta."""
        if len(rows.weights):
            self.table.apply([*gather(groups.keys, rows.ids), *rows.columns], rows.weights)

    def of(self, keys: Sequence[pa.Array], count: int) -> Rows:
        """All values of the groups with these keys, numbered 0 … count−1."""
        ids, positions = self.table.matches(0, keys, True, count)
        columns = range(self.width, len(self.table.spec.schema))
        return Rows(self.table.take(positions, columns), self.table.weights(positions), ids)


def open_values(place: MeasureContext, types: Sequence[Type]) -> GroupValues | None:
    """The values table of a call, None for the plain form."""
    if place.context is None:
        return None
    width = len(place.keys)
    spec = TableSpec(value_schema(place.keys, types), None, (tuple(range(width)),))
    return GroupValues(place.context.table(f"values{place.number}", spec), width)


def without_nulls(call: AggregateCall, rows: Rows) -> Rows:
    """The rows whose value is not NULL, if the function skips NULLs."""
    if not call.function.skips_null or not rows.columns:
        return rows
    value = rows.columns[call.function.value_argument]
    if not value.null_count:
        return rows
    return rows.take(np.flatnonzero(value.is_valid().to_numpy(zero_copy_only=False)))


@dataclass(slots=True)
class ExtremeMeasure:
    """min and max. `values` None: the input only grows."""

    call: AggregateCall
    types: tuple[Type, ...]
    accumulators: tuple[Type, ...]
    values: GroupValues | None

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        rows = without_nulls(self.call, rows)
        if self.values is None:
            return merge_known(self.call, old, self._partial(rows, groups.count), groups.known, self.types)
        rows = rows.consolidated(self.types)
        self.values.apply(rows, groups)
        came = rows.take(np.flatnonzero(rows.weights > 0))
        part = self._partial(came, groups.count)
        state = merge_known(self.call, old, part, groups.known, self.types)
        went = rows.take(np.flatnonzero(rows.weights < 0))
        lost = self._lost(went, groups, old) if len(went.weights) else []
        return self._again(state, groups, np.asarray(lost, np.int64)) if len(lost) else state

    def _partial(self, rows: Rows, groups: int) -> list[pa.Array]:
        return self.call.function.partial(rows.columns, np.abs(rows.weights), rows.ids, groups, self.types)

    def _lost(self, went: Rows, groups: Groups, old: list[pa.Array]) -> Int64Array:
        """The groups whose old extreme is among the values that went."""
        best = self._partial(went, groups.count)[0].slice(0, groups.known)
        ids, _ = group_rows([pa.concat_arrays([old[0], best])], self.accumulators, 2 * groups.known)
        touched = np.zeros(groups.count, np.bool_)
        touched[went.ids] = True
        same = ids[: groups.known] == ids[groups.known :]
        # A group that has no row yet has no extreme to lose: its values must be looked at all the same.
        return np.flatnonzero(
            touched & np.concatenate([same, np.ones(groups.count - groups.known, np.bool_)])
        )

    def _again(self, state: list[pa.Array], groups: Groups, lost: Int64Array) -> list[pa.Array]:
        """The state with the extremes of some groups computed from their values."""
        assert self.values is not None
        rows = self.values.of(gather(groups.keys, lost), len(lost))
        rows = rows.take(np.flatnonzero(rows.weights > 0))
        return [replaced(state[0], lost, self._partial(rows, len(lost))[0])]

    def finish(self, state: Sequence[pa.Array]) -> pa.Array:
        return self.call.function.finish(state, self.types)

    def whole(self, rows: Rows, groups: int) -> pa.Array:
        return self.finish(self._partial(without_nulls(self.call, rows), groups))


@dataclass(slots=True)
class ListMeasure:
    """An aggregate over the ordered values of a group; the group's row keeps the result."""

    call: AggregateCall
    types: tuple[Type, ...]
    order_types: tuple[Type, ...]
    accumulators: tuple[Type, ...]
    values: GroupValues | None

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        assert self.values is not None
        rows = without_nulls(self.call, rows).consolidated((*self.types, *self.order_types))
        self.values.apply(rows, groups)
        touched = np.zeros(groups.count, np.bool_)
        touched[rows.ids] = True
        touched[groups.known :] = True
        again = np.flatnonzero(touched)
        if not len(again):
            return old
        result = self._result(self.values.of(gather(groups.keys, again), len(again)), len(again))
        if len(again) == groups.count:
            return [result]
        state = pa.concat_arrays([old[0], pa.nulls(groups.count - groups.known, result.type)])
        return [replaced(state, again, result)]

    def _result(self, rows: Rows, groups: int) -> pa.Array:
        """The function over all values of each group, in the call's order."""
        rows = rows.take(np.flatnonzero(rows.weights > 0))
        rows = rows.take(self._order(rows))
        weights = np.ones_like(rows.weights) if self.call.distinct else rows.weights
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows.ids, minlength=groups))]).astype(np.int64)
        arguments = rows.columns[: len(self.types)]
        return self.call.function.whole(arguments, weights, offsets, self.types)

    def _order(self, rows: Rows) -> Int64Array:
        """By group, then the call's ORDER BY, then the arguments."""
        split = len(self.types)
        columns = [pa.array(rows.ids), *rows.columns[split:], *rows.columns[:split]]
        order, plain = self.call.order, [False] * split
        descending = [False, *(key.descending for key in order), *plain]
        nulls_first = [False, *(key.nulls_first for key in order), *plain]
        types = (INT8, *self.order_types, *self.types)
        return encode_sort_keys(columns, types, descending, nulls_first, len(rows.weights)).sort_order()

    def finish(self, state: Sequence[pa.Array]) -> pa.Array:
        return state[0]

    def whole(self, rows: Rows, groups: int) -> pa.Array:
        rows = without_nulls(self.call, rows)
        if self.call.distinct:
            rows = rows.consolidated((*self.types, *self.order_types))
        return self._result(rows, groups)


def replaced(array: pa.Array, positions: Int64Array, values: pa.Array) -> pa.Array:
    """`array` with other values at `positions`."""
    indices = np.arange(len(array))
    indices[positions] = len(array) + np.arange(len(positions))
    return pa.concat_arrays([array, values]).take(pa.array(indices))


def open_ordered(call: AggregateCall, place: MeasureContext) -> ExtremeMeasure | ListMeasure:
    """`call` at work, with the table of its values."""
    types = call.types
    if call.function.monotone:
        values = None if place.append_only else open_values(place, types)
        return ExtremeMeasure(call, types, call.function.accumulators(types), values)
    order_types = tuple(place.input[key.column].type for key in call.order)
    values = open_values(place, (*types, *order_types))
    return ListMeasure(call, types, order_types, (call.type,), values)
