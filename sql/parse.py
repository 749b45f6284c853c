"""Text to statements. The entry to the parser; the grammar is in the `parse_….py` files beside it.

The grammar is written by hand, one function a rule, over the tokens of `lexer.py`: it stops at the very
token where PostgreSQL's stops, gives every node its position, and reads statements that no other
parser knows. See `dialect.py` for the trees it makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..storage.errors import SqlError, StatementTooComplex, SyntaxFault
from . import (
    parse_alter,
    parse_copy,
    parse_create,
    parse_cursor,
    parse_dml,
    parse_expression,
    parse_query,
    parse_session,
    parse_show,
    parse_transaction,
    parse_with,
)
from .cursor import Cursor
from .dialect import Ast, position_of
from .lexer import END, LITERALS, Tokens, lex
from .literals import scan_values
from .parse_connector import option_list
from .parse_type import parse_type
from .split import split
from .statements import Empty, Select, Statement
from .typename import TypeName

__all__ = [
    "parse",
    "parse_scalar",
    "parse_select",
    "parse_statement",
    "parse_type_name",
    "position_of",
    "split",
]

_INSERT_HEAD = re.compile(
    r"\s*insert\s+into\s+[\w.\"$]+\s*(?:\([\w\s,\"$]*\)\s*)?(values)\s*\(", re.IGNORECASE
)
_BLANKS = " \t\r\n\f\v"


def parse(text: str) -> list[Statement]:
    """The statements of `text`, all of them or an error.

    Raises SyntaxFault (42601) and a few others, with positions in the whole of `text`.
    """
    statements: list[Statement] = []
    for offset, piece in split(text):
        try:
            statement = parse_statement(piece)
        except SqlError as error:
            error.position += offset if error.position else 0
            raise
        object.__setattr__(statement, "offset", offset)
        statements.append(statement)
    return statements


def parse_statement(text: str) -> Statement:
    """The one statement of `text`, which may end with semicolons; Empty when there is none.

    Raises SyntaxFault also when there is another statement behind it.
    """
    stop = text.find(";", len(text.rstrip(_BLANKS + ";")))
    if stop < 0:
        stop = len(text)
    try:
        cursor = Cursor(_tokens(text, stop))
        statement = Empty() if cursor.at_end() else _statement(cursor)
        if cursor.word == ";":
            raise SyntaxFault("cannot insert multiple commands into a prepared statement")
        if not cursor.at_end():
            cursor.fail()
    except RecursionError:
        raise StatementTooComplex("stack depth limit exceeded") from None
    object.__setattr__(statement, "text", text[:stop].strip(_BLANKS))
    return statement


def parse_scalar(text: str) -> Ast:
    """An expression standing alone: a default, a check, a generated column of the catalogue."""
    cursor = Cursor(lex(text))
    found = parse_expression.parse_expression(cursor)
    if not cursor.at_end():
        cursor.fail()
    return found


def parse_select(text: str) -> Ast:
    """A query standing alone: that of a view in the catalogue."""
    cursor = Cursor(lex(text))
    found = parse_query.parse_query(cursor)
    if not cursor.at_end():
        cursor.fail()
    return found


def parse_type_name(text: str) -> TypeName:
    """A type standing alone, as in `'…'::regtype`."""
    cursor = Cursor(lex(text))
    found = parse_type(cursor)
    if not cursor.at_end():
        cursor.fail()
    return found


def _tokens(text: str, stop: int) -> Tokens:
    """The tokens of a statement; a VALUES list of literals becomes one token."""
    head = _INSERT_HEAD.match(text)
    scanned = scan_values(text, head.end(), 0) if head else None
    if head is None or scanned is None or scanned[1] > stop:
        return lex(text, 0, stop)
    columns, end = scanned
    tokens = lex(text, 0, head.start(1))
    while tokens.kinds[-1] == END:
        tokens.drop()
    tokens.add(LITERALS, "", columns, head.start(1), end)
    return lex(text, end, stop, into=tokens)


def _statement(c: Cursor) -> Statement:
    parser = _STATEMENTS.get(c.word)
    return parser(c) if parser else c.fail()


def _nested(c: Cursor) -> Statement:
    """A statement within another; its positions count in the outermost one (see `Statement`)."""
    start = c.start
    statement = _statement(c)
    object.__setattr__(statement, "text", c.since(start))
    object.__setattr__(statement, "offset", start)
    return statement


def _query(c: Cursor, with_: Ast | None = None) -> Statement:
    """A query as a statement, with what only a statement may have behind it."""
    query = parse_query.parse_query(c, with_)
    if c.at("options", "("):
        c.i += 1
        option_list(c)
    as_of = None
    if c.accept("as", "of"):
        c.accept("at", "least")
        as_of = parse_expression.parse_expression(c)
    emit = c.accept("emit", "changes")
    return Select(query, as_of, emit)


def _with(c: Cursor) -> Statement:
    """WITH before a query or a write."""
    with_ = parse_with.parse_with(c)
    match c.word:
        case "insert":
            return parse_dml.parse_insert(c, with_)
        case "update":
            return parse_dml.parse_update(c, with_)
        case "delete":
            return parse_dml.parse_delete(c, with_)
        case _:
            return _query(c, with_)


def _nesting(
    parser: Callable[[Cursor, Callable[[Cursor], Statement]], Statement],
) -> Callable[[Cursor], Statement]:
    return lambda c: parser(c, _nested)


_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "select": _query, "values": _query, "table": _query, "(": _query, "with": _with,
    "insert": parse_dml.parse_insert, "update": parse_dml.parse_update, "delete": parse_dml.parse_delete,
    "truncate": parse_dml.parse_truncate,
    "create": parse_create.parse_create, "drop": parse_alter.parse_drop, "alter": parse_alter.parse_alter,
    "comment": parse_alter.parse_comment, "refresh": parse_alter.parse_refresh,
    "begin": parse_transaction.parse_begin, "start": parse_transaction.parse_begin,
    "commit": parse_transaction.parse_commit, "end": parse_transaction.parse_commit,
    "rollback": parse_transaction.parse_rollback, "abort": parse_transaction.parse_rollback,
    "savepoint": parse_transaction.parse_savepoint, "release": parse_transaction.parse_release,
    "set": parse_session.parse_set, "reset": parse_session.parse_reset, "show": parse_show.parse_show,
    "discard": parse_session.parse_discard, "execute": parse_session.parse_execute,
    "deallocate": parse_session.parse_deallocate, "listen": parse_session.parse_listen,
    "unlisten": parse_session.parse_unlisten, "notify": parse_session.parse_notify,
    "flush": parse_session.parse_single_word, "wait": parse_session.parse_single_word,
    "recover": parse_session.parse_single_word, "cancel": parse_session.parse_cancel,
    "prepare": _nesting(parse_cursor.parse_prepare), "declare": _nesting(parse_cursor.parse_declare),
    "fetch": parse_cursor.parse_fetch, "move": parse_cursor.parse_move, "close": parse_cursor.parse_close,
    "copy": _nesting(parse_copy.parse_copy), "explain": _nesting(parse_show.parse_explain),
    "describe": parse_show.parse_describe, "desc": parse_show.parse_describe,
    "subscribe": parse_show.parse_subscribe,
} | dict.fromkeys(
    ("vacuum", "analyze", "analyse", "checkpoint", "lock", "cluster", "reindex"),
    parse_session.parse_maintenance,
) | dict.fromkeys(
    ("grant", "revoke", "do", "call", "merge", "import", "reassign", "security", "load"),
    parse_session.parse_unsupported,
)  # fmt: skip
