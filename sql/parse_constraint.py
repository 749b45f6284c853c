"""Constraints of columns and tables: NOT NULL, DEFAULT, keys, CHECK, REFERENCES, GENERATED.

Those of a column change its definition, or are the table's and go into its `Body`.
"""

from __future__ import annotations

from dataclasses import replace

from ..storage.errors import FeatureNotSupported
from .cursor import Cursor
from .parse_definition import Body, parenthesised, sql_expression
from .statements import CheckConstraint, ColumnDefinition, ColumnName, ForeignKey, KeyConstraint


def column_constraint(
    c: Cursor, column: ColumnDefinition, here: ColumnName, body: Body
) -> ColumnDefinition | None:
    """The column with the next constraint added, None when there is none."""
    name = c.name() if c.accept("constraint") else ""
    position = c.position
    match c.word:
        case "not":
            c.expect("not", "null")
            return replace(column, not_null=True)
        case "null":
            c.i += 1
        case "default":
            c.i += 1
            return replace(column, default=sql_expression(c, restricted=True))
        case "primary":
            c.expect("primary", "key")
            body.keys.append(KeyConstraint(name, (here,), position))
            return replace(column, not_null=True)
        case "unique":
            c.i += 1
            c.accept("nulls", "not", "distinct")
            body.uniques.append(KeyConstraint(name, (here,), position))
        case "check":
            c.i += 1
            body.checks.append(CheckConstraint(name, parenthesised(c)))
            c.accept("no", "inherit")
        case "references":
            body.foreign_keys.append(_references(c, name, (here,)))
        case "generated" | "as":
            return _generated(c, column)
        case "collate":
            c.i += 1
            return replace(column, collation=str(c.object_name()))
        case _:
            if name:
                c.fail()
            return None
    return column


def _generated(c: Cursor, column: ColumnDefinition) -> ColumnDefinition:
    """GENERATED … AS IDENTITY, GENERATED ALWAYS AS (…) STORED, or RisingWave's AS expression."""
    if c.accept("as"):
        return replace(column, generated=sql_expression(c))
    c.expect("generated")
    by_default = c.accept("by", "default")
    if not by_default:
        c.expect("always")
    c.expect("as")
    if c.accept("identity"):
        if c.word == "(":
            _sequence_options(c)
        identity = "by default" if by_default else "always"
        return replace(column, identity=identity, not_null=True)
    if by_default:
        c.fail()
    expression = parenthesised(c)
    c.accept("stored")
    return replace(column, generated=expression)


def _sequence_options(c: Cursor) -> None:
    """START, INCREMENT …: an identity always counts from 1 by 1, so other settings are refused."""
    c.expect("(")
    while not c.accept(")"):
        if c.accept("start"):
            c.accept("with")
        elif c.accept("increment"):
            c.accept("by")
        else:
            raise FeatureNotSupported("sequence options are not supported", position=c.position)
        position = c.position
        if c.signed_integer() != 1:
            raise FeatureNotSupported(
                "an identity column starts at 1 and counts by 1 only", position=position
            )


def table_constraint(c: Cursor, body: Body) -> None:
    """A table constraint, put into `body`."""
    name = c.name() if c.accept("constraint") else ""
    position = c.position
    match c.word:
        case "primary":
            c.expect("primary", "key")
            body.keys.append(KeyConstraint(name, c.column_names(), position))
            _index_clauses(c)
        case "unique":
            c.i += 1
            c.accept("nulls", "not", "distinct")
            body.uniques.append(KeyConstraint(name, c.column_names(), position))
            _index_clauses(c)
        case "check":
            c.i += 1
            body.checks.append(CheckConstraint(name, parenthesised(c)))
            c.accept("no", "inherit")
        case "foreign":
            c.expect("foreign", "key")
            columns = c.column_names()
            body.foreign_keys.append(_references(c, name, columns))
        case "exclude":
            raise FeatureNotSupported("exclusion constraints are not supported", position=position)
        case _:
            c.fail()


def _index_clauses(c: Cursor) -> None:
    """INCLUDE (…), WITH (…), NOT ENFORCED, [NOT] DEFERRABLE: nothing to us."""
    if c.at("include", "("):
        c.i += 1
        c.column_names()
    _enforcement(c)


def _enforcement(c: Cursor) -> None:
    while c.word in ("not", "deferrable", "initially"):
        if c.accept("initially"):
            c.expect_any("deferred", "immediate")
        elif c.accept("not"):
            c.expect_any("enforced", "deferrable", "valid")
        else:
            c.expect("deferrable")


def _references(c: Cursor, name: str, columns: tuple[ColumnName, ...]) -> ForeignKey:
    c.expect("references")
    table = c.object_name()
    references = c.accept_column_names()
    actions = {"delete": "", "update": ""}
    if c.accept("match"):
        c.expect_any("full", "partial", "simple")
    while c.accept("on"):
        which = c.expect_any(*actions)
        actions[which] = _action(c)
    _enforcement(c)
    return ForeignKey(name, columns, table, references, actions["delete"], actions["update"])


def _action(c: Cursor) -> str:
    word = c.expect_any("cascade", "restrict", "set", "no")
    if word == "no":
        c.expect("action")
        return "no action"
    if word != "set":
        return word
    return "set " + c.expect_any("null", "default")
