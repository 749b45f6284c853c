"""CREATE VIEW and CREATE MATERIALIZED VIEW."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..sql import statements as st
from ..sql.entries import Entry, MaterializedView, View
from ..storage.errors import InvalidTableDefinition, WrongObjectType
from ..storage.schema import Column, Schema
from ..storage.types import TEXT
from .build import materialized
from .define import DefineContext, Definition, Notice, already_exists, defines
from .define_alter import views_to_rebuild
from .define_drop import dropped_with
from .define_table import named_columns
from .dependencies import relations_named
from .translate import Query, translate_query


@defines(st.CreateView)
def create_view(statement: st.CreateView, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    old = context.catalog.find((schema_name, name), ())
    if old is not None and statement.if_not_exists:
        return already_exists(context, "CREATE VIEW", "relation", name)
    if old is None or not statement.or_replace:
        context.catalog.check_free("view", schema_name, name)
    query = _translate(statement.query, statement.text, context)
    oid, catalog = context.catalog.reserve() if old is None else (old.oid, context.catalog)
    view = View(
        oid,
        schema_name,
        name,
        definition=statement.text,
        dependencies=relations_named(statement.query.ast, context.catalog, context.search_path),
        schema=query_schema(statement.columns, query),
        query=statement.query.text,
        search_path=context.search_path,
        literals=(context.settings.timezone, context.settings.date_style),
        temporary=statement.temporary,
    )
    if old is not None:
        return _replace_view(old, view, context)
    return Definition(catalog.with_(view), "CREATE VIEW", created=(view,))


def _replace_view(old: Entry, view: View, context: DefineContext) -> Definition:
    """OR REPLACE: columns may be added at the end only, as in PostgreSQL.

    A materialized view on top of the replaced one is computed anew, from the new definition.
    """
    if not isinstance(old, View):
        raise WrongObjectType(f'"{old.name}" is not a view')
    if len(view.schema) < len(old.schema):
        raise InvalidTableDefinition("cannot drop columns from view")
    for before, after in zip(old.schema, view.schema, strict=False):
        if before.name != after.name:
            raise InvalidTableDefinition(
                f'cannot change name of view column "{before.name}" to "{after.name}"',
                hint="Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
            )
        if not before.type.same(after.type):
            raise InvalidTableDefinition(
                f'cannot change data type of view column "{before.name}" from {before.type} to {after.type}'
            )
    catalog = context.catalog.with_(replace(view, comment=old.comment))
    rebuilt = views_to_rebuild(catalog, old.oid)
    return Definition(catalog, "CREATE VIEW", dropped=tuple(rebuilt), created=tuple(reversed(rebuilt)))


@defines(st.CreateMaterializedView)
def create_materialized_view(statement: st.CreateMaterializedView, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    old = context.catalog.find((schema_name, name), ())
    tag = "CREATE MATERIALIZED VIEW"
    if old is not None and statement.if_not_exists:
        return already_exists(context, tag, "relation", name)
    if old is None or not statement.or_replace:
        context.catalog.check_free("materialized view", schema_name, name)
    query = _translate(statement.query, statement.text, context)
    oid, catalog = context.catalog.reserve()
    node = materialized(query, catalog)
    view = MaterializedView(
        oid,
        schema_name,
        name,
        definition=statement.text,
        dependencies=relations_named(statement.query.ast, context.catalog, context.search_path),
        schema=query_schema(statement.columns, query),
        key=node.key,
        append_only=node.append_only,
        query=statement.query.text,
        search_path=context.search_path,
        literals=(context.settings.timezone, context.settings.date_style),
        emit_on_window_close=statement.emit_on_window_close,
        options=dict(statement.options),
    )
    notices = tuple(Notice(f"{clause} is accepted and has no effect") for clause in statement.ignored)
    dropped: tuple[Entry, ...] = ()
    if old is not None:
        if not isinstance(old, MaterializedView):
            raise WrongObjectType(f'"{old.name}" is not a materialized view')
        catalog, dropped, more = dropped_with(catalog, [old], cascade=False)
        notices += more
    return Definition(catalog.with_(view), tag, created=(view,), dropped=dropped, notices=notices)


def _translate(query: st.SqlExpression, text: str, context: DefineContext) -> Query:
    return translate_query(
        query.ast,
        context.catalog,
        context.search_path,
        text=text,
        for_view=True,
        settings=context.settings,
    )


def query_schema(given: Sequence[st.ColumnName], query: Query) -> Schema:
    names = named_columns(given, query.names)
    inner = query.node.schema
    return Schema(
        tuple(
            Column(name, TEXT if type_.name == "unknown" else type_, inner[i].nullable)
            for i, (name, type_) in enumerate(zip(names, query.types, strict=True))
        )
    )
