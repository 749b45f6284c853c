"""Small constructors of nodes that translation uses everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from ..operators.expr import And, ColumnRef, Expr, Literal
from ..operators.filter import Filter
from ..operators.node import Node
from ..operators.project import Project
from ..operators.values import Values
from ..storage.schema import Schema
from .rewriting import finish

UNIT = Values(Schema(()), ((),))
"""One row without columns: what SELECT without FROM selects from."""


def keep(node: Node) -> tuple[Expr, ...]:
    """All columns of `node`, as expressions over its row."""
    return tuple(ColumnRef(i, column.type) for i, column in enumerate(node.schema))


def filtered(node: Node, predicate: Expr) -> Node:
    if isinstance(predicate, Literal) and predicate.value is True:
        return node
    return Filter(node, finish(predicate, len(node.schema)))


def projected(node: Node, exprs: Sequence[Expr], names: Sequence[str], hidden: Sequence[bool] = ()) -> Node:
    """The projection; none when it would change nothing."""
    schema = node.schema
    same = len(exprs) == len(schema) and all(
        isinstance(expr, ColumnRef) and expr.index == i for i, expr in enumerate(exprs)
    )
    if same and tuple(names) == schema.names and not any(hidden):
        return node
    width = len(schema)
    return Project(node, tuple(finish(expr, width) for expr in exprs), tuple(names), tuple(hidden))


def extended(node: Node, exprs: Sequence[Expr]) -> Node:
    """`node` with the columns `exprs` added behind its own."""
    if not exprs:
        return node
    names = (*node.schema.names, *("?column?" for _ in exprs))
    hidden = (*(column.hidden for column in node.schema), *(True for _ in exprs))
    return projected(node, (*keep(node), *exprs), names, hidden if any(hidden) else ())


def conjunction(conditions: Sequence[Expr]) -> Expr | None:
    """All of `conditions`; None for none."""
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else And(tuple(conditions))
