"""Aggregates whose state is a sum of contributions (count, sum, avg …), with DISTINCT or without.

Derivation: the accumulators of A + Δ are those of A merged with those of Δ (a homomorphism from bags).
With DISTINCT the same over the delta of the distinct values: a table counts each value of a group, and
a value contributes +1 when it comes to be and −1 when it ceases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..storage.table import StateTable, TableSpec
from ..storage.types import Type
from .aggregate_calls import AggregateCall, Groups, MeasureContext, Rows, value_schema
from .batch import gather


@dataclass(slots=True)
class LinearMeasure:
    """A linear aggregate; `seen` counts the distinct values of each group when it needs them."""

    call: AggregateCall
    types: tuple[Type, ...]
    accumulators: tuple[Type, ...]
    seen: StateTable | None

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        if self.seen is not None:
            rows = self._newly_distinct(rows, groups, self.seen)
        part = self.call.function.partial(rows.columns, rows.weights, rows.ids, groups.count, self.types)
        return merge_known(self.call, old, part, groups.known, self.types)

    def _newly_distinct(self, rows: Rows, groups: Groups, seen: StateTable) -> Rows:
        """+1 for each value that comes to be in its group, −1 for each that ceases."""
        rows = rows.consolidated(self.types)
        if not len(rows.weights):
            return rows
        columns = [*gather(groups.keys, rows.ids), *rows.columns]
        before = seen.apply(columns, rows.weights).before
        assert before is not None, "a consolidated delta has no row twice"
        change = ((before + rows.weights) > 0).astype(np.int64) - (before > 0)
        return replace(rows, weights=change).take(np.flatnonzero(change))

    def finish(self, state: Sequence[pa.Array]) -> pa.Array:
        return self.call.function.finish(state, self.types)

    def whole(self, rows: Rows, groups: int) -> pa.Array:
        if self.call.distinct:
            rows = rows.consolidated(self.types)
            rows = replace(rows, weights=(rows.weights > 0).astype(np.int64))
        return self.finish(
            self.call.function.partial(rows.columns, rows.weights, rows.ids, groups, self.types)
        )


def open_linear(call: AggregateCall, place: MeasureContext) -> LinearMeasure:
    """`call` at work, with its table of distinct values if it needs one."""
    types, seen = call.types, None
    if call.distinct and place.context is not None:
        spec = TableSpec(value_schema(place.keys, types), None)
        seen = place.context.table(f"distinct{place.number}", spec)
    return LinearMeasure(call, types, call.function.accumulators(types), seen)


def merge_known(
    call: AggregateCall, old: list[pa.Array], part: list[pa.Array], known: int, types: tuple[Type, ...]
) -> list[pa.Array]:
    """Contributions merged into the old state of the first `known` groups; others start with them."""
    if not known:
        return part
    if known == len(part[0]):
        return call.function.merge(old, part, types)
    merged = call.function.merge(old, [column.slice(0, known) for column in part], types)
    return [pa.concat_arrays([a, b.slice(known)]) for a, b in zip(merged, part, strict=True)]
