"""Aggregates whose state is a sum of contributions (count, sum, avg …), with DISTINCT or without.

Derivation: the accumulators of A + Δ are those of A merged with those of Δ (a homomorphism from bags).
With DISTINCT the same over the delta of the distinct values (`aggregate_feed.DistinctValues`): a value
contributes +1 when it comes to be and −1 when it ceases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..storage.columns import GrowingColumn
from ..storage.types import Type
from .aggregate_calls import AggregateCall, Groups, Rows
from .batch import Int64Array


@dataclass(slots=True)
class LinearMeasure:
    """A linear aggregate. With DISTINCT, it is fed the delta of the distinct values."""

    call: AggregateCall
    types: tuple[Type, ...]
    accumulators: tuple[Type, ...]

    @property
    def result_at(self) -> int | None:
        return self.call.function.result_at

    @property
    def total(self) -> bool:
        return self.call.function.total

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        advance = self.call.function.advance
        if advance is not None:
            before = old if groups.known else ()
            return advance(rows.columns, rows.weights, rows.ids, groups.count, before, self.types)
        part = self.call.function.partial(rows.columns, rows.weights, rows.ids, groups.count, self.types)
        return merge_known(self.call, old, part, groups.known, self.types)

    @property
    def writes(self) -> bool:
        return self.call.function.write is not None

    def write(
        self, rows: Rows, groups: Groups, positions: Int64Array, start: int, states: Sequence[GrowingColumn]
    ) -> int | None:
        write = self.call.function.write
        assert write is not None
        return write(rows.columns, rows.weights, rows.ids, positions, start, states, self.types)

    def finish(self, state: Sequence[pa.Array]) -> pa.Array:
        return self.call.function.finish(state, self.types)

    def whole(self, rows: Rows, groups: int) -> pa.Array:
        if self.call.distinct:
            rows = rows.consolidated(self.types)
            rows = replace(rows, weights=(rows.weights > 0).astype(np.int64))
        return self.finish(
            self.call.function.partial(rows.columns, rows.weights, rows.ids, groups, self.types)
        )


def open_linear(call: AggregateCall) -> LinearMeasure:
    """`call` at work."""
    return LinearMeasure(call, call.types, call.function.accumulators(call.types))


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
