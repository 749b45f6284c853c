"""The name of a result column without AS, by PostgreSQL's rule (FigureColname in parse_target.c)."""

from __future__ import annotations

from sqlglot import exp

from ..storage.types import type_by_name
from .bind_arrays import is_subquery
from .dialect import function_call, type_name
from .environment import Ast

UNNAMED = "?column?"


def output_name(ast: Ast) -> str:
    """The column's name; a name that only a type or CASE suggests yields to a better one inside."""
    return _figure(ast)[0] or UNNAMED


def _figure(ast: Ast) -> tuple[str, bool]:
    """(name, whether it is a strong one)."""
    if isinstance(ast, exp.Column):
        return ast.this.name, True
    call = function_call(ast)
    if call is not None:
        return call.name, True
    match ast:
        case exp.Cast():
            return _cast(ast)
        case exp.Case():
            return _case(ast)
        case exp.Collate() | exp.Bracket():
            return _figure(ast.this)
        case exp.Dot():
            return ast.expression.name, True
        case exp.Array():
            return "array", True
        case exp.Tuple():
            return "row", True
        case exp.Exists():
            return "exists", True
        case exp.Subquery():
            return _subquery(ast.this)
        case _:
            return "", False


def _cast(ast: Ast) -> tuple[str, bool]:
    name, strong = _figure(ast.this)
    if strong:
        return name, True
    written = type_name(ast.args["to"])
    base = type_by_name(written.name)
    return (base.name if base is not None else written.name), False


def _case(ast: Ast) -> tuple[str, bool]:
    default = ast.args.get("default")
    if default is not None:
        name, strong = _figure(default)
        if strong:
            return name, True
    return "case", False


def _subquery(query: Ast) -> tuple[str, bool]:
    """The name of the only column of a scalar subquery."""
    while isinstance(query, (exp.Union, exp.Intersect, exp.Except, exp.Subquery)):
        query = query.this
    if isinstance(query, exp.Values):
        return "column1", True
    items = query.expressions
    if not items:
        return "", False
    if isinstance(items[0], exp.Alias):
        return items[0].alias, True
    name, _ = _figure(items[0])
    return (name or UNNAMED), True


__all__ = ["UNNAMED", "is_subquery", "output_name"]
