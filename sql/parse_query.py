"""Queries: SELECT, VALUES, TABLE and set operations.

What stands before and behind them is in `parse_with.py` and `parse_tail.py`.
"""

from __future__ import annotations

from sqlglot import exp

from ..storage.errors import FeatureNotSupported, SyntaxFault
from . import parse_expression, parse_from, parse_function, parse_tail, parse_with
from .cursor import Cursor
from .dialect import Ast, place
from .keywords import NEEDS_AS, QUERY_TAIL
from .lexer import QUOTED, STRING, WORD

_STARTS = frozenset({"select", "values", "with", "table"})
_SET_OPERATIONS = frozenset({"union", "intersect", "except"})
_AFTER_QUERY = QUERY_TAIL | _SET_OPERATIONS | {")"}
_AFTER_TARGETS = _AFTER_QUERY | {"from", "where", "group", "having", "window", "into"}
_SET_NODES = {"union": exp.Union, "intersect": exp.Intersect, "except": exp.Except}


def is_subquery(c: Cursor) -> bool:
    """Whether the `(` at the cursor begins a query rather than an expression, a row or a join.

    Behind `((` that is decided by what follows the inner closing parenthesis.
    """
    index = c.i + 1
    while c.words[index] == "(":
        index += 1
    if c.words[index] not in _STARTS:
        return False
    if index == c.i + 1:
        return True
    return c.words[min(c.close_of(c.i + 1) + 1, len(c.words) - 1)] in _AFTER_QUERY


def parse_subquery(c: Cursor) -> Ast:
    """`(query)` as exp.Subquery."""
    start = c.start
    c.expect("(")
    query = parse_query(c)
    c.expect(")")
    return place(exp.Subquery(this=query), start)


def parse_query(c: Cursor, with_: Ast | None = None) -> Ast:
    """A whole query, WITH (unless it was read already) and ORDER BY … LIMIT included."""
    if with_ is None and c.word == "with":
        with_ = parse_with.parse_with(c)
    query = _set_expression(c)
    parse_tail.parse_tail(c, query)
    if with_ is not None:
        if query.args.get("with_"):
            raise SyntaxFault("multiple WITH clauses not allowed")
        query.set("with_", with_)
    return query


def _set_expression(c: Cursor) -> Ast:
    """UNION and EXCEPT, to the left; INTERSECT binds tighter."""
    left = _intersection(c)
    while c.word in ("union", "except"):
        left = _set_operation(c, left, _intersection)
    return left


def _intersection(c: Cursor) -> Ast:
    left = _simple(c)
    while c.word == "intersect":
        left = _set_operation(c, left, _simple)
    return left


def _set_operation(c: Cursor, left: Ast, operand: object) -> Ast:
    word, start = c.word, c.start
    c.i += 1
    every = c.accept("all")
    if not every:
        c.accept("distinct")
    right = _intersection(c) if operand is _intersection else _simple(c)
    return place(_SET_NODES[word](this=left, expression=right, distinct=not every), start)


def _simple(c: Cursor) -> Ast:
    match c.word:
        case "select":
            return _select(c)
        case "values":
            return _values(c)
        case "table":
            return _table(c)
        case "(":
            c.i += 1
            query = parse_query(c)
            c.expect(")")
            return query
        case _:
            return c.fail()


def _table(c: Cursor) -> Ast:
    start = c.start
    c.expect("table")
    c.accept("only")
    relation = parse_from.parse_relation_name(c)
    return place(exp.Select(expressions=[place(exp.Star(), start)], from_=exp.From(this=relation)), start)


def _values(c: Cursor) -> Ast:
    start = c.start
    c.expect("values")
    rows = [_values_row(c)]
    while c.accept(","):
        rows.append(_values_row(c))
    return place(exp.Values(expressions=rows), start)


def _values_row(c: Cursor) -> Ast:
    start = c.start
    c.expect("(")
    items = parse_expression.parse_list(c)
    c.expect(")")
    return place(exp.Tuple(expressions=items), start)


def _select(c: Cursor) -> Ast:
    select = place(exp.Select(), c.start)
    c.expect("select")
    select.set("expressions", _targets(c, select))
    if c.word == "into":
        _into(c)
    if c.word == "from":
        parse_from.parse_from(c, select)
    if c.word == "where":
        select.set("where", parse_where(c))
    if c.word == "group":
        select.set("group", _group(c))
    if c.word == "having":
        start = c.start
        c.i += 1
        select.set("having", place(exp.Having(this=parse_expression.parse_expression(c)), start))
    if c.accept("window"):
        select.set("windows", _named_windows(c))
    return select


def parse_where(c: Cursor) -> Ast:
    start = c.start
    c.expect("where")
    return place(exp.Where(this=parse_expression.parse_expression(c)), start)


def _targets(c: Cursor, select: Ast) -> list[Ast]:
    if c.accept("all"):
        return [] if _no_targets(c) else parse_targets(c)
    if c.word != "distinct":
        return [] if _no_targets(c) else parse_targets(c)
    start = c.start
    c.i += 1
    on = None
    if c.accept("on"):
        where = c.start
        c.expect("(")
        on = place(exp.Tuple(expressions=parse_expression.parse_list(c)), where)
        c.expect(")")
    select.set("distinct", place(exp.Distinct(on=on), start))
    return parse_targets(c)


def _no_targets(c: Cursor) -> bool:
    return c.word in _AFTER_TARGETS or c.at_end()


def parse_targets(c: Cursor) -> list[Ast]:
    """An output list, of SELECT or RETURNING."""
    targets = [_target(c)]
    while c.accept(","):
        targets.append(_target(c))
    return targets


def _target(c: Cursor) -> Ast:
    start = c.start
    if c.word == "*":
        c.i += 1
        return place(exp.Star(), start)
    before, c.labels = c.labels, True
    value = parse_expression.parse_expression(c)
    c.labels = before
    if c.word == "as" and not _is_as_of(c):
        c.i += 1
        return place(exp.Alias(this=value, alias=c.identifier(frozenset())), start)
    if c.kind == QUOTED or (c.kind == WORD and c.word not in NEEDS_AS and not _ends_target(c)):
        return place(exp.Alias(this=value, alias=c.identifier(frozenset())), start)
    return value


def _is_as_of(c: Cursor) -> bool:
    """AS OF t behind a query without FROM is Materialize's; a label `of` is followed by , or FROM."""
    return c.at("as", "of") and (c.kinds[c.i + 2] in (STRING, WORD) and c.ahead(2) != "from")


def _ends_target(c: Cursor) -> bool:
    """EMIT CHANGES behind a query without FROM."""
    return c.word == "emit" and c.ahead() in ("changes", "final", "on")


def _into(c: Cursor) -> None:
    position = c.position
    c.expect("into")
    if not c.is_name() and c.word != "table":
        c.fail()
    hint = "Use CREATE TABLE AS."
    raise FeatureNotSupported("SELECT INTO is not supported", position=position, hint=hint)


def _group(c: Cursor) -> Ast:
    start = c.start
    c.expect("group", "by")
    distinct = c.accept("distinct")
    if not distinct:
        c.accept("all")
    items = [_grouping(c)]
    while c.accept(","):
        items.append(_grouping(c))
    return place(exp.Group(expressions=items, distinct=distinct), start)


def _grouping(c: Cursor) -> Ast:
    start = c.start
    if c.at("(", ")"):
        c.i += 2
        return place(exp.Tuple(expressions=[]), start)
    if c.word in ("rollup", "cube") and c.ahead() == "(":
        node = exp.Rollup if c.word == "rollup" else exp.Cube
        c.i += 2
        items = parse_expression.parse_list(c)
        c.expect(")")
        return place(node(expressions=items), start)
    if c.at("grouping", "sets"):
        c.i += 2
        c.expect("(")
        sets = [_grouping(c)]
        while c.accept(","):
            sets.append(_grouping(c))
        c.expect(")")
        return place(exp.GroupingSets(expressions=sets), start)
    return parse_expression.parse_expression(c)


def _named_windows(c: Cursor) -> list[Ast]:
    windows: list[Ast] = []
    while True:
        start = c.start
        name = c.identifier()
        c.expect("as")
        windows.append(place(parse_function.parse_window(c, name), start))
        if not c.accept(","):
            return windows
