"""`Union`: UNION ALL, the sum of bags.

Derivation: linear, the delta of a sum is the sum of the deltas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..storage.schema import Column, Schema
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet, concat


@dataclass(frozen=True)
class Union(Node):
    """All rows of all `branches`, whose columns have the same types; names are the first branch's."""

    branches: tuple[Node, ...]

    @property
    def schema(self) -> Schema:
        schemas = [branch.schema for branch in self.branches]
        return Schema(
            tuple(
                Column(first.name, first.type, any(s[i].nullable for s in schemas), first.hidden)
                for i, first in enumerate(schemas[0])
            )
        )

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.branches[0].key if len(self.branches) == 1 else None

    @property
    def append_only(self) -> bool:
        return all(branch.append_only for branch in self.branches)

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return concat(self.schema, inputs)

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        schema = self.schema
        for branch in inputs:
            for piece in branch:
                yield ZSet(schema, piece.columns, piece.weights)

    def open(self, context: OpenContext) -> Operator:
        return _Union(self.schema)


@dataclass(slots=True)
class _Union:
    schema: Schema

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return concat(self.schema, deltas)
