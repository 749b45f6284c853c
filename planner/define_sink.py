"""CREATE SINK: changes of a relation or query to a connector, or into a table."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from ..operators.node import Node
from ..sql import statements as st
from ..sql.catalog import Catalog
from ..sql.entries import Relation, Sink, Table
from ..sql.parse import parse_select
from ..storage.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    InvalidTableDefinition,
    UndefinedColumn,
    WrongObjectType,
)
from ..storage.schema import Schema
from .build import materialized
from .define import DefineContext, Definition, already_exists, defines
from .define_connector import connection_oids, connector_options, shown_text
from .define_view import query_schema
from .dependencies import relations_named
from .translate import translate_query

SINK_ID = "relation.sink"
"""Option with a name for the sink that no other sink has, in any database."""
TRUE = ("true", "on", "1", "yes")


def sink_plan(sink: Sink, catalog: Catalog) -> Node:
    """The plan of a stored sink: its output are the rows that go out. Keeps no rows of its own."""
    query = translate_query(
        parse_select(sink.query), catalog, sink.search_path, text=sink.query, for_view=True
    )
    return materialized(query, catalog).input


@defines(st.CreateSink)
def create_sink(statement: st.CreateSink, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find((schema_name, name), ()) is not None:
        return already_exists(context, "CREATE SINK", "relation", name)
    context.catalog.check_free("sink", schema_name, name)
    text, from_oid = _query_text(statement, context)
    ast = parse_select(text)
    query = translate_query(ast, context.catalog, context.search_path, text=text, for_view=True)
    node = materialized(query, context.catalog).input
    into = _target(statement, context)
    options = connector_options(statement.connector, context)
    needs = relations_named(ast, context.catalog, context.search_path)
    oid, catalog = context.catalog.reserve()
    schema = query_schema((), query)
    sink = Sink(
        oid,
        schema_name,
        name,
        definition=shown_text(statement.text, statement.connector),
        dependencies=needs | connection_oids(statement.connector, context) | ({into.oid} if into else set()),
        from_oid=from_oid,
        query=text,
        search_path=context.search_path,
        into_oid=into.oid if into else 0,
        schema=schema,
        key=_key(statement, options, schema, node.key),
        options={**options, SINK_ID: uuid.uuid4().hex},
    )
    if into is not None:
        _check_target(into, sink, node.append_only)
        _refuse_circle(into, needs, context.catalog)
    elif "connector" not in options:
        raise InvalidTableDefinition(
            "a sink needs a connector", hint="Say WITH (connector = '…') or INTO table."
        )
    else:
        _check_format(options, node.append_only, sink)
        context.check_connector(sink)
    return Definition(catalog.with_(sink), "CREATE SINK", created=(sink,))


def _query_text(statement: st.CreateSink, context: DefineContext) -> tuple[str, int]:
    """The query whose changes go out, and the relation if it was given by name."""
    if statement.query is not None:
        return statement.query.text, 0
    assert statement.from_ is not None
    entry = context.catalog.resolve(statement.from_.parts, context.search_path)
    if not isinstance(entry, Relation):
        raise WrongObjectType(f'"{entry.name}" is not a table, view, or source')
    quoted = (part.replace('"', '""') for part in (entry.schema_name, entry.name))
    return 'SELECT * FROM "{}"."{}"'.format(*quoted), entry.oid


def _key(
    statement: st.CreateSink, options: dict[str, str], schema: Schema, own: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """The record's key: as said, or that of the rows."""
    names = [column.name for column in statement.key]
    if not names and options.get("primary_key"):
        names = [name.strip().strip('"') for name in options["primary_key"].split(",")]
    if not names:
        return own if own and all(i < len(schema) for i in own) else None
    known = list(schema.names)
    for name in names:
        if name not in known:
            raise UndefinedColumn(f'column "{name}" named in key does not exist')
    return tuple(known.index(name) for name in names)


def sink_format(options: dict[str, str]) -> str:
    """plain, upsert or debezium, by FORMAT or the older option `type`."""
    given = options.get("format") or options.get("type", "plain")
    return "plain" if given.lower() in ("append-only", "append_only", "") else given.lower()


def _check_format(options: dict[str, str], append_only: bool, sink: Sink) -> None:
    format_ = sink_format(options)
    if format_ not in ("plain", "upsert", "debezium"):
        raise FeatureNotSupported(f"a sink of FORMAT {format_.upper()} is not supported")
    forced = {**options}.get("force_append_only", options.get("encode.force_append_only", "false"))
    if format_ == "plain" and not append_only and forced.lower() not in TRUE:
        raise InvalidTableDefinition(
            f'rows of sink "{sink.name}" may change or go, which FORMAT PLAIN cannot say',
            hint="Use FORMAT UPSERT or DEBEZIUM, or force_append_only = 'true' to leave that out.",
        )
    if format_ != "plain" and not sink.key:
        raise InvalidTableDefinition(
            f"FORMAT {format_.upper()} needs a key, and the rows have none",
            hint="Say primary_key = '…' in WITH, or KEY (…).",
        )


def _target(statement: st.CreateSink, context: DefineContext) -> Table | None:
    if statement.into is None:
        return None
    entry = context.catalog.resolve(statement.into.parts, context.search_path)
    if not isinstance(entry, Table):
        raise WrongObjectType(f'"{entry.name}" is not a table')
    if statement.into_columns:
        raise FeatureNotSupported("CREATE SINK … INTO table (columns) is not supported")
    return entry


def _check_target(table: Table, sink: Sink, append_only: bool) -> None:
    """Types must be the table's."""
    wanted = [column for column in table.schema if not column.hidden]
    if [c.type.arrow for c in wanted] != [c.type.arrow for c in sink.schema] or any(
        a.type.name != b.type.name for a, b in zip(wanted, sink.schema, strict=True)
    ):
        raise DatatypeMismatch(
            f'the query\'s columns are not those of table "{table.name}"',
            detail=f"Table: {_shown(wanted)}. Query: {_shown(list(sink.schema))}.",
        )
    if table.has_row_id and not append_only and sink.options.get("force_append_only", "") not in TRUE:
        raise InvalidTableDefinition(
            f'rows of the query may change or go, and table "{table.name}" has no primary key to find them by'
        )


def _refuse_circle(table: Table, read: frozenset[int], catalog: Catalog) -> None:
    above = {entry.oid for entry in catalog.dependents_closure([table.oid])} | {table.oid}
    if above & read:
        raise InvalidTableDefinition(f'table "{table.name}" would feed itself')


def _shown(columns: Sequence[object]) -> str:
    return ", ".join(f"{getattr(c, 'name', '')} {getattr(c, 'type', '')}" for c in columns)
