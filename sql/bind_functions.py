"""Function calls: special forms, scalar functions, set-returning functions, casts spelt as calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import Call, Case, Cast, Coalesce, Expr, Literal, Now
from ..operators.functions.aggregates import AGGREGATES
from ..operators.functions.registry import SCALARS, TABLE_FUNCTIONS, TableFunction
from ..operators.window_functions import WINDOW_FUNCTIONS
from ..storage.errors import FeatureNotSupported, InvalidSchemaName, UndefinedFunction, WrongObjectType
from ..storage.types import DATE, REGTYPE, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, Type, format_type, type_by_name
from .bind_aggregates import bind_aggregate
from .bind_columns import RowExpr
from .bind_operators import call_operator
from .bind_results import result_type
from .bind_windows import bind_window
from .dialect import FunctionCall, function_call, position_of
from .intermediate import GroupingCall, SetReturning
from .resolve import resolve_function

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

FUNCTION_SCHEMAS = frozenset({"", "pg_catalog", "information_schema", "public", "millpond", "rw_catalog"})
MOVE_HINT = "You might be able to move the set-returning function into a LATERAL FROM item."


def bind_call(binder: ExpressionBinder, ast: Ast) -> Expr:
    """Any call, with what stands around it (FILTER, OVER, WITHIN GROUP)."""
    call = function_call(ast)
    if call is None:
        raise FeatureNotSupported("this expression is not supported here", position=position_of(ast))
    if call.schema not in FUNCTION_SCHEMAS:
        if binder.environment.catalog.schema(call.schema) is None:
            raise InvalidSchemaName(f'schema "{call.schema}" does not exist', position=position_of(ast))
        types = [arg.type for arg in binder.bind_all(call.args)]
        raise missing_function(f"{call.schema}.{call.name}", types, call.position)
    if call.window is not None:
        return bind_window(binder, call)
    if call.name in AGGREGATES:
        return bind_aggregate(binder, call)
    _refuse_aggregate_syntax(call)
    special = SPECIAL.get(call.name)
    if special is not None:
        return special(binder, call)
    return _plain_call(binder, call)


def missing_function(name: str, types: list[Type], position: int) -> UndefinedFunction:
    shown = ", ".join(format_type(type_) for type_ in types)
    return UndefinedFunction(
        f"function {name}({shown}) does not exist",
        position=position,
        hint="No function matches the given name and argument types. "
        "You might need to add explicit type casts.",
    )


def _refuse_aggregate_syntax(call: FunctionCall) -> None:
    """What only aggregates may have. Raises 42809."""
    marks = (
        (call.distinct, "DISTINCT specified"),
        (call.order is not None, "ORDER BY specified"), (call.filter is not None, "FILTER specified"),
        (call.within_group is not None, "WITHIN GROUP specified"),
    )  # fmt: skip
    for present, words in marks:
        if present:
            message = f"{words}, but {call.name} is not an aggregate function"
            raise WrongObjectType(message, position=call.position)


def _plain_call(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    name = call.name
    if name in WINDOW_FUNCTIONS and name not in SCALARS:
        raise WrongObjectType(f"window function {name} requires an OVER clause", position=call.position)
    if any(isinstance(arg, exp.Kwarg) for arg in call.args):
        raise FeatureNotSupported("named arguments are not supported", position=call.position)
    args = binder.bind_all(call.args)
    if name in TABLE_FUNCTIONS and name not in SCALARS:
        return _set_returning(binder, call, args)
    if any(isinstance(arg, RowExpr) for arg in args):
        return _of_rows(binder, call, args)
    as_cast = type_by_name(name) if len(args) == 1 and name not in SCALARS else None
    if as_cast is not None:
        return binder.coerce(args[0], as_cast, "explicit", call.position)
    return scalar_call(binder, name, args, call.position)


def scalar_call(binder: ExpressionBinder, name: str, args: tuple[Expr, ...], position: int) -> Expr:
    """Raises 42883 when no overload fits; in a view also 0A000 for a volatile function."""
    found = resolve_function(name, [arg.type for arg in args], SCALARS.get(name, ()), position)
    function = found.function
    if function.volatility == "volatile" and binder.environment.for_view:
        message = f"function {name} cannot be used in a materialized view: its result changes by itself"
        raise FeatureNotSupported(message, position=position)
    coerced = coerce_args(binder, args, found.targets, position)
    return Call(function, coerced, result_type(function, tuple(arg.type for arg in coerced)))


def coerce_args(
    binder: ExpressionBinder, args: tuple[Expr, ...], targets: tuple[Type, ...], position: int
) -> tuple[Expr, ...]:
    """Each argument in the type its overload wants; an untyped one that may be anything is text."""
    return tuple(
        binder.settle(arg)
        if target.name in ("any", "unknown")
        else binder.coerce(arg, target, "implicit", position)
        for arg, target in zip(args, targets, strict=True)
    )


def _set_returning(binder: ExpressionBinder, call: FunctionCall, args: tuple[Expr, ...]) -> Expr:
    """A set-returning function in a select list: one value, or a row value with its columns."""
    if not binder.clause.sets:
        words = f"set-returning functions are not allowed in {binder.clause.words}"
        raise FeatureNotSupported(words, position=call.position)
    if binder.in_aggregate:
        words = "aggregate function calls cannot contain set-returning function calls"
        raise FeatureNotSupported(words, position=call.position, hint=MOVE_HINT)
    if binder.in_window:
        words = "window function calls cannot contain set-returning function calls"
        raise FeatureNotSupported(words, position=call.position, hint=MOVE_HINT)
    if binder.in_conditional:
        words = f"set-returning functions are not allowed in {binder.in_conditional}"
        raise FeatureNotSupported(words, position=call.position, hint=MOVE_HINT)
    function, coerced = table_function(binder, call.name, args, call.position)
    columns = function_columns(function, coerced)
    parts = tuple(SetReturning(function, coerced, type_, i) for i, (_, type_) in enumerate(columns))
    return parts[0] if len(parts) == 1 else RowExpr(parts, tuple(name for name, _ in columns))


def table_function(
    binder: ExpressionBinder, name: str, args: tuple[Expr, ...], position: int
) -> tuple[TableFunction, tuple[Expr, ...]]:
    """The overload and its coerced arguments."""
    found = resolve_function(name, [arg.type for arg in args], TABLE_FUNCTIONS.get(name, ()), position)
    return found.function, coerce_args(binder, args, found.targets, position)


def function_columns(function: TableFunction, args: tuple[Expr, ...]) -> tuple[tuple[str, Type], ...]:
    declared = function.columns
    return declared if isinstance(declared, tuple) else declared(tuple(arg.type for arg in args))


def _of_rows(binder: ExpressionBinder, call: FunctionCall, args: tuple[Expr, ...]) -> Expr:
    """row_to_json(t) and its like: a JSON object of the row's fields."""
    makers = {
        "row_to_json": "json_build_object",
        "to_json": "json_build_object",
        "to_jsonb": "jsonb_build_object",
    }
    row = args[0]
    if call.name not in makers or len(args) != 1 or not isinstance(row, RowExpr):
        raise missing_function(call.name, [arg.type for arg in args], call.position)
    pairs: list[Expr] = []
    for name, value in zip(row.names, row.args, strict=True):
        pairs += [Literal(name, TEXT), value]
    return scalar_call(binder, makers[call.name], tuple(pairs), call.position)


# Special forms.
def _coalesce(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    args = binder.within(conditional="COALESCE").bind_all(call.args)
    unified, type_ = binder.unify(args, "COALESCE", call.args)
    return unified[0] if len(unified) == 1 else Coalesce(unified, type_)


def _nullif(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    left, right = binder.bind_all(call.args)
    test = call_operator(binder, "=", left, right, call.position)
    value = test.children[0] if left.type.name == "unknown" else left
    return Case((test,), (Literal(None, value.type),), value, value.type)


def _extreme(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    args, type_ = binder.unify(binder.bind_all(call.args), call.name.upper(), call.args)
    return Call(SCALARS[call.name][0], args, type_)


def _grouping(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    return GroupingCall(binder.within(aggregate=True).bind_all(call.args))


def _moment(type_: Type) -> Callable[[ExpressionBinder, FunctionCall], Expr]:
    """A form of now(), perhaps with a precision."""

    def bind(binder: ExpressionBinder, call: FunctionCall) -> Expr:
        target = type_
        if call.args:
            precision = binder.bind(call.args[0])
            if not isinstance(precision, Literal) or not isinstance(precision.value, int):
                raise missing_function(call.name, [precision.type], call.position)
            target = Type(type_.name, min(precision.value, 6))
        return Now() if target == TIMESTAMPTZ else Cast(Now(), target, True)

    return bind


def _typeof(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    (arg,) = binder.bind_all(call.args)
    return Literal(arg.type.oid, REGTYPE)


def _user(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    return scalar_call(binder, "current_user", (), call.position)


def _database(binder: ExpressionBinder, call: FunctionCall) -> Expr:
    return scalar_call(binder, "current_database", (), call.position)


SPECIAL: dict[str, Callable[[ExpressionBinder, FunctionCall], Expr]] = {
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme,
    "least": _extreme,
    "grouping": _grouping,
    "pg_typeof": _typeof,
    **dict.fromkeys(
        ("now", "current_timestamp", "transaction_timestamp", "statement_timestamp", "proctime"),
        _moment(TIMESTAMPTZ),
    ),
    "current_date": _moment(DATE),
    "localtimestamp": _moment(TIMESTAMP),
    "localtime": _moment(TIME),
    "current_time": _moment(TIME),
    "current_role": _user,
    "user": _user,
    "current_catalog": _database,
}

RULES = dict.fromkeys((exp.Anonymous, exp.Window, exp.Filter, exp.WithinGroup), bind_call)
