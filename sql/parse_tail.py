"""What may stand behind a query: ORDER BY, LIMIT, OFFSET, FETCH and the locking clauses.

ORDER BY stands in calls, windows and Materialize's SUBSCRIBE too, NULLS FIRST in indexes.
"""

from __future__ import annotations

from sqlglot import exp

from ..storage.errors import SyntaxFault
from . import parse_expression
from .cursor import Cursor
from .dialect import Ast, place
from .keywords import QUERY_TAIL


def parse_tail(c: Cursor, query: Ast) -> None:
    """ORDER BY, then LIMIT, OFFSET, FETCH and FOR in any order, each once.

    What stood in parentheses may have had its own, which is another error than saying it twice here.
    """
    if c.word == "order":
        _set_once(query, "order", "ORDER BY", parse_order(c))
    seen: set[str] = set()
    while c.word in QUERY_TAIL:
        clause = "limit" if c.word == "fetch" else c.word
        if clause in seen or clause == "order":
            c.fail()
        seen.add(clause)
        if clause == "for":
            query.append("locks", _lock(c))
            seen.discard("for")
        elif clause == "offset":
            _set_once(query, "offset", "OFFSET", _offset(c))
        else:
            _set_once(query, "limit", "LIMIT", _limit(c) if c.word == "limit" else _fetch(c, query))


def parse_order(c: Cursor) -> Ast:
    start = c.start
    c.expect("order", "by")
    keys = [_ordered(c)]
    while c.accept(","):
        keys.append(_ordered(c))
    return place(exp.Order(expressions=keys), start)


def _ordered(c: Cursor) -> Ast:
    start = c.start
    key = parse_expression.parse_expression(c)
    descending = False
    if c.accept("using"):
        descending = c.expect_any("<", ">", "<=", ">=") in (">", ">=")
    elif c.accept("desc"):
        descending = True
    else:
        c.accept("asc")
    return place(exp.Ordered(this=key, desc=descending, nulls_first=parse_nulls(c, descending)), start)


def parse_nulls(c: Cursor, descending: bool) -> bool:
    """NULLS FIRST or LAST, or PostgreSQL's default: NULL is the largest value."""
    if c.word == "nulls" and c.ahead() in ("first", "last"):
        c.i += 1
        return c.expect_any("first", "last") == "first"
    return descending


def _set_once(query: Ast, key: str, shown: str, value: Ast) -> None:
    if query.args.get(key):
        start = value.meta["start"] + 1
        raise SyntaxFault(f"multiple {shown} clauses not allowed", position=start)
    query.set(key, value)


def _limit(c: Cursor) -> Ast:
    start = c.start
    c.expect("limit")
    if c.accept("all"):
        return place(exp.Limit(expression=exp.Null()), start)
    count = parse_expression.parse_expression(c)
    if c.word == ",":
        raise SyntaxFault(
            "LIMIT #,# syntax is not supported", position=start + 1,
            hint="Use separate LIMIT and OFFSET clauses.",
        )  # fmt: skip
    return place(exp.Limit(expression=count), start)


def _offset(c: Cursor) -> Ast:
    start = c.start
    c.expect("offset")
    count = parse_expression.parse_expression(c)
    c.accept_any("row", "rows")
    return place(exp.Offset(expression=count), start)


def _fetch(c: Cursor, query: Ast) -> Ast:
    start = c.start
    c.expect("fetch")
    c.expect_any("first", "next")
    count: Ast = exp.Literal(this="1", is_string=False)
    if c.word not in ("row", "rows"):
        count = parse_expression.parse_restricted(c) if c.word != "(" else _parenthesised(c)
    c.expect_any("row", "rows")
    if c.accept("only"):
        return place(exp.Limit(expression=count), start)
    c.expect("with", "ties")
    if not query.args.get("order"):
        raise SyntaxFault("WITH TIES cannot be specified without ORDER BY clause", position=start + 1)
    options = exp.LimitOptions(rows=True, with_ties=True)
    return place(exp.Fetch(direction="FIRST", count=count, limit_options=options), start)


def _parenthesised(c: Cursor) -> Ast:
    c.expect("(")
    value = parse_expression.parse_expression(c)
    c.expect(")")
    return value


def _lock(c: Cursor) -> Ast:
    """FOR UPDATE and its kin: taken and meaningless, a reader never waits here."""
    start = c.start
    c.expect("for")
    if c.accept("no"):
        c.expect("key", "update")
    elif c.accept("key"):
        c.expect("share")
    else:
        c.expect_any("update", "share")
    if c.accept("of"):
        c.object_name()
        while c.accept(","):
            c.object_name()
    if c.accept("skip"):
        c.expect("locked")
    else:
        c.accept("nowait")
    return place(exp.Lock(update=True), start)
