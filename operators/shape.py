"""What can be said of a node's output columns without computing them."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.schema import Column, Schema
from .expr import Cast, Coalesce, ColumnRef, Expr, IsDistinct, IsNull, IsTruth, Literal, Now


def nullable(expr: Expr, schema: Schema) -> bool:
    """Whether `expr` over rows of `schema` may be NULL (True when not known)."""
    match expr:
        case ColumnRef(index=index):
            return schema[index].nullable
        case Literal(value=value):
            return value is None
        case Now() | IsNull() | IsTruth() | IsDistinct():
            return False
        case Coalesce(args=args):
            return all(nullable(arg, schema) for arg in args)
        case Cast(arg=arg) if arg.type.same(expr.type):
            return nullable(arg, schema)
        case _:
            return True


def computed_columns(exprs: Sequence[Expr], names: Sequence[str], schema: Schema) -> tuple[Column, ...]:
    """The columns `exprs` make of rows of `schema`."""
    return tuple(
        Column(name, expr.type, nullable(expr, schema)) for expr, name in zip(exprs, names, strict=True)
    )


def carried_positions(exprs: Sequence[Expr]) -> dict[int, int]:
    """Input column → first output column that is exactly it."""
    carried: dict[int, int] = {}
    for position, expr in enumerate(exprs):
        if isinstance(expr, ColumnRef):
            carried.setdefault(expr.index, position)
    return carried


def carried_key(key: tuple[int, ...] | None, exprs: Sequence[Expr]) -> tuple[int, ...] | None:
    """The key of the input as columns of the output, None unless every key column is carried."""
    if key is None:
        return None
    carried = carried_positions(exprs)
    if any(column not in carried for column in key):
        return None
    return tuple(carried[column] for column in key)
