"""Subqueries as values: scalar, EXISTS, IN, ANY, ALL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import ColumnRef, Expr, Not, Subquery, SubqueryKind
from ..operators.project import Project
from ..storage.errors import FeatureNotSupported, SyntaxFault
from ..storage.types import BOOL
from .bind_columns import RowExpr
from .bind_operators import call_operator, compare_rows
from .dialect import position_of
from .environment import CHECK, DEFAULT, GENERATED, INDEX, BoundQuery
from .intermediate import SubqueryColumn

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

_WITHOUT = {CHECK: "check constraint", DEFAULT: "DEFAULT expression", INDEX: "index expression",
            GENERATED: "column generation expression"}  # fmt: skip


def _translate(binder: ExpressionBinder, ast: Ast, position: int) -> BoundQuery:
    words = _WITHOUT.get(binder.clause)
    if words:
        raise FeatureNotSupported(f"cannot use subquery in {words}", position=position)
    query = ast.this if isinstance(ast, exp.Subquery) else ast
    return binder.environment.translate(query, binder.environment, binder.scope)


def bind_scalar(binder: ExpressionBinder, ast: Ast) -> Expr:
    query = _translate(binder, ast, position_of(ast))
    if len(query.types) != 1:
        raise SyntaxFault("subquery must return only one column", position=position_of(ast))
    return Subquery(SubqueryKind.SCALAR, query.node, query.types[0])


def row_of_query(binder: ExpressionBinder, ast: Ast, count: int, position: int) -> RowExpr:
    """A subquery of one row and `count` columns as a row value, each column by a subquery of its own."""
    query = _translate(binder, ast, position)
    if len(query.types) != count:
        few = "few" if len(query.types) < count else "many"
        raise SyntaxFault(f"subquery has too {few} columns", position=position)
    columns = tuple(
        Subquery(SubqueryKind.SCALAR, Project(query.node, (ColumnRef(i, type_),), (query.names[i],)), type_)
        for i, type_ in enumerate(query.types)
    )
    return RowExpr(columns, query.names)


def bind_exists(binder: ExpressionBinder, ast: Ast) -> Expr:
    query = _translate(binder, ast.this, position_of(ast))
    return Subquery(SubqueryKind.EXISTS, query.node, BOOL)


def in_subquery(binder: ExpressionBinder, left: Ast, ast: Ast, negated: bool, position: int) -> Expr:
    """`left [NOT] IN (subquery)`."""
    test = quantified_subquery(binder, "=", left, ast, False, position)
    return Not(test) if negated else test


def quantified_subquery(
    binder: ExpressionBinder, symbol: str, left: Ast, ast: Ast, every: bool, position: int
) -> Expr:
    """`left op ANY (subquery)` or ALL; `left` may be a row. Raises 42601 for a wrong number of columns."""
    bound = binder.bind(left)
    query = _translate(binder, ast, position)
    fields = bound.args if isinstance(bound, RowExpr) else (bound,)
    if len(query.types) != len(fields):
        few = "few" if len(query.types) < len(fields) else "many"
        raise SyntaxFault(f"subquery has too {few} columns", position=position)
    columns = tuple(SubqueryColumn(i, type_) for i, type_ in enumerate(query.types))
    if isinstance(bound, RowExpr):
        test = compare_rows(binder, symbol, fields, columns, position)
    else:
        test = call_operator(binder, symbol, bound, columns[0], position)
    kind = SubqueryKind.ALL if every else SubqueryKind.ANY
    return Subquery(kind, query.node, BOOL, test)


RULES = {exp.Subquery: bind_scalar, exp.Exists: bind_exists}
