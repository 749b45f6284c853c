"""One frozen class per kind of statement we serve.

`parse.parse(text)` makes them. Every statement knows its exact source `text` (without the semicolon) and
its `offset` in the string it came from; the positions of its parts (1-based, in characters) count from the
start of `text`. A statement within another (EXPLAIN, PREPARE, DECLARE, COPY) has its own `text` too and its
`offset` in the outer one, but its positions count from the outer start. Parts of type `Ast` are sqlglot
expressions in the shapes that `dialect.py` describes. Names are folded to lower case already, unless they
were quoted.

Statements are descriptions: nothing here looks anything up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .statements_base import (
    Ast,
    ColumnName,
    ObjectName,
    SqlExpression,
    Statement,
)
from .statements_ddl import (
    AddColumn,
    AddConstraint,
    Alter,
    AlterAction,
    AlterColumnDefault,
    AlterColumnNotNull,
    AlterColumnType,
    ApplyReplacement,
    CheckConstraint,
    ColumnDefinition,
    Comment,
    Connector,
    CreateConnection,
    CreateIndex,
    CreateMaterializedView,
    CreateSchema,
    CreateSecret,
    CreateSequence,
    CreateSink,
    CreateSource,
    CreateSubscription,
    CreateTable,
    CreateTableAs,
    CreateView,
    Drop,
    DropColumn,
    DropConstraint,
    ForeignKey,
    Format,
    Include,
    IndexColumn,
    KeyConstraint,
    Like,
    OwnerTo,
    RelationBody,
    RenameColumn,
    RenameConstraint,
    RenameTo,
    ResetOptions,
    ResetSource,
    SetOptions,
    SetSchema,
    SwapWith,
    Watermark,
)
from .typename import TypeName

__all__ = [
    "AddColumn", "AddConstraint", "Alter", "AlterAction", "AlterColumnDefault", "AlterColumnNotNull",
    "AlterColumnType", "AlterSystem", "ApplyReplacement", "Assignment", "Ast", "Begin", "CancelJobs",
    "CheckConstraint", "CloseCursor", "ColumnDefinition", "ColumnName", "Comment", "Commit",
    "Connector", "Copy", "CreateConnection", "CreateIndex", "CreateMaterializedView", "CreateSchema",
    "CreateSecret", "CreateSequence", "CreateSink", "CreateSource", "CreateSubscription", "CreateTable",
    "CreateTableAs", "CreateView", "Deallocate", "DeclareCursor", "Delete", "Describe", "Discard",
    "Drop", "DropColumn", "DropConstraint", "Empty", "Execute", "Explain", "Failover", "Fetch", "Flush",
    "ForeignKey", "Format", "Include", "IndexColumn", "Insert", "KeyConstraint", "Like", "Listen",
    "LiteralColumn", "Move", "NoOperation", "Notify", "ObjectName", "OnConflict", "OwnerTo", "Prepare",
    "Recover", "Refresh", "RelationBody", "Release", "RenameColumn", "RenameConstraint", "RenameTo",
    "Reset", "ResetOptions", "ResetSource", "Rollback", "Savepoint", "Select", "SetOptions", "SetSchema",
    "SetTransaction", "SetVariable", "ShowCreate", "ShowObjects", "ShowVariable", "SqlExpression",
    "Statement", "Subscribe", "SwapWith", "Truncate", "Unlisten", "Unsupported", "Update", "Wait",
    "Watermark",
]  # fmt: skip


# Queries and writes.
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


# Transactions.
@dataclass(frozen=True, slots=True)
class Begin(Statement):
    """`isolation` as PostgreSQL shows it ("read committed"), None where nothing was said."""

    read_only: bool | None = None
    isolation: str | None = None
    deferrable: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit(Statement):
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Rollback(Statement):
    """ROLLBACK, or with `to` ROLLBACK TO SAVEPOINT."""

    to: str | None = None
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class Release(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class SetTransaction(Statement):
    """SET TRANSACTION …, or with `session` SET SESSION CHARACTERISTICS AS TRANSACTION …"""

    read_only: bool | None = None
    isolation: str | None = None
    deferrable: bool | None = None
    session: bool = False


# Session.
@dataclass(frozen=True, slots=True)
class SetVariable(Statement):
    """`name` in lower case; `value` None for TO DEFAULT. A list is joined by ", " as SHOW shows it;
    SET TIME ZONE is `timezone`, SET NAMES `client_encoding`, SET SCHEMA `search_path`."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class ShowVariable(Statement):
    """`name` is "all" for SHOW ALL; SHOW TRANSACTION ISOLATION LEVEL is `transaction_isolation`."""

    name: str


@dataclass(frozen=True, slots=True)
class Reset(Statement):
    """`name` is "all" for RESET ALL."""

    name: str


@dataclass(frozen=True, slots=True)
class Discard(Statement):
    """`what` is "all", "plans", "sequences" or "temp"."""

    what: str


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """`options`: analyze, verbose, format, … → text ("true", "json"). `statement` is what is explained,
    or `name`, an existing view; its positions count from the start of this statement's text."""

    options: Mapping[str, str]
    statement: Statement | None
    name: ObjectName | None = None


@dataclass(frozen=True, slots=True)
class Prepare(Statement):
    name: str
    types: tuple[TypeName, ...]
    statement: Statement


@dataclass(frozen=True, slots=True)
class Execute(Statement):
    name: str
    arguments: tuple[Ast, ...] = ()


@dataclass(frozen=True, slots=True)
class Deallocate(Statement):
    """`name` None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class DeclareCursor(Statement):
    """DECLARE … CURSOR FOR `statement` (a Select or a Subscribe), or RisingWave's SUBSCRIPTION CURSOR
    FOR `subscription` with `since` ("", "now()", "begin()", milliseconds, "full")."""

    name: str
    statement: Statement | None
    scroll: bool | None = None
    hold: bool = False
    binary: bool = False
    subscription: ObjectName | None = None
    since: str = ""


@dataclass(frozen=True, slots=True)
class Fetch(Statement):
    """`direction` is "forward", "backward", "absolute" or "relative"; `count` None is ALL.

    NEXT is forward 1, PRIOR backward 1, FIRST absolute 1, LAST absolute −1. `timeout` as written.
    """

    name: str
    direction: str = "forward"
    count: int | None = 1
    timeout: str | None = None


@dataclass(frozen=True, slots=True)
class Move(Statement):
    name: str
    direction: str = "forward"
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class CloseCursor(Statement):
    """`name` None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Listen(Statement):
    channel: str


@dataclass(frozen=True, slots=True)
class Unlisten(Statement):
    """`channel` None: `*`."""

    channel: str | None


@dataclass(frozen=True, slots=True)
class Notify(Statement):
    channel: str
    payload: str = ""


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


# Streaming and inspection.
@dataclass(frozen=True, slots=True)
class Subscribe(Statement):
    """SUBSCRIBE to `name` or to `query`. `envelope` is "", "upsert" or "debezium" with its `key`."""

    name: ObjectName | None
    query: SqlExpression | None
    snapshot: bool = True
    progress: bool = False
    envelope: str = ""
    key: tuple[ColumnName, ...] = ()
    order: Ast | None = None
    """exp.Order of WITHIN TIMESTAMP ORDER BY."""
    as_of: Ast | None = None
    at_least: bool = False
    up_to: Ast | None = None
    durable: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShowObjects(Statement):
    """SHOW TABLES and its family: `kind` in lower case ("tables", "materialized views", "columns",
    "indexes", "jobs", …), `of` the relation of COLUMNS FROM and INDEXES FROM, `schema` of FROM/IN."""

    kind: str
    of: ObjectName | None = None
    schema: str = ""
    like: str | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreate(Statement):
    kind: str
    name: ObjectName


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    """`kind` is "" or "fragments"."""

    name: ObjectName
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Flush(Statement): ...


@dataclass(frozen=True, slots=True)
class Wait(Statement): ...


@dataclass(frozen=True, slots=True)
class Recover(Statement): ...


@dataclass(frozen=True, slots=True)
class CancelJobs(Statement):
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refresh(Statement):
    """REFRESH MATERIALIZED VIEW: accepted, a view here is always up to date."""

    name: ObjectName


@dataclass(frozen=True, slots=True)
class AlterSystem(Statement):
    """ALTER SYSTEM SET; `value` None for DEFAULT and RESET."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Failover(Statement):
    """ALTER SYSTEM FAILOVER: the primary hands over to a standby and becomes one itself."""


@dataclass(frozen=True, slots=True)
class NoOperation(Statement):
    """Accepted without effect (VACUUM, ANALYZE, CHECKPOINT, LOCK TABLE); `tag` is the command tag."""

    tag: str


@dataclass(frozen=True, slots=True)
class Unsupported(Statement):
    """PostgreSQL's, not ours: to be answered with 0A000. `what` is e.g. "CREATE FUNCTION"."""

    what: str


@dataclass(frozen=True, slots=True)
class Empty(Statement):
    """Nothing but blanks and comments."""
