"""Aggregation of rows that come in pieces: each is aggregated by itself, and the states are merged.

What cannot be merged (lists of values, DISTINCT) is given the distinct rows of what it needs, counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from .aggregate_calls import AggregateCall, Groups
from .aggregate_linear import merge_known
from .aggregate_ordered import replaced
from .aggregate_plan import Plan
from .batch import BoolArray, Int64Array, gather, group_rows, poll, sum_by
from .evaluate import evaluate_rows
from .node import EpochContext
from .pieces import divided, merged
from .zset import ZSet


def can_merge(calls: Sequence[AggregateCall]) -> bool:
    """Whether the states of all calls can be merged."""
    return all(
        call.function.monotone or (call.function.kind == "linear" and not call.distinct) for call in calls
    )


@dataclass(frozen=True, slots=True)
class Partial:
    """Groups, each once, with the number of their rows and the state of each call."""

    keys: list[pa.Array]
    counts: Int64Array
    states: list[list[pa.Array]]


@dataclass(frozen=True, slots=True)
class Fold:
    """Aggregation by keys of the schema `keys`, all of whose calls can be merged."""

    plan: Plan
    keys: Schema

    def over(self, pieces: Iterable[ZSet], context: EpochContext) -> Partial | None:
        """All pieces aggregated; None when there were no rows."""
        stack: list[Partial] = []
        for part in self._partials(pieces, context):
            if part is None:
                continue
            # Only those of like size are merged, so a group is copied a logarithmic number of times.
            while stack and len(stack[-1].counts) <= 2 * len(part.counts):
                part = self._merged(stack.pop(), part)
            stack.append(part)
        while len(stack) > 1:
            part = stack.pop()
            stack.append(self._merged(stack.pop(), part))
        return stack[0] if stack else None

    def results(self, part: Partial) -> tuple[list[pa.Array], BoolArray]:
        """(the result of each call for each group, which groups there are)"""
        states = zip(self.plan.measures, part.states, strict=True)
        return [measure.finish(state) for (measure, _), state in states], part.counts > 0

    def _partials(self, pieces: Iterable[ZSet], context: EpochContext) -> Iterator[Partial | None]:
        for piece in pieces:
            poll(context)
            yield from divided(lambda rows: self._partial(rows, context), piece)

    def _partial(self, piece: ZSet, context: EpochContext) -> Partial | None:
        columns, kept = evaluate_rows(self.plan.exprs, piece, context, "Aggregate")
        if not len(kept):
            return None
        width = len(self.keys)
        ids, first = group_rows(columns[:width], self.keys.types, len(kept))
        keys = gather(columns[:width], first)
        groups = Groups(keys, len(first), 0)
        fed = [feed.slots.rows(columns, kept.weights, ids) for feed in self.plan.feeds]
        states = [measure.update(fed[feed], groups, []) for measure, feed in self.plan.measures]
        return Partial(keys, sum_by(ids, kept.weights, len(first)), states)

    def _merged(self, old: Partial, new: Partial) -> Partial:
        split = len(old.counts)
        keys = [pa.concat_arrays(pair) for pair in zip(old.keys, new.keys, strict=True)]
        ids, first = group_rows(keys, self.keys.types, split + len(new.counts))
        place = np.full(len(first), -1)
        place[ids[:split]] = np.arange(split)
        place = place[ids[split:]]
        order = np.argsort(place < 0, kind="stable")
        known = int(np.count_nonzero(place >= 0))
        at = place[order[:known]]
        counts = np.concatenate([old.counts, new.counts[order[known:]]])
        counts[at] += new.counts[order[:known]]
        states = [
            self._state(number, old.states[number], gather(new.states[number], order), at)
            for number in range(len(self.plan.measures))
        ]
        added = gather(new.keys, order[known:])
        return Partial([pa.concat_arrays(pair) for pair in zip(old.keys, added, strict=True)], counts, states)

    def _state(self, number: int, old: list[pa.Array], new: list[pa.Array], at: Int64Array) -> list[pa.Array]:
        """The state of one call. The first of `new` belong to the groups at `at`, the others are added."""
        measure, known = self.plan.measures[number][0], len(at)
        both = merge_known(measure.call, gather(old, at), new, known, measure.types)
        pairs = zip(old, both, strict=True)
        return [pa.concat_arrays([replaced(a, at, b.slice(0, known)), b.slice(known)]) for a, b in pairs]


def needed_rows(plan: Plan, pieces: Iterator[ZSet], context: EpochContext) -> Iterator[ZSet]:
    """Of each row what the plan computes, rows that are alike mostly merged."""
    schema = Schema(tuple(Column(f"expr{i}", expr.type) for i, expr in enumerate(plan.exprs)))

    def of(rows: ZSet) -> ZSet:
        columns, kept = evaluate_rows(plan.exprs, rows, context, "Aggregate")
        return ZSet(schema, tuple(columns), kept.weights)

    def computed() -> Iterator[ZSet]:
        for piece in pieces:
            yield from divided(of, piece)

    return merged(computed(), context)
