"""Conditions move down to the rows they speak of, and a filtered cross product becomes an inner join.

Safe, node by node: a condition may pass a projection when it is put in terms of the projection's input;
an aggregate or partition when it reads grouping columns only (a whole group stays or goes); the
preserved side of an outer join, never the other (there it would drop rows that must come out
NULL-extended). A condition that may fail (division, cast) passes joins only towards fewer columns,
which PostgreSQL does too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...operators.aggregate import Aggregate
from ...operators.distinct import Distinct
from ...operators.expr import ColumnRef, Expr, columns_of, rewrite_expr
from ...operators.filter import Filter
from ...operators.join import Join, JoinKind
from ...operators.node import Node
from ...operators.project import Project
from ...operators.set_operation import SetOperation
from ...operators.topn import TopN
from ...operators.union import Union
from ...operators.window import Window
from ...sql.catalog import Catalog
from ..conditions import all_of, condition_of, conjuncts

LEFT_PRESERVED = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
RIGHT_PRESERVED = (JoinKind.INNER, JoinKind.RIGHT)
RIGHT_FILTERABLE = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
LEFT_FILTERABLE = (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)


def push_filters(node: Node, catalog: Catalog) -> Node:
    pushed = _pushed(node, [])
    return node if pushed == node else pushed


def _pushed(node: Node, parts: list[Expr]) -> Node:
    """`node` with the conditions `parts` (over its output) applied as low as they may be."""
    match node:
        case Filter():
            return _pushed(node.input, [*parts, *conjuncts(node.predicate)])
        case Project():
            return _through_project(node, parts)
        case Join():
            return _through_join(node, parts)
        case Union():
            return Union(tuple(_pushed(branch, parts) for branch in node.branches))
        case Distinct():
            return Distinct(_pushed(node.input, parts))
        case SetOperation():
            return replace(node, left=_pushed(node.left, parts), right=_pushed(node.right, parts))
        case Aggregate():
            return _through_aggregate(node, parts)
        case TopN() | Window():
            return _through_partition(node, parts)
        case _:
            return _filtered(node.with_inputs(tuple(_pushed(child, []) for child in node.inputs)), parts)


def _filtered(node: Node, parts: Sequence[Expr]) -> Node:
    return Filter(node, all_of(parts)) if parts else node


def _through_project(node: Project, parts: list[Expr]) -> Node:
    def below(expr: Expr) -> Expr:
        return rewrite_expr(expr, lambda e: node.exprs[e.index] if isinstance(e, ColumnRef) else e)

    return replace(node, input=_pushed(node.input, [below(part) for part in parts]))


def _through_aggregate(node: Aggregate, parts: list[Expr]) -> Node:
    count = len(node.groups)
    movable = [part for part in parts if count and columns_of(part) and max(columns_of(part)) < count]
    rest = [part for part in parts if part not in movable]

    def below(expr: Expr) -> Expr:
        return rewrite_expr(expr, lambda e: node.groups[e.index] if isinstance(e, ColumnRef) else e)

    moved = replace(node, input=_pushed(node.input, [below(part) for part in movable]))
    return _filtered(moved, rest)


def _through_partition(node: TopN | Window, parts: list[Expr]) -> Node:
    partition = set(node.partition)
    movable = [part for part in parts if columns_of(part) and columns_of(part) <= partition]
    rest = [part for part in parts if part not in movable]
    return _filtered(replace(node, input=_pushed(node.input, movable)), rest)


def _through_join(node: Join, parts: list[Expr]) -> Node:
    width = len(node.left.schema)
    left: list[Expr] = []
    right: list[Expr] = []
    above: list[Expr] = []
    condition = conjuncts(node.condition) if node.condition is not None else []
    for part in parts:
        _place(part, width, left if node.kind in LEFT_PRESERVED else None,
               right if node.kind in RIGHT_PRESERVED else None, above)  # fmt: skip
    if node.kind is JoinKind.INNER:
        condition, above = [*condition, *above], []
    within: list[Expr] = []
    for part in condition:
        _place(part, width, left if node.kind in LEFT_FILTERABLE else None,
               right if node.kind in RIGHT_FILTERABLE else None, within)  # fmt: skip
    joined = replace(
        node,
        left=_pushed(node.left, left),
        right=_pushed(node.right, right),
        condition=condition_of(within),
    )
    return _filtered(joined, above)


def _place(
    part: Expr, width: int, left: list[Expr] | None, right: list[Expr] | None, otherwise: list[Expr]
) -> None:
    """Puts a condition on the one side whose columns it reads, if it may go there."""
    columns = columns_of(part)
    if left is not None and columns and max(columns) < width:
        left.append(part)
    elif right is not None and columns and min(columns) >= width:
        right.append(_shifted(part, -width))
    else:
        otherwise.append(part)


def _shifted(part: Expr, by: int) -> Expr:
    return rewrite_expr(part, lambda e: ColumnRef(e.index + by, e.type) if isinstance(e, ColumnRef) else e)
