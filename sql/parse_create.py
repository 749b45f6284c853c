"""CREATE of everything but tables and sources, which are in `parse_table.py`."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from . import parse_tail
from .cursor import Cursor
from .dialect import place
from .keywords import words
from .lexer import STRING
from .parse_connector import merged, option_list, parse_format, parse_options
from .parse_definition import if_not_exists, parenthesised, sql_expression, sql_query, with_data
from .parse_table import parse_create_source, parse_create_table
from .parse_transaction import skip
from .statements import (
    ColumnName,
    Connector,
    CreateConnection,
    CreateIndex,
    CreateMaterializedView,
    CreateSchema,
    CreateSecret,
    CreateSequence,
    CreateSink,
    CreateSubscription,
    CreateView,
    IndexColumn,
    ObjectName,
    SqlExpression,
    Statement,
)


def parse_create(c: Cursor) -> Statement:
    c.expect("create")
    or_replace = c.accept_start("or", "replace")
    c.accept_any("global", "local")
    temporary = bool(c.accept_any("temp", "temporary"))
    c.accept("unlogged")
    if c.word in ("recursive", "trigger", "foreign", "event") or c.word not in _KINDS:
        return _others(c)
    if or_replace and c.word not in ("view", "materialized"):
        c.fail()
    if temporary and c.word not in ("table", "view", "sequence", "source"):
        c.fail()
    return _KINDS[c.word](c, or_replace, temporary)


_UNSUPPORTED = words(
    """function procedure aggregate type domain extension database role user group cluster trigger rule
    policy language operator cast collation conversion server foreign publication tablespace text event
    access statistics recursive transform constraint network durable"""
)


def _others(c: Cursor) -> Statement:
    if c.word not in _UNSUPPORTED:
        c.fail()
    return skip(c, f"CREATE {c.word.upper()}")


def _table(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("table")
    return parse_create_table(c, temporary)


def _source(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("source")
    return parse_create_source(c, temporary)


def _view(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("view")
    exists = if_not_exists(c)
    name = c.object_name()
    columns = c.accept_column_names()
    options = parse_options(c)
    c.expect("as")
    query = sql_query(c)
    if c.accept("with"):
        c.accept_any("cascaded", "local")
        c.expect("check", "option")
    return CreateView(name, query, columns, or_replace, exists, temporary, options)


def _materialized(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("materialized", "view")
    return _materialized_view(c, or_replace, replacement=False)


def _replacement(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("replacement", "materialized", "view")
    return _materialized_view(c, or_replace, replacement=True)


def _materialized_view(c: Cursor, or_replace: bool, replacement: bool) -> Statement:
    exists = if_not_exists(c)
    name = c.object_name()
    target = None
    if replacement:
        c.expect("for")
        target = c.object_name()
    columns = c.accept_column_names()
    ignored = _in_cluster(c)
    options = parse_options(c)
    c.expect("as")
    query = sql_query(c)
    on_close = _emit(c)
    populated = with_data(c)
    if not options:
        options = parse_options(c)
    return CreateMaterializedView(
        name, query, columns, or_replace, exists, on_close, populated, target, options, ignored
    )


def _in_cluster(c: Cursor) -> tuple[str, ...]:
    start = c.start
    if not c.accept("in", "cluster"):
        return ()
    c.label()
    return (c.since(start),)


def _emit(c: Cursor) -> bool:
    """EMIT ON WINDOW CLOSE (or FINAL); EMIT CHANGES says what a view does anyway."""
    if not c.accept("emit"):
        return False
    if c.accept("on"):
        c.expect("window", "close")
        return True
    return c.expect_any("final", "changes", "immediately") == "final"


def _sink(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("sink")
    exists = if_not_exists(c)
    name = c.object_name()
    _in_cluster(c)
    into: ObjectName | None = None
    into_columns: tuple[ColumnName, ...] = ()
    from_: ObjectName | None = None
    query: SqlExpression | None = None
    if c.accept("into"):
        into, into_columns = c.object_name(), c.accept_column_names()
    if c.accept("from"):
        from_ = c.object_name()
    else:
        c.expect("as")
        query = sql_query(c)
    connector, key = _sink_target(c)
    return CreateSink(name, from_, query, into, connector, key, into_columns, exists)


def _sink_target(c: Cursor) -> tuple[Connector, tuple[ColumnName, ...]]:
    """WITH (…) FORMAT …, or `INTO KAFKA CONNECTION c (…) KEY (…) FORMAT … ENVELOPE …`."""
    key: tuple[ColumnName, ...] = ()
    first = None
    if c.accept("into"):
        name = c.label()
        c.expect("connection")
        connection = c.object_name()
        options = option_list(c) if c.word == "(" else {}
        first = Connector({"connector": name, **options}, connection=connection)
    if c.word == "key" and c.ahead() == "(":
        c.i += 1
        key = c.column_names()
        c.accept("not", "enforced")
    if c.word == "headers":
        c.i += 1
        c.name()
    options = parse_options(c)
    found = parse_format(c)
    options |= parse_options(c)
    return merged(first, options, found, ()), key


def _schema(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("schema")
    exists = if_not_exists(c)
    name = c.accept_name()
    authorization = ""
    if c.accept("authorization"):
        authorization = c.nonreserved()
    elif not name:
        c.fail()
    return CreateSchema(name or authorization, exists, authorization)


def _index(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    """[UNIQUE | DEFAULT] INDEX …"""
    unique, default = c.accept("unique"), c.accept("default")
    c.expect("index")
    c.accept("concurrently")
    exists = if_not_exists(c)
    name = "" if c.word in ("on", "in") else c.name()
    _in_cluster(c)
    c.expect("on")
    c.accept("only")
    table = c.object_name()
    method = c.name() if c.accept("using") else "btree"
    columns = () if default and c.word != "(" else _index_columns(c)
    include = c.column_names() if c.accept("include") else ()
    distributed = c.column_names() if c.accept("distributed", "by") else ()
    c.accept("nulls", "not", "distinct")
    options = parse_options(c)
    where = sql_expression(c) if c.accept("where") else None
    return CreateIndex(name, table, columns, unique, exists, include, distributed, method, where, options)


def _index_columns(c: Cursor) -> tuple[IndexColumn, ...]:
    c.expect("(")
    columns = [_index_column(c)]
    while c.accept(","):
        columns.append(_index_column(c))
    c.expect(")")
    return tuple(columns)


def _index_column(c: Cursor) -> IndexColumn:
    name = ""
    if c.word == "(":
        expression = parenthesised(c)
    elif c.ahead() in ("(", "."):
        expression = sql_expression(c)
    else:
        name, start = str(c.values[c.i]), c.start
        column = place(exp.Column(this=c.identifier()), start)
        expression = SqlExpression(column, c.since(start), start + 1)
    if c.accept("collate") or (c.is_name() and c.word != "nulls"):
        c.object_name()
    descending = c.accept_any("asc", "desc") == "desc"
    return IndexColumn(name, expression, descending, parse_tail.parse_nulls(c, descending))


def _sequence(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("sequence")
    exists = if_not_exists(c)
    name = c.object_name()
    options: dict[str, str] = {}
    while not c.at_end():
        key, value = _sequence_option(c)
        options[key] = value
    return CreateSequence(name, options, exists, temporary)


def _sequence_option(c: Cursor) -> tuple[str, str]:
    word = c.expect_any("as", "increment", "minvalue", "maxvalue", "no", "start", "cache", "cycle", "owned")
    match word:
        case "as":
            return "as", c.label()
        case "no":
            return c.expect_any("minvalue", "maxvalue", "cycle"), "no"
        case "cycle":
            return "cycle", "yes"
        case "owned":
            c.expect("by")
            return "owned by", str(c.object_name())
        case _:
            c.accept_any("by", "with")
            return word, str(c.signed_integer())


def _connection(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("connection")
    exists = if_not_exists(c)
    name = c.object_name()
    if c.accept("to"):
        return CreateConnection(name, _connection_target(c), exists)
    c.expect("with")
    return CreateConnection(name, option_list(c), exists)


def _connection_target(c: Cursor) -> dict[str, str]:
    """Materialize's `KAFKA (…)` and `CONFLUENT SCHEMA REGISTRY (…)`."""
    words = [c.label()]
    while c.word != "(" and not c.at_end():
        words.append(c.label())
    kind = "schema_registry" if words[-1] == "registry" else "_".join(words)
    options = option_list(c) | {"type": kind}
    if c.word == "with":
        parse_options(c)
    return options


def _secret(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("secret")
    exists = if_not_exists(c)
    name = c.object_name()
    options = parse_options(c)
    if options and c.word != "as":
        return CreateSecret(name, "", options, exists)
    c.expect("as")
    if c.kind != STRING:
        expression = sql_expression(c)
        return CreateSecret(name, expression.text, options, exists)
    return CreateSecret(name, c.string(), options, exists)


def _subscription(c: Cursor, or_replace: bool, temporary: bool) -> Statement:
    c.expect("subscription")
    exists = if_not_exists(c)
    name = c.object_name()
    if c.word == "connection":
        return skip(c, "CREATE SUBSCRIPTION … CONNECTION")
    c.expect("from")
    return CreateSubscription(name, c.object_name(), parse_options(c), exists)


_KINDS: dict[str, Callable[[Cursor, bool, bool], Statement]] = {
    "table": _table, "source": _source, "view": _view, "materialized": _materialized,
    "replacement": _replacement, "sink": _sink, "schema": _schema, "index": _index, "unique": _index,
    "default": _index, "sequence": _sequence, "connection": _connection, "secret": _secret,
    "subscription": _subscription,
}  # fmt: skip
