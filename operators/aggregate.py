"""`Aggregate`: GROUP BY with aggregate functions.

Derivation: a group's row keeps count(*) and the state of each call; a delta touches the rows of its
groups only. The output changes by −(old result) + (new result) of each group whose result differs; a
group ends when its count reaches 0. The calls are in `aggregate_linear.py` and `aggregate_ordered.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.errors import SqlError
from ..storage.index import Entries
from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from .aggregate_calls import AggregateCall, Groups, Measure
from .aggregate_fold import Fold, can_merge, needed_rows
from .aggregate_plan import Plan, plan_calls
from .batch import BoolArray, Int64Array, gather, group_rows, poll, sum_by
from .differing import differ_once, differing
from .evaluate import evaluate_rows
from .expr import Expr
from .node import EpochContext, Node, OpenContext, Operator, RowError
from .pieces import collect, held_within_room, peek
from .shape import computed_columns
from .zset import ZSet, concat

__all__ = ["Aggregate", "AggregateCall"]


@dataclass(frozen=True)
class Aggregate(Node):
    """One row per group: the values of `groups`, then of `calls`; `names` are those of the groups.

    Without groups exactly one row, also over no input at all. NULL is a group like another.
    """

    input: Node
    groups: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        return Schema(self.group_schema.columns + tuple(call.column for call in self.calls))

    @property
    def group_schema(self) -> Schema:
        """The columns of `groups`."""
        return Schema(computed_columns(self.groups, self.names, self.input.schema))

    @property
    def key(self) -> tuple[int, ...] | None:
        return tuple(range(len(self.groups)))

    @property
    def exact(self) -> bool:
        return True

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        plan = _plan(self, None)
        columns, kept = evaluate_rows(plan.exprs, inputs[0], context, "Aggregate")
        return self._whole(plan, columns, kept.weights, context)

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        rows, several = peek(inputs[0])
        if not several:
            yield self.plain((collect(self.input, rows),), context)
        elif can_merge(self.calls):
            yield self._folded(rows, context)
        else:
            plan = _plan(self, None)
            parts = held_within_room(needed_rows(plan, rows, context))
            needed = concat(parts[0].schema, parts)
            yield self._whole(plan, needed.columns, needed.weights, context)

    def _folded(self, rows: Iterator[ZSet], context: EpochContext) -> ZSet:
        fold = Fold(_plan(self, None), self.group_schema)
        part = fold.over(rows, context)
        if part is None:
            return self.plain((ZSet.empty(self.input.schema),), context)
        results, live = fold.results(part)
        output = ZSet(self.schema, (*part.keys, *results), np.ones(len(live), np.int64))
        return output.filter(live) if self.groups else output

    def _whole(
        self, plan: Plan, columns: Sequence[pa.Array], weights: Int64Array, context: EpochContext
    ) -> ZSet:
        """The output for whole inputs, given what the plan computes of each row."""
        width = len(self.groups)
        ids, first = group_rows(columns[:width], self.group_schema.types, len(weights))
        live = sum_by(ids, weights, len(first)) > 0
        groups = max(len(first), 0 if width else 1)
        results: list[pa.Array] = []
        for measure, feed in plan.measures:
            poll(context)
            results.append(measure.whole(plan.feeds[feed].slots.rows(columns, weights, ids), groups))
        output = (*gather(columns[:width], first), *results)
        rows = ZSet(self.schema, output, np.ones(groups, np.int64))
        return rows.filter(live) if width else rows

    def open(self, context: OpenContext) -> Operator:
        plan, keys = _plan(self, context), self.group_schema
        columns = [*keys.columns, Column("rows", INT8, False)]
        for number, (measure, _) in enumerate(plan.measures):
            types = enumerate(measure.accumulators)
            columns.extend(Column(f"state{number}_{i}", type_) for i, type_ in types)
        table = context.table("groups", TableSpec(Schema(tuple(columns)), tuple(range(len(keys)))))
        return _Aggregate(self.schema, keys, plan, table)


def _plan(node: Aggregate, context: OpenContext | None) -> Plan:
    input_ = node.input
    return plan_calls(node.groups, node.calls, node.group_schema, input_.schema, input_.append_only, context)


@dataclass(frozen=True, slots=True)
class _Results:
    """Output of some groups: result columns, and which groups show."""

    columns: list[pa.Array]
    live: BoolArray


@dataclass(slots=True)
class _Aggregate:
    schema: Schema
    keys: Schema
    plan: Plan
    table: StateTable

    @property
    def due(self) -> bool:
        """A grand total is there from the first step on, with or without rows."""
        return not len(self.keys) and len(self.table) == 0

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        columns, kept = evaluate_rows(self.plan.exprs, deltas[0], context, "Aggregate")
        if not len(kept) and not self.due:
            return ZSet.empty(self.schema)
        groups, ids, entries, positions = self._groups(columns, len(kept))
        old = self.table.take(positions[: groups.known], range(len(self.keys), len(self.table.spec.schema)))
        change = sum_by(ids, kept.weights, groups.count)
        counts = change.copy()
        if groups.known:
            counts[: groups.known] += old[0].to_numpy()
        fed = [feed.rows(columns, kept.weights, ids, groups) for feed in self.plan.feeds]
        new = list[list[pa.Array]]()
        for (measure, feed), state in zip(self.plan.measures, self._states(old), strict=True):
            poll(context)
            new.append(measure.update(fed[feed], groups, state))
        delta = self._delta(groups, old, counts, new, context)
        self._store(groups, entries, positions, counts, new)
        return delta

    def _groups(
        self, columns: Sequence[pa.Array], length: int
    ) -> tuple[Groups, Int64Array, Entries, Int64Array]:
        """The touched groups (known ones first), the group of each row; each group's entry and position."""
        width = len(self.keys)
        keys = list(columns[:width])
        ids, first = group_rows(keys, self.keys.types, length)
        count = len(first) if width else 1
        if count < length:
            keys = gather(keys, first)
        entries, positions = self.table.enter(keys, count)
        unknown = positions < 0
        known = count - int(np.count_nonzero(unknown))
        if 0 < known < count:
            order = np.argsort(unknown, kind="stable")
            ranks = np.empty(count, np.int64)
            ranks[order] = np.arange(count)
            keys, ids = gather(keys, order), ranks[ids]
            entries, positions = entries[order], positions[order]
        return Groups(keys, count, known), ids, entries, positions

    def _delta(
        self,
        groups: Groups,
        old: list[pa.Array],
        counts: Int64Array,
        new: list[list[pa.Array]],
        context: EpochContext,
    ) -> ZSet:
        """−old +new of the groups whose output differs."""
        if groups.count == 1:
            return self._delta_of_one(groups, old, int(counts[0]), new, context)
        known, shown = groups.known, not len(self.keys)
        states = self._states(old)
        keys = [key.slice(0, known) for key in groups.keys]
        was = old[0].to_numpy() > 0 if known else np.zeros(0, np.bool_)
        before = self._results(states, keys, was | shown, -1, context)
        after = self._results(new, groups.keys, (counts > 0) | shown, 1, context)
        changed = np.zeros(known, np.bool_)
        for a, b in zip(before.columns, after.columns, strict=True):
            changed |= differing(a, b.slice(0, known))
        changed |= before.live != after.live[:known]
        removed = np.flatnonzero(before.live & changed)
        added = np.flatnonzero(
            after.live & np.concatenate([changed, np.ones(groups.count - known, np.bool_)])
        )
        parts = [
            self._rows(groups, before, removed, -1),
            self._rows(groups, after, added, 1),
        ]
        return concat(self.schema, parts)

    def _states(self, columns: list[pa.Array]) -> list[list[pa.Array]]:
        """The state of each call out of the columns after the group's."""
        states, place = list[list[pa.Array]](), 1
        for measure, _ in self.plan.measures:
            states.append(columns[place : place + len(measure.accumulators)])
            place += len(measure.accumulators)
        return states

    def _delta_of_one(
        self,
        groups: Groups,
        old: list[pa.Array],
        count: int,
        new: list[list[pa.Array]],
        context: EpochContext,
    ) -> ZSet:
        """The same for a single group, without arrays of flags: one-row epochs are frequent."""
        shown, keys = not len(self.keys), groups.keys
        was = groups.known == 1 and (shown or old[0][0].as_py() > 0)
        before = self._results(self._states(old), keys, np.array([was]), -1, context) if was else None
        after = self._results(new, keys, np.array([shown or count > 0]), 1, context)
        removed = before is not None and bool(before.live[0])
        added = bool(after.live[0])
        if before is not None and removed and added:
            pairs = list(zip(before.columns, after.columns, strict=True))
            if not any(differ_once(a, b) for a, b in pairs):
                return ZSet.empty(self.schema)
            columns = [(key, key) for key in keys] + pairs
            both = tuple(pa.concat_arrays(pair) for pair in columns)
            return ZSet(self.schema, both, np.array([-1, 1]))
        if before is not None and removed:
            return ZSet(self.schema, (*keys, *before.columns), np.array([-1]))
        return ZSet(self.schema, (*keys, *after.columns), np.array([1])) if added else ZSet.empty(self.schema)

    def _rows(self, groups: Groups, results: _Results, positions: Int64Array, weight: int) -> ZSet:
        columns = [*groups.keys, *results.columns]
        if len(positions) != groups.count or len(results.live) != groups.count:
            columns = gather(columns, positions)
        return ZSet(self.schema, tuple(columns), np.full(len(positions), weight, np.int64))

    def _results(
        self,
        states: list[list[pa.Array]],
        keys: list[pa.Array],
        live: BoolArray,
        sign: int,
        context: EpochContext,
    ) -> _Results:
        """The calls' results; a group whose result fails is recorded and does not show."""
        columns: list[pa.Array] = []
        for (measure, _), state in zip(self.plan.measures, states, strict=True):
            try:
                columns.append(measure.finish(state))
            except SqlError as error:
                if context.errors is None or error.rows is None:
                    raise
                good = np.ones(len(live), np.bool_)
                good[error.rows] = False
                failed = np.flatnonzero(live & ~good)
                rows = ZSet(self.keys, tuple(gather(keys, failed)), np.full(len(failed), sign, np.int64))
                context.errors.append(RowError("Aggregate", error.code, error.message, rows))
                live = live & good
                columns.append(_finish_some(measure, state, good))
        return _Results(columns, live)

    def _store(
        self,
        groups: Groups,
        entries: Entries,
        positions: Int64Array,
        counts: Int64Array,
        new: list[list[pa.Array]],
    ) -> None:
        columns = [*groups.keys, pa.array(counts), *(column for state in new for column in state)]
        alive = np.count_nonzero(counts) if len(self.keys) else 1
        if alive == groups.count:
            self.table.upsert_entered(columns, None, entries)
            return
        if alive:
            kept = np.flatnonzero(counts)
            self.table.upsert_entered(gather(columns, kept), None, entries[kept])
        gone = positions[(counts == 0) & (positions >= 0)]
        if len(gone):
            self.table.delete(gone)


def _finish_some(measure: Measure, state: Sequence[pa.Array], good: BoolArray) -> pa.Array:
    """Results of the good groups, NULL for the others."""
    kept = np.flatnonzero(good)
    results = measure.finish(gather(state, kept))
    return results.take(pa.array(np.cumsum(good) - 1, mask=~good))
