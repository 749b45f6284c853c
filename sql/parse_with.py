"""WITH: common table expressions, recursive ones and Materialize's mutually recursive ones."""

from __future__ import annotations

from sqlglot import exp

from ..storage.errors import FeatureNotSupported
from . import parse_query
from .cursor import Cursor
from .dialect import Ast, place
from .parse_columns import identifiers, typed_columns

_WRITES = frozenset({"insert", "update", "delete", "merge"})


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
    query = parse_query.parse_query(c)
    c.expect(")")
    if c.word in ("search", "cycle"):
        raise FeatureNotSupported(f"{c.word.upper()} clause is not supported", position=c.position)
    return place(exp.CTE(this=query, alias=alias, materialized=materialized), start)
