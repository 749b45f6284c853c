"""SHOW TABLES and its family, SHOW CREATE, DESCRIBE: as queries of system relations."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..sql import statements as st
from ..sql.catalog import DATABASE
from ..sql.entries import Entry, Index, MaterializedView, Relation, Sink, Source, Table, View
from ..sql.entries import Schema as SchemaEntry
from ..storage.errors import FeatureNotSupported, WrongObjectType
from ..storage.types import TEXT
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, describes, executes
from .run_jobs import shown_jobs
from .run_session import text_rows

KINDS: dict[str, type[Entry]] = {
    "tables": Table,
    "views": View,
    "materialized views": MaterializedView,
    "sources": Source,
    "sinks": Sink,
    "indexes": Index,
}
OTHERS = {"columns": ("Name", "Type", "Nullable", "Key"), "jobs": ("Id", "Statement", "Progress")}


def _names(statement: st.ShowObjects) -> tuple[str, ...]:
    return OTHERS.get(statement.kind, ("Name",))


@describes(st.ShowObjects)
def describe_show_objects(client: Client, statement: st.ShowObjects) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(name, TEXT) for name in _names(statement))


@executes(st.ShowObjects)
def run_show_objects(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.ShowObjects)
    if statement.kind == "columns" and statement.of is not None:
        return _columns(client, statement.of)
    catalog = client.catalog
    if statement.kind == "databases":
        return text_rows("SHOW DATABASES", ("Name",), [(DATABASE,)])
    if statement.kind == "schemas":
        names = sorted(entry.name for entry in catalog.of(SchemaEntry))
        return text_rows("SHOW SCHEMAS", ("Name",), [(name,) for name in names])
    if statement.kind == "jobs":
        return text_rows("SHOW JOBS", OTHERS["jobs"], shown_jobs(client))
    kind = KINDS.get(statement.kind)
    if kind is None:
        raise FeatureNotSupported(f"SHOW {statement.kind.upper()} is not supported")
    schemas = [statement.schema] if statement.schema else list(client.search_path)
    entries = [e for e in catalog.of(kind) if e.schema_name in schemas]
    if kind is Index and statement.of is not None:
        table = catalog.resolve(statement.of.parts, client.search_path)
        entries = [e for e in entries if isinstance(e, Index) and e.table_oid == table.oid]
    names = sorted(e.name for e in entries if _like(e.name, statement.like))
    return text_rows(f"SHOW {statement.kind.upper()}", ("Name",), [(name,) for name in names])


def _like(name: str, pattern: str | None) -> bool:
    if pattern is None:
        return True
    import re

    regex = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch(regex, name) is not None


@describes(st.Describe)
def describe_describe(client: Client, statement: st.Describe) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(name, TEXT) for name in OTHERS["columns"])


@executes(st.Describe)
def run_describe(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    assert isinstance(prepared.statement, st.Describe)
    return _columns(client, prepared.statement.name)


def _columns(client: Client, name: st.ObjectName) -> Result:
    entry = client.catalog.resolve(name.parts, client.search_path)
    if not isinstance(entry, Relation):
        raise WrongObjectType(f'"{entry.name}" has no columns')
    key = entry.primary_key if isinstance(entry, Table) else entry.key
    rows = [
        (c.name, str(c.type), "yes" if c.nullable else "no", "yes" if key and i in key else "")
        for i, c in enumerate(entry.schema)
        if not c.hidden
    ]
    return text_rows("SHOW COLUMNS", OTHERS["columns"], rows)


@describes(st.ShowCreate)
def describe_show_create(client: Client, statement: st.ShowCreate) -> tuple[ResultColumn, ...]:
    return (ResultColumn("Name", TEXT), ResultColumn("Create Sql", TEXT))


@executes(st.ShowCreate)
def run_show_create(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.ShowCreate)
    entry = client.catalog.resolve_object(statement.kind, statement.name.parts, client.search_path)
    shown = f"{entry.schema_name}.{entry.name}"
    return text_rows("SHOW CREATE", ("Name", "Create Sql"), [(shown, entry.definition)])
