"""tumble() and hop() in FROM, as RisingWave spells them: the rows with window_start and window_end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from ..operators.evaluate import evaluate
from ..operators.expr import ColumnRef, Expr, Literal
from ..operators.functions.registry import TABLE_FUNCTIONS
from ..operators.node import EpochContext
from ..operators.table_function import TableFunctionNode
from ..sql.bind import ExpressionBinder
from ..sql.bind_conditions import call_function
from ..sql.bind_operators import call_operator
from ..sql.dialect import position_of
from ..sql.environment import FROM_FUNCTION, Ast, Environment
from ..sql.resolve import resolve_function
from ..sql.scope import Scope, ScopeColumn
from ..storage.errors import DatatypeMismatch, FeatureNotSupported, InvalidParameterValue, UndefinedFunction
from ..storage.types import INT4, INTERVAL, TIMESTAMP, Type
from .building import keep, projected
from .translate_from import FromPart, Surroundings, renamed, translate_item

_MOMENTS = frozenset({"timestamp", "timestamptz"})
WINDOWS_MAX = 10_000
"""Windows one row of hop() may fall into."""


def _tumble(item: Ast, environment: Environment, around: Surroundings, outer: ExpressionBinder) -> FromPart:
    part, binder, moment, rest = _arguments(item, environment, around, 3)
    size, offset = rest[0], rest[1] if len(rest) > 1 else None
    position = position_of(item.this)
    start = _window_start(binder, size, moment, offset, position)
    return _with_window(part, binder, start, size, item, position)


def _hop(item: Ast, environment: Environment, around: Surroundings, outer: ExpressionBinder) -> FromPart:
    part, binder, moment, rest = _arguments(item, environment, around, 4)
    slide, size = rest[0], rest[1]
    offset = rest[2] if len(rest) > 2 else None
    position = position_of(item.this)
    count = _microseconds(size, position) // _microseconds(slide, position)
    if _microseconds(size, position) % _microseconds(slide, position) or not 1 <= count <= WINDOWS_MAX:
        words = "the window size of hop() must be a multiple of its slide"
        raise InvalidParameterValue(words, position=position)
    series = resolve_function("generate_series", [INT4, INT4], TABLE_FUNCTIONS.get("generate_series", ()))
    bounds: tuple[Expr, ...] = (Literal(0, INT4), Literal(count - 1, INT4))
    node = TableFunctionNode(part.node, series.function, bounds, ("window_number",))
    last = _window_start(binder, slide, moment, offset, position)
    number = ColumnRef(part.width, INT4)
    back = call_operator(binder, "*", slide, number, position)
    start = call_operator(binder, "-", last, back, position)
    return _with_window(replace(part, node=node), binder, start, size, item, position)


TIME_WINDOWS: dict[str, Callable[[Ast, Environment, Surroundings, ExpressionBinder], FromPart]] = {
    "tumble": _tumble,
    "hop": _hop,
}


def _arguments(
    item: Ast, environment: Environment, around: Surroundings, least: int
) -> tuple[FromPart, ExpressionBinder, Expr, list[Expr]]:
    """(the table, a binder over its row, its time column, the intervals)."""
    call = item.this
    args = list(call.expressions)
    position = position_of(call)
    if not least <= len(args) <= least + 1:
        raise UndefinedFunction(f"{call.this}() takes {least} or {least + 1} arguments", position=position)
    part = translate_item(_as_item(args[0]), environment, around)
    binder = ExpressionBinder(Scope(part.items, around.plain), environment, FROM_FUNCTION)
    moment = binder.bind(args[1])
    if moment.type.name == "date":
        moment = binder.coerce(moment, TIMESTAMP)
    if moment.type.name not in _MOMENTS:
        words = f"the time column of {call.this}() must be a timestamp, not {moment.type}"
        raise DatatypeMismatch(words, position=position_of(args[1]))
    intervals = [binder.coerce(binder.bind(arg), INTERVAL, "implicit", position_of(arg)) for arg in args[2:]]
    return part, binder, moment, intervals


def _as_item(ast: Ast) -> Ast:
    """The first argument, read as a FROM item."""
    if isinstance(ast, exp.Column):
        names = {"this": ast.this, "db": ast.args.get("table"), "catalog": ast.args.get("db")}
        table = exp.Table(**{key: value for key, value in names.items() if value is not None})
        table.meta["start"] = max(position_of(ast) - 1, 0)
        return table
    if isinstance(ast, (exp.Subquery, exp.Table)):
        return ast
    raise FeatureNotSupported("the first argument must be a table", position=position_of(ast))


def _window_start(
    binder: ExpressionBinder, size: Expr, moment: Expr, offset: Expr | None, position: int
) -> Expr:
    """The multiple of `size` since 1970 (plus `offset`) at or before `moment`."""
    origin: Expr = Literal(0, Type(moment.type.name))
    if offset is not None:
        origin = call_operator(binder, "+", origin, offset, position)
    return call_function(binder, "date_bin", (size, moment, origin), position)


def _with_window(
    part: FromPart, binder: ExpressionBinder, start: Expr, size: Expr, item: Ast, position: int
) -> FromPart:
    """The table's columns, window_start and window_end, under the item's alias."""
    end = call_operator(binder, "+", start, size, position)
    (table,) = part.items
    kept = keep(part.node)[: part.width]
    schema = part.node.schema.columns[: part.width]
    names = (*(column.name for column in schema), "window_start", "window_end")
    hidden = (*(column.hidden for column in schema), False, False)
    node = projected(part.node, (*kept, start, end), names, hidden if any(hidden) else ())
    columns = (
        *table.columns,
        ScopeColumn("window_start", ColumnRef(part.width, start.type)),
        ScopeColumn("window_end", ColumnRef(part.width + 1, end.type)),
    )
    named = renamed(replace(table, columns=columns), item.args.get("alias"))
    return FromPart(node, (named,), part.width + 2)


def _microseconds(interval: Expr, position: int) -> int:
    """The length of a constant interval without months."""
    if not isinstance(interval, Literal):
        context = EpochContext(0, 0)
        value: object = evaluate(interval, (), 1, context)[0].as_py()
    else:
        value = interval.value
    if not isinstance(value, bytes):
        raise InvalidParameterValue("the intervals of hop() must be constants", position=position)
    micros = int.from_bytes(value[:8], "little", signed=True)
    days = int.from_bytes(value[8:12], "little", signed=True)
    if int.from_bytes(value[12:], "little", signed=True):
        raise InvalidParameterValue("the intervals of hop() must not have months", position=position)
    total = micros + days * 86_400_000_000
    if total <= 0:
        raise InvalidParameterValue("the intervals of hop() must be positive", position=position)
    return total
