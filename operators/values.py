"""`Values`: rows written out in the query.

Derivation: a constant. Its delta is the rows at the first step and nothing afterwards; that it has
been given is remembered in a table of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.arrowview import one_value
from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import BOOL
from .evaluate import evaluate
from .expr import Expr, Literal
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet


@dataclass(frozen=True)
class Values(Node):
    """`rows`, each an expression a column of `schema_`; expressions read no column. No rows: empty."""

    schema_: Schema
    rows: tuple[tuple[Expr, ...], ...]

    @property
    def schema(self) -> Schema:
        return self.schema_

    @property
    def key(self) -> tuple[int, ...] | None:
        return () if len(self.rows) <= 1 else None

    @property
    def append_only(self) -> bool:
        return True

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        columns = [self._column(position, context) for position in range(len(self.schema_))]
        return ZSet(self.schema_, tuple(columns), np.ones(len(self.rows), np.int64))

    def _column(self, position: int, context: EpochContext) -> pa.Array:
        arrow = self.schema_.types[position].arrow
        exprs = [row[position] for row in self.rows]
        if len(exprs) == 1 and isinstance(exprs[0], Literal):
            return one_value(exprs[0].value, arrow)
        if all(isinstance(expr, Literal) for expr in exprs):
            return pa.array([expr.value for expr in exprs if isinstance(expr, Literal)], arrow)
        return pa.concat_arrays([evaluate(expr, (), 1, context) for expr in exprs])

    def open(self, context: OpenContext) -> Operator:
        spec = TableSpec(Schema.of(given=BOOL), ())
        return _Values(self, context.table("given", spec))


@dataclass(slots=True)
class _Values:
    node: Values
    given: StateTable

    @property
    def due(self) -> bool:
        """Whether it must be stepped though nothing came in."""
        return len(self.given) == 0

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        if not self.due:
            return ZSet.empty(self.node.schema_)
        self.given.upsert([pa.array([True])])
        return self.node.plain((), context)
