"""`Aggregate`: GROUP BY with aggregate functions.

Derivation: a group's row keeps count(*) and the state of each call; a delta touches the rows of its
groups only. The output changes by −(old result) + (new result) of each group whose result differs; a
group ends when its count reaches 0. The calls are in `aggregate_linear.py` and `aggregate_ordered.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from ..storage.arrowview import from_fixed
from ..storage.errors import InternalError, SqlError
from ..storage.index import Entries
from ..storage.schema import Schema
from .aggregate_calls import AggregateCall, Groups, Measure
from .aggregate_feed import feed_all, settle_all
from .aggregate_fold import Fold, can_merge, needed_rows
from .aggregate_plan import Plan, plan_calls
from .aggregate_table import GroupTable, Old, Part, States, open_groups, open_shown_groups
from .aggregate_write import GroupWriter, Written
from .batch import BoolArray, Int64Array, gather, group_rows, poll, sum_by
from .differing import differ_once, differing
from .evaluate import evaluate_rows
from .expr import Expr
from .grouping import Grouping, grouping
from .node import EpochContext, Node, OpenContext, Operator, RowError
from .pieces import SHORTAGES, collect, held_within_room, peek
from .shape import computed_columns
from .zset import ZSet, concat

__all__ = ["Aggregate", "AggregateCall"]

INT64 = pa.int64()


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
            whole = collect(self.input, rows)
            try:
                yield self.plain((whole,), context)
                return
            except SHORTAGES:
                if len(whole) <= 1 or not can_merge(self.calls):
                    raise
            rows = iter((whole.slice(0, len(whole) // 2), whole.slice(len(whole) // 2, len(whole))))
        if can_merge(self.calls):
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
        plan = _plan(self, context)
        measures = [measure for measure, _ in plan.measures]
        table = open_groups(context, "groups", self.group_schema, measures)
        return _Aggregate(self.schema, self.group_schema, plan, table, None)


@dataclass(frozen=True, slots=True)
class ShownAggregate:
    """`aggregate` as a view by itself: `columns` of its output, `schema`, in a table of which they are the
    first columns and `key` the key."""

    aggregate: Aggregate
    columns: tuple[int, ...]
    schema: Schema
    key: tuple[int, ...]

    @property
    def possible(self) -> bool:
        """Whether the table can be the view: every group shows, with its whole key and all results."""
        width = len(self.aggregate.groups)
        whole = tuple(self.columns[i] for i in self.key) == tuple(range(width))
        whole = whole and set(range(len(self.aggregate.schema))) <= set(self.columns)
        return whole and all(measure.total for measure, _ in _plan(self.aggregate, None).measures)

    def open(self, context: OpenContext, suffix: str) -> Operator:
        """The aggregate at work, over the table called `suffix`."""
        node = self.aggregate
        plan, width = _plan(node, context), len(node.groups)
        parts: list[Part] = [("key", i, 0) if i < width else ("result", i - width, 0) for i in self.columns]
        measures = [measure for measure, _ in plan.measures]
        table = open_shown_groups(context, suffix, parts, self.schema, self.key, node.calls, measures)
        writer = GroupWriter(table, plan.measures)
        return _ShownAggregate(self.schema, node.group_schema, plan, table, self.columns, writer)


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
    groups: GroupTable
    shown: tuple[int, ...] | None
    """The columns that come out, of the key and the results; None: all. The table then has them too."""

    @property
    def due(self) -> bool:
        """A grand total is there from the first step on, with or without rows."""
        return not len(self.keys) and len(self.groups.table) == 0

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return self.update(deltas[0], context)()

    def update(self, delta: ZSet, context: EpochContext) -> Callable[[], ZSet]:
        """Brings the tables up to date. Returns what makes the output."""
        try:
            return self._update(delta, context)
        finally:
            settle_all(self.plan.feeds)

    def _update(self, delta: ZSet, context: EpochContext) -> Callable[[], ZSet]:
        columns, kept = evaluate_rows(self.plan.exprs, delta, context, "Aggregate")
        if not len(kept) and not self.due:
            return partial(ZSet.empty, self.schema)
        width = len(self.keys)
        found = grouping(columns[:width], self.keys.types, len(kept), context)
        groups, order, entries, positions = self._groups(found)
        counts = found.sums(kept.weights).copy()
        if order is not None:
            counts = counts[order]
        measures = [measure for measure, _ in self.plan.measures]
        old = self.groups.old(positions[: groups.known], measures)
        counts[: groups.known] += old.counts
        fed = feed_all(self.plan.feeds, columns, kept.weights, groups)
        counted = from_fixed(INT64, counts)
        new: States = []
        for (measure, feed), state in zip(self.plan.measures, old.states, strict=True):
            poll(context)
            rows_only = measure.call.counts_rows
            new.append([counted] if rows_only else measure.update(fed[feed], groups, state))
        shows = (counts > 0) | (not len(self.keys))
        after = self._results(new, groups.keys, shows, 1, context)
        rows = self.groups.rows(groups.keys, counted, new, after.columns)
        self._store(groups, entries, positions, counts, rows)
        return partial(self._delta, groups, old, after, context)

    def _groups(self, found: Grouping) -> tuple[Groups, Int64Array | None, Entries, Int64Array]:
        """(touched groups, their numbers in `found` if known ones had to come first, entries, positions)."""
        keys, count, ids = found.keys, found.count, found.ids
        entries, positions, known = self.groups.table.enter_groups(keys, count)
        if not 0 < known < count:
            return Groups(keys, count, known, ids, found.rows), None, entries, positions
        order = np.argsort(positions < 0, kind="stable")
        ordered = keys.some(gather(keys, order), order)
        groups = Groups(ordered, count, known, np.argsort(order)[ids], found.rows)
        return groups, order, entries[order], positions[order]

    def _delta(self, groups: Groups, old: Old, after: _Results, context: EpochContext) -> ZSet:
        """−old +new of the groups whose output differs."""
        before = self._before(groups, old, after, context)
        if groups.count == 1:
            return self._delta_of_one(groups, before, after)
        known = groups.known
        changed = before.live != after.live[:known]
        for a, b in zip(before.columns, after.columns, strict=True):
            changed |= differing(a, b.slice(0, known))
        removed = np.flatnonzero(before.live & changed)
        added = np.flatnonzero(
            after.live & np.concatenate([changed, np.ones(groups.count - known, np.bool_)])
        )
        parts = [
            self._rows(groups, before, removed, -1),
            self._rows(groups, after, added, 1),
        ]
        return concat(self.schema, parts)

    def _before(self, groups: Groups, old: Old, after: _Results, context: EpochContext) -> _Results:
        """What the known groups showed."""
        if not groups.known:
            return _Results([column.slice(0, 0) for column in after.columns], after.live[:0])
        live = (old.counts > 0) | (not len(self.keys))
        if old.results is not None:
            return _Results(old.results, live)
        keys = [key.slice(0, groups.known) for key in groups.keys]
        return self._results(old.states, keys, live, -1, context)

    def _delta_of_one(self, groups: Groups, before: _Results, after: _Results) -> ZSet:
        """The same for a single group, without arrays of flags: one-row epochs are frequent."""
        keys = groups.keys
        removed, added = groups.known == 1 and bool(before.live[0]), bool(after.live[0])
        if removed and added:
            pairs = list(zip(before.columns, after.columns, strict=True))
            if not any(differ_once(a, b) for a, b in pairs):
                return ZSet.empty(self.schema)
            columns = [(key, key) for key in keys] + pairs
            return self._output([pa.concat_arrays(pair) for pair in columns], np.array([-1, 1]))
        if removed:
            return self._output([*keys, *before.columns], np.array([-1]))
        return self._output([*keys, *after.columns], np.array([1])) if added else ZSet.empty(self.schema)

    def _rows(self, groups: Groups, results: _Results, positions: Int64Array, weight: int) -> ZSet:
        columns = [*groups.keys, *results.columns]
        if len(positions) != groups.count or len(results.live) != groups.count:
            columns = gather(columns, positions)
        return self._output(columns, np.full(len(positions), weight, np.int64))

    def _output(self, columns: list[pa.Array], weights: Int64Array) -> ZSet:
        """Rows out of keys and results."""
        chosen = columns if self.shown is None else [columns[i] for i in self.shown]
        return ZSet(self.schema, tuple(chosen), weights)

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
        columns: Sequence[pa.Array],
    ) -> None:
        """Upserts the rows of groups, but ends those of groups without rows."""
        table = self.groups.table
        alive = np.count_nonzero(counts) if len(self.keys) else 1
        if alive == groups.count:
            table.upsert_entered(columns, None, entries)
            return
        if alive:
            kept = np.flatnonzero(counts)
            table.upsert_entered(gather(columns, kept), None, entries[kept])
        gone = positions[(counts == 0) & (positions >= 0)]
        if len(gone):
            table.delete(gone)


@dataclass(slots=True)
class _ShownAggregate(_Aggregate):
    """One that is a view by itself: its results cannot fail, and are in the table."""

    writer: GroupWriter

    def deferred(self, deltas: Sequence[ZSet], context: EpochContext) -> Callable[[], ZSet]:
        return self.update(deltas[0], context)

    def _update(self, delta: ZSet, context: EpochContext) -> Callable[[], ZSet]:
        columns, kept = evaluate_rows(self.plan.exprs, delta, context, "Aggregate")
        if not len(kept) and not self.due:
            return partial(ZSet.empty, self.schema)
        found = grouping(columns[: len(self.keys)], self.keys.types, len(kept), context)
        groups, _, entries, positions = self._groups(found)
        ids = groups.ids
        fed = feed_all(self.plan.feeds, columns, kept.weights, groups)
        written = self.writer.renew(kept.weights, fed, groups, entries, positions, context)
        if written is not None:
            return partial(self._changes, groups, positions, written, None, context)
        written = self.writer.begin(kept.weights, ids, positions)
        if written.least < 0:
            raise InternalError("a row goes more often than it came")
        self.writer.finish(written, fed, groups, positions, context)
        copied = None
        if written.least > 0 or not len(self.keys):
            self.groups.table.upsert_written(entries)
        else:
            copied = written.copied()
            self._store(groups, entries, positions, copied[self.writer.count].to_numpy(), copied)
        return partial(self._changes, groups, positions, written, copied, context)

    def _changes(
        self,
        groups: Groups,
        positions: Int64Array,
        written: Written,
        copied: Sequence[pa.Array] | None,
        context: EpochContext,
    ) -> ZSet:
        """What the rows written have changed: those that were at `positions`."""
        places = (self.writer.count, *self.writer.results)
        now = written.columns(places) if copied is None else [copied[place] for place in places]
        before = written.rows.take(positions[: groups.known], places)
        after = _Results(now[1:], (now[0].to_numpy() > 0) | (not len(self.keys)))
        return self._delta(groups, Old(before[0].to_numpy(), [], before[1:]), after, context)


def _finish_some(measure: Measure, state: Sequence[pa.Array], good: BoolArray) -> pa.Array:
    """Results of the good groups, NULL for the others."""
    kept = np.flatnonzero(good)
    results = measure.finish(gather(state, kept))
    return results.take(pa.array(np.cumsum(good) - 1, mask=~good))
