"""COPY, with options in parentheses or in the order of old PostgreSQL versions."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import parse_expression
from .cursor import Cursor
from .lexer import NUMBER, STRING
from .parse_cursor import Nested
from .parse_session import session_value
from .statements import ColumnName, Copy, ObjectName, Statement

Columns = tuple[str, ...] | bool


@dataclass(slots=True)
class _Options:
    texts: dict[str, str] = field(default_factory=dict)
    lists: dict[str, Columns] = field(default_factory=dict)


def parse_copy(c: Cursor, nested: Nested) -> Statement:
    c.expect("copy")
    table: ObjectName | None = None
    columns: tuple[ColumnName, ...] = ()
    query: Statement | None = None
    options = _Options()
    if c.accept("("):
        query = nested(c)
        c.expect(")")
        c.expect("to")
        to = True
    else:
        if c.accept("binary"):
            options.texts["format"] = "binary"
        table = c.object_name()
        columns = c.accept_column_names()
        to = c.expect_any("from", "to") == "to"
    file = _file(c)
    _options(c, options)
    where = parse_expression.parse_expression(c) if not to and c.accept("where") else None
    lists = options.lists
    return Copy(
        table, columns, query, to, file, options.texts, lists.get("force_quote", ()),
        lists.get("force_null", ()), lists.get("force_not_null", ()), where,
    )  # fmt: skip


def _file(c: Cursor) -> str:
    if c.accept("program"):
        return "program:" + c.string()
    if c.kind == STRING:
        return c.string()
    c.expect_any("stdin", "stdout")
    return ""


def _options(c: Cursor, options: _Options) -> None:
    c.accept("with")
    if c.accept("("):
        _option(c, options)
        while c.accept(","):
            _option(c, options)
        c.expect(")")
        return
    while _old_option(c, options):
        pass


def _option(c: Cursor, options: _Options) -> None:
    name = c.label()
    if name.startswith("force_"):
        options.lists[name] = True if c.accept("*") else tuple(n.name for n in c.column_names())
    elif c.kind == STRING:
        options.texts[name] = c.string()
    elif c.kind == NUMBER or c.word in ("+", "-"):
        options.texts[name] = str(c.signed_integer())
    elif c.word in (",", ")"):
        options.texts[name] = "true"
    else:
        options.texts[name] = session_value(c)


def _old_option(c: Cursor, options: _Options) -> bool:
    """One of `CSV HEADER DELIMITER ',' NULL AS '' FORCE QUOTE a, b`."""
    word = c.accept_any("binary", "csv", "header", "freeze", "delimiter", "delimiters", "null", "quote",
                        "escape", "encoding", "force")  # fmt: skip
    match word:
        case "":
            return False
        case "binary" | "csv":
            options.texts["format"] = word
        case "header" | "freeze":
            options.texts[word] = "true"
        case "force":
            _force(c, options)
        case _:
            c.accept("as")
            options.texts["delimiter" if word == "delimiters" else word] = c.string()
    return True


def _force(c: Cursor, options: _Options) -> None:
    if c.accept("not"):
        c.expect("null")
        key = "force_not_null"
    else:
        key = "force_" + c.expect_any("quote", "null")
    if c.accept("*"):
        options.lists[key] = True
        return
    names = [c.name()]
    while c.accept(","):
        names.append(c.name())
    options.lists[key] = tuple(names)
