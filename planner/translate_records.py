"""json_to_record and its like in FROM: the column definition list says what becomes of each object."""

from __future__ import annotations

from ..operators.expr import ColumnRef, Expr, Literal
from ..operators.functions.registry import TABLE_FUNCTIONS
from ..operators.node import Node
from ..operators.table_function import TableFunctionNode
from ..sql.bind import ExpressionBinder
from ..sql.bind_operators import call_operator
from ..sql.dialect import position_of, type_name
from ..sql.environment import Ast
from ..sql.resolve import resolve_function
from ..sql.scope import columns_from
from ..storage.errors import FeatureNotSupported, SyntaxFault
from ..storage.types import JSON, JSONB, TEXT, Type
from .building import UNIT, projected
from .translate_from import FromPart, named_part

RECORDS = {
    "json_to_record": (JSON, False),
    "jsonb_to_record": (JSONB, False),
    "json_to_recordset": (JSON, True),
    "jsonb_to_recordset": (JSONB, True),
}
"""The functions: their argument's type, and whether it is an array of objects."""


def record_part(binder: ExpressionBinder, call: Ast, alias: Ast) -> FromPart:
    """`f(json) AS alias (name type, …)`: a column per definition, NULL where an object lacks the key."""
    name = str(call.this)
    if name not in RECORDS:
        words = 'a column definition list is only allowed for functions returning "record"'
        raise SyntaxFault(words, position=position_of(alias))
    if len(call.expressions) != 1:
        raise FeatureNotSupported(f"{name}() takes one argument", position=position_of(call))
    type_, several = RECORDS[name]
    arg = binder.coerce(binder.bind(call.expressions[0]), type_, "implicit", position_of(call))
    node = _objects(arg, type_) if several else projected(UNIT, (arg,), ("value",))
    item = ColumnRef(0, type_)
    names = [column.this.name for column in alias.args["columns"]]
    types = [type_name(column.args["kind"]).resolve() for column in alias.args["columns"]]
    exprs = [_field(binder, item, key, wanted) for key, wanted in zip(names, types, strict=True)]
    bare = alias.copy()
    bare.set("columns", None)
    return named_part(projected(node, exprs, names), columns_from(names, types), bare, name)


def _objects(arg: Expr, type_: Type) -> Node:
    """A row for each element of the array."""
    name = f"{type_.name}_array_elements"
    found = resolve_function(name, [type_], TABLE_FUNCTIONS.get(name, ()))
    return TableFunctionNode(UNIT, found.function, (arg,), ("value",))


def _field(binder: ExpressionBinder, item: Expr, key: str, wanted: Type) -> Expr:
    """The object's value under `key`, kept as JSON or read from its text."""
    if wanted.name in ("json", "jsonb"):
        return binder.coerce(call_operator(binder, "->", item, Literal(key, TEXT)), wanted, "explicit")
    return binder.coerce(call_operator(binder, "->>", item, Literal(key, TEXT)), wanted, "explicit")
