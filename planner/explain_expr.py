"""Expressions as text for EXPLAIN: SQL, with columns by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from ..operators.expr import (
    And,
    AnyAll,
    ArrayExpr,
    Call,
    Case,
    Cast,
    Coalesce,
    ColumnRef,
    Expr,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Not,
    Now,
    Or,
    OuterColumn,
    Parameter,
    Subquery,
)
from ..storage.schema import Schema
from ..storage.textform import TextSettings, format_text

_OPERATOR = re.compile(r"[^a-z0-9_]+")
_LIKE = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}


def show(expr: Expr, schema: Schema) -> str:
    """`expr` over rows of `schema`."""
    match expr:
        case ColumnRef(index=index):
            return schema[index].name if index < len(schema) else f"#{index}"
        case Literal():
            return _literal(expr)
        case Parameter(number=number):
            return f"${number}"
        case Now():
            return "now()"
        case Call():
            return _call(expr, schema)
        case Cast(arg=arg, type=type_):
            return f"{show(arg, schema)}::{type_}"
        case And(args=args):
            return "(" + " AND ".join(show(a, schema) for a in args) + ")"
        case Or(args=args):
            return "(" + " OR ".join(show(a, schema) for a in args) + ")"
        case Not(arg=arg):
            return f"(NOT {show(arg, schema)})"
        case IsNull(arg=arg, negated=negated):
            return f"({show(arg, schema)} IS {'NOT ' if negated else ''}NULL)"
        case IsTruth(arg=arg, truth=truth, negated=negated):
            word = "UNKNOWN" if truth is None else str(truth).upper()
            return f"({show(arg, schema)} IS {'NOT ' if negated else ''}{word})"
        case IsDistinct(left=left, right=right, negated=negated):
            return f"({show(left, schema)} IS {'NOT ' if negated else ''}DISTINCT FROM {show(right, schema)})"
        case _:
            return _compound(expr, schema)


def _compound(expr: Expr, schema: Schema) -> str:
    match expr:
        case Case(conditions=conditions, results=results, otherwise=otherwise):
            whens = " ".join(
                f"WHEN {show(c, schema)} THEN {show(r, schema)}"
                for c, r in zip(conditions, results, strict=True)
            )
            return f"CASE {whens} ELSE {show(otherwise, schema)} END"
        case Coalesce(args=args):
            return f"COALESCE({show_all(args, schema)})"
        case InList(arg=arg, items=items, negated=negated):
            return f"({show(arg, schema)} {'NOT ' if negated else ''}IN ({show_all(items, schema)}))"
        case ArrayExpr(items=items):
            return f"ARRAY[{show_all(items, schema)}]"
        case AnyAll(left=left, function=function, array=array, every=every):
            word = "ALL" if every else "ANY"
            return f"({show(left, schema)} {function.name} {word} ({show(array, schema)}))"
        case OuterColumn(depth=depth, index=index):
            return f"outer{depth}.#{index}"
        case Subquery(kind=kind):
            return f"{kind.value}(subquery)"
        case _:
            return type(expr).__name__


def show_all(exprs: Sequence[Expr], schema: Schema) -> str:
    return ", ".join(show(expr, schema) for expr in exprs)


def _call(expr: Call, schema: Schema) -> str:
    name = expr.function.name
    if _OPERATOR.fullmatch(name):
        symbol = _LIKE.get(name, name)
        if len(expr.args) == 1:
            return f"({symbol} {show(expr.args[0], schema)})"
        return f"({show(expr.args[0], schema)} {symbol} {show(expr.args[1], schema)})"
    return f"{name}({show_all(expr.args, schema)})"


def _literal(expr: Literal) -> str:
    value = expr.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and expr.type.name in ("int2", "int4", "int8"):
        return str(value)
    return f"'{_text(expr)}'::{expr.type.info.sql_name}"


def _text(expr: Literal) -> str:
    array = pa.array([expr.value], expr.type.arrow)
    return str(format_text(expr.type, array, TextSettings())[0].as_py()).replace("'", "''")
