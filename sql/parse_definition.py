"""What definitions have in common: expressions and queries with their text, a few clauses, and the body
of a relation while it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..storage.errors import InvalidTableDefinition
from . import parse_expression, parse_query
from .cursor import Cursor
from .statements import (
    CheckConstraint,
    ColumnDefinition,
    ForeignKey,
    KeyConstraint,
    Like,
    RelationBody,
    SqlExpression,
    Watermark,
)


@dataclass(slots=True)
class Body:
    """A `RelationBody` in the making."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    keys: list[KeyConstraint] = field(default_factory=list)
    uniques: list[KeyConstraint] = field(default_factory=list)
    checks: list[CheckConstraint] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    watermarks: list[Watermark] = field(default_factory=list)
    likes: list[Like] = field(default_factory=list)
    star: bool = False

    def finished(self, table: str) -> RelationBody:
        if len(self.keys) > 1:
            raise InvalidTableDefinition(
                f'multiple primary keys for table "{table}" are not allowed', position=self.keys[1].position
            )
        return RelationBody(
            tuple(self.columns),
            self.keys[0] if self.keys else None,
            tuple(self.uniques),
            tuple(self.checks),
            tuple(self.foreign_keys),
            tuple(self.watermarks),
            tuple(self.likes),
            self.star,
        )


def sql_expression(c: Cursor, restricted: bool = False) -> SqlExpression:
    """The expression at the cursor, with its text."""
    start = c.start
    parse = parse_expression.parse_restricted if restricted else parse_expression.parse_expression
    return SqlExpression(parse(c), c.since(start), start + 1)


def sql_query(c: Cursor) -> SqlExpression:
    """The query at the cursor, with its text."""
    start = c.start
    query = parse_query.parse_query(c)
    return SqlExpression(query, c.since(start), start + 1)


def parenthesised(c: Cursor) -> SqlExpression:
    c.expect("(")
    expression = sql_expression(c)
    c.expect(")")
    return expression


def if_not_exists(c: Cursor) -> bool:
    return c.accept_start("if", "not", "exists", of=2)


def with_data(c: Cursor) -> bool:
    """WITH [NO] DATA."""
    if c.word != "with" or c.ahead() == "(":
        return True
    c.i += 1
    populated = not c.accept("no")
    c.expect("data")
    return populated
