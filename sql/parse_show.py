"""SHOW, DESCRIBE, EXPLAIN and SUBSCRIBE."""

from __future__ import annotations

from ..storage.errors import FeatureNotSupported
from . import parse_expression, parse_query, parse_tail
from .cursor import Cursor
from .keywords import words
from .parse_connector import option_list
from .parse_cursor import Nested
from .parse_definition import sql_query
from .parse_session import session_value, variable
from .statements import (
    ColumnName,
    Describe,
    Explain,
    ObjectName,
    ShowCreate,
    ShowObjects,
    ShowVariable,
    SqlExpression,
    Statement,
    Subscribe,
)

_ONE_WORD = words(
    """databases schemas tables sources sinks views indexes indices columns functions connections secrets
    subscriptions cursors jobs processlist parameters clusters users roles types objects sequences"""
)
_TWO_WORDS = {"materialized": ("views",), "subscription": ("cursors",), "internal": ("tables",),
              "cluster": ("replicas",)}  # fmt: skip
_EXPLAINED = words(
    "select insert update delete values with table ( declare execute create refresh subscribe merge"
)
_OF_RELATION = frozenset({"columns", "indexes", "indices"})


def parse_show(c: Cursor) -> Statement:
    c.expect("show")
    if c.word == "create" and c.ahead() not in ("", ";"):
        c.i += 1
        return _show_create(c)
    full = c.word == "full" and c.ahead() in ("tables", "columns", "objects")
    c.i += full
    if c.word in _TWO_WORDS and c.ahead() in _TWO_WORDS[c.word]:
        c.i += 2
        return _objects(c, f"{c.words[c.i - 2]} {c.words[c.i - 1]}", full)
    if c.word in _ONE_WORD:
        return _objects(c, c.label(), full)
    return ShowVariable(_setting(c))


def _setting(c: Cursor) -> str:
    if c.accept("all"):
        return "all"
    if c.accept("time", "zone"):
        return "timezone"
    if c.accept_start("transaction", "isolation", "level", of=2):
        return "transaction_isolation"
    if c.accept("session", "authorization"):
        return "session_authorization"
    return variable(c)


def _show_create(c: Cursor) -> Statement:
    words = [c.label()]
    if words[0] == "materialized":
        words.append(c.label())
    return ShowCreate(" ".join(words), c.object_name())


def _objects(c: Cursor, kind: str, full: bool) -> Statement:
    kind = "indexes" if kind == "indices" else kind
    of: ObjectName | None = None
    schema = ""
    if c.accept_any("from", "in", "on"):
        name = c.object_name()
        if kind in _OF_RELATION:
            of = name
        else:
            schema = str(name)
    like = c.string() if c.accept("like") or c.accept("ilike") else None
    if c.word == "where":
        raise FeatureNotSupported("SHOW … WHERE is not supported", position=c.position)
    return ShowObjects(kind, of, schema, like, full)


def parse_describe(c: Cursor) -> Statement:
    c.expect_any("describe", "desc")
    if c.word == "fragments" and c.is_name(ahead=1):
        c.i += 1
        return Describe(c.object_name(), "fragments")
    return Describe(c.object_name())


# EXPLAIN.
def parse_explain(c: Cursor, nested: Nested) -> Statement:
    c.expect("explain")
    options: dict[str, str] = {}
    if c.word == "(" and not parse_query.is_subquery(c):
        options |= _options(c)
    else:
        for word in ("analyze", "analyse", "verbose"):
            if c.accept(word):
                options["verbose" if word == "verbose" else "analyze"] = "true"
    if options.get("analyze") and c.word == "(" and not parse_query.is_subquery(c):
        options |= _options(c)
    options |= _stage(c)
    if c.word in ("materialized", "view", "index", "sink"):
        return Explain(options, None, _explained(c))
    if c.word not in _EXPLAINED:
        c.fail()
    return Explain(options, nested(c))


def _options(c: Cursor) -> dict[str, str]:
    """`(analyze, verbose false, format json)`."""
    options: dict[str, str] = {}
    c.expect("(")
    while True:
        name = c.label() if c.word in ("analyze", "analyse") else c.nonreserved()
        c.accept("=")
        value = "true" if c.word in (",", ")") else session_value(c)
        options["analyze" if name == "analyse" else name] = value
        if not c.accept(","):
            break
    c.expect(")")
    return options


def _stage(c: Cursor) -> dict[str, str]:
    """Materialize's `OPTIMIZED PLAN [WITH (…)] [AS JSON] FOR` and `MEMORY, CPU … FOR`."""
    begin = c.i
    words: list[str] = []
    while c.word in ("raw", "decorrelated", "locally", "optimized", "physical", "plan", "timestamp", "memory",
                     "cpu", "hints", "cluster", ",", "filter", "pushdown"):  # fmt: skip
        words.append(c.word)
        c.i += 1
    if not words:
        return {}
    options = {"stage": " ".join(word for word in words if word not in ("plan", ","))}
    if c.accept("with"):
        if c.accept("skew"):
            options["skew"] = "true"
        else:
            options |= option_list(c)
    if c.accept("as"):
        options["format"] = c.expect_any("text", "json", "verbose", "sql")
        if c.word in ("text", "json"):
            c.i += 1
    if not c.accept("for"):
        c.i = begin
        c.fail()
    return options


def _explained(c: Cursor) -> ObjectName:
    c.accept("materialized")
    c.expect_any("view", "index", "sink")
    name = c.object_name()
    if c.accept("as"):
        c.expect("sql")
    return name


# SUBSCRIBE.
def parse_subscribe(c: Cursor) -> Statement:
    c.expect("subscribe")
    c.accept("to")
    name: ObjectName | None = None
    query: SqlExpression | None = None
    if c.word == "(":
        c.i += 1
        query = sql_query(c)
        c.expect(")")
    elif c.word in ("select", "with", "values"):
        query = sql_query(c)
    else:
        name = c.object_name()
    return _subscription(c, Subscribe(name, query))


def _subscription(c: Cursor, first: Subscribe) -> Subscribe:
    envelope, key = _envelope(c)
    order = None
    if c.accept("within", "timestamp"):
        order = parse_tail.parse_order(c)
    options = option_list(c) if c.accept("with") else {}
    as_of = up_to = None
    at_least = False
    if c.accept("as", "of"):
        at_least = c.accept("at", "least")
        as_of = parse_expression.parse_expression(c)
    if c.accept("up", "to"):
        up_to = parse_expression.parse_expression(c)
    durable = c.name() if c.accept("using", "durable", "subscription") else ""
    if not envelope:
        envelope, key = _envelope(c)
    snapshot = options.pop("snapshot", "true").lower() not in ("false", "off", "0")
    progress = options.pop("progress", "false").lower() in ("true", "on", "1")
    return Subscribe(
        first.name, first.query, snapshot, progress, envelope, key, order, as_of, at_least, up_to, durable,
        options,
    )  # fmt: skip


def _envelope(c: Cursor) -> tuple[str, tuple[ColumnName, ...]]:
    if not c.accept("envelope"):
        return "", ()
    envelope = c.expect_any("upsert", "debezium")
    c.expect("(", "key")
    key = c.column_names()
    c.expect(")")
    return envelope, key
