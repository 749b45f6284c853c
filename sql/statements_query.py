"""Statements that read and write rows: queries, INSERT, UPDATE, DELETE, TRUNCATE and COPY.

Import them from `statements.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .statements_base import Ast, ColumnName, ObjectName, Statement


@dataclass(frozen=True, slots=True)
class Select(Statement):
    """SELECT, VALUES, TABLE, WITH and set operations: anything that `ast` (exp.Query) says."""

    ast: Ast
    as_of: Ast | None = None
    """Materialize's `AS OF t` behind the query."""
    emit_changes: bool = False
    """ksqlDB's trailing EMIT CHANGES: the query is to be subscribed to."""


@dataclass(frozen=True, slots=True)
class LiteralColumn:
    """One column of a VALUES list that holds literals only.

    `kind` is what the literals are: "unknown" (quoted strings), "integer", "number" (with a point or
    an exponent), "boolean" ("t"/"f"), or "null" when every one is NULL. Numbers keep their sign.
    """

    kind: str
    values: list[str | None]
    positions: list[int] = field(compare=False)


@dataclass(frozen=True, slots=True)
class OnConflict:
    """`ON CONFLICT [(columns)] DO NOTHING | DO UPDATE SET … [WHERE …]`; `assignments` None: nothing."""

    columns: tuple[ColumnName, ...] = ()
    constraint: str = ""
    assignments: tuple[Assignment, ...] | None = None
    where: Ast | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Assignment:
    """`columns = value` of SET. More than one column: `value` is a Tuple, or a Subquery.

    DEFAULT is `exp.Var(this="DEFAULT")`.
    """

    columns: tuple[ColumnName, ...]
    value: Ast


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    """INSERT. Its rows come from one of `literals` (a VALUES list of plain literals, column by
    column: the fast way), `source` (any query), or neither (DEFAULT VALUES)."""

    table: ObjectName
    alias: str = ""
    columns: tuple[ColumnName, ...] | None = None
    source: Ast | None = None
    literals: tuple[LiteralColumn, ...] | None = None
    on_conflict: OnConflict | None = None
    returning: tuple[Ast, ...] = ()
    with_: Ast | None = None
    overriding: str = ""
    """"system" or "user", from OVERRIDING … VALUE."""

    def query(self) -> Ast | None:
        """`source`, or the literals as `exp.Values`; None for DEFAULT VALUES."""
        if self.literals is None:
            return self.source
        from .literals import values_of

        return values_of(self.literals)


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """UPDATE. `from_` is an `exp.Select` that has only FROM and joins, or None."""

    table: ObjectName
    alias: str
    assignments: tuple[Assignment, ...]
    from_: Ast | None = None
    where: Ast | None = None
    returning: tuple[Ast, ...] = ()
    with_: Ast | None = None


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """DELETE. `using` as `Update.from_`."""

    table: ObjectName
    alias: str = ""
    using: Ast | None = None
    where: Ast | None = None
    returning: tuple[Ast, ...] = ()
    with_: Ast | None = None


@dataclass(frozen=True, slots=True)
class Truncate(Statement):
    names: tuple[ObjectName, ...]
    restart_identity: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Copy(Statement):
    """COPY. One of `table` and `query`. `file` is the path, "" for STDIN and STDOUT.

    `options` hold what was said, in lower-case names: format, delimiter, null, header ("true",
    "false", "match"), quote, escape, encoding, freeze; the force_… lists apart.
    """

    table: ObjectName | None
    columns: tuple[ColumnName, ...]
    query: Statement | None
    to: bool
    file: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    force_quote: tuple[str, ...] | bool = ()
    force_null: tuple[str, ...] | bool = ()
    force_not_null: tuple[str, ...] | bool = ()
    where: Ast | None = None
