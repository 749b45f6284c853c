"""`Distinct`: each row once, however often it occurs.

Derivation: with w the multiplicity of a row before and w + d after, its output changes by
[w + d > 0] − [w > 0]. A table counts the rows; only rows of the delta are looked at. An input with a
key has no row twice and passes through. (Budiu et al. 2023, "DBSP", section 4.2.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from .consolidate import consolidate
from .node import EpochContext, Node, OpenContext, Operator
from .pieces import collect, merged
from .zset import ZSet


@dataclass(frozen=True)
class Distinct(Node):
    """The distinct rows of `input` (distinct as in IS DISTINCT FROM)."""

    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        key = self.input.key
        return tuple(range(len(self.schema))) if key is None else key

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    @property
    def exact(self) -> bool:
        return self.input.key is None

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        yield self.plain((collect(self, merged(inputs[0], context)),), context)

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        rows = consolidate(inputs[0])
        rows = rows.filter(rows.weights > 0)
        return rows.with_weights(np.ones(len(rows), np.int64))

    def open(self, context: OpenContext) -> Operator:
        if self.input.key is not None:
            return _Keyed()
        return _Distinct(context.table("rows", TableSpec(self.schema, None)))


@dataclass(slots=True)
class _Keyed:
    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return deltas[0]


@dataclass(slots=True)
class _Distinct:
    rows: StateTable

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        delta = deltas[0]
        rows = self.rows.integrate(delta.columns, delta.weights)
        change = rows.came_and_went
        kept = np.flatnonzero(change)
        return delta.take(rows.places[kept]).with_weights(change[kept])
