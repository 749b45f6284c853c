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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from . import pieces
from .batch import NO_POSITIONS, Int64Array, gather, group_rows, sum_by
from .join_inner import Output
from .join_pairs import Condition, Matching, Pairs
from .join_side import Input
from .node import EpochContext, OpenContext
from .pieces import coalesced, withdrawals_first
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

    def stored(
        self, side: Input, positions: Int64Array, changes: Int64Array, flipped: bool
    ) -> Iterator[ZSet]:
        """Output rows for stored rows of a side whose weight as single rows is multiplied by `changes`."""
        for start in range(0, len(positions), pieces.PIECE_ROWS):
            some = positions[start : start + pieces.PIECE_ROWS]
            weights = side.weights(some) * changes[start : start + len(some)]
            yield self.single(side, ZSet(side.schema, tuple(side.take(some)), weights), flipped)

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
        return concat(self.emission.output.schema, list(self.steps(deltas, context)))

    def steps(self, deltas: Sequence[ZSet], context: EpochContext) -> Iterator[ZSet]:
        halves = ((deltas[0], False), (deltas[1], True))
        return coalesced(part for delta, flipped in halves for part in self._half(delta, flipped, context))

    def _half(self, delta: ZSet, flipped: bool, context: EpochContext) -> Iterator[ZSet]:
        if not len(delta):
            return
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        delta = own.prepare(delta, context)
        if not self.emission.pairs:
            yield from self._singles(delta, flipped)
        else:
            matching = other.matching(delta, own, None, flipped)
            if in_one_piece(matching, len(delta)):
                parts = [*self._singles(delta, flipped), *self._pairs(delta, matching, slice(None), context)]
                yield concat(self.emission.output.schema, parts)
            else:
                delta = withdrawals_first(delta)
                matching = other.matching(delta, own, None, flipped)
                went = int(np.count_nonzero(delta.weights < 0))
                yield from self._pairs(delta, matching, slice(0, went), context)
                yield from self._singles(delta, flipped)
                yield from self._pairs(delta, matching, slice(went, None), context)
        own.apply(delta)

    def _pairs(self, delta: ZSet, matching: Matching, rows: slice, context: EpochContext) -> Iterator[ZSet]:
        """The output rows of the pairs of some rows of the delta."""
        flipped = matching.flipped
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        for found in matching.pairs(context, rows):
            yield self.emission.output.pairs(delta, own, other, found, flipped)

    def _singles(self, delta: ZSet, flipped: bool) -> Iterator[ZSet]:
        """Single rows that go or come, in an order that suits each of them."""
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        if self.emission.keeps(flipped):
            yield self._new_rows(delta, own, flipped)
        if self.emission.keeps(not flipped):
            yield from self._changed_rows(delta, own, other, flipped)

    def _new_rows(self, delta: ZSet, own: Input, flipped: bool) -> ZSet:
        """The single rows of the delta itself."""
        counts = self.left_counts if flipped else self.right_counts
        assert counts is not None
        _, degrees = read_counts(counts, own.key_values(delta), len(delta))
        degrees[own.never_matching(delta)] = 0
        weights = delta.weights * self.emission.wanted(degrees)
        return self.emission.single(own, delta.with_weights(weights).filter(weights != 0), flipped)

    def _changed_rows(self, delta: ZSet, own: Input, other: Input, flipped: bool) -> Iterator[ZSet]:
        """Rows of the other side whose key gets its first partner or loses its last one."""
        counts = self.right_counts if flipped else self.left_counts
        assert counts is not None
        delta = delta.filter(~own.never_matching(delta))
        keys, old, new = add_counts(counts, own.key_values(delta), delta.weights)
        change = self.emission.wanted(new) - self.emission.wanted(old)
        moved = np.flatnonzero(change)
        if len(moved):
            probing, positions = other.find(gather(keys, moved), len(moved))
            yield from self.emission.stored(other, positions, change[moved][probing], not flipped)


@dataclass(frozen=True, slots=True)
class Degrees:
    """What the pairs of a delta say: of each of its rows the degree, of stored rows how theirs change."""

    own: Int64Array
    positions: Int64Array
    changes: Int64Array


class Summed:
    """A sum for each of some positions; it holds at most about twice the distinct ones, and a piece."""

    def __init__(self) -> None:
        self._positions: list[Int64Array] = []
        self._amounts: list[Int64Array] = []
        self._held = self._distinct = 0

    def add(self, positions: Int64Array, amounts: Int64Array) -> None:
        self._positions.append(positions)
        self._amounts.append(amounts)
        self._held += len(positions)
        if self._held > 2 * self._distinct + 2 * pieces.PIECE_ROWS:
            distinct, sums = self.result()
            self._positions, self._amounts = [distinct], [sums]
            self._held = self._distinct = len(distinct)

    def result(self) -> tuple[Int64Array, Int64Array]:
        """(distinct positions, the sum of each)"""
        if not self._positions:
            return NO_POSITIONS, NO_POSITIONS
        distinct, which = np.unique(np.concatenate(self._positions), return_inverse=True)
        return distinct, sum_by(which, np.concatenate(self._amounts), len(distinct))


def in_one_piece(matching: Matching, rows: int) -> bool:
    """Whether all that comes of so many rows of a delta fits into a piece."""
    return 2 * matching.candidates.total + rows <= pieces.PIECE_ROWS


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
        return concat(self.emission.output.schema, list(self.steps(deltas, context)))

    def steps(self, deltas: Sequence[ZSet], context: EpochContext) -> Iterator[ZSet]:
        halves = ((deltas[0], False), (deltas[1], True))
        return coalesced(part for delta, flipped in halves for part in self._half(delta, flipped, context))

    def _half(self, delta: ZSet, flipped: bool, context: EpochContext) -> Iterator[ZSet]:
        if not len(delta):
            return
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        delta = withdrawals_first(own.prepare(delta, context))
        matching = other.matching(delta, own, self.condition, flipped)
        if in_one_piece(matching, len(delta)):
            found = list(matching.pairs(context))
            degrees = self._degrees(delta, other, found, flipped)
            parts = [*self._pairs(delta, found, flipped), *self._singles(delta, degrees, flipped)]
            yield concat(self.emission.output.schema, parts)
            return
        degrees = self._degrees(delta, other, matching.pairs(context), flipped)
        went = int(np.count_nonzero(delta.weights < 0))
        again = replace(context, errors=None if context.errors is None else [])
        if self.emission.pairs:
            yield from self._pairs(delta, matching.pairs(again, slice(0, went)), flipped)
        # The pairs that come are made after the singles, which is when the delta is stored.
        yield from self._singles(delta, degrees, flipped)
        if self.emission.pairs:
            yield from self._pairs(delta, matching.pairs(again, slice(went, None)), flipped)

    def _pairs(self, delta: ZSet, found: Iterable[Pairs], flipped: bool) -> Iterator[ZSet]:
        """The output rows of pairs, if they come out."""
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        if self.emission.pairs:
            for some in found:
                yield self.emission.output.pairs(delta, own, other, some, flipped)

    def _degrees(self, delta: ZSet, other: Input, found: Iterable[Pairs], flipped: bool) -> Degrees:
        own = np.zeros(len(delta), np.int64)
        changes = Summed() if (self.left_degrees if flipped else self.right_degrees) is not None else None
        for probing, partners in found:
            own += sum_by(probing, other.weights(partners), len(delta))
            if changes is not None:
                changes.add(partners, delta.weights[probing])
        return Degrees(own, *(NO_POSITIONS, NO_POSITIONS) if changes is None else changes.result())

    def _singles(self, delta: ZSet, degrees: Degrees, flipped: bool) -> Iterator[ZSet]:
        """Single rows that go or come, in an order that suits each of them. Stores the delta."""
        own, other = (self.right, self.left) if flipped else (self.left, self.right)
        own_degrees, other_degrees = (
            (self.right_degrees, self.left_degrees) if flipped else (self.left_degrees, self.right_degrees)
        )
        own.apply(delta)
        if own_degrees is not None:
            yield self._new_rows(delta, own, degrees.own, flipped)
            store_degrees(own_degrees, own, delta, degrees.own)
        if other_degrees is not None and len(degrees.positions):
            yield from self._changed_rows(other, other_degrees, degrees, flipped)

    def _new_rows(self, delta: ZSet, own: Input, degrees: Int64Array, flipped: bool) -> ZSet:
        weights = delta.weights * self.emission.wanted(degrees)
        return self.emission.single(own, delta.with_weights(weights).filter(weights != 0), flipped)

    def _changed_rows(
        self, other: Input, table: StateTable, degrees: Degrees, flipped: bool
    ) -> Iterator[ZSet]:
        """Rows of the other side that get their first partner or lose their last one."""
        kept = np.flatnonzero(degrees.changes)
        if not len(kept):
            return
        positions = degrees.positions[kept]
        identity = other.take(positions, identity_columns(other))
        _, old = read_counts(table, identity, len(positions))
        new = old + degrees.changes[kept]
        table.upsert([*identity, pa.array(new)])
        moves = self.emission.wanted(new) - self.emission.wanted(old)
        moved = np.flatnonzero(moves)
        yield from self.emission.stored(other, positions[moved], moves[moved], not flipped)


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
    table: StateTable, keys: Sequence[pa.Array], weights: Int64Array
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
