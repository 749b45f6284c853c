"""Calls with OVER: the window they name or spell out, and its frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import Expr
from ..operators.functions.aggregates import AGGREGATES
from ..operators.window import Bound, BoundKind, Frame, FrameUnit
from ..operators.window_functions import WINDOW_FUNCTIONS
from ..storage.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    GroupingError,
    UndefinedObject,
    WindowingError,
    WrongObjectType,
)
from ..storage.types import INT8, INTERVAL
from .bind_aggregates import bind_order, choose_aggregate
from .bind_results import result_type
from .dialect import FunctionCall, position_of
from .environment import FILTER, WINDOW
from .intermediate import WindowExpr
from .resolve import resolve_function

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

_TEMPORAL = frozenset({"date", "time", "timestamp", "timestamptz", "interval"})


def bind_window(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    """Raises 42P20 where no window function may stand."""
    _check_place(binder, call)
    _check_syntax(call)
    assert call.window is not None
    inner = binder.within(window=True)
    partition, order, spec = _definition(binder, call.window)
    definition = inner.within(clause=WINDOW)
    partition_exprs = tuple(definition.settle(definition.bind(ast)) for ast in partition)
    order_exprs, directions = bind_order(definition, order)
    condition = (
        inner.within(clause=FILTER).boolean(call.filter, "FILTER") if call.filter is not None else None
    )
    if call.name in WINDOW_FUNCTIONS:
        from .bind_functions import coerce_args

        args = inner.bind_all(call.args)
        found = resolve_function(
            call.name, [a.type for a in args], WINDOW_FUNCTIONS[call.name], call.position
        )
        function, args = found.function, coerce_args(inner, args, found.targets, call.position)
    else:
        function, args = choose_aggregate(inner, call, ())
    frame = _frame(definition, spec, order_exprs) if spec is not None else Frame()
    type_ = result_type(function, tuple(arg.type for arg in args))
    return WindowExpr(function, args, type_, partition_exprs, order_exprs, directions, frame, condition)


def _check_place(binder: ExpressionBinder, call: FunctionCall) -> None:
    if binder.in_aggregate:
        words = "aggregate function calls cannot contain window function calls"
        raise GroupingError(words, position=call.position)
    if not binder.clause.windows:
        words = f"window functions are not allowed in {binder.clause.words}"
        raise WindowingError(words, position=call.position)
    if binder.in_window:
        raise WindowingError("window function calls cannot be nested", position=call.position)


def _check_syntax(call: FunctionCall) -> None:
    name, position = call.name, call.position
    if name not in WINDOW_FUNCTIONS and name not in AGGREGATES:
        words = f"OVER specified, but {name} is not a window function nor an aggregate function"
        raise WrongObjectType(words, position=position)
    if call.distinct:
        raise FeatureNotSupported("DISTINCT is not implemented for window functions", position=position)
    if call.order is not None:
        words = "aggregate ORDER BY is not implemented for window functions"
        raise FeatureNotSupported(words, position=position)
    if call.within_group is not None:
        words = f"OVER is not supported for ordered-set aggregate {name}"
        raise FeatureNotSupported(words, position=position)
    if call.filter is not None and name in WINDOW_FUNCTIONS:
        words = "FILTER is not implemented for non-aggregate window functions"
        raise FeatureNotSupported(words, position=position)


def _definition(binder: ExpressionBinder, window: Ast) -> tuple[list[Ast], list[Ast], Ast | None]:
    """(PARTITION BY, ORDER BY, frame) of a window, what it takes from a named one included."""
    partition = list(window.args.get("partition_by") or [])
    order = window.args.get("order")
    items = list(order.expressions) if order is not None else []
    spec = window.args.get("spec")
    base = window.args.get("alias")
    if base is None:
        return partition, items, spec
    named = binder.windows.get(base.name)
    if named is None:
        raise UndefinedObject(f'window "{base.name}" does not exist', position=position_of(base))
    inherited, inherited_order, inherited_spec = _definition(binder, named)
    if partition:
        raise WindowingError(
            f'cannot override PARTITION BY clause of window "{base.name}"', position=position_of(base)
        )
    if items and inherited_order:
        raise WindowingError(
            f'cannot override ORDER BY clause of window "{base.name}"', position=position_of(base)
        )
    return inherited, items or inherited_order, spec or inherited_spec


def _frame(binder: ExpressionBinder, spec: Ast, order: tuple[Expr, ...]) -> Frame:
    kind = str(spec.args["kind"]).upper()
    if kind == "SESSION" or spec.args.get("exclude"):
        raise FeatureNotSupported("SESSION frames and EXCLUDE are not supported", position=position_of(spec))
    unit = FrameUnit(kind.lower())
    start = _bound(binder, spec, "start", unit, order)
    end = _bound(binder, spec, "end", unit, order)
    place = spec.args.get("end")
    _check_frame(start.kind, end.kind, position_of(place if isinstance(place, exp.Expr) else spec))
    if unit is FrameUnit.GROUPS and not order:
        raise WindowingError("GROUPS mode requires an ORDER BY clause", position=position_of(spec))
    return Frame(unit, start, end)


def _bound(binder: ExpressionBinder, spec: Ast, end: str, unit: FrameUnit, order: tuple[Expr, ...]) -> Bound:
    value = spec.args.get(end) or "CURRENT ROW"
    side = str(spec.args.get(f"{end}_side") or "").upper()
    if value == "CURRENT ROW":
        return Bound(BoundKind.CURRENT_ROW)
    if value == "UNBOUNDED":
        preceding = side == "PRECEDING"
        return Bound(BoundKind.UNBOUNDED_PRECEDING if preceding else BoundKind.UNBOUNDED_FOLLOWING)
    kind = BoundKind.PRECEDING if side == "PRECEDING" else BoundKind.FOLLOWING
    return Bound(kind, _offset(binder, value, unit, order))


def _offset(binder: ExpressionBinder, ast: Ast, unit: FrameUnit, order: tuple[Expr, ...]) -> Expr:
    offset, position = binder.bind(ast), position_of(ast)
    if unit is not FrameUnit.RANGE:
        if offset.type.name not in ("int2", "int4", "int8", "unknown"):
            words = f"argument of {unit.name} must be type bigint, not type {offset.type}"
            raise DatatypeMismatch(words, position=position)
        return binder.coerce(offset, INT8, "implicit", position)
    if len(order) != 1:
        words = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
        raise WindowingError(words, position=position)
    wanted = INTERVAL if order[0].type.name in _TEMPORAL else order[0].type
    return binder.coerce(offset, wanted, "implicit", position)


def _check_frame(start: BoundKind, end: BoundKind, position: int) -> None:
    words = ""
    if start is BoundKind.UNBOUNDED_FOLLOWING:
        words = "frame start cannot be UNBOUNDED FOLLOWING"
    elif end is BoundKind.UNBOUNDED_PRECEDING:
        words = "frame end cannot be UNBOUNDED PRECEDING"
    elif start is BoundKind.CURRENT_ROW and end is BoundKind.PRECEDING:
        words = "frame starting from current row cannot have preceding rows"
    elif start is BoundKind.FOLLOWING and end in (BoundKind.PRECEDING, BoundKind.CURRENT_ROW):
        words = "frame starting from following row cannot have preceding rows"
    if words:
        raise WindowingError(words, position=position)
