"""Aggregate calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.expr import Case, ColumnRef, Expr, IsNull, Literal, Or, OuterColumn, walk_expr
from ..operators.functions.aggregates import AGGREGATES, AggregateFunction
from ..storage.errors import (
    FeatureNotSupported,
    GroupingError,
    InvalidColumnReference,
    SyntaxFault,
    WrongObjectType,
)
from ..storage.types import BOOL
from .bind_columns import RowExpr
from .bind_results import result_type
from .dialect import FunctionCall
from .environment import FILTER
from .intermediate import AggregateExpr, Direction
from .positions import start_of
from .resolve import resolve_function

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder


def bind_aggregate(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    """Raises 42803 where no aggregate may stand."""
    if binder.in_aggregate:
        raise GroupingError("aggregate function calls cannot be nested", position=call.position)
    if not binder.clause.aggregates:
        words = f"aggregate functions are not allowed in {binder.clause.words}"
        raise GroupingError(words, position=call.position)
    inner = binder.within(aggregate=True)
    order, directions = _order(inner, call)
    function, args = choose_aggregate(inner, call, order)
    if call.distinct and any(expr not in args for expr in order):
        words = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
        raise InvalidColumnReference(words, position=start_of(call.order and call.order.expressions[0].this))
    condition = (
        inner.within(clause=FILTER).boolean(call.filter, "FILTER") if call.filter is not None else None
    )
    if function.within_group:
        order = args[len(args) - len(order) :]
    type_ = result_type(function, tuple(arg.type for arg in args))
    found = AggregateExpr(function, args, type_, call.distinct, condition, order, directions)
    _refuse_outer(found, call)
    return binder.environment.note(found, call.position)


def _order(binder: ExpressionBinder, call: FunctionCall) -> tuple[tuple[Expr, ...], tuple[Direction, ...]]:
    order = call.within_group if call.within_group is not None else call.order
    return bind_order(binder, order.expressions if order is not None else [])


def bind_order(binder: ExpressionBinder, items: list[Ast]) -> tuple[tuple[Expr, ...], tuple[Direction, ...]]:
    """ORDER BY inside a call or a window: expressions only, no positions and no output names."""
    exprs = tuple(binder.settle(binder.bind(item.this)) for item in items)
    return exprs, tuple(direction(item) for item in items)


def direction(item: Ast) -> Direction:
    return bool(item.args.get("desc")), bool(item.args.get("nulls_first"))


def choose_aggregate(
    binder: ExpressionBinder, call: FunctionCall, order: tuple[Expr, ...]
) -> tuple[AggregateFunction, tuple[Expr, ...]]:
    """The overload and its coerced arguments (for an ordered-set aggregate: direct, then ordered ones)."""
    from .bind_functions import coerce_args

    overloads = AGGREGATES[call.name]
    args = binder.bind_all(call.args)
    if call.name == "count" and len(args) == 1 and isinstance(args[0], RowExpr):
        args = _counted_row(args[0], call)
    elif not call.star and not args and any(not overload.args for overload in overloads):
        words = f"{call.name}(*) must be used to call a parameterless aggregate function"
        raise WrongObjectType(words, position=call.position)
    if call.within_group is not None:
        if call.distinct:
            raise SyntaxFault("cannot use DISTINCT with WITHIN GROUP", position=call.position)
        args += order
    overloads = [f for f in overloads if f.within_group == (call.within_group is not None)]
    found = resolve_function(call.name, [arg.type for arg in args], overloads, call.position)
    return found.function, coerce_args(binder, args, found.targets, call.position)


def _counted_row(row: RowExpr, call: FunctionCall) -> tuple[Expr, ...]:
    """The arguments of count(row). A row of a FROM item counts unless an outer join made all of it NULL."""
    if call.distinct:
        raise FeatureNotSupported("count(DISTINCT row) is not supported", position=call.position)
    if not row.whole or not row.args:
        return ()
    there = Or(tuple(IsNull(column, True) for column in row.args))
    return (Case((there,), (Literal(True, BOOL),), Literal(None, BOOL), BOOL),)


def _refuse_outer(aggregate: AggregateExpr, call: FunctionCall) -> None:
    """An aggregate over nothing but an outer query's columns belongs to that query."""
    parts = [part for arg in aggregate.args for part in walk_expr(arg)]
    outer = any(isinstance(part, OuterColumn) for part in parts)
    if outer and not any(isinstance(part, ColumnRef) for part in parts):
        words = "an aggregate of an outer query's columns inside a subquery is not supported"
        raise FeatureNotSupported(words, position=call.position)
