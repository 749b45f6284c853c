"""LIMIT, OFFSET and FETCH, and ORDER BY where it is kept."""

from __future__ import annotations

from sqlglot import exp

from ..operators.expr import ColumnRef, Expr, OuterColumn, Parameter, Subquery, walk_expr
from ..operators.node import Node
from ..operators.sorting import SortKey
from ..sql.bind import ExpressionBinder
from ..sql.environment import LIMIT, OFFSET, Ast, Clause, Environment
from ..sql.positions import start_of
from ..sql.scope import Scope
from ..storage.errors import DatatypeMismatch, FeatureNotSupported, InvalidColumnReference, SyntaxFault
from ..storage.types import INT8
from .bounds import ParameterTopN, constant, cut


def limited(
    ast: Ast,
    node: Node,
    keys: tuple[SortKey, ...],
    environment: Environment,
    ordered: bool,
    scope: Scope = Scope(),
) -> Node:
    """`node` ordered and cut as the query `ast` says; `scope` has the names that it may not use."""
    limit, offset, ties = _bounds(ast, environment, scope)
    if ties and not keys:
        raise SyntaxFault("WITH TIES cannot be specified without ORDER BY clause")
    if any(_has_parameter(bound) for bound in (limit, offset)):
        return ParameterTopN(node, keys, limit, offset, ties)
    return cut(node, keys, constant(limit), constant(offset), ties, ordered)


def _bounds(ast: Ast, environment: Environment, scope: Scope) -> tuple[Expr | None, Expr | None, bool]:
    """(LIMIT, OFFSET, WITH TIES) as bigint expressions."""
    limit, offset = ast.args.get("limit"), ast.args.get("offset")
    ties = False
    value: Ast | None = None
    if isinstance(limit, exp.Fetch):
        value = limit.args.get("count") or exp.Literal.number(1)
        options = limit.args.get("limit_options")
        ties = bool(options is not None and options.args.get("with_ties"))
    elif limit is not None:
        value = limit.expression
    found = _bound(value, LIMIT, environment, scope)
    start = _bound(offset.expression if offset is not None else None, OFFSET, environment, scope)
    return found, start, ties


def _bound(ast: Ast | None, clause: Clause, environment: Environment, scope: Scope) -> Expr | None:
    if ast is None or (isinstance(ast, exp.Var) and str(ast.this).upper() == "ALL"):
        return None
    binder = ExpressionBinder(scope, environment, clause)
    position = start_of(ast)
    expr = binder.bind(ast)
    if expr.type.name not in ("int2", "int4", "int8", "numeric", "float4", "float8", "unknown"):
        words = f"argument of {clause.words} must be type bigint, not type {expr.type}"
        raise DatatypeMismatch(words, position=position)
    if any(isinstance(part, (ColumnRef, OuterColumn)) for part in walk_expr(expr)):
        words = f"argument of {clause.words} must not contain variables"
        raise InvalidColumnReference(words, position=position)
    if any(isinstance(part, Subquery) for part in walk_expr(expr)):
        raise FeatureNotSupported(f"subqueries in {clause.words} are not supported", position=position)
    return binder.coerce(expr, INT8, "assignment", position)


def _has_parameter(expr: Expr | None) -> bool:
    return expr is not None and any(isinstance(part, Parameter) for part in walk_expr(expr))
