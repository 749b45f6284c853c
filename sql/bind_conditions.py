"""Tests and conditional expressions: IS, BETWEEN, IN lists, LIKE, CASE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import And, Case, Expr, InList, IsDistinct, IsNull, IsTruth, Literal, Not, Or, Parameter
from ..operators.functions.registry import SCALARS
from ..storage.errors import DatatypeMismatch
from ..storage.types import UNKNOWN
from .bind_columns import RowExpr
from .bind_operators import call_operator
from .bind_results import result_type
from .coerce import common_type
from .dialect import position_of
from .resolve import resolve_function

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder


def bind_is(binder: ExpressionBinder, ast: Ast) -> Expr:
    negated, what = bool(ast.args.get("negate")), ast.expression
    if isinstance(what, exp.Null):
        return _is_null(binder, binder.bind(ast.this), negated)
    truth = bool(what.this) if isinstance(what, exp.Boolean) else None
    word = "UNKNOWN" if truth is None else str(truth).upper()
    construct = f"IS {'NOT ' if negated else ''}{word}"
    return IsTruth(binder.boolean(ast.this, construct), truth, negated)


def _is_null(binder: ExpressionBinder, arg: Expr, negated: bool) -> Expr:
    """A row is null when all its fields are, not null when none is."""
    if isinstance(arg, RowExpr):
        return And(tuple(IsNull(binder.settle(field), negated) for field in arg.args))
    if isinstance(arg, Parameter):
        # Its type is for another use of it to decide; this one has no say.
        return IsNull(arg, negated)
    return IsNull(binder.settle(arg), negated)


def bind_distinct(binder: ExpressionBinder, ast: Ast) -> Expr:
    """IS [NOT] DISTINCT FROM, by the types that `=` compares."""
    negated, position = isinstance(ast, exp.NullSafeEQ), position_of(ast)
    left, right = binder.bind(ast.this), binder.bind(ast.expression)
    if isinstance(left, RowExpr) and isinstance(right, RowExpr):
        tests = [_distinct(binder, a, b, position) for a, b in zip(left.args, right.args, strict=True)]
        return Not(Or(tuple(tests))) if negated else Or(tuple(tests))
    test = _distinct(binder, left, right, position)
    return IsDistinct(test.left, test.right, negated)


def _distinct(binder: ExpressionBinder, left: Expr, right: Expr, position: int) -> IsDistinct:
    if _is_null_literal(left) or _is_null_literal(right):
        known = right if _is_null_literal(left) else left
        known = binder.settle(known)
        return IsDistinct(known, Literal(None, known.type))
    equal = call_operator(binder, "=", left, right, position)
    left, right = equal.children
    if left.type != right.type:
        left, right = binder.unify((left, right), "IS DISTINCT FROM")[0]
    return IsDistinct(left, right)


def _is_null_literal(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None and expr.type.name == "unknown"


def bind_between(binder: ExpressionBinder, ast: Ast) -> Expr:
    position = position_of(ast)
    value, low, high = (binder.bind(part) for part in (ast.this, ast.args["low"], ast.args["high"]))

    def inside(a: Expr, b: Expr) -> Expr:
        above = call_operator(binder, ">=", value, a, position)
        return And((above, call_operator(binder, "<=", value, b, position)))

    test = Or((inside(low, high), inside(high, low))) if ast.args.get("symmetric") else inside(low, high)
    return Not(test) if ast.args.get("negate") else test


def bind_in(binder: ExpressionBinder, ast: Ast) -> Expr:
    negated, position = bool(ast.args.get("negate")), position_of(ast)
    if ast.args.get("query") is not None:
        from .bind_subqueries import in_subquery

        return in_subquery(binder, ast.this, ast.args["query"], negated, position)
    arg = binder.bind(ast.this)
    items = binder.bind_all(ast.expressions)
    if not isinstance(arg, RowExpr) and not any(isinstance(item, RowExpr) for item in items):
        listed = _in_list(binder, arg, items, negated, position)
        if listed is not None:
            return listed
    tests = tuple(call_operator(binder, "=", arg, item, position) for item in items)
    test = tests[0] if len(tests) == 1 else Or(tests)
    return Not(test) if negated else test


def _in_list(
    binder: ExpressionBinder, arg: Expr, items: tuple[Expr, ...], negated: bool, position: int
) -> Expr | None:
    """One InList when all have a common type; else None, and `=` decides item by item."""
    try:
        wanted = common_type([arg.type, *(item.type for item in items)], "IN", position)
    except DatatypeMismatch:
        return None
    if wanted.name == "unknown":
        return None
    # `=` must exist for the type: json has none.
    call_operator(binder, "=", Literal(None, wanted), Literal(None, wanted), position)
    coerced = tuple(binder.coerce(item, wanted, "implicit") for item in items)
    return InList(binder.coerce(arg, wanted, "implicit"), coerced, negated)


def bind_like(binder: ExpressionBinder, ast: Ast) -> Expr:
    """LIKE and ILIKE are the operators ~~ and ~~*."""
    symbol = "~~*" if isinstance(ast, exp.ILike) else "~~"
    if ast.args.get("negate"):
        symbol = "!" + symbol
    position = position_of(ast)
    if isinstance(ast.expression, (exp.Any, exp.All)):
        from .bind_operators import bind_quantified

        return bind_quantified(binder, symbol, ast.this, ast.expression, position)
    pattern = binder.bind(ast.expression)
    if ast.args.get("escape") is not None:
        pattern = call_function(binder, "like_escape", (pattern, binder.bind(ast.args["escape"])), position)
    return call_operator(binder, symbol, binder.bind(ast.this), pattern, position)


def bind_similar(binder: ExpressionBinder, ast: Ast) -> Expr:
    """SIMILAR TO is a regular expression match of the translated pattern."""
    parts = [ast.expression, *([ast.args["escape"]] if ast.args.get("escape") is not None else [])]
    position = position_of(ast)
    pattern = call_function(binder, "similar_to_escape", binder.bind_all(parts), position)
    symbol = "!~" if ast.args.get("negate") else "~"
    return call_operator(binder, symbol, binder.bind(ast.this), pattern, position)


def call_function(binder: ExpressionBinder, name: str, args: tuple[Expr, ...], position: int = 0) -> Expr:
    """The function behind a piece of syntax, its arguments bound already."""
    from ..operators.expr import Call

    types = [arg.type for arg in args]
    found = resolve_function(name, types, SCALARS.get(name, ()), position, f"pg_catalog.{name}")
    coerced = tuple(
        binder.coerce(arg, target, "implicit", position)
        for arg, target in zip(args, found.targets, strict=True)
    )
    return Call(found.function, coerced, result_type(found.function, tuple(a.type for a in coerced)))


def bind_case(binder: ExpressionBinder, ast: Ast) -> Expr:
    inner = binder.within(conditional="CASE")
    subject = inner.bind(ast.this) if ast.this is not None else None
    conditions: list[Expr] = []
    results: list[Expr] = []
    for branch in ast.args["ifs"]:
        if subject is None:
            conditions.append(inner.boolean(branch.this, "CASE/WHEN"))
        else:
            when = inner.bind(branch.this)
            conditions.append(call_operator(inner, "=", subject, when, position_of(branch.this)))
        results.append(inner.bind(branch.args["true"]))
    default = ast.args.get("default")
    otherwise = inner.bind(default) if default is not None else Literal(None, UNKNOWN)
    asts = (default, *(branch.args["true"] for branch in ast.args["ifs"]))
    unified, type_ = inner.unify((otherwise, *results), "CASE", asts)
    return Case(tuple(conditions), unified[1:], unified[0], type_)


RULES = {
    exp.Is: bind_is,
    exp.NullSafeEQ: bind_distinct,
    exp.NullSafeNEQ: bind_distinct,
    exp.Between: bind_between,
    exp.In: bind_in,
    exp.Like: bind_like,
    exp.ILike: bind_like,
    exp.SimilarTo: bind_similar,
    exp.Case: bind_case,
}
