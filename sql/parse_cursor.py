"""DECLARE, FETCH, MOVE, CLOSE, and PREPARE … AS."""

from __future__ import annotations

from collections.abc import Callable

from .cursor import Cursor
from .lexer import NUMBER, STRING
from .parse_connector import parse_options
from .parse_session import parse_types
from .parse_transaction import skip
from .statements import CloseCursor, DeclareCursor, Fetch, Move, Prepare, Statement

Nested = Callable[[Cursor], Statement]
"""Parses the statement at the cursor, which is part of another one."""


def parse_prepare(c: Cursor, nested: Nested) -> Statement:
    c.expect("prepare")
    if c.word == "transaction" and c.kinds[c.i + 1] == STRING:
        return skip(c, "PREPARE TRANSACTION")
    name = c.name()
    types = parse_types(c)
    c.expect("as")
    if c.word not in ("select", "insert", "update", "delete", "values", "with", "table", "("):
        c.fail()
    return Prepare(name, types, nested(c))


def parse_declare(c: Cursor, nested: Nested) -> Statement:
    c.expect("declare")
    name = c.name()
    if c.accept("subscription"):
        return _subscription_cursor(c, name)
    binary, scroll = False, None
    while c.word != "cursor":
        word = c.expect_any("binary", "insensitive", "asensitive", "no", "scroll")
        if word == "no":
            c.expect("scroll")
            scroll = False
        binary, scroll = binary or word == "binary", True if word == "scroll" else scroll
    c.expect("cursor")
    holding = c.accept_any("with", "without")
    if holding:
        c.expect("hold")
    c.expect("for")
    if not any(map(c.at, ("select", "values", "with", "table", "(", "subscribe"))):
        c.fail()
    return DeclareCursor(name, nested(c), scroll, holding == "with", binary)


def _subscription_cursor(c: Cursor, name: str) -> Statement:
    c.expect("cursor", "for")
    subscription = c.object_name()
    since = ""
    if c.accept("full"):
        since = "full"
    elif c.accept("since"):
        if c.kind == NUMBER:
            since = str(c.integer())
        else:
            since = c.expect_any("now", "begin", "proctime") + "()"
            c.expect("(", ")")
    return DeclareCursor(name, None, subscription=subscription, since=since)


def parse_fetch(c: Cursor) -> Statement:
    c.expect("fetch")
    direction, count = _direction(c)
    c.accept_any("from", "in")
    name = c.name()
    timeout = None
    if c.word == "with":
        timeout = parse_options(c).get("timeout")
    return Fetch(name, direction, count, timeout)


def parse_move(c: Cursor) -> Statement:
    c.expect("move")
    direction, count = _direction(c)
    c.accept_any("from", "in")
    return Move(c.name(), direction, count)


_FIXED = {
    "next": ("forward", 1),
    "prior": ("backward", 1),
    "first": ("absolute", 1),
    "last": ("absolute", -1),
}


def _direction(c: Cursor) -> tuple[str, int | None]:
    """(direction, count); a direction's word may also be the cursor's name, when nothing follows it."""
    if c.kind == NUMBER or c.word in ("-", "+"):
        return _counted("forward", c.signed_integer())
    if c.accept("all"):
        return "forward", None
    is_name = c.kinds[c.i + 1] not in (NUMBER,) and c.ahead() in ("", ";") and not c.is_name(ahead=1)
    word = c.word
    if is_name or word not in (*_FIXED, "absolute", "relative", "forward", "backward"):
        return "forward", 1
    c.i += 1
    if word in _FIXED:
        return _FIXED[word]
    if word in ("absolute", "relative"):
        return word, c.signed_integer()
    if c.accept("all"):
        return word, None
    if c.kind == NUMBER or c.word in ("-", "+"):
        return _counted(word, c.signed_integer())
    return word, 1


def _counted(direction: str, count: int) -> tuple[str, int | None]:
    """A negative count turns round."""
    if count >= 0:
        return direction, count
    return ("backward" if direction == "forward" else "forward"), -count


def parse_close(c: Cursor) -> Statement:
    c.expect("close")
    return CloseCursor(None if c.accept("all") else c.name())
