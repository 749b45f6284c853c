"""CAST, `::`, typed literals and COLLATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import ArrayExpr, Expr
from ..storage.errors import DatatypeMismatch, FeatureNotSupported, UndefinedObject
from ..storage.types import STRINGS, Type, format_type
from .bind_columns import RowExpr
from .dialect import position_of, type_name

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

COLLATIONS = frozenset({"c", "posix", "default", "ucs_basic", "unicode"})
"""Strings sort by code point, which all of these do as far as they promise anything."""


def bind_cast(binder: ExpressionBinder, ast: Ast) -> Expr:
    target = type_name(ast.args["to"]).resolve()
    if isinstance(ast.this, exp.Array) and target.element is not None:
        listed = _array_cast(binder, ast.this, target)
        if listed is not None:
            return listed
    return explicit_cast(binder, binder.bind(ast.this), target, position_of(ast.this), position_of(ast))


def _array_cast(binder: ExpressionBinder, array: Ast, target: Type) -> Expr | None:
    """`ARRAY[…]::t[]`: each item becomes a t, as in PostgreSQL; None for ARRAY(subquery)."""
    from .bind_arrays import is_subquery

    if is_subquery(array):
        return None
    element = target.element
    assert element is not None
    items = tuple(
        explicit_cast(binder, binder.bind(item), element, position_of(item), position_of(item))
        for item in array.expressions
    )
    return ArrayExpr(items, target)


def explicit_cast(
    binder: ExpressionBinder, arg: Expr, target: Type, literal_position: int, position: int
) -> Expr:
    """`arg::target`. A bad literal is blamed at `literal_position`, a missing cast at `position`."""
    if isinstance(arg, RowExpr):
        raise FeatureNotSupported(f"cannot cast type record to {format_type(target)}", position=position)
    place = literal_position if arg.type.name == "unknown" else position
    return binder.coerce(arg, target, "explicit", place)


def bind_collate(binder: ExpressionBinder, ast: Ast) -> Expr:
    arg = binder.bind(ast.this)
    collation = ast.expression
    name = collation.expression.name if isinstance(collation, exp.Dot) else collation.name
    if name.lower() not in COLLATIONS:
        message = f'collation "{name}" for encoding "UTF8" does not exist'
        raise UndefinedObject(message, position=position_of(ast))
    if arg.type.name not in STRINGS:
        message = f"collations are not supported by type {format_type(arg.type)}"
        raise DatatypeMismatch(message, position=position_of(ast))
    return arg


RULES = {exp.Cast: bind_cast, exp.Collate: bind_collate}
