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

from .statements_alter import (
    AddColumn,
    AddConstraint,
    Alter,
    AlterAction,
    AlterColumnDefault,
    AlterColumnNotNull,
    AlterColumnType,
    ApplyReplacement,
    DropColumn,
    DropConstraint,
    OwnerTo,
    RenameColumn,
    RenameConstraint,
    RenameTo,
    ResetOptions,
    ResetSource,
    SetOptions,
    SetSchema,
    SwapWith,
)
from .statements_base import (
    Ast,
    ColumnName,
    ObjectName,
    SqlExpression,
    Statement,
)
from .statements_ddl import (
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
    ForeignKey,
    Format,
    Include,
    IndexColumn,
    KeyConstraint,
    Like,
    RelationBody,
    Watermark,
)
from .statements_query import (
    Assignment,
    Copy,
    Delete,
    Insert,
    LiteralColumn,
    OnConflict,
    Select,
    Truncate,
    Update,
)
from .statements_session import (
    Begin,
    CloseCursor,
    Commit,
    Deallocate,
    DeclareCursor,
    Discard,
    Execute,
    Explain,
    Fetch,
    Listen,
    Move,
    Notify,
    Prepare,
    Release,
    Reset,
    Rollback,
    Savepoint,
    SetTransaction,
    SetVariable,
    ShowVariable,
    Unlisten,
)

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
