"""`Recompute`: the incremental form of a node that works on each partition as a whole.

Derivation: the output is the sum of f(partition), so it changes by f(new) − f(old) of the partitions the
delta touches, and by nothing else. The rows are kept in a table indexed by partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from .batch import gather, group_rows
from .consolidate import consolidate, consolidate_alike
from .node import EpochContext, Node, OpenContext, RowError
from .zset import ZSet, concat

Compute = Callable[[ZSet, EpochContext], ZSet]
"""The whole output for some whole partitions."""


@dataclass(slots=True)
class Recompute:
    """The running form of what is computed anew for each partition that changed, from its stored rows."""

    partition: tuple[int, ...]
    compute: Compute
    input: Schema
    output: Schema
    rows: StateTable

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        delta = consolidate(deltas[0]) if self.rows.spec.bag else consolidate_alike(deltas[0])
        if not len(delta):
            return ZSet.empty(self.output)
        keys, count = self._touched(delta)
        old = self._compute(self._content(keys, count), -1, context)
        self.rows.apply(delta.columns, delta.weights)
        new = self._compute(self._content(keys, count), 1, context)
        return consolidate_alike(concat(self.output, (old, new)))

    def _touched(self, delta: ZSet) -> tuple[list[pa.Array], int]:
        """The distinct partitions of the delta."""
        columns = [delta.columns[i] for i in self.partition]
        types = [self.input.types[i] for i in self.partition]
        _, first = group_rows(columns, types, len(delta))
        return gather(columns, first), len(first)

    def _content(self, keys: list[pa.Array], count: int) -> ZSet:
        """All rows of some partitions."""
        _, positions = self.rows.matches(0, keys, True, count)
        return ZSet(self.input, tuple(self.rows.take(positions)), self.rows.weights(positions))

    def _compute(self, rows: ZSet, sign: int, context: EpochContext) -> ZSet:
        """f(rows), negated (with its row errors) for sign −1."""
        rows = rows.filter(rows.weights > 0)
        if not len(rows):
            return ZSet.empty(self.output)
        if sign > 0:
            return self.compute(rows, context)
        if context.errors is None:
            return self.compute(rows, context).negate()
        errors: list[RowError] = []
        output = self.compute(rows, replace(context, errors=errors)).negate()
        context.errors.extend(replace(error, rows=error.rows.negate()) for error in errors)
        return output


def open_recompute(
    node: Node, input_: Node, partition: tuple[int, ...], compute: Compute, context: OpenContext
) -> Recompute:
    """`node` over `input_`, by partitions."""
    spec = TableSpec(input_.schema, input_.key, (partition,))
    return Recompute(partition, compute, input_.schema, node.schema, context.table("rows", spec))
