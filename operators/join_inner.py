"""The inner join at work, and how pairs of rows become output rows.

Derivation: bilinear, Δ(L ⋈ R) = ΔL ⋈ R + (L + ΔL) ⋈ ΔR, that is ΔL ⋈ R + L ⋈ ΔR + ΔL ⋈ ΔR
(Budiu et al. 2023, "DBSP", section 3.2): the left delta probes the old right rows, is stored, and the
right delta probes the new left rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import pyarrow as pa

from ..storage.schema import Schema
from . import pieces
from .batch import Int64Array, gather
from .join_pairs import Condition, Pairs
from .join_side import Input
from .node import EpochContext
from .pieces import coalesced, withdrawals_first
from .zset import ZSet, concat


@dataclass(frozen=True, slots=True)
class Output:
    """Puts left and right columns together."""

    schema: Schema

    def rows(
        self, own: Sequence[pa.Array], other: Sequence[pa.Array], weights: Int64Array, flipped: bool
    ) -> ZSet:
        columns = (*other, *own) if flipped else (*own, *other)
        return ZSet(self.schema, columns, weights)

    def extended(self, own: ZSet, flipped: bool) -> ZSet:
        """Rows of one side with NULLs for the other."""
        width = len(self.schema) - len(own.schema)
        types = self.schema.types[:width] if flipped else self.schema.types[len(own.schema) :]
        return self.rows(own.columns, [pa.nulls(len(own), t.arrow) for t in types], own.weights, flipped)

    def pairs(self, delta: ZSet, own: Input, other: Input, pairs: Pairs, flipped: bool) -> ZSet:
        """The output rows of pairs of delta rows and stored rows."""
        probing, partners = pairs
        weights = delta.weights[probing]
        if other.key is None:
            weights = weights * other.weights(partners)
        columns = delta.columns[: len(own.schema)]
        return self.rows(gather(columns, probing), other.take(partners), weights, flipped)


@dataclass(slots=True)
class InnerJoin:
    """The running inner join: each side's delta probes the other side's rows.

    Nothing needs the new right rows in the same step, so they may be stored while what has been found goes
    through the operators behind (`settle`).
    """

    left: Input
    right: Input
    condition: Condition | None
    output: Output
    storing: Future[None] | None = None
    """The right rows of the last step on their way into their table."""

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        found = list(self.steps(deltas, context))
        self.settle()
        return concat(self.output.schema, found)

    def settle(self) -> None:
        storing, self.storing = self.storing, None
        if storing is not None:
            storing.result()

    def steps(self, deltas: Sequence[ZSet], context: EpochContext) -> Iterator[ZSet]:
        return coalesced(self._parts(deltas, context))

    def _parts(self, deltas: Sequence[ZSet], context: EpochContext) -> Iterator[ZSet]:
        self.settle()
        if len(deltas[0]):
            delta = self.left.prepare(deltas[0], context)
            yield from self._found(delta, self.left, self.right, False, context)
            self.left.apply(delta)
        if len(deltas[1]):
            delta = self.right.prepare(deltas[1], context)
            self.storing = self.right.apply_beside(delta)
            yield from self._found(delta, self.right, self.left, True, context)

    def _found(
        self, delta: ZSet, own: Input, other: Input, flipped: bool, context: EpochContext
    ) -> Iterator[ZSet]:
        matching = other.matching(delta, own, self.condition, flipped)
        if matching.candidates.total > pieces.PIECE_ROWS:
            delta = withdrawals_first(delta)
            matching = other.matching(delta, own, self.condition, flipped)
        for found in matching.pairs(context):
            yield self.output.pairs(delta, own, other, found, flipped)
