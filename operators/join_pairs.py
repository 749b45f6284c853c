"""Pairs of matching rows of a join: candidates by key, thinned out by the condition in bounded pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.errors import OutOfMemory, SqlError
from ..storage.schema import Column, Schema
from ..storage.types import INT8
from .batch import Int64Array, gather, poll, truth
from .evaluate import evaluate, evaluate_rows
from .expr import Expr, columns_of
from .node import EpochContext
from .zset import ZSet

PAIRS_MAX = 1 << 20
"""Candidate pairs held at once, in rows, while a condition thins them out."""

FIRST_PROBES = 16
"""Rows probed at once before it is known how many pairs a row makes."""

JOINED_ROWS_MAX = 1 << 26
"""Pairs a join may make of one change, or of whole relations, in rows: 1 GiB of their positions."""


def refuse_too_many(rows: int) -> None:
    """Raises OutOfMemory before more pairs than JOINED_ROWS_MAX are made."""
    if rows > JOINED_ROWS_MAX:
        raise OutOfMemory(
            "out of memory", detail=f"A join would give {rows} rows, more than {JOINED_ROWS_MAX}."
        )


Pairs = tuple[Int64Array, Int64Array]
"""Positions among the probing rows, and for each the position of its partner."""

Take = Callable[[Int64Array, Sequence[int]], list[pa.Array]]
"""Some columns of the rows at some positions of one side."""

Probe = Callable[[int, int], Pairs]
"""All candidate pairs of the probing rows from a start, so many of them (positions from 0)."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A join condition over (left row, right row)."""

    expr: Expr
    schema: Schema
    """Left columns, then right columns."""
    split: int
    """Number of left columns."""
    left: tuple[int, ...]
    """Left columns it reads."""
    right: tuple[int, ...]
    """Right columns it reads, counted from the first right one."""

    @staticmethod
    def of(expr: Expr, left: Schema, right: Schema) -> Condition:
        split, needed = len(left), sorted(columns_of(expr))
        return Condition(
            expr,
            left.concat(right),
            split,
            tuple(i for i in needed if i < split),
            tuple(i - split for i in needed if i >= split),
        )

    def holds(self, left: Side, right: Side, weights: Int64Array, context: EpochContext) -> Int64Array:
        """The positions of the pairs it is true for; `weights` are those of the pairs.

        A pair on which it fails is recorded as a row error and does not count as a match.
        """
        try:
            columns = self._needed(left, right)
            return np.flatnonzero(truth(evaluate(self.expr, columns, len(weights), context)))
        except SqlError:
            if context.errors is None:
                raise
        return self._holds_by_row(left, right, weights, context)

    def _needed(self, left: Side, right: Side) -> list[pa.Array]:
        columns: list[pa.Array] = [None] * len(self.schema)
        for i, column in zip(self.left, left.columns(self.left), strict=True):
            columns[i] = column
        for i, column in zip(self.right, right.columns(self.right), strict=True):
            columns[self.split + i] = column
        return columns

    def _holds_by_row(
        self, left: Side, right: Side, weights: Int64Array, context: EpochContext
    ) -> Int64Array:
        assert context.errors is not None
        known, width = len(context.errors), len(self.schema)
        columns = (*left.columns(range(self.split)), *right.columns(range(width - self.split)))
        numbered = Schema((*self.schema.columns, Column("pair", INT8)))
        pairs = ZSet(numbered, (*columns, pa.array(np.arange(len(weights)))), weights)
        (mask,), kept = evaluate_rows((self.expr,), pairs, context, "Join")
        for error in context.errors[known:]:
            error.rows = error.rows.select(range(width))
        return kept.columns[-1].to_numpy()[truth(mask)]


@dataclass(frozen=True, slots=True)
class Side:
    """One half of some pairs: where its rows come from and which ones."""

    take: Take
    positions: Int64Array

    def columns(self, needed: Sequence[int]) -> list[pa.Array]:
        return self.take(self.positions, needed) if len(needed) else []


def rows_taker(rows: ZSet) -> Take:
    """Takes columns out of the rows of a ZSet."""

    def take(positions: Int64Array, columns: Sequence[int]) -> list[pa.Array]:
        return gather([rows.columns[column] for column in columns], positions)

    return take


@dataclass(frozen=True, slots=True)
class Matching:
    """How probing rows find their partners. `flipped`: the probing rows are the right ones."""

    probe: Probe
    own: Take
    other: Take
    weights: Callable[[Int64Array, Int64Array], Int64Array]
    """Weight of each pair."""
    condition: Condition | None
    flipped: bool

    def pairs(self, length: int, context: EpochContext) -> Iterator[Pairs]:
        """The matching pairs of `length` probing rows, in pieces, by ascending probing row."""
        if self.condition is None:
            yield self.probe(0, length)
            return
        start, size = 0, FIRST_PROBES
        while start < length:
            poll(context)
            probing, partners = self.probe(start, min(size, length - start))
            yield self._thin(probing + start, partners, context)
            start += size
            size = max(1, min(4 * size, size * PAIRS_MAX // max(len(probing), 1)))

    def _thin(self, probing: Int64Array, partners: Int64Array, context: EpochContext) -> Pairs:
        """The pairs the condition holds for."""
        kept: list[Int64Array] = []
        for start in range(0, len(probing), PAIRS_MAX):
            poll(context)
            piece = slice(start, start + PAIRS_MAX)
            kept.append(self._test(probing[piece], partners[piece], context) + start)
        found = np.concatenate(kept) if kept else np.empty(0, np.int64)
        return probing[found], partners[found]

    def _test(self, probing: Int64Array, partners: Int64Array, context: EpochContext) -> Int64Array:
        assert self.condition is not None
        own, other = Side(self.own, probing), Side(self.other, partners)
        left, right = (other, own) if self.flipped else (own, other)
        return self.condition.holds(left, right, self.weights(probing, partners), context)
