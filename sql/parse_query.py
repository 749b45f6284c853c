"""Queries: SELECT, VALUES, TABLE, set operations, WITH, and what may follow them."""

from __future__ import annotations

from sqlglot import exp

from ..storage.errors import FeatureNotSupported, SyntaxFault
from . import parse_expression, parse_from, parse_function
from .cursor import Cursor
from .dialect import Ast, place
from .keywords import NEEDS_AS, NOT_COLUMN
from .lexer import QUOTED, STRING, WORD
from .parse_type import parse_type

_STARTS = frozenset({"select", "values", "with", "table"})
_TAIL = frozenset({"order", "limit", "offset", "fetch", "for"})
_SET_OPERATIONS = frozenset({"union", "intersect", "except"})
_AFTER_QUERY = _TAIL | _SET_OPERATIONS | {")"}
_AFTER_TARGETS = _AFTER_QUERY | {"from", "where", "group", "having", "window", "into"}
_SET_NODES = {"union": exp.Union, "intersect": exp.Intersect, "except": exp.Except}
_WRITES = frozenset({"insert", "update", "delete", "merge"})


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
        with_ = parse_with(c)
    query = _set_expression(c)
    _tail(c, query)
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


# ORDER BY, LIMIT, …
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


def _tail(c: Cursor, query: Ast) -> None:
    """ORDER BY, then LIMIT, OFFSET, FETCH and FOR in any order, each once.

    What stood in parentheses may have had its own, which is another error than saying it twice here.
    """
    if c.word == "order":
        _set_once(query, "order", "ORDER BY", parse_order(c))
    seen: set[str] = set()
    while c.word in _TAIL:
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


# WITH.
def parse_with(c: Cursor) -> Ast:
    start = c.start
    c.expect("with")
    mutual = c.accept("mutually", "recursive")
    recursive = mutual or c.accept("recursive")
    limit = _recursion_limit(c) if mutual and c.word == "(" else None
    tables = [_cte(c, mutual)]
    while c.accept(","):
        tables.append(_cte(c, mutual))
    return place(exp.With(expressions=tables, recursive=recursive, mutual=mutual, limit=limit), start)


def _recursion_limit(c: Cursor) -> Ast:
    """Materialize's `(RETURN AT RECURSION LIMIT n)` or `(ERROR AT …)`."""
    c.expect("(")
    c.expect_any("return", "error")
    c.expect("at", "recursion", "limit")
    limit = exp.Literal(this=str(c.integer()), is_string=False)
    c.expect(")")
    return limit


def _cte(c: Cursor, mutual: bool) -> Ast:
    start = c.start
    alias = exp.TableAlias(this=c.identifier())
    if c.word == "(":
        alias.set("columns", typed_columns(c) if mutual else identifiers(c))
    c.expect("as")
    materialized = None
    if c.accept("not"):
        c.expect("materialized")
        materialized = False
    elif c.accept("materialized"):
        materialized = True
    c.expect("(")
    if c.word in _WRITES:
        raise FeatureNotSupported(f"{c.word.upper()} in WITH is not supported", position=c.position)
    query = parse_query(c)
    c.expect(")")
    if c.word in ("search", "cycle"):
        raise FeatureNotSupported(f"{c.word.upper()} clause is not supported", position=c.position)
    return place(exp.CTE(this=query, alias=alias, materialized=materialized), start)


def identifiers(c: Cursor) -> list[Ast]:
    """`(a, b)` as identifiers."""
    c.expect("(")
    names = [c.identifier()]
    while c.accept(","):
        names.append(c.identifier())
    c.expect(")")
    return names


def typed_columns(c: Cursor) -> list[Ast]:
    """`(a int, b text)`."""
    c.expect("(")
    columns = [column_definition(c)]
    while c.accept(","):
        columns.append(column_definition(c))
    c.expect(")")
    return columns


def column_definition(c: Cursor) -> Ast:
    """`name type` as exp.ColumnDef."""
    start = c.start
    name = c.identifier(NOT_COLUMN)
    written = parse_type(c)
    kind = place(exp.DataType(this=exp.DType.USERDEFINED, kind=str(written)), written.position - 1)
    kind.meta["type_name"] = written
    return place(exp.ColumnDef(this=name, kind=kind), start)
