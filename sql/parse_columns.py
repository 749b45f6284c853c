"""Columns in parentheses, with types or without: behind an alias, a name in WITH, or USING."""

from __future__ import annotations

from sqlglot import exp

from .cursor import Cursor
from .dialect import Ast, place
from .keywords import NOT_COLUMN
from .parse_type import parse_type


def identifiers(c: Cursor) -> list[Ast]:
    """`(a, b)` as identifiers."""
    c.expect("(")
    names = [c.identifier()]
    while c.accept(","):
        names.append(c.identifier())
    c.expect(")")
    return names


def typed_columns(c: Cursor) -> list[Ast]:
    """`(a int, b text)`."""
    c.expect("(")
    columns = [column_definition(c)]
    while c.accept(","):
        columns.append(column_definition(c))
    c.expect(")")
    return columns


def column_definition(c: Cursor) -> Ast:
    """`name type` as exp.ColumnDef."""
    start = c.start
    name = c.identifier(NOT_COLUMN)
    written = parse_type(c)
    kind = place(exp.DataType(this=exp.DType.USERDEFINED, kind=str(written)), written.position - 1)
    kind.meta["type_name"] = written
    return place(exp.ColumnDef(this=name, kind=kind), start)
