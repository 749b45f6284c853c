"""CREATE TABLE and CREATE SOURCE.

What stands between the parentheses is here too, but for the constraints: `parse_constraint.py`.
"""

from __future__ import annotations

from dataclasses import replace

from ..storage.errors import FeatureNotSupported, SyntaxFault
from .cursor import Cursor
from .parse_connector import (
    merged,
    option_list,
    parse_envelope,
    parse_format,
    parse_from_connection,
    parse_include,
)
from .parse_constraint import column_constraint, table_constraint
from .parse_definition import Body, if_not_exists, sql_expression, sql_query, with_data
from .parse_type import parse_type
from .statements import (
    ColumnDefinition,
    ColumnName,
    Connector,
    CreateSource,
    CreateTable,
    CreateTableAs,
    Like,
    ObjectName,
    RelationBody,
    Statement,
    Watermark,
)

_TABLE_CONSTRAINTS = frozenset({"constraint", "primary", "unique", "check", "foreign", "exclude"})
_LIKE_PARTS = frozenset({"all", "comments", "compression", "constraints", "defaults", "generated", "identity",
                         "indexes", "statistics", "storage"})  # fmt: skip


def parse_create_table(c: Cursor, temporary: bool) -> Statement:
    """Behind CREATE [TEMP] TABLE."""
    exists = if_not_exists(c)
    name = c.object_name()
    as_query = _table_as(c, name, exists, temporary)
    if as_query is not None:
        return as_query
    body = _body(c, name.name) if c.word == "(" else None
    table = CreateTable(name, body or RelationBody(), if_not_exists=exists, temporary=temporary)
    before = c.i
    table = _table_clauses(c, table)
    if body is None and c.i == before:
        c.fail()
    return table


def _table_as(c: Cursor, name: ObjectName, exists: bool, temporary: bool) -> Statement | None:
    """CREATE TABLE … [(names)] [APPEND ONLY] [WITH (…)] AS query, or None when it is not that."""
    begin = c.i
    columns: tuple[ColumnName, ...] = ()
    if c.word == "(":
        if not c.is_name(ahead=1) or c.ahead(2) not in (",", ")"):
            return None
        columns = c.column_names()
    append_only = c.accept("append", "only")
    options = option_list(c) if c.accept("with") else {}
    _storage_clauses(c)
    if c.word != "as":
        c.i = begin
        return None
    c.i += 1
    if c.at("execute"):
        raise FeatureNotSupported("CREATE TABLE AS EXECUTE is not supported", position=c.position)
    query = sql_query(c)
    return CreateTableAs(name, query, columns, exists, temporary, append_only, with_data(c), options)


def _storage_clauses(c: Cursor) -> None:
    """USING method, ON COMMIT …, TABLESPACE: nothing to us."""
    if c.word == "using" and c.is_name(ahead=1):
        c.i += 2
    if c.at("on", "commit"):
        c.i += 2
        if c.accept("preserve") or c.accept("delete"):
            c.expect("rows")
        else:
            c.expect("drop")
    if c.accept("tablespace"):
        c.name()


def _table_clauses(c: Cursor, table: CreateTable) -> CreateTable:
    """Everything behind the columns, in the orders both spellings use."""
    options: dict[str, str] = {}
    include, first, format_ = table.connector.include, None, None
    while not c.at_end():
        before = c.i
        if c.accept("append", "only"):
            table = replace(table, append_only=True)
        elif c.at("on", "conflict"):
            table = _on_conflict(c, table)
        elif c.accept("with", "version", "column"):
            table = replace(table, version_columns=c.column_names())
        elif c.word == "with":
            c.i += 1
            options |= option_list(c)
        elif c.word == "include":
            include += parse_include(c)
        elif c.at("from", "source"):
            table = _from_source(c, table)
        elif c.word == "from":
            first = parse_from_connection(c) or _from_table(c, options)
        elif c.word in ("inherits", "partition", "of"):
            raise FeatureNotSupported(f"{c.word.upper()} is not supported", position=c.position)
        else:
            format_ = parse_envelope(c, format_) if c.word == "envelope" else parse_format(c) or format_
            _storage_clauses(c)
        if c.i == before:
            c.fail()
    return replace(table, connector=merged(first, options, format_, include))


def _from_table(c: Cursor, options: dict[str, str]) -> Connector:
    """RisingWave's `FROM source TABLE 'schema.name'` of a shared source."""
    c.expect("from")
    source = c.object_name()
    c.expect("table")
    return Connector({**options, "source": str(source), "table": c.string()})


def _from_source(c: Cursor, table: CreateTable) -> CreateTable:
    """Materialize's `FROM SOURCE s [(REFERENCE name)]`."""
    c.expect("from", "source")
    source = c.object_name()
    external = ""
    if c.accept("(", "reference"):
        c.accept("=")
        external = str(c.object_name())
        c.expect(")")
    elif c.accept("table"):
        external = c.string()
    return replace(table, from_source=source, external_name=external)


def _on_conflict(c: Cursor, table: CreateTable) -> CreateTable:
    c.expect("on", "conflict")
    if c.accept("overwrite"):
        return replace(table, on_conflict="overwrite")
    if c.accept("ignore"):
        return replace(table, on_conflict="ignore")
    c.expect("do")
    if c.accept("nothing"):
        return replace(table, on_conflict="ignore")
    c.expect("update")
    if c.accept("if"):
        c.expect("not", "null")
        return replace(table, on_conflict="do update if not null")
    c.accept("full")
    return replace(table, on_conflict="overwrite")


def parse_create_source(c: Cursor, temporary: bool) -> Statement:
    """Behind CREATE SOURCE."""
    exists = if_not_exists(c)
    name = c.object_name()
    body = _body(c, name.name) if c.word == "(" else RelationBody()
    if c.accept("in", "cluster"):
        c.name()
    table = _table_clauses(c, CreateTable(name, body))
    if table.from_source or table.append_only or table.on_conflict:
        raise SyntaxFault("a source has no APPEND ONLY, ON CONFLICT or FROM SOURCE clause")
    return CreateSource(name, body, table.connector, exists, temporary)


# Between the parentheses.
def _body(c: Cursor, table: str) -> RelationBody:
    body = Body()
    c.expect("(")
    if c.word != ")":
        _element(c, body, table)
        while c.accept(","):
            _element(c, body, table)
    c.expect(")")
    return body.finished(table)


def _element(c: Cursor, body: Body, table: str) -> None:
    """A column, a constraint, LIKE, WATERMARK or `*`."""
    if c.accept("*"):
        body.star = True
    elif c.word in _TABLE_CONSTRAINTS:
        table_constraint(c, body)
    elif c.accept("like"):
        body.likes.append(_like(c))
    elif c.at("watermark", "for"):
        body.watermarks.append(_watermark(c))
    else:
        parse_column(c, body)


def _like(c: Cursor) -> Like:
    table = c.object_name()
    parts: set[str] = set()
    while c.word in ("including", "excluding"):
        including = c.word == "including"
        c.i += 1
        part = c.expect_any(*_LIKE_PARTS)
        parts = parts | {part} if including else parts - {part}
    return Like(table, frozenset(parts))


def _watermark(c: Cursor) -> Watermark:
    c.expect("watermark", "for")
    column = c.column_name()
    c.expect("as")
    watermark = Watermark(column, sql_expression(c))
    c.accept("with", "ttl")
    return watermark


def parse_column(c: Cursor, body: Body) -> ColumnDefinition:
    """A column definition; its constraints that are the table's go into `body`."""
    position = c.position
    name = c.name()
    type_ = None if c.word in (",", ")", "as", "generated") else parse_type(c)
    column = ColumnDefinition(name, type_, position=position)
    if type_ is not None and type_.serial:
        column = replace(column, not_null=True, identity="by default")
    here = ColumnName(name, position)
    while True:
        changed = column_constraint(c, column, here, body)
        if changed is None:
            break
        column = changed
    body.columns.append(column)
    return column
