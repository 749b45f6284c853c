"""Aggregates that need the values of a group: min and max, and those over an ordered list of them.

Derivation: a table keeps the bag of values of each group (`aggregate_feed.GroupValues`). `ListMeasure`
(string_agg, array_agg, percentiles …) computes a touched group again from its values. `ExtremeMeasure`
(min, max) keeps the extreme in the group's row: values that come can only improve it, values that go
matter only when they equal it, and only then is the group looked at again. Over an append-only input it
needs no values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..storage.columns import GrowingColumn, GrowingFixed
from ..storage.keycode import encode_sort_keys
from ..storage.types import INT8, Type
from .aggregate_calls import AggregateCall, Groups, Rows, without_nulls
from .aggregate_feed import GroupValues
from .aggregate_linear import merge_known
from .batch import Int64Array, gather, group_rows


@dataclass(slots=True)
class ExtremeMeasure:
    """min and max. `values` None: the input only grows."""

    call: AggregateCall
    types: tuple[Type, ...]
    accumulators: tuple[Type, ...]
    values: GroupValues | None

    @property
    def result_at(self) -> int | None:
        return self.call.function.result_at

    @property
    def total(self) -> bool:
        return self.call.function.total

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        improve = self.call.function.improve
        if improve is not None:
            before = old if groups.known else ()
            state, lost = improve(rows.columns, rows.weights, rows.ids, groups.count, before, self.types)
            return self._again(state, groups, lost) if len(lost) else state
        went = np.flatnonzero(rows.weights < 0)
        came = rows.take(np.flatnonzero(rows.weights > 0)) if len(went) else rows
        came = without_nulls(self.call, came)
        part = self._partial(came, groups.count)
        state = merge_known(self.call, old, part, groups.known, self.types)
        lost = self._lost(rows.take(went), groups, old) if len(went) else went
        return self._again(state, groups, lost) if len(lost) else state

    @property
    def writes(self) -> bool:
        return self.call.function.renew is not None

    def write(
        self, rows: Rows, groups: Groups, positions: Int64Array, start: int, states: Sequence[GrowingColumn]
    ) -> int | None:
        renew, (column,) = self.call.function.renew, states
        assert renew is not None and isinstance(column, GrowingFixed)
        lost = renew(rows.columns, rows.weights, rows.ids, positions, start, column)
        if len(lost):
            column.put(start + lost, self._of_values(groups, lost))
        return 1

    def _partial(self, rows: Rows, groups: int) -> list[pa.Array]:
        return self.call.function.partial(rows.columns, np.abs(rows.weights), rows.ids, groups, self.types)

    def _lost(self, went: Rows, groups: Groups, old: list[pa.Array]) -> Int64Array:
        """The groups whose old extreme is among the values that went."""
        ids, first = group_rows([pa.array(went.ids)], [INT8], len(went.ids))
        touched = went.ids[first]
        best = self._partial(replace(went, ids=ids), len(touched))[0]
        # A group that has no row yet has no extreme to lose: its values must be looked at all the same.
        lost = touched >= groups.known
        held = np.flatnonzero(~lost)
        if len(held):
            pairs = pa.concat_arrays(gather([old[0]], touched[held]) + gather([best], held))
            same, _ = group_rows([pairs], self.accumulators, len(pairs))
            lost[held] = same[: len(held)] == same[len(held) :]
        return touched[lost]

    def _again(self, state: list[pa.Array], groups: Groups, lost: Int64Array) -> list[pa.Array]:
        """The state with the extremes of some groups computed from their values."""
        return [replaced(state[0], lost, self._of_values(groups, lost))]

    def _of_values(self, groups: Groups, lost: Int64Array) -> pa.Array:
        """The extremes of some groups, computed from their values."""
        assert self.values is not None
        rows = self.values.of(gather(groups.keys, lost), len(lost))
        rows = rows.take(np.flatnonzero(rows.weights > 0))
        return self._partial(rows, len(lost))[0]

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

    @property
    def result_at(self) -> int | None:
        return 0

    @property
    def total(self) -> bool:
        return True

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        assert self.values is not None
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

    @property
    def writes(self) -> bool:
        return False

    def write(
        self, rows: Rows, groups: Groups, positions: Int64Array, start: int, states: Sequence[GrowingColumn]
    ) -> int | None:
        return None

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


def open_ordered(
    call: AggregateCall, order_types: tuple[Type, ...], values: GroupValues | None
) -> ExtremeMeasure | ListMeasure:
    """`call` at work, with its feed's values: None if the input only grows, or in the plain form."""
    types = call.types
    if call.function.monotone:
        return ExtremeMeasure(call, types, call.function.accumulators(types), values)
    return ListMeasure(call, types, order_types, (call.type,), values)
