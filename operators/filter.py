"""`Filter`: the rows for which a predicate is true (not false, not NULL).

Derivation: linear, σ(A + Δ) = σ(A) + σ(Δ).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..storage.schema import Schema
from .batch import poll
from .evaluate import passing
from .expr import Expr
from .node import EpochContext, Node, OpenContext, Operator
from .pieces import divided
from .zset import ZSet


@dataclass(frozen=True)
class Filter(Node):
    """`input` where `predicate`."""

    input: Node
    predicate: Expr

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.input.key

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    @property
    def exact(self) -> bool:
        return self.input.exact

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return passing(self.predicate, inputs[0], context, "Filter")

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        for piece in inputs[0]:
            poll(context)
            yield from divided(lambda rows: self.plain((rows,), context), piece)

    def open(self, context: OpenContext) -> Operator:
        return _Filter(self)


@dataclass(slots=True)
class _Filter:
    node: Filter

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return self.node.plain(deltas, context)
