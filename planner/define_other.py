"""CREATE SCHEMA, INDEX, SEQUENCE, CONNECTION, SECRET, and COMMENT."""

from __future__ import annotations

from dataclasses import replace

from ..sql import statements as st
from ..sql.entries import (
    Connection,
    Index,
    IndexKey,
    MaterializedView,
    Relation,
    Schema,
    Secret,
    Source,
    Table,
    View,
)
from ..sql.entries import Sequence as SequenceEntry
from ..sql.secret_options import masked_statement
from ..storage.errors import (
    FeatureNotSupported,
    InvalidParameterValue,
    InvalidSchemaName,
    ReservedName,
    UndefinedColumn,
    WrongObjectType,
)
from .define import DefineContext, Definition, already_exists, defines


@defines(st.CreateSchema)
def create_schema(statement: st.CreateSchema, context: DefineContext) -> Definition:
    if context.catalog.schema(statement.name) is not None and statement.if_not_exists:
        return already_exists(context, "CREATE SCHEMA", "schema", statement.name)
    context.catalog.check_free("schema", "", statement.name)
    if statement.name.startswith("pg_"):
        raise ReservedName(
            f'unacceptable schema name "{statement.name}"',
            detail='The prefix "pg_" is reserved for system schemas.',
        )
    oid, catalog = context.catalog.reserve()
    schema = Schema(oid, "", statement.name, definition=statement.text)
    return Definition(catalog.with_(schema), "CREATE SCHEMA", created=(schema,))


@defines(st.CreateIndex)
def create_index(statement: st.CreateIndex, context: DefineContext) -> Definition:
    """An index is kept in the catalogue for tools that ask; reads do not need it."""
    relation = context.catalog.resolve(statement.table.parts, context.search_path)
    if not isinstance(relation, Table | MaterializedView):
        raise WrongObjectType(f'cannot create index on relation "{relation.name}"')
    if statement.unique:
        raise FeatureNotSupported(
            "CREATE UNIQUE INDEX is not supported",
            hint="Declare UNIQUE or PRIMARY KEY in CREATE TABLE: it is enforced there.",
        )
    schema_name = relation.schema_name
    name = statement.name
    if name and statement.if_not_exists and context.catalog.find((schema_name, name), ()) is not None:
        return already_exists(context, "CREATE INDEX", "relation", name)
    if name:
        context.catalog.check_free("index", schema_name, name)
    keys = tuple(_index_key(column, relation) for column in statement.columns)
    if not name:
        parts = [c.column or "expr" for c in statement.columns]
        name = context.catalog.free_name(schema_name, relation.name, *parts, "idx")
    oid, catalog = context.catalog.reserve()
    index = Index(
        oid,
        schema_name,
        name,
        definition=statement.text,
        dependencies=frozenset({relation.oid}),
        table_oid=relation.oid,
        keys=keys,
        include=tuple(_column(c.name, relation) for c in statement.include),
        method=statement.method,
        where=statement.where.text if statement.where else "",
    )
    return Definition(catalog.with_(index), "CREATE INDEX", created=(index,))


def _index_key(column: st.IndexColumn, relation: Relation) -> IndexKey:
    if not column.column:
        return IndexKey(-1, column.expression.text, column.descending, column.nulls_first)
    return IndexKey(_column(column.column, relation), "", column.descending, column.nulls_first)


def _column(name: str, relation: Relation) -> int:
    for i, column in enumerate(relation.schema):
        if column.name == name and not column.hidden:
            return i
    raise UndefinedColumn(f'column "{name}" does not exist')


@defines(st.CreateSequence)
def create_sequence(statement: st.CreateSequence, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find((schema_name, name), ()) is not None:
        return already_exists(context, "CREATE SEQUENCE", "relation", name)
    context.catalog.check_free("sequence", schema_name, name)
    options = statement.options
    try:
        start, increment = int(options.get("start", "1")), int(options.get("increment", "1"))
    except ValueError as error:
        raise InvalidParameterValue(f"invalid sequence option: {error}") from None
    oid, catalog = context.catalog.reserve()
    sequence = SequenceEntry(
        oid, schema_name, name, definition=statement.text, start=start, increment=increment
    )
    return Definition(catalog.with_(sequence), "CREATE SEQUENCE", created=(sequence,))


@defines(st.CreateConnection)
def create_connection(statement: st.CreateConnection, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find_object("connection", (schema_name, name), ()):
        return already_exists(context, "CREATE CONNECTION", "connection", name)
    context.catalog.check_free("connection", schema_name, name)
    oid, catalog = context.catalog.reserve()
    shown = masked_statement(statement.text, statement.options)
    entry = Connection(oid, schema_name, name, definition=shown, options=dict(statement.options))
    return Definition(catalog.with_(entry), "CREATE CONNECTION", created=(entry,))


@defines(st.CreateSecret)
def create_secret(statement: st.CreateSecret, context: DefineContext) -> Definition:
    """The definition keeps no text: a secret is never shown."""
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find_object("secret", (schema_name, name), ()):
        return already_exists(context, "CREATE SECRET", "secret", name)
    context.catalog.check_free("secret", schema_name, name)
    oid, catalog = context.catalog.reserve()
    entry = Secret(oid, schema_name, name, value=statement.value, options=dict(statement.options))
    return Definition(catalog.with_(entry), "CREATE SECRET", created=(entry,))


@defines(st.Comment)
def comment(statement: st.Comment, context: DefineContext) -> Definition:
    kind = "table" if statement.kind == "column" else statement.kind
    if kind == "database":
        return Definition(context.catalog, "COMMENT")
    if statement.kind == "column":
        entry = context.catalog.resolve(statement.name.parts, context.search_path)
        if not isinstance(entry, Table | View | MaterializedView | Source):
            raise WrongObjectType(f'"{entry.name}" has no columns to comment on')
        _column(statement.column, entry)
        comments = {k: v for k, v in entry.column_comments.items() if k != statement.column}
        if statement.comment is not None:
            comments[statement.column] = statement.comment
        return Definition(context.catalog.with_(replace(entry, column_comments=comments)), "COMMENT")
    entry = context.catalog.resolve_object(kind, statement.name.parts, context.search_path)
    changed = replace(entry, comment=statement.comment or "")
    if isinstance(entry, Schema) and entry.oid < 2200:
        raise InvalidSchemaName(f'schema "{entry.name}" is the system\'s')
    return Definition(context.catalog.with_(changed), "COMMENT")
