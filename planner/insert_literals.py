"""INSERT … VALUES of plain literals, column by column instead of value by value."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ..sql import statements as st
from ..sql.catalog import Table
from ..storage.arrow_compute import pc
from ..storage.errors import NumericOutOfRange, SqlError, StringTooLong
from ..storage.schema import Column, Schema
from ..storage.textform import TextSettings, parse_text
from ..storage.types import INTEGERS, Type
from .rows import Rows

_NUMBERS = frozenset({"int2", "int4", "int8", "numeric", "float4", "float8"})
_EXACT = frozenset({"numeric", "float4", "float8"})
_FLOATS = {"float4": pa.scalar(0, pa.float32()), "float8": pa.scalar(0, pa.float64())}
"""A zero of each type."""


def literal_rows(
    literals: Sequence[st.LiteralColumn], table: Table, positions: Sequence[int], settings: TextSettings
) -> Rows | None:
    """The rows, or None when some column's literals need more than being read as the column's type.

    Raises what reading a value raises, at that value.
    """
    columns: list[pa.Array] = []
    shown: list[Column] = []
    for literal, position in zip(literals, positions, strict=False):
        column = table.schema[position]
        if not _readable(literal.kind, column.type):
            return None
        columns.append(_read(literal, column.type, settings))
        shown.append(Column(column.name, column.type))
    return Rows(Schema(tuple(shown)), tuple(columns), len(literals[0].values))


def _readable(kind: str, type_: Type) -> bool:
    """Whether the literal's text, read as a value of the type, is what assigning it would give."""
    if kind in ("unknown", "null"):
        return not type_.name.startswith("reg")
    if kind == "integer":
        return type_.name in _NUMBERS
    if kind == "number":
        return type_.name in _EXACT
    return kind == "boolean" and type_.name == "bool"


def _read(literal: st.LiteralColumn, type_: Type, settings: TextSettings) -> pa.Array:
    try:
        values = parse_text(type_, pa.array(literal.values, pa.string()), settings)
        # A constant is an integer or numeric before it is a float: -0 is 0.
        return (
            pc.add(values, _FLOATS[type_.name])
            if type_.name in _FLOATS and literal.kind != "unknown"
            else values
        )
    except SqlError as error:
        if literal.kind == "integer" and type_.name in INTEGERS:
            # An integer constant is cast, not read: PostgreSQL then says less.
            raise NumericOutOfRange(f"{type_} out of range") from None
        row = int(error.rows[0]) if error.rows is not None and len(error.rows) else 0
        if literal.kind == "unknown" and not isinstance(error, StringTooLong):
            error.at(literal.positions[row])
        raise
