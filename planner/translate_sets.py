"""Set-returning functions in the select list: they multiply the row, several of them in lockstep."""

from __future__ import annotations

from ..operators.expr import ColumnRef, Expr
from ..operators.functions.registry import TableFunction
from ..operators.node import Node
from ..operators.table_function import TableFunctionNode
from ..sql.bind_functions import function_columns
from ..sql.intermediate import SetReturning
from ..storage.errors import FeatureNotSupported
from .lockstep import lockstep
from .rewriting import finish, replace_expr

CallKey = tuple[TableFunction, tuple[Expr, ...]]


def with_sets(node: Node, exprs: tuple[Expr, ...]) -> tuple[Node, tuple[Expr, ...]]:
    """`node` with the rows that the set-returning calls in `exprs` make, and `exprs` reading them."""
    found: dict[CallKey, None] = {}

    def collect(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, SetReturning):
            _refuse_nested(expr)
            found[expr.function, expr.args] = None
            return expr
        return None

    for expr in exprs:
        replace_expr(expr, collect)
    if not found:
        return node, exprs
    width = len(node.schema)
    starts: dict[CallKey, int] = {}
    names: list[str] = []
    for function, args in found:
        starts[function, args] = width + len(names)
        names += [name for name, _ in function_columns(function, args)]
    function, args = lockstep(list(found))
    node = TableFunctionNode(node, function, tuple(finish(arg, width) for arg in args), tuple(names))

    def change(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, SetReturning):
            return ColumnRef(starts[expr.function, expr.args] + expr.column, expr.type)
        return None

    return node, tuple(replace_expr(expr, change) for expr in exprs)


def _refuse_nested(call: SetReturning) -> None:
    def look(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, SetReturning):
            raise FeatureNotSupported("nested set-returning functions are not supported")
        return None

    for arg in call.args:
        replace_expr(arg, look)
