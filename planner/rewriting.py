"""Rewriting expressions throughout a plan, subqueries included.

An `OuterColumn` counts boundaries: each `Subquery.query` and each `Apply.right` is one more. So a change is
told its *level*: 0 for expressions over the row in question, 1 inside the subqueries over that row, and
so on. At level n, `OuterColumn(n, …)` is a column of that row, one of larger depth comes from further out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TypeVar, cast

from ..operators.aggregate import AggregateCall
from ..operators.expr import ColumnRef, Expr, Literal, Now, OuterColumn, Parameter, Subquery, rewrite_expr
from ..operators.node import Node, rewrite
from ..operators.window import Bound, Frame, WindowCall
from ..sql.bind_columns import RowExpr
from ..sql.intermediate import SubqueryColumn
from ..storage.errors import FeatureNotSupported
from .apply import Apply
from .bounds import ParameterTopN

Change = Callable[[Expr, int], "Expr | None"]
"""The replacement of an expression at a level, or None to look at its parts."""

T = TypeVar("T")
_PARTS = (AggregateCall, WindowCall, Frame, Bound)
_LEAVES = (ColumnRef, OuterColumn, Literal, Parameter, Now, SubqueryColumn)
_PLAIN = frozenset({"type", "function", "names", "schema_", "kind", "negated", "hidden", "relation"})
"""Fields that never hold expressions."""


def replace_expr(expr: Expr, change: Change, level: int = 0) -> Expr:
    """`expr` with `change` applied from the top down."""
    found = change(expr, level)
    if found is not None:
        return found
    return expr if isinstance(expr, _LEAVES) else _fields_replaced(expr, change, level)


def replace_node(node: Node, change: Change, level: int = 0) -> Node:
    """`node` with `change` applied to all its expressions, `level` being that of its own."""
    return _fields_replaced(node, change, level)


def _fields_replaced(owner: T, change: Change, level: int) -> T:
    changed: dict[str, object] = {}
    for name, inner in _fields_of(type(owner)):
        value: object = getattr(owner, name)
        new = _value_replaced(value, change, level + inner)
        if new is not value:
            changed[name] = new
    return cast("T", replace(owner, **changed)) if changed else owner  # pyright: ignore[reportArgumentType,reportCallIssue]


@cache
def _fields_of(kind: type) -> tuple[tuple[str, int], ...]:
    """The fields that may hold expressions, and whether (1 or 0) a boundary is around them."""
    boundary = {Subquery: "query", Apply: "right"}.get(kind)
    assert is_dataclass(kind), kind
    return tuple((item.name, int(item.name == boundary)) for item in fields(kind) if item.name not in _PLAIN)


def _value_replaced(value: object, change: Change, level: int) -> object:
    if isinstance(value, Expr):
        return replace_expr(value, change, level)
    if isinstance(value, (Node, *_PARTS)):
        return _fields_replaced(value, change, level)
    if isinstance(value, tuple):
        old = cast("tuple[object, ...]", value)
        new = tuple(_value_replaced(v, change, level) for v in old)
        return new if any(a is not b for a, b in zip(old, new, strict=True)) else value
    return value


def reads_level(node: Node, level: int = 1) -> bool:
    """Whether `node`, standing inside `level` boundaries, reads a column of the row around them."""
    found = False

    def look(expr: Expr, at: int) -> Expr | None:
        nonlocal found
        if isinstance(expr, OuterColumn) and expr.depth == at:
            found = True
        return None

    replace_node(node, look, level)
    return found


def reads_outside(node: Node) -> bool:
    """Whether `node` reads any column of a level around it."""
    found = False

    def look(expr: Expr, at: int) -> Expr | None:
        nonlocal found
        if isinstance(expr, OuterColumn) and expr.depth > at:
            found = True
        return None

    replace_node(node, look, 0)
    return found


def move_outer(node: Node, by: int) -> Node:
    """`node` put inside `by` more boundaries (fewer, when negative)."""

    def move(expr: Expr, at: int) -> Expr | None:
        if isinstance(expr, OuterColumn) and expr.depth > at:
            return OuterColumn(expr.depth + by, expr.index, expr.type)
        return None

    return replace_node(node, move, 0) if by else node


def pull_out(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Expressions that stood inside one boundary, as expressions over the row around it."""

    def pull(expr: Expr, level: int) -> Expr | None:
        if not isinstance(expr, OuterColumn) or expr.depth <= level:
            return None
        if level == 0 and expr.depth == 1:
            return ColumnRef(expr.index, expr.type)
        return OuterColumn(expr.depth - 1, expr.index, expr.type)

    return tuple(replace_expr(expr, pull) for expr in exprs)


def finish(expr: Expr, width: int) -> Expr:
    """`expr`, ready to stand in a node over a row of `width` columns.

    The subquery's columns in the test of ANY and ALL follow those of the row. A row value that is left
    cannot be computed: raises 0A000.
    """

    if isinstance(expr, _LEAVES):
        return expr

    def change(e: Expr) -> Expr:
        if isinstance(e, RowExpr):
            raise FeatureNotSupported("row values are not supported here")
        if isinstance(e, Subquery) and e.test is not None:
            return replace(e, test=rewrite_expr(e.test, place))
        return e

    def place(e: Expr) -> Expr:
        return ColumnRef(width + e.index, e.type) if isinstance(e, SubqueryColumn) else e

    return rewrite_expr(expr, change)


def substitute_expr(expr: Expr, literals: Mapping[int, Literal]) -> Expr:
    """`expr` with every `$n` replaced by `literals[n]`."""
    return replace_expr(expr, _parameters_to(literals))


def substitute_node(node: Node, literals: Mapping[int, Literal]) -> Node:
    """`node` with every `$n` replaced by `literals[n]`; LIMIT $n takes effect here.

    Raises 2201W or 2201X for a negative limit or offset.
    """
    change = _parameters_to(literals)
    return rewrite(replace_node(node, change), lambda n: n.resolved() if isinstance(n, ParameterTopN) else n)


def _parameters_to(literals: Mapping[int, Literal]) -> Change:
    def change(expr: Expr, level: int) -> Expr | None:
        return literals[expr.number] if isinstance(expr, Parameter) else None

    return change
