"""Pairs of matching rows of a join: candidates by key, made and thinned out by the condition in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..storage.errors import SqlError
from ..storage.schema import Column, Schema
from ..storage.types import INT8
from . import pieces
from .batch import NO_POSITIONS, Int64Array, gather, poll, truth
from .evaluate import evaluate, evaluate_rows
from .expr import Expr, columns_of
from .node import EpochContext
from .zset import ZSet

Pairs = tuple[Int64Array, Int64Array]
"""Positions among the probing rows, and for each the position of its partner."""

Take = Callable[[Int64Array, Sequence[int]], list[pa.Array]]
"""Some columns of the rows at some positions of one side."""


class Candidates(Protocol):
    """All pairs whose keys agree, numbered by ascending probing row: listed, or made when asked for."""

    @property
    def total(self) -> int:
        """Number of pairs."""
        ...

    def before(self, row: int) -> int:
        """Number of pairs of the probing rows before `row`."""
        ...

    def pairs(self, start: int, stop: int) -> Pairs:
        """The pairs from number `start` up to, not including, `stop`."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """Pairs written out."""

    probing: Int64Array
    partners: Int64Array

    @property
    def total(self) -> int:
        return len(self.probing)

    def before(self, row: int) -> int:
        return int(np.searchsorted(self.probing, row))

    def pairs(self, start: int, stop: int) -> Pairs:
        if start == 0 and stop == len(self.probing):
            return self.probing, self.partners
        return self.probing[start:stop], self.partners[start:stop]


class Grouped:
    """Pairs by key: the partners of probing row r are `partners[begins[r]]` and the next `counts[r] − 1`.

    However many pairs there are, it is as large as the two inputs.
    """

    def __init__(self, begins: Int64Array, counts: Int64Array, partners: Int64Array) -> None:
        self.partners = partners
        self._ends = np.cumsum(counts)
        self._counts = counts
        self._shift = begins - (self._ends - counts)

    @property
    def total(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def before(self, row: int) -> int:
        return int(self._ends[row - 1]) if row else 0

    def pairs(self, start: int, stop: int) -> Pairs:
        if start >= stop:
            return NO_POSITIONS, NO_POSITIONS
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._ends, stop - 1, side="right"))
        rows = np.arange(first, last + 1)
        counts = self._counts[first : last + 1].copy()
        counts[0] = self._ends[first] - start
        counts[-1] -= self._ends[last] - stop
        places = np.arange(start, stop) + np.repeat(self._shift[first : last + 1], counts)
        return np.repeat(rows, counts), self.partners[places]


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

    candidates: Candidates
    own: Take
    other: Take
    weights: Callable[[Int64Array, Int64Array], Int64Array]
    """Weight of each pair."""
    condition: Condition | None
    flipped: bool

    def pairs(self, context: EpochContext, rows: slice = slice(None)) -> Iterator[Pairs]:
        """The matching pairs (of some probing rows) in pieces, by ascending probing row."""
        start = 0 if rows.start is None else self.candidates.before(rows.start)
        stop = self.candidates.total if rows.stop is None else self.candidates.before(rows.stop)
        for at in range(start, stop, pieces.PIECE_ROWS):
            poll(context)
            found = self.candidates.pairs(at, min(at + pieces.PIECE_ROWS, stop))
            if self.condition is not None:
                kept = self._test(*found, self.condition, context)
                if len(kept) < len(found[0]):
                    found = found[0][kept], found[1][kept]
            if len(found[0]):
                yield found

    def _test(
        self, probing: Int64Array, partners: Int64Array, condition: Condition, context: EpochContext
    ) -> Int64Array:
        own, other = Side(self.own, probing), Side(self.other, partners)
        left, right = (other, own) if self.flipped else (own, other)
        return condition.holds(left, right, self.weights(probing, partners), context)
