"""ARRAY[…], subscripts and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import ArrayExpr, Expr, Literal, Subquery, SubqueryKind
from ..storage.errors import DatatypeMismatch, FeatureNotSupported, IndeterminateDatatype, SyntaxFault
from ..storage.types import CHAR, INT4, TEXT, VECTORS, array_of, format_type
from .bind_conditions import call_function
from .bind_operators import call_operator
from .dialect import position_of
from .positions import start_of

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

QUERIES = (exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values)
ELEMENT, SLICE = "[]", "[:]"
"""The functions behind `a[i]` and `a[i:j]`."""


def is_subquery(array: Ast) -> bool:
    """Whether it is ARRAY(query) and not ARRAY[items]."""
    return len(array.expressions) == 1 and isinstance(array.expressions[0], QUERIES)


def bind_array(binder: ExpressionBinder, ast: Ast) -> Expr:
    if is_subquery(ast):
        return _array_of_query(binder, ast)
    if not ast.expressions:
        raise IndeterminateDatatype(
            "cannot determine type of empty array",
            position=position_of(ast),
            hint="Explicitly cast to the desired type, for example ARRAY[]::integer[].",
        )
    items, element = binder.unify(binder.bind_all(ast.expressions), "ARRAY", ast.expressions)
    if element.element is not None:
        raise FeatureNotSupported("multidimensional arrays are not supported", position=position_of(ast))
    return ArrayExpr(items, array_of(element))


def _array_of_query(binder: ExpressionBinder, ast: Ast) -> Expr:
    query = binder.environment.translate(ast.expressions[0], binder.environment, binder.scope)
    if len(query.types) != 1:
        raise SyntaxFault("subquery must return only one column", position=position_of(ast))
    if query.types[0].element is not None:
        raise FeatureNotSupported("multidimensional arrays are not supported", position=position_of(ast))
    return Subquery(SubqueryKind.ARRAY, query.node, array_of(query.types[0]))


def bind_subscript(binder: ExpressionBinder, ast: Ast) -> Expr:
    """`a[i]`, `a[i:j]`, and `j['key']` of a jsonb."""
    base = binder.bind(ast.this)
    (subscript,) = ast.expressions
    position = position_of(ast)
    if base.type.name == "jsonb":
        return call_operator(binder, "->", base, _json_key(binder, subscript), position)
    if base.type.name == "name" and not isinstance(subscript, exp.Slice):
        return _character(binder, base, _index(binder, subscript), position)
    if base.type.element is None:
        message = f"cannot subscript type {format_type(base.type)} because it does not support subscripting"
        raise DatatypeMismatch(message, position=start_of(ast.this))
    if not isinstance(subscript, exp.Slice):
        index = _index(binder, subscript)
        if base.type.name in VECTORS:
            index = call_operator(binder, "+", index, Literal(1, INT4), position)
        return call_function(binder, ELEMENT, (base, index), position)
    low, high = subscript.this, subscript.expression
    start = Literal(1, INT4) if low is None else _index(binder, low)
    stop = call_function(binder, "cardinality", (base,)) if high is None else _index(binder, high)
    return call_function(binder, SLICE, (base, start, stop), position)


def _character(binder: ExpressionBinder, base: Expr, index: Expr, position: int) -> Expr:
    """`name[i]`: one character, counted from 0; a name is a row of "char" to PostgreSQL."""
    place = call_operator(binder, "+", index, Literal(1, INT4), position)
    text = call_function(binder, "substr", (binder.coerce(base, TEXT), place, Literal(1, INT4)), position)
    return binder.coerce(text, CHAR, "explicit")


def _json_key(binder: ExpressionBinder, ast: Ast) -> Expr:
    key = binder.bind(ast)
    return binder.coerce(key, TEXT) if key.type.name == "unknown" else key


def _index(binder: ExpressionBinder, ast: Ast) -> Expr:
    index = binder.bind(ast)
    if index.type.name not in ("int2", "int4", "int8", "unknown", "numeric", "float8"):
        raise DatatypeMismatch("array subscript must have type integer", position=position_of(ast))
    return binder.coerce(index, INT4, "assignment", position_of(ast))


RULES = {exp.Array: bind_array, exp.Bracket: bind_subscript}
