"""Objects as SQL text: what pg_get_indexdef, pg_get_viewdef and their like show."""

from __future__ import annotations

from sqlglot import exp

from ...operators.functions.text_quote import quote_ident
from ..dialect import position_of
from ..entries import MaterializedView, View
from ..parse import parse_select
from .names import is_visible
from .objects import IndexShape, objects
from .registry import SystemContext


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
    return _closed(view.query)


def _closed(query: str) -> str:
    return f" {query.strip().rstrip(';').rstrip()};"


def visible_view_definition(view: View | MaterializedView, system: SystemContext) -> str:
    """The query with the schema before each relation that could not be found on the search path without."""
    text = view.query.strip().rstrip(";")
    if view.search_path == system.search_path:
        return _closed(text)
    all_, tree = objects(system.catalog), parse_select(text)
    hidden = {expression.alias for expression in tree.find_all(exp.CTE)}
    places: list[tuple[int, str]] = []
    for table in tree.find_all(exp.Table):
        name = table.name
        found = (
            None if table.args.get("db") or name in hidden else system.catalog.find((name,), view.search_path)
        )
        known = all_.by_oid.get(found.oid) if found is not None else None
        if known is not None and not is_visible(known, system):
            places.append((position_of(table) - 1, quote_ident(known.schema_name)))
    for start, schema in sorted(places, reverse=True):
        text = f"{text[:start]}{schema}.{text[start:]}"
    return _closed(text)
