"""CREATE TABLE, CREATE TABLE AS and CREATE SOURCE."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..sql import statements as st
from ..sql.catalog import Catalog
from ..sql.entries import (
    ROW_ID,
    Check,
    Entry,
    ForeignReference,
    Identity,
    Relation,
    Source,
    Table,
    UniqueConstraint,
)
from ..sql.entries import Sequence as SequenceEntry
from ..storage.errors import (
    DuplicateColumn,
    FeatureNotSupported,
    InvalidTableDefinition,
    SqlError,
    SyntaxFault,
    UndefinedColumn,
    WrongObjectType,
)
from ..storage.schema import Column, Schema
from ..storage.types import INT8, TEXT, Type
from .defaults import check_condition, check_default
from .define import DefineContext, Definition, already_exists, defines
from .define_connector import (
    OWN,
    connection_oids,
    connector_options,
    has_before_images,
    is_keyed,
    key_positions,
    shown_text,
    with_included,
)
from .dependencies import only_column
from .translate import translate_query


@defines(st.CreateTable)
def create_table(statement: st.CreateTable, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find((schema_name, name), ()) is not None:
        return already_exists(context, "CREATE TABLE", "relation", name)
    context.catalog.check_free("table", schema_name, name)
    options = connector_options(statement.connector, context)
    body = statement.body
    columns = with_included(_declared_columns(body, options, context), statement.connector)
    oid, catalog = context.catalog.reserve()
    needs = connection_oids(statement.connector, context)
    table = _table(statement, body, columns, schema_name, oid, options, needs)
    table, sequences, catalog = _with_constraints(table, body, catalog, context)
    context.check_connector(table)
    catalog = catalog.with_all([table, *sequences])
    for column in body.columns:
        if column.default is not None:
            with placed(column.default):
                check_default(table, column.name, catalog, context.search_path)
    for declared, check in zip(body.checks, table.checks, strict=True):
        with placed(declared.expression):
            check_condition(table, check.expression, catalog, context.search_path)
    return Definition(catalog, "CREATE TABLE", created=(table, *sequences))


@contextmanager
def placed(expression: st.SqlExpression) -> Generator[None]:
    """Positions of errors in an expression's text, as positions in the statement it stands in."""
    try:
        yield
    except SqlError as error:
        if error.position and expression.position:
            error.position += expression.position - 1
        raise


def _table(
    statement: st.CreateTable,
    body: st.RelationBody,
    columns: tuple[Column, ...],
    schema_name: str,
    oid: int,
    options: dict[str, str],
    dependencies: frozenset[int] = frozenset(),
) -> Table:
    if has_before_images(options):
        raise FeatureNotSupported(
            "before_images is for sources: a table has its rows by key", hint="Use CREATE SOURCE."
        )
    primary = _positions(body.primary_key.columns, columns) if body.primary_key else None
    primary = key_positions(primary, columns, options)
    if primary is None:
        columns = (*columns, Column(ROW_ID, INT8, False, True))
        key: tuple[int, ...] = (len(columns) - 1,)
    else:
        columns = tuple(replace(c, nullable=c.nullable and i not in primary) for i, c in enumerate(columns))
        key = primary
    return Table(
        oid,
        schema_name,
        statement.name.name,
        definition=shown_text(statement.text, statement.connector),
        schema=Schema(columns),
        key=key,
        append_only=statement.append_only,
        dependencies=dependencies,
        primary_key=primary,
        defaults={c.name: c.default.text for c in body.columns if c.default},
        generated={c.name: c.generated.text for c in body.columns if c.generated},
        watermarks={w.column.name: w.expression.text for w in body.watermarks},
        on_conflict=statement.on_conflict,
        version_columns=tuple(c.name for c in statement.version_columns),
        options=options,
        temporary=statement.temporary,
    )


def _with_constraints(
    table: Table, body: st.RelationBody, catalog: Catalog, context: DefineContext
) -> tuple[Table, list[SequenceEntry], Catalog]:
    """The table with its named constraints, and the sequences of its identity columns."""
    name, schema_name = table.name, table.schema_name
    if body.primary_key:
        oid, catalog = catalog.reserve()
        given = body.primary_key.name or catalog.free_name(schema_name, name, "pkey")
        table = replace(table, primary_key_name=given, primary_key_oid=oid)
    uniques: list[UniqueConstraint] = []
    for unique in body.uniques:
        oid, catalog = catalog.reserve()
        names = [c.name for c in unique.columns]
        given = unique.name or catalog.free_name(schema_name, name, *names, "key")
        positions = _positions(unique.columns, table.schema.columns)
        uniques.append(UniqueConstraint(oid, given, positions))
    checks = _named_checks(body, name)
    foreign = tuple(_foreign_reference(key, table, context) for key in body.foreign_keys)
    table = replace(table, uniques=tuple(uniques), checks=checks, foreign_keys=foreign)
    sequences: list[SequenceEntry] = []
    identities: dict[str, Identity] = {}
    for column in body.columns:
        if column.identity:
            oid, catalog = catalog.reserve()
            serial = column.type is not None and column.type.serial
            identities[column.name] = Identity("serial" if serial else column.identity, oid)
            sequence_name = catalog.free_name(schema_name, name, column.name, "seq")
            sequences.append(
                SequenceEntry(oid, schema_name, sequence_name, owner=(table.oid, column.name),
                              dependencies=frozenset({table.oid}))
            )  # fmt: skip
    return replace(table, identities=identities), sequences, catalog


def _named_checks(body: st.RelationBody, table: str) -> tuple[Check, ...]:
    taken: set[str] = set()
    checks: list[Check] = []
    for check in body.checks:
        usual = "_".join([table, *only_column(check.expression.ast), "check"])
        name, number = check.name or usual, 0
        while name in taken:
            number += 1
            name = f"{usual}{number}"
        taken.add(name)
        checks.append(Check(name, check.expression.text))
    return tuple(checks)


def _foreign_reference(key: st.ForeignKey, table: Table, context: DefineContext) -> ForeignReference:
    name = key.name or "_".join([table.name, *(c.name for c in key.columns), "fkey"])
    positions = _positions(key.columns, table.schema.columns)
    other = table if key.table.parts == (table.name,) else None
    if other is None:
        try:
            found = context.catalog.resolve(key.table.parts, context.search_path)
        except SqlError as error:
            raise error.at(key.table.position) from None
        if not isinstance(found, Table):
            raise WrongObjectType(f'referenced relation "{found.name}" is not a table')
        other = found
    references = (
        _positions(key.references, other.schema.columns) if key.references else (other.primary_key or ())
    )
    return ForeignReference(name, positions, other.oid, references)


def _declared_columns(
    body: st.RelationBody, options: dict[str, str], context: DefineContext
) -> tuple[Column, ...]:
    """The columns as written, or those the connector brings when none are."""
    own = context.connector_columns(options) if "connector" in options else None
    if not body.columns and own is not None:
        options[OWN] = "true"
        return own.columns
    columns = _like_columns(body, context)
    seen = {column.name for column in columns}
    for column in body.columns:
        if column.name in seen:
            raise DuplicateColumn(
                f'column "{column.name}" specified more than once', position=column.position
            )
        seen.add(column.name)
        columns.append(Column(column.name, _column_type(column), not column.not_null))
    return tuple(columns)


def _column_type(column: st.ColumnDefinition) -> Type:
    if column.type is None:
        raise SyntaxFault(f'column "{column.name}" needs a type', position=column.position)
    return column.type.resolve()


def _positions(names: Iterable[st.ColumnName], columns: Sequence[Column]) -> tuple[int, ...]:
    found: list[int] = []
    for name in names:
        position = next((i for i, c in enumerate(columns) if c.name == name.name and not c.hidden), None)
        if position is None:
            raise UndefinedColumn(f'column "{name.name}" named in key does not exist', position=name.position)
        if position in found:
            raise DuplicateColumn(
                f'column "{name.name}" appears twice in key constraint', position=name.position
            )
        found.append(position)
    return tuple(found)


def _like_columns(body: st.RelationBody, context: DefineContext) -> list[Column]:
    """The columns of the relations named by `LIKE other`."""
    columns: list[Column] = []
    for like in body.likes:
        other = context.catalog.resolve(like.table.parts, context.search_path)
        if not isinstance(other, Relation):
            raise WrongObjectType(f'"{other.name}" is not a table, view, or source')
        columns.extend(Column(c.name, c.type, c.nullable) for c in other.schema if not c.hidden)
    return columns


@defines(st.CreateTableAs)
def create_table_as(statement: st.CreateTableAs, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find((schema_name, name), ()) is not None:
        return already_exists(context, "CREATE TABLE AS", "relation", name)
    context.catalog.check_free("table", schema_name, name)
    query = translate_query(
        statement.query.ast,
        context.catalog,
        context.search_path,
        text=statement.text,
        settings=context.settings,
    )
    names = named_columns(statement.columns, query.names)
    columns = [Column(n, TEXT if t.name == "unknown" else t) for n, t in zip(names, query.types, strict=True)]
    oid, catalog = context.catalog.reserve()
    schema = Schema((*columns, Column(ROW_ID, INT8, False, True)))
    table = Table(
        oid,
        schema_name,
        name,
        definition=statement.text,
        schema=schema,
        key=(len(columns),),
        append_only=statement.append_only,
        temporary=statement.temporary,
    )
    rows = (table, query) if statement.with_data else None
    return Definition(catalog.with_(table), "SELECT {rows}", created=(table,), rows=rows)


def named_columns(given: Sequence[st.ColumnName], names: Sequence[str]) -> tuple[str, ...]:
    """The query's column names with the first ones replaced by those of the column list."""
    if len(given) > len(names):
        raise SyntaxFault("too many column names were specified", position=given[len(names)].position)
    found = (*(column.name for column in given), *names[len(given) :])
    for i, name in enumerate(found):
        if name in found[:i]:
            raise DuplicateColumn(f'column "{name}" specified more than once')
    return found


@defines(st.CreateSource)
def create_source(statement: st.CreateSource, context: DefineContext) -> Definition:
    schema_name = context.catalog.creation_schema(statement.name.parts, context.search_path)
    name = statement.name.name
    if statement.if_not_exists and context.catalog.find((schema_name, name), ()) is not None:
        return already_exists(context, "CREATE SOURCE", "relation", name)
    context.catalog.check_free("source", schema_name, name)
    options = connector_options(statement.connector, context)
    if "connector" not in options:
        raise InvalidTableDefinition(
            "a source needs a connector", hint="Say WITH (connector = '…') behind the columns."
        )
    body = statement.body
    columns = with_included(_declared_columns(body, options, context), statement.connector)
    if not columns:
        raise InvalidTableDefinition(
            f"a source of connector {options['connector']} needs columns",
            hint=f"CREATE SOURCE {name} (id bigint, …) WITH (…).",
        )
    declared = _positions(body.primary_key.columns, columns) if body.primary_key else None
    keyed = is_keyed(options)
    key = key_positions(declared, columns, options) if keyed else None
    if key is not None:
        columns = tuple(replace(c, nullable=c.nullable and i not in key) for i, c in enumerate(columns))
    oid, catalog = context.catalog.reserve()
    source: Entry = Source(
        oid,
        schema_name,
        name,
        definition=shown_text(statement.text, statement.connector),
        dependencies=connection_oids(statement.connector, context),
        schema=Schema(columns),
        key=key,
        append_only=not keyed and not has_before_images(options),
        options=options,
        generated={c.name: c.generated.text for c in body.columns if c.generated},
        watermarks={w.column.name: w.expression.text for w in body.watermarks},
        stored=keyed,
    )
    context.check_connector(source)
    return Definition(catalog.with_(source), "CREATE SOURCE", created=(source,))
