"""Operators: overload choice, row comparisons, `op ANY (array)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import And, AnyAll, Call, Expr, Literal, Not, Or, Parameter
from ..operators.functions.registry import SCALARS, ScalarFunction
from ..storage.errors import FeatureNotSupported, SyntaxFault, WrongObjectType
from ..storage.types import TEXT, Type, array_of
from .bind_columns import RowExpr
from .bind_results import result_type
from .dialect import OPERATORS, operator_of, position_of
from .resolve import resolve_operator

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def call_operator(
    binder: ExpressionBinder, symbol: str, left: Expr | None, right: Expr, position: int = 0
) -> Expr:
    """`left symbol right`; a row value on both sides is compared field by field.

    Raises 42883 `operator does not exist: integer + text`.
    """
    if isinstance(left, RowExpr) and isinstance(right, RowExpr) and symbol in COMPARISONS:
        return compare_rows(binder, symbol, left.args, right.args, position)
    function, targets = choose(symbol, left.type if left else None, right.type, position)
    args = (right,) if left is None else (left, right)
    coerced = tuple(binder.coerce(a, t, "implicit", position) for a, t in zip(args, targets, strict=True))
    return Call(function, coerced, result_type(function, tuple(a.type for a in coerced)))


def choose(
    symbol: str, left: Type | None, right: Type, position: int
) -> tuple[ScalarFunction, tuple[Type, ...]]:
    found = resolve_operator(symbol, left, right, SCALARS.get(symbol, ()), position)
    return found.function, found.targets


def bind_operator(binder: ExpressionBinder, ast: Ast) -> Expr:
    parts = operator_of(ast)
    assert parts is not None
    symbol, left, right = parts
    position = position_of(ast)
    if isinstance(right, (exp.Any, exp.All)):
        assert left is not None
        return bind_quantified(binder, symbol, left, right, position)
    if left is None and symbol == "-" and _is_number(right):
        from .bind_literals import number

        return number("-" + str(right.this))
    if left is None and symbol == "+" and _is_number(right):
        return binder.bind(right)
    bound = binder.bind(left) if left else None
    if isinstance(bound, RowExpr) and isinstance(right, exp.Subquery):
        from .bind_subqueries import row_of_query

        return call_operator(
            binder, symbol, bound, row_of_query(binder, right, len(bound.args), position), position
        )
    return call_operator(binder, symbol, bound, binder.bind(right), position)


def _is_number(ast: Ast) -> bool:
    return isinstance(ast, exp.Literal) and not ast.args.get("is_string")


def compare_rows(
    binder: ExpressionBinder, symbol: str, left: Sequence[Expr], right: Sequence[Expr], position: int
) -> Expr:
    """(a, b) op (c, d): equality of all pairs, or the first pair that differs decides."""
    if len(left) != len(right):
        raise SyntaxFault("unequal number of entries in row expressions", position=position)
    if not left:
        raise FeatureNotSupported("cannot compare rows of zero length", position=position)
    if symbol in ("=", "<>"):
        pairs = tuple(call_operator(binder, symbol, a, b, position) for a, b in zip(left, right, strict=True))
        if len(pairs) == 1:
            return pairs[0]
        return And(pairs) if symbol == "=" else Or(pairs)
    return _lexicographic(binder, symbol, left, right, position)


def _lexicographic(
    binder: ExpressionBinder, symbol: str, left: Sequence[Expr], right: Sequence[Expr], position: int
) -> Expr:
    if len(left) == 1:
        return call_operator(binder, symbol, left[0], right[0], position)
    strict = call_operator(binder, symbol[0], left[0], right[0], position)
    same = call_operator(binder, "=", left[0], right[0], position)
    return Or((strict, And((same, _lexicographic(binder, symbol, left[1:], right[1:], position)))))


def bind_quantified(binder: ExpressionBinder, symbol: str, left: Ast, quantified: Ast, position: int) -> Expr:
    """`left op ANY (…)` or ALL, of a subquery or of an array."""
    every = isinstance(quantified, exp.All)
    if isinstance(quantified.this, exp.Subquery):
        from .bind_subqueries import quantified_subquery

        return quantified_subquery(binder, symbol, left, quantified.this, every, position)
    return compare_with_elements(
        binder, symbol, binder.bind(left), binder.bind(quantified.this), every, position
    )


def compare_with_elements(
    binder: ExpressionBinder, symbol: str, left: Expr, array: Expr, every: bool, position: int
) -> Expr:
    """`left op ANY (array)`. Raises 42809 when the right side is no array."""
    if array.type.name == "unknown":
        element = TEXT if left.type.name == "unknown" else left.type
        if isinstance(array, (Literal, Parameter)):
            array = binder.coerce(array, array_of(element.bare()), "implicit", position)
    element = array.type.element
    if element is None:
        raise WrongObjectType("op ANY/ALL (array) requires array on right side", position=position)
    function, targets = choose(symbol, left.type, element, position)
    if result_type(function, targets).name != "bool":
        raise WrongObjectType("op ANY/ALL (array) requires operator to yield boolean", position=position)
    if not targets[1].same(element):
        array = binder.coerce(array, array_of(targets[1]), "implicit", position)
    return AnyAll(binder.coerce(left, targets[0], "implicit", position), function, array, every)


def bind_and(binder: ExpressionBinder, ast: Ast) -> Expr:
    return And(tuple(binder.boolean(arg, "AND") for arg in _flat(ast, exp.And)))


def bind_or(binder: ExpressionBinder, ast: Ast) -> Expr:
    return Or(tuple(binder.boolean(arg, "OR") for arg in _flat(ast, exp.Or)))


def _flat(ast: Ast, kind: type[Ast]) -> list[Ast]:
    """The arguments of a left-nested chain of ANDs or ORs."""
    found: list[Ast] = []
    while isinstance(ast, kind):
        found.append(ast.expression)
        ast = ast.this
    return [ast, *reversed(found)]


def bind_not(binder: ExpressionBinder, ast: Ast) -> Expr:
    return Not(binder.boolean(ast.this, "NOT"))


RULES = {
    **dict.fromkeys((*OPERATORS, exp.Neg, exp.Operator), bind_operator),
    exp.And: bind_and,
    exp.Or: bind_or,
    exp.Not: bind_not,
}
