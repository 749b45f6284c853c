"""Window functions: one Window node per distinct OVER, each adding its columns behind the row."""

from __future__ import annotations

from ..operators.expr import ColumnRef, Expr
from ..operators.node import Node
from ..operators.sorting import SortKey
from ..operators.window import Window, WindowCall
from ..sql.intermediate import Direction, WindowExpr
from .building import extended
from .rewriting import finish, replace_expr

Over = tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Direction, ...]]


def with_windows(node: Node, exprs: tuple[Expr, ...]) -> tuple[Node, tuple[Expr, ...]]:
    """`node` with the windows that `exprs` call, and `exprs` reading their columns."""
    found: dict[WindowExpr, None] = {}

    def collect(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, WindowExpr):
            found[expr] = None
            return expr
        return None

    for expr in exprs:
        replace_expr(expr, collect)
    if not found:
        return node, exprs
    node, places = _keys_added(node, list(found))
    columns: dict[WindowExpr, int] = {}
    for over, calls in _by_window(list(found)).items():
        for i, call in enumerate(calls):
            columns[call] = len(node.schema) + i
        node = _window(node, over, calls, places)

    def change(expr: Expr, level: int) -> Expr | None:
        return ColumnRef(columns[expr], expr.type) if isinstance(expr, WindowExpr) else None

    return node, tuple(replace_expr(expr, change) for expr in exprs)


def _keys_added(node: Node, calls: list[WindowExpr]) -> tuple[Node, dict[Expr, int]]:
    """`node` with the PARTITION BY and ORDER BY expressions as columns, and where each one is."""
    keys = dict.fromkeys(expr for call in calls for expr in (*call.partition, *call.order))
    computed = [expr for expr in keys if not isinstance(expr, ColumnRef)]
    width = len(node.schema)
    places: dict[Expr, int] = {expr: expr.index for expr in keys if isinstance(expr, ColumnRef)}
    places |= {expr: width + i for i, expr in enumerate(computed)}
    return extended(node, computed), places


def _by_window(calls: list[WindowExpr]) -> dict[Over, list[WindowExpr]]:
    groups: dict[Over, list[WindowExpr]] = {}
    for call in calls:
        groups.setdefault((call.partition, call.order, call.directions), []).append(call)
    return groups


def _window(node: Node, over: Over, calls: list[WindowExpr], places: dict[Expr, int]) -> Node:
    partition, order, directions = over
    keys = tuple(
        SortKey(places[expr], descending, nulls_first)
        for expr, (descending, nulls_first) in zip(order, directions, strict=True)
    )
    width = len(node.schema)

    def call(expr: WindowExpr) -> WindowCall:
        args = tuple(finish(arg, width) for arg in expr.args)
        condition = None if expr.filter is None else finish(expr.filter, width)
        return WindowCall(expr.function, args, expr.type, expr.function.name, expr.frame, condition)

    return Window(node, tuple(places[expr] for expr in partition), keys, tuple(call(c) for c in calls))
