"""`Materialize`: the top of a view: keeps its rows in a table that readers look at.

Derivation: the identity; the table integrates the delta. A view that is just an aggregate, its columns
perhaps in another order, has no table beside the aggregate's: see `shown_aggregate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from .aggregate import Aggregate, ShownAggregate
from .consolidate import consolidate, consolidate_alike
from .expr import ColumnRef
from .node import EpochContext, Node, OpenContext, Operator
from .project import Project
from .zset import ZSet

VIEW_TABLE = "rows"
"""Suffix of the table that holds the rows."""


@dataclass(frozen=True)
class Materialize(Node):
    """`input`, kept in a table keyed by `key_` (None: a bag). Its deltas come out consolidated."""

    input: Node
    key_: tuple[int, ...] | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.key_

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    @property
    def exact(self) -> bool:
        return self.input.exact

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return inputs[0]

    def open(self, context: OpenContext) -> Operator:
        return _Materialize(context.table(VIEW_TABLE, TableSpec(self.schema, self.key_)), self.input.exact)


def shown_aggregate(view: Materialize) -> ShownAggregate | None:
    """The aggregate whose table can be that of the view, if the view is no more than one."""
    below, columns = view.input, list(range(len(view.schema)))
    if isinstance(below, Project):
        columns = [expr.index for expr in below.exprs if isinstance(expr, ColumnRef)]
        if len(columns) < len(below.exprs):
            return None
        below = below.input
    if not isinstance(below, Aggregate) or view.key is None:
        return None
    shown = ShownAggregate(below, tuple(columns), view.schema, view.key)
    return shown if shown.possible else None


@dataclass(slots=True)
class _Materialize:
    rows: StateTable
    exact: bool

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        delta = deltas[0]
        if not len(delta):
            return delta
        if self.exact:
            self.rows.apply(delta.columns, delta.weights, exact=True)
            return delta
        if delta.weights.min() > 0 or delta.weights.max() < 0:
            # Nothing can cancel: the table finds out whether a row is there twice.
            change = self.rows.apply(delta.columns, delta.weights)
            return delta if change.simple else consolidate(delta)
        delta = consolidate(delta) if self.rows.spec.bag else consolidate_alike(delta)
        if len(delta):
            self.rows.apply(delta.columns, delta.weights)
        return delta
