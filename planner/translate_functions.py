"""Functions in FROM: set-returning and plain ones, ROWS FROM, tumble() and hop()."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..operators.expr import Expr, Literal
from ..operators.functions.registry import SCALARS, TABLE_FUNCTIONS, TableFunction
from ..operators.node import Node
from ..operators.table_function import TableFunctionNode
from ..sql.bind import ExpressionBinder
from ..sql.bind_functions import FUNCTION_SCHEMAS, function_columns, missing_function, table_function
from ..sql.dialect import position_of
from ..sql.environment import FROM_FUNCTION, Ast, Environment
from ..sql.scope import Scope, columns_from
from ..storage.types import INT8
from .building import UNIT, projected
from .lockstep import lockstep
from .translate_from import FromPart, Surroundings, named_part
from .translate_records import record_part


def translate_function_item(item: Ast, environment: Environment, around: Surroundings) -> FromPart:
    """`f(args) [WITH ORDINALITY] [AS alias (columns)]`; its arguments may read the items to its left."""
    from .translate_timewindows import TIME_WINDOWS

    alias = item.args.get("alias")
    binder = ExpressionBinder(Scope((), around.lateral), environment, FROM_FUNCTION)
    ordinality = bool(item.args.get("ordinality"))
    if alias is not None and any(isinstance(c, exp.ColumnDef) for c in alias.args.get("columns") or ()):
        return record_part(binder, item.this, alias)
    if item.args.get("rows_from"):
        tables = item.args["rows_from"]
        calls = [_bound_call(binder, table.this) for table in tables]
        function, args = lockstep(calls)
        return _table_function(function, args, alias, "", ordinality)
    call = item.this
    name = str(call.this)
    if name in TIME_WINDOWS:
        return TIME_WINDOWS[name](item, environment, around, binder)
    schema = item.args.get("db")
    if schema is not None and schema.name not in FUNCTION_SCHEMAS:
        raise missing_function(f"{schema.name}.{name}", [], position_of(call))
    if name == "unnest" and len(call.expressions) > 1:
        # Of several arrays: as ROWS FROM (unnest(a), unnest(b), …).
        place = position_of(call)
        arrays = binder.bind_all(call.expressions)
        function, args = lockstep([table_function(binder, name, (array,), place) for array in arrays])
        return _table_function(function, args, alias, "", ordinality)
    if name in TABLE_FUNCTIONS or name not in SCALARS:
        function, args = _bound_call(binder, call)
        return _table_function(function, args, alias, name, ordinality)
    values = [binder.settle(binder.bind(call)), *([Literal(1, INT8)] if ordinality else [])]
    column = alias.name if alias is not None and alias.name else name
    names = (column, "ordinality")[: len(values)]
    node = projected(UNIT, values, names)
    return named_part(node, columns_from(names, [value.type for value in values]), alias, name)


def _bound_call(binder: ExpressionBinder, call: Ast) -> tuple[TableFunction, tuple[Expr, ...]]:
    args = binder.bind_all(call.expressions)
    return table_function(binder, str(call.this), args, position_of(call))


def _table_function(
    function: TableFunction, args: tuple[Expr, ...], alias: Ast | None, name: str, ordinality: bool
) -> FromPart:
    declared = function_columns(function, args)
    names = list(_column_names(declared, alias, name))
    types = [type_ for _, type_ in declared]
    if ordinality:
        names.append("ordinality")
        types.append(INT8)
    node: Node = TableFunctionNode(UNIT, function, args, tuple(names), ordinality)
    return named_part(node, columns_from(names, types), alias, name)


def _column_names(declared: Sequence[tuple[str, object]], alias: Ast | None, name: str) -> Sequence[str]:
    """A function that returns plain values has its column called as the function, or as its alias."""
    if len(declared) == 1 and declared[0][0] in (name, "") and name:
        return (alias.name if alias is not None and alias.name else name,)
    return [column for column, _ in declared]
