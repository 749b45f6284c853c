"""A projection of a projection becomes one, and one that changes nothing goes away.

An inner expression is put in place of its column only if that does not compute it more often than before:
a column used once, or an expression that is only a column or a constant.
"""

from __future__ import annotations

from collections import Counter

from ...operators.expr import ColumnRef, Expr, Literal, rewrite_expr, walk_expr
from ...operators.node import Node, rewrite
from ...operators.project import Project
from ...sql.catalog import Catalog


def merge_projects(node: Node, catalog: Catalog) -> Node:
    return rewrite(node, lambda n: _merged(n) if isinstance(n, Project) else n)


def _merged(node: Project) -> Node:
    inner = node.input
    if isinstance(inner, Project) and _cheap(node, inner):
        exprs = tuple(_inlined(expr, inner) for expr in node.exprs)
        node = Project(inner.input, exprs, node.names, node.hidden)
    return node.input if _is_identity(node) else node


def _inlined(expr: Expr, inner: Project) -> Expr:
    return rewrite_expr(expr, lambda e: inner.exprs[e.index] if isinstance(e, ColumnRef) else e)


def _cheap(node: Project, inner: Project) -> bool:
    uses = Counter(e.index for expr in node.exprs for e in walk_expr(expr) if isinstance(e, ColumnRef))
    return all(
        count == 1 or isinstance(inner.exprs[column], ColumnRef | Literal) for column, count in uses.items()
    )


def _is_identity(node: Project) -> bool:
    schema = node.input.schema
    if len(node.exprs) != len(schema) or node.names != schema.names:
        return False
    if any(a != b.hidden for a, b in zip(node.hidden or (False,) * len(schema), schema, strict=True)):
        return False
    return all(isinstance(e, ColumnRef) and e.index == i for i, e in enumerate(node.exprs))
