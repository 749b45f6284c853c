"""FROM: tables, subqueries, functions, joins and their aliases."""

from __future__ import annotations

from sqlglot import exp

from ..storage.errors import FeatureNotSupported
from . import parse_columns, parse_expression, parse_function, parse_query
from .cursor import Cursor
from .dialect import Ast, place
from .keywords import NOT_COLUMN, NOT_FUNCTION, TYPE_OR_FUNCTION
from .lexer import END, NUMBER, STRING, WORD

_JOINS = frozenset({"join", "inner", "left", "right", "full", "cross", "natural", "asof"})
_HINTS = frozenset({"distinct", "aggregate", "limit"})


def parse_from(c: Cursor, select: Ast) -> None:
    """FROM (or USING) …, put into `select` as from_ and joins."""
    start = c.start
    c.expect_any("from", "using")
    first = _item(c)
    joins = first.args.pop("joins", None) or []
    while c.accept(","):
        where = c.start
        joins.append(place(exp.Join(this=_item(c)), where))
    select.set("from_", place(exp.From(this=first), start))
    if joins:
        select.set("joins", joins)


def _item(c: Cursor) -> Ast:
    """A table with the joins that hang on it (gram.y's table_ref)."""
    item = _primary(c)
    while _at_join(c):
        _join(c, item)
    return item


def _at_join(c: Cursor) -> bool:
    word = c.word
    return word in _JOINS and (word != "asof" or c.ahead() in ("join", "left", "inner"))


def _join(c: Cursor, left: Ast) -> None:
    """Adds the join at the cursor to the joins of `left`."""
    join = place(exp.Join(), c.start)
    qualified = _join_words(c, join)
    right = _primary(c)
    if qualified:
        while _at_join(c):
            _join(c, right)
    join.set("this", right)
    if qualified:
        _condition(c, join)
    left.append("joins", join)


def _join_words(c: Cursor, join: Ast) -> bool:
    """`LEFT OUTER JOIN` and the like; gives whether ON or USING must follow."""
    if c.accept("cross"):
        join.set("kind", "CROSS")
        c.expect("join")
        return False
    if c.accept("asof"):
        join.set("kind", "ASOF")
    natural = c.accept("natural")
    if natural:
        join.set("method", "NATURAL")
    side = c.accept_any("left", "right", "full")
    if side:
        join.set("side", side.upper())
        if c.accept("asof"):
            join.set("kind", "ASOF")
        c.accept("outer")
    elif c.accept("inner") and not join.args.get("kind"):
        join.set("kind", "INNER")
    c.expect("join")
    return not natural


def _condition(c: Cursor, join: Ast) -> None:
    if c.accept("on"):
        join.set("on", parse_expression.parse_expression(c))
        return
    if c.word == "match_condition":
        c.i += 1
        c.expect("(")
        join.set("match_condition", parse_expression.parse_expression(c))
        c.expect(")")
        _condition(c, join)
        return
    c.expect("using")
    join.set("using", parse_columns.identifiers(c))
    if c.accept("as"):
        join.set("alias", c.identifier())


def _primary(c: Cursor) -> Ast:
    """One table, function, subquery or parenthesised join, with its alias."""
    start = c.start
    if c.accept("lateral"):
        return _lateral(c, start)
    if c.word == "(":
        return _parenthesis(c)
    if c.at("rows", "from"):
        return _rows_from(c)
    if _is_call(c):
        return _function(c)
    if c.word in TYPE_OR_FUNCTION and c.kind == WORD:
        c.fail(1)
    only = c.accept("only")
    table = parse_relation_name(c) if not (only and c.word == "(") else _only(c)
    if only:
        table.set("only", True)
    c.accept("*")
    if c.at("for", "system_time"):
        table.set("version", _system_time(c))
    _alias(c, table)
    if c.at("for", "system_time"):
        table.set("version", _system_time(c))
    if c.word == "tablesample":
        raise FeatureNotSupported("TABLESAMPLE is not supported", position=c.position)
    return table


def _only(c: Cursor) -> Ast:
    c.expect("(")
    table = parse_relation_name(c)
    c.expect(")")
    return table


def _is_call(c: Cursor) -> bool:
    """Whether a (qualified) function name and `(` come next."""
    if c.kinds[c.i] == WORD and c.ahead() == "(":
        return c.word in ("coalesce", "cast") or c.is_name(NOT_FUNCTION)
    index = c.i
    while c.words[index + 1] == "." and c.kinds[index + 2] != END:
        index += 2
    return c.words[index + 1] == "(" and c.is_name(NOT_FUNCTION)


def parse_relation_name(c: Cursor) -> Ast:
    """`[[catalog.]schema.]name` as exp.Table."""
    start = c.start
    parts = [c.identifier()]
    while c.accept("."):
        parts.append(c.identifier(frozenset()))
    names = ("this", "db", "catalog")
    if len(parts) > 3:
        c.fail()
    return place(exp.Table(**dict(zip(names, reversed(parts), strict=False))), start)


def _system_time(c: Cursor) -> Ast:
    start = c.start
    c.expect("for", "system_time", "as", "of")
    moment = parse_expression.parse_expression(c)
    return place(exp.Version(this="TIMESTAMP", kind="AS OF", expression=moment), start)


def _parenthesis(c: Cursor) -> Ast:
    start = c.start
    if parse_query.is_subquery(c):
        subquery = parse_query.parse_subquery(c)
        _alias(c, subquery)
        return subquery
    c.expect("(")
    item = _item(c)
    if not item.args.get("joins"):
        c.fail()
    c.expect(")")
    if c.word == "as" or c.is_name(NOT_COLUMN):
        item = place(exp.Paren(this=item), start)
        _alias(c, item)
        return item
    return place(exp.Paren(this=item), start) if _at_join(c) else item


def _lateral(c: Cursor, start: int) -> Ast:
    if c.word == "(":
        lateral = place(exp.Lateral(this=parse_query.parse_subquery(c)), start)
    elif c.at("rows", "from"):
        return _rows_from(c)
    else:
        lateral = place(exp.Lateral(this=parse_function.parse_call(c)), start)
        if c.accept("with", "ordinality"):
            lateral.set("ordinality", True)
    _alias(c, lateral, definitions=True)
    return lateral


def _function(c: Cursor) -> Ast:
    table = _function_table(c)
    if c.accept("with", "ordinality"):
        table.set("ordinality", True)
    _alias(c, table, definitions=True)
    return table


def _function_table(c: Cursor) -> Ast:
    start = c.start
    call = parse_function.parse_call(c)
    if isinstance(call, exp.Dot):
        return place(exp.Table(this=call.expression, db=call.this), start)
    return place(exp.Table(this=call), start)


def _rows_from(c: Cursor) -> Ast:
    table = place(exp.Table(), c.start)
    c.expect("rows", "from", "(")
    functions: list[Ast] = []
    while True:
        function = _function_table(c)
        if c.word == "as":
            _alias(c, function, definitions=True)
        functions.append(function)
        if not c.accept(","):
            break
    c.expect(")")
    table.set("rows_from", functions)
    if c.accept("with", "ordinality"):
        table.set("ordinality", True)
    _alias(c, table, definitions=True)
    return table


def _alias(c: Cursor, item: Ast, definitions: bool = False) -> None:
    """`[AS] alias [(columns)]`; with `definitions` also `AS (name type, …)`."""
    start = c.start
    if c.word == "as" and not _is_as_of(c):
        c.i += 1
        if definitions and c.at("("):
            item.set("alias", place(exp.TableAlias(columns=parse_columns.typed_columns(c)), start))
            return
    elif not c.is_name(NOT_COLUMN) or _is_clause(c):
        return
    alias = place(exp.TableAlias(this=c.identifier()), start)
    if c.word == "(":
        alias.set("columns", _columns(c) if definitions else parse_columns.identifiers(c))
    item.set("alias", alias)


def _is_as_of(c: Cursor) -> bool:
    """Materialize's `AS OF t` behind the query, rather than an alias `of`."""
    if not c.at("as", "of"):
        return False
    return c.kinds[c.i + 2] in (NUMBER, STRING) or c.ahead(2) == "at" or c.ahead(3) == "("


def _is_clause(c: Cursor) -> bool:
    """Words that may be aliases, but here begin a clause of other streaming systems."""
    word, following = c.word, c.ahead()
    return (
        (word == "emit" and following in ("changes", "final", "on"))
        or (word == "asof" and following in ("join", "left", "inner"))
        or (word == "options" and following == "(" and c.ahead(2) in _HINTS)
        or (word == "match_condition" and following == "(")
    )


def _columns(c: Cursor) -> list[Ast]:
    """`(a, b)`, or definitions `(a int, b text)`."""
    c.expect("(")
    columns = [_column(c)]
    while c.accept(","):
        columns.append(_column(c))
    c.expect(")")
    return columns


def _column(c: Cursor) -> Ast:
    if c.ahead() in (",", ")"):
        return c.identifier()
    return parse_columns.column_definition(c)
