"""INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from sqlglot import exp

from ..storage.errors import FeatureNotSupported
from . import parse_expression, parse_from, parse_query
from .cursor import Cursor
from .dialect import Ast, place
from .lexer import LITERALS
from .statements import (
    Assignment,
    ColumnName,
    Delete,
    Insert,
    LiteralColumn,
    ObjectName,
    OnConflict,
    Statement,
    Truncate,
    Update,
)


def parse_insert(c: Cursor, with_: Ast | None = None) -> Statement:
    c.expect("insert", "into")
    table = c.object_name()
    alias = c.name() if c.accept("as") else ""
    columns = None
    if c.word == "(" and not parse_query.is_subquery(c):
        columns = _columns(c)
    overriding = ""
    if c.accept("overriding"):
        overriding = c.expect_any("system", "user")
        c.expect("value")
    source, literals = _rows(c)
    conflict = _on_conflict(c) if c.word == "on" else None
    return Insert(
        table, alias, columns, source, literals, conflict, _returning(c), with_, overriding
    )  # fmt: skip


def _columns(c: Cursor) -> tuple[ColumnName, ...]:
    """The target columns; an element or field of one cannot be a target."""
    c.expect("(")
    names = [_target_column(c)]
    while c.accept(","):
        names.append(_target_column(c))
    c.expect(")")
    return tuple(names)


def _target_column(c: Cursor) -> ColumnName:
    name = c.column_name()
    if c.word in ("[", "."):
        raise FeatureNotSupported("assignment to a part of a column is not supported", position=c.position)
    return name


def _rows(c: Cursor) -> tuple[Ast | None, tuple[LiteralColumn, ...] | None]:
    if c.kind == LITERALS:
        literals = c.values[c.i]
        c.i += 1
        assert isinstance(literals, tuple)
        return None, literals
    if c.accept("default"):
        c.expect("values")
        return None, None
    return parse_query.parse_query(c), None


def _on_conflict(c: Cursor) -> OnConflict:
    c.expect("on", "conflict")
    position = c.position
    columns: tuple[ColumnName, ...] = ()
    constraint = ""
    if c.word == "(":
        columns = c.column_names()
        if c.at("where"):
            raise FeatureNotSupported("partial unique indexes are not supported", position=c.position)
    elif c.accept("on"):
        c.expect("constraint")
        constraint = c.name()
    c.expect("do")
    if c.accept("nothing"):
        return OnConflict(columns, constraint, None, None, position)
    c.expect("update", "set")
    assignments = _assignments(c)
    return OnConflict(columns, constraint, assignments, _condition(c), position)


def _condition(c: Cursor) -> Ast | None:
    if not c.accept("where"):
        return None
    if c.at("current", "of"):
        raise FeatureNotSupported("WHERE CURRENT OF is not supported", position=c.position)
    return parse_expression.parse_expression(c)


def _returning(c: Cursor) -> tuple[Ast, ...]:
    return tuple(parse_query.parse_targets(c)) if c.accept("returning") else ()


def _assignments(c: Cursor) -> tuple[Assignment, ...]:
    found = [_assignment(c)]
    while c.accept(","):
        found.append(_assignment(c))
    return tuple(found)


def _assignment(c: Cursor) -> Assignment:
    columns = _columns(c) if c.word == "(" else (_target_column(c),)
    c.expect("=")
    return Assignment(columns, parse_expression.parse_expression(c))


def _relation(c: Cursor) -> tuple[ObjectName, str]:
    """`[ONLY] name [*] [[AS] alias]`, with `set` and `using` never an alias."""
    only = c.accept("only")
    wrapped = only and c.accept("(")
    table = c.object_name()
    if wrapped:
        c.expect(")")
    c.accept("*")
    if c.accept("as"):
        return table, c.name()
    return table, c.name() if c.is_name() and c.word not in ("set", "using") else ""


def parse_update(c: Cursor, with_: Ast | None = None) -> Statement:
    c.expect("update")
    table, alias = _relation(c)
    c.expect("set")
    assignments = _assignments(c)
    from_ = _sources(c, "from")
    return Update(table, alias, assignments, from_, _condition(c), _returning(c), with_)


def _sources(c: Cursor, word: str) -> Ast | None:
    """FROM of UPDATE or USING of DELETE as a Select of nothing."""
    if c.word != word:
        return None
    select = place(exp.Select(expressions=[]), c.start)
    parse_from.parse_from(c, select)
    return select


def parse_delete(c: Cursor, with_: Ast | None = None) -> Statement:
    c.expect("delete", "from")
    table, alias = _relation(c)
    using = _sources(c, "using")
    return Delete(table, alias, using, _condition(c), _returning(c), with_)


def parse_truncate(c: Cursor) -> Statement:
    c.expect("truncate")
    c.accept("table")
    names = [_truncated(c)]
    while c.accept(","):
        names.append(_truncated(c))
    restart = c.accept_start("restart", "identity")
    if not restart:
        c.accept_start("continue", "identity")
    cascade = c.accept_any("cascade", "restrict") == "cascade"
    return Truncate(tuple(names), restart, cascade)


def _truncated(c: Cursor) -> ObjectName:
    c.accept("only")
    name = c.object_name()
    c.accept("*")
    return name
