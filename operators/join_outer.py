"""Outer, semi and anti joins at work: the rows that have no partner, or have one.

Derivation: the output is the inner join plus, for a kept side, its rows without partner (Griffin and
Kumar 1998, "Algebraic change propagation for semijoin and outerjoin queries"). A row's *degree* is the
number of its partners. In each half the delta of one side meets the rows of the other:

* a delta row counts as matched or unmatched by the degree it has among the other side's rows;
* a stored row of the other side changes between matched and unmatched when the delta takes its
  degree from 0 to more or back: then it is withdrawn from one and given to the other.

Without condition the degree of a row is that of its key: one counter per distinct key of the
opposite side (`KeyDegrees`). With one, each row of a kept side has its own (`RowDegrees`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from .batch import Int64Array, gather, group_rows, sum_by
from .consolidate import consolidate
from .join_inner import Output
from .join_pairs import Condition, Pairs
from .join_side import Input
from .node import EpochContext, OpenContext
from .zset import ZSet, concat


@dataclass(frozen=True, slots=True)
class Emission:
    """What comes out: pairs or not, and of which sides the single rows."""

    output: Output
    pairs: bool
    left: bool
    right: bool
    extended: bool
    """Single rows are extended by NULLs (outer) or come out as they are (semi, anti)."""
    matched: bool = False
    """The single rows that come out are the matched ones (semi)."""

    def keeps(self, flipped: bool) -> bool:
        return self.right if flipped else self.left

    def single(self, side: Input, rows: ZSet, flipped: bool) -> ZSet:
        """Output rows for single rows of a side."""
        rows = side.plain_rows(rows)
        if self.extended:
            return self.output.extended(rows, flipped)
        return ZSet(self.output.schema, rows.columns, rows.weights)

    def wanted(self, degrees: Int64Array) -> Int64Array:
        """1 for the single rows of these degrees that come out, 0 for the others."""
        return ((degrees > 0) == self.matched).astype(np.int64)


@dataclass(slots=True)
class KeyDegrees:
    """A join without condition. `left_counts` counts the left rows of each key, if right ones ask."""

    left: Input
    right: Input
    emission: Emission
    left_counts: StateTable | None
    right_counts: StateTable | None

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        parts = [*self._half(deltas[0], False, context), *self._half(deltas[1], True, context)]
        return concat(self.emission.output.schema, parts)

    def _half(self, delta: ZSet, flipped: bool, context: EpochContext) -> list[ZSet]:
        if not len(delta):
            return []
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        delta = own.prepare(delta, context)
        parts: list[ZSet] = []
        if self.emission.pairs:
            found = other.find(own.key_values(delta), len(delta))
            parts.append(self.emission.output.pairs(delta, own, other, found, flipped))
        if self.emission.keeps(flipped):
            parts.append(self._new_rows(delta, own, flipped))
        if self.emission.keeps(not flipped):
            parts.extend(self._changed_rows(delta, own, other, flipped))
        own.apply(delta)
        return parts

    def _new_rows(self, delta: ZSet, own: Input, flipped: bool) -> ZSet:
        """The single rows of the delta itself."""
        counts = self.left_counts if flipped else self.right_counts
        assert counts is not None
        _, degrees = read_counts(counts, own.key_values(delta), len(delta))
        degrees[own.never_matching(delta)] = 0
        weights = delta.weights * self.emission.wanted(degrees)
        return self.emission.single(own, delta.with_weights(weights).filter(weights != 0), flipped)

    def _changed_rows(self, delta: ZSet, own: Input, other: Input, flipped: bool) -> list[ZSet]:
        """Rows of the other side whose key gets its first partner or loses its last one."""
        counts = self.right_counts if flipped else self.left_counts
        assert counts is not None
        delta = delta.filter(~own.never_matching(delta))
        keys, old, new = add_counts(counts, own.key_values(delta), own.key_types, delta.weights)
        change = self.emission.wanted(new) - self.emission.wanted(old)
        moved = np.flatnonzero(change)
        if not len(moved):
            return []
        probing, positions = other.find(gather(keys, moved), len(moved))
        weights = other.weights(positions) * change[moved][probing]
        rows = ZSet(other.schema, tuple(other.take(positions)), weights)
        return [self.emission.single(other, rows, not flipped)]


@dataclass(slots=True)
class RowDegrees:
    """A join with a condition: each row of a kept side has its degree in a table."""

    left: Input
    right: Input
    condition: Condition
    emission: Emission
    left_degrees: StateTable | None
    right_degrees: StateTable | None

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        parts = [*self._half(deltas[0], False, context), *self._half(deltas[1], True, context)]
        return concat(self.emission.output.schema, parts)

    def _half(self, delta: ZSet, flipped: bool, context: EpochContext) -> list[ZSet]:
        if not len(delta):
            return []
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        own_degrees, other_degrees = (
            (self.right_degrees, self.left_degrees) if flipped else (self.left_degrees, self.right_degrees)
        )
        delta = consolidate(own.prepare(delta, context))
        pairs, parts = self._pairs(delta, own, other, flipped, context)
        if own_degrees is not None:
            weights = other.weights(pairs[1])
            degrees = sum_by(pairs[0], weights, len(delta)) if len(delta) else weights
            parts.append(self._new_rows(delta, own, degrees, flipped))
            own.apply(delta)
            store_degrees(own_degrees, own, delta, degrees)
        else:
            own.apply(delta)
        if other_degrees is not None and len(pairs[0]):
            parts.append(self._changed_rows(delta, other, other_degrees, pairs, flipped))
        return parts

    def _pairs(
        self, delta: ZSet, own: Input, other: Input, flipped: bool, context: EpochContext
    ) -> tuple[Pairs, list[ZSet]]:
        """All matching pairs, and their output rows if they come out."""
        found = list(other.matching(delta, own, self.condition, flipped).pairs(len(delta), context))
        probing = np.concatenate([piece[0] for piece in found]) if found else np.empty(0, np.int64)
        partners = np.concatenate([piece[1] for piece in found]) if found else np.empty(0, np.int64)
        if not self.emission.pairs or not len(probing):
            return (probing, partners), []
        rows = self.emission.output.pairs(delta, own, other, (probing, partners), flipped)
        return (probing, partners), [rows]

    def _new_rows(self, delta: ZSet, own: Input, degrees: Int64Array, flipped: bool) -> ZSet:
        weights = delta.weights * self.emission.wanted(degrees)
        return self.emission.single(own, delta.with_weights(weights).filter(weights != 0), flipped)

    def _changed_rows(
        self, delta: ZSet, other: Input, table: StateTable, pairs: Pairs, flipped: bool
    ) -> ZSet:
        """Rows of the other side that get their first partner or lose their last one."""
        positions, which = np.unique(pairs[1], return_inverse=True)
        change = sum_by(which, delta.weights[pairs[0]], len(positions))
        positions, change = positions[change != 0], change[change != 0]
        identity = other.take(positions, identity_columns(other))
        _, old = read_counts(table, identity, len(positions))
        new = old + change
        if len(positions):
            table.upsert([*identity, pa.array(new)])
        moves = self.emission.wanted(new) - self.emission.wanted(old)
        moved = np.flatnonzero(moves)
        weights = other.weights(positions[moved]) * moves[moved]
        rows = ZSet(other.schema, tuple(other.take(positions[moved])), weights)
        return self.emission.single(other, rows, not flipped)


def identity_columns(side: Input) -> tuple[int, ...]:
    """What tells one row of an input from another: its key, or all its columns."""
    return side.key if side.key is not None else tuple(range(len(side.schema)))


def open_counts(context: OpenContext, suffix: str, schema: Schema) -> StateTable:
    """A counter for each distinct row of `schema`."""
    columns = (*schema.columns, Column("count", INT8, False))
    return context.table(suffix, TableSpec(Schema(columns), tuple(range(len(schema)))))


def open_degrees(context: OpenContext, suffix: str, side: Input) -> StateTable:
    """The degree of each row of a kept side."""
    return open_counts(context, suffix, side.schema.select(identity_columns(side)))


def open_key_counts(context: OpenContext, suffix: str, side: Input) -> StateTable:
    """The number of rows of each key of a side."""
    return open_counts(context, suffix, side.stored.select(side.key_columns))


def read_counts(table: StateTable, keys: Sequence[pa.Array], length: int) -> tuple[Int64Array, Int64Array]:
    """(position, count) of each row, −1 and 0 for one without a counter. The counts may be written to."""
    positions = table.lookup(keys, length)
    (counts,) = table.take(positions, (len(table.spec.schema) - 1,))
    if counts.null_count:
        counts = counts.fill_null(0)
    return positions, np.array(counts.to_numpy(zero_copy_only=False), np.int64)


def add_counts(
    table: StateTable, keys: Sequence[pa.Array], types: Sequence[object], weights: Int64Array
) -> tuple[list[pa.Array], Int64Array, Int64Array]:
    """Adds `weights` to the counters of their keys; returns (distinct keys, counts before, after)."""
    ids, first = group_rows(keys, table.spec.key_types, len(weights))
    distinct = list(keys) if len(first) == len(weights) else gather(keys, first)
    positions, old = read_counts(table, distinct, len(first))
    new = old + sum_by(ids, weights, len(first))
    kept = np.flatnonzero(new)
    if len(kept):
        table.upsert([*gather(distinct, kept), pa.array(new[kept])])
    gone = positions[(new == 0) & (positions >= 0)]
    if len(gone):
        table.delete(gone)
    return distinct, old, new


def store_degrees(table: StateTable, side: Input, delta: ZSet, degrees: Int64Array) -> None:
    """Notes the degree of each row that came, forgets that of each row that is gone.

    `delta` is consolidated and already applied to the side.
    """
    columns = identity_columns(side)
    came = np.flatnonzero(delta.weights > 0)
    if len(came):
        identity = gather([delta.columns[i] for i in columns], came)
        table.upsert([*identity, pa.array(degrees[came])])
    went = np.flatnonzero(delta.weights < 0)
    if not len(went):
        return
    assert side.table is not None
    lookup = side.table.spec.key_columns
    present = side.table.lookup(gather([delta.columns[i] for i in lookup], went), len(went)) >= 0
    identity = gather([delta.columns[i] for i in columns], went[~present])
    positions = table.lookup(identity, int((~present).sum()))
    table.delete(positions[positions >= 0])
