"""Objects as SQL text: what pg_get_indexdef, pg_get_viewdef and their like show."""

from __future__ import annotations

from ...operators.functions.text import quote_ident
from ..entries import MaterializedView, View
from .objects import IndexShape


def qualified(schema_name: str, name: str) -> str:
    return f"{quote_ident(schema_name)}.{quote_ident(name)}"


def index_column(index: IndexShape, number: int) -> str:
    """Column `number` (1-based) of an index; empty when there is none."""
    if number > len(index.columns) + len(index.included):
        return ""
    if number > len(index.columns):
        return quote_ident(index.table.schema[index.included[number - 1 - len(index.columns)] - 1].name)
    return index.keys[number - 1]


_ORDER = ("", " DESC NULLS LAST", " NULLS FIRST", " DESC")
"""By `indoption`: 1 descending, 2 NULLs first."""


def index_definition(index: IndexShape) -> str:
    """The CREATE INDEX that makes it."""
    keys = [key + _ORDER[option] for key, option in zip(index.keys, index.options, strict=True)]
    table = qualified(index.table.schema_name, index.table.name)
    unique = "UNIQUE " if index.unique else ""
    text = (
        f"CREATE {unique}INDEX {quote_ident(index.name)} ON {table} USING {index.method} ({', '.join(keys)})"
    )
    if index.included:
        names = [quote_ident(index.table.schema[number - 1].name) for number in index.included]
        text += f" INCLUDE ({', '.join(names)})"
    return f"{text} WHERE ({index.where})" if index.where else text


def view_definition(view: View | MaterializedView) -> str:
    """The query, as it was written."""
    return f" {view.query.strip().rstrip(';').rstrip()};"
