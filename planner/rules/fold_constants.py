"""Immutable functions of constants are computed while planning, and TRUE filters go away.

Only what cannot fail is folded into the plan: an expression that raises (1/0) stays as it is, so that it
fails when, and only if, a row reaches it. NULL-rejecting shortcuts are taken for AND, OR and NOT only.
"""

from __future__ import annotations

from ...operators.constants import plain_value
from ...operators.evaluate import evaluate
from ...operators.expr import (
    And,
    Call,
    Cast,
    Expr,
    Literal,
    Now,
    Or,
    OuterColumn,
    Parameter,
    Subquery,
    columns_of,
    walk_expr,
)
from ...operators.filter import Filter
from ...operators.node import EpochContext, Node, rewrite
from ...sql.catalog import Catalog
from ...storage.errors import QueryCanceled, SqlError
from ...storage.types import BOOL, NAMED_OIDS, STRINGS, Type
from ..rewriting import replace_expr, replace_node

_SETTING_DEPENDENT = NAMED_OIDS | {"timestamptz"}
"""Types whose values depend on the session: casts from and to them are not constant."""
_SETTING_DEPENDENT_TEXT = frozenset({"date", "timestamp", "interval", "bytea", "float4", "float8"})
"""Types whose text form depends on the session (DateStyle and its like), and they themselves do not."""


_GROWING = frozenset({"repeat", "lpad", "rpad", "array_fill"})
"""They make much of little, and plans are kept."""


def fold_constants(node: Node, catalog: Catalog) -> Node:
    return rewrite(replace_node(node, _fold), _simplify)


def _simplify(node: Node) -> Node:
    if isinstance(node, Filter) and isinstance(node.predicate, Literal) and node.predicate.value is True:
        return node.input
    return node


def _fold(expr: Expr, level: int) -> Expr | None:
    """The literal an expression stands for, or what is left of it."""
    if isinstance(expr, And | Or):
        return _fold_connective(expr, level)
    if isinstance(expr, Literal) or not _foldable(expr):
        return None
    try:
        value = evaluate(expr, [], 1, EpochContext(0, 0, cancelled=_Patience(expr)))
    except (SqlError, NotImplementedError):
        return None
    return Literal(plain_value(expr.type, value), expr.type)


class _Patience:
    """Ends the evaluation of what takes long, as a function that waits for something polls often."""

    def __init__(self, expr: Expr) -> None:
        self._left = 2 * sum(1 for _ in walk_expr(expr))

    def __call__(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise QueryCanceled("not a constant to compute while planning")


def _fold_connective(expr: And | Or, level: int) -> Expr | None:
    decisive = isinstance(expr, Or)
    args = [replace_expr(arg, _fold, level) for arg in expr.args]
    kept: list[Expr] = []
    for arg in args:
        if isinstance(arg, Literal) and arg.value is decisive:
            return Literal(decisive, BOOL) if not kept else None
        if not (isinstance(arg, Literal) and arg.value is (not decisive)):
            kept.append(arg)
    if not kept:
        return Literal(not decisive, BOOL)
    if len(kept) == 1:
        return kept[0]
    return And(tuple(kept)) if isinstance(expr, And) else Or(tuple(kept))


def _foldable(expr: Expr) -> bool:
    if columns_of(expr):
        return False
    for part in walk_expr(expr):
        if isinstance(part, OuterColumn | Parameter | Subquery | Now):
            return False
        if isinstance(part, Call) and (
            part.function.volatility != "immutable" or part.function.name in _GROWING
        ):
            return False
        if isinstance(part, Cast) and _depends_on_settings(part.arg.type, part.type):
            return False
    return isinstance(expr, Call | Cast)


def _depends_on_settings(source: Type, target: Type) -> bool:
    names = {(type_.element or type_).name for type_ in (source, target)}
    if names & _SETTING_DEPENDENT:
        return True
    return bool(names & _SETTING_DEPENDENT_TEXT) and bool({source.name, target.name} & STRINGS)
