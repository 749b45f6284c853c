"""`SetOperation`: INTERSECT and EXCEPT, of sets or (ALL) of bags.

Derivation: the output multiplicity is a function f(l, r) of a row's two multiplicities, kept in one
table; a delta changes it by f(l + dl, r + dr) − f(l, r) for the rows of the delta only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from .batch import Int64Array, gather, group_rows, sum_by
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet, concat

Counts = tuple[Int64Array, Int64Array]


@dataclass(frozen=True)
class SetOperation(Node):
    """With l and r the multiplicities of a row left and right: intersect min(l, r), except max(l − r, 0).

    Without `all` a row comes out once: intersect if l > 0 and r > 0, except if l > 0 and r = 0.
    (UNION ALL is `Union`, UNION is `Distinct` over it.)
    """

    left: Node
    right: Node
    operation: Literal["intersect", "except"]
    all: bool = False

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        if self.left.key is not None or self.all:
            return self.left.key
        return tuple(range(len(self.schema)))

    @property
    def append_only(self) -> bool:
        return self.operation == "intersect" and self.left.append_only and self.right.append_only

    def multiplicity(self, left: Int64Array, right: Int64Array) -> Int64Array:
        """f(l, r), elementwise."""
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        if self.all:
            return np.minimum(left, right) if self.operation == "intersect" else np.maximum(left - right, 0)
        wanted = right > 0 if self.operation == "intersect" else right == 0
        return ((left > 0) & wanted).astype(np.int64)

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        rows, counts = count_both(self.schema, inputs)
        weights = self.multiplicity(*counts)
        return rows.with_weights(weights).filter(weights != 0)

    def open(self, context: OpenContext) -> Operator:
        columns = (*self.schema.columns, Column("left", INT8, False), Column("right", INT8, False))
        spec = TableSpec(Schema(columns), tuple(range(len(self.schema))))
        return _SetOperation(self, self.schema, context.table("counts", spec))


def count_both(schema: Schema, sides: Sequence[ZSet]) -> tuple[ZSet, Counts]:
    """The distinct rows of both sides, and the summed weight of each on either side."""
    rows = concat(schema, sides)
    ids, first = group_rows(rows.columns, schema.types, len(rows))
    split = len(sides[0])
    left = sum_by(ids[:split], sides[0].weights, len(first))
    right = sum_by(ids[split:], sides[1].weights, len(first))
    return rows.take(first), (left, right)


@dataclass(slots=True)
class _SetOperation:
    node: SetOperation
    schema: Schema
    counts: StateTable

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        rows, change = count_both(self.schema, deltas)
        positions = self.counts.lookup(rows.columns)
        old = self._counts(positions)
        new = (old[0] + change[0], old[1] + change[1])
        self._store(rows, positions, new)
        weights = self.node.multiplicity(*new) - self.node.multiplicity(*old)
        return rows.with_weights(weights).filter(weights != 0)

    def _counts(self, positions: Int64Array) -> Counts:
        width = len(self.schema)
        left, right = self.counts.take(positions, (width, width + 1))
        return left.fill_null(0).to_numpy(), right.fill_null(0).to_numpy()

    def _store(self, rows: ZSet, positions: Int64Array, counts: Counts) -> None:
        present = (counts[0] != 0) | (counts[1] != 0)
        kept = np.flatnonzero(present)
        if len(kept):
            columns = rows.columns if len(kept) == len(rows) else gather(rows.columns, kept)
            self.counts.upsert([*columns, pa.array(counts[0][kept]), pa.array(counts[1][kept])])
        gone = positions[~present & (positions >= 0)]
        if len(gone):
            self.counts.delete(gone)
