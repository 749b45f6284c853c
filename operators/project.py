"""`Project`: a row of expressions for each row.

Derivation: linear, π(A + Δ) = π(A) + π(Δ).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..storage.schema import Column, Schema
from .batch import poll
from .evaluate import evaluate_rows
from .expr import ColumnRef, Expr
from .node import EpochContext, Node, OpenContext, Operator
from .pieces import divided
from .shape import carried_key, computed_columns
from .zset import ZSet


@dataclass(frozen=True)
class Project(Node):
    """`exprs` over each row of `input`. `hidden`, when not empty, marks columns that `*` leaves out."""

    input: Node
    exprs: tuple[Expr, ...]
    names: tuple[str, ...]
    hidden: tuple[bool, ...] = ()

    @property
    def schema(self) -> Schema:
        columns = computed_columns(self.exprs, self.names, self.input.schema)
        if not self.hidden:
            return Schema(columns)
        pairs = zip(columns, self.hidden, strict=True)
        return Schema(tuple(Column(c.name, c.type, c.nullable, hidden) for c, hidden in pairs))

    @property
    def key(self) -> tuple[int, ...] | None:
        return carried_key(self.input.key, self.exprs)

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    @property
    def exact(self) -> bool:
        """If no column is lost, two rows stay different."""
        kept = {expr.index for expr in self.exprs if isinstance(expr, ColumnRef)}
        whole = len(kept) == len(self.input.schema) and all(isinstance(e, ColumnRef) for e in self.exprs)
        return whole and self.input.exact

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return self.over(inputs[0], context, self.schema)

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        schema = self.schema
        for piece in inputs[0]:
            poll(context)
            yield from divided(lambda rows: self.over(rows, context, schema), piece)

    def over(self, rows: ZSet, context: EpochContext, schema: Schema) -> ZSet:
        """The projection of `rows`, whose schema is known to be `schema`."""
        if all(isinstance(expr, ColumnRef) for expr in self.exprs):
            columns = [rows.columns[expr.index] for expr in self.exprs if isinstance(expr, ColumnRef)]
            return rows.with_columns(schema, columns)
        columns, kept = evaluate_rows(self.exprs, rows, context, "Project")
        return kept.with_columns(schema, columns)

    def open(self, context: OpenContext) -> Operator:
        return _Project(self, self.schema)


@dataclass(slots=True)
class _Project:
    node: Project
    schema: Schema

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return self.node.over(deltas[0], context, self.schema)
