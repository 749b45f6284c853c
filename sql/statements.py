"""One frozen class per kind of statement we serve.

`parse.parse(text)` makes them. Every statement knows its exact source `text` (without the
semicolon) and its `offset` in the string it came from; the positions of its parts (1-based, in
characters) count from the start of `text`. A statement within another (EXPLAIN, PREPARE, DECLARE, COPY)
has its own `text` too and its `offset` in the outer one, but its positions count from the outer start. Parts of type `Ast` are sqlglot expressions in the
shapes that `dialect.py` describes. Names are folded to lower case already, unless they were quoted.

Statements are descriptions: nothing here looks anything up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from .typename import TypeName

Ast = exp.Expr


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A possibly qualified name: `("public", "t")` or `("t",)`."""

    parts: tuple[str, ...]
    position: int = 0

    @property
    def name(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column named in a list: of INSERT, of a view, of COPY."""

    name: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class SqlExpression:
    """An expression with its source text, which is what the catalogue keeps of it."""

    ast: Ast
    text: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """Base of all statements."""

    text: str = field(default="", kw_only=True, compare=False)
    offset: int = field(default=0, kw_only=True, compare=False)


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


# Relations: what CREATE TABLE and CREATE SOURCE have in common.
@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """`type` is None only for a generated column without one. `generated` is GENERATED ALWAYS AS
    (expr) or RisingWave's `name type AS expr`."""

    name: str
    type: TypeName | None
    not_null: bool = False
    default: SqlExpression | None = None
    generated: SqlExpression | None = None
    identity: str = ""
    """"always" or "by default"; a serial column is "by default" and NOT NULL."""
    collation: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    name: str
    expression: SqlExpression


@dataclass(frozen=True, slots=True)
class KeyConstraint:
    """PRIMARY KEY or UNIQUE."""

    name: str
    columns: tuple[ColumnName, ...]
    position: int = 0


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """REFERENCES. Kept and shown in the catalogue, never enforced: as with NOT ENFORCED, because a
    stream's tables need not arrive in the order their rows refer to each other."""

    name: str
    columns: tuple[ColumnName, ...]
    table: ObjectName
    references: tuple[ColumnName, ...] = ()
    on_delete: str = ""
    on_update: str = ""


@dataclass(frozen=True, slots=True)
class Watermark:
    """`WATERMARK FOR column AS expression`."""

    column: ColumnName
    expression: SqlExpression


@dataclass(frozen=True, slots=True)
class Like:
    """`LIKE table [INCLUDING …]` in a column list."""

    table: ObjectName
    including: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RelationBody:
    """What stands between the parentheses. `star`: `*`, columns from the schema registry."""

    columns: tuple[ColumnDefinition, ...] = ()
    primary_key: KeyConstraint | None = None
    uniques: tuple[KeyConstraint, ...] = ()
    checks: tuple[CheckConstraint, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    likes: tuple[Like, ...] = ()
    star: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """`FORMAT f ENCODE e (options)`; Materialize's `FORMAT e ENVELOPE v` gives the same:
    f from the envelope ("plain", "upsert", "debezium"), e the encoding. All in lower case."""

    format: str
    encode: str
    options: Mapping[str, str] = field(default_factory=dict)
    key_encode: str = ""
    key_options: Mapping[str, str] = field(default_factory=dict)
    envelope: str = ""
    connection: ObjectName | None = None
    """Of `USING CONFLUENT SCHEMA REGISTRY CONNECTION c`."""


@dataclass(frozen=True, slots=True)
class Include:
    """`INCLUDE what [field] [type] [AS alias]`: key, partition, offset, timestamp, header, payload."""

    what: str
    alias: str = ""
    field: str = ""
    type: TypeName | None = None


@dataclass(frozen=True, slots=True)
class Connector:
    """Where rows come from or go to. `options` are WITH (…) with folded keys; Materialize's
    `FROM KAFKA CONNECTION c (TOPIC 't')` gives connector = kafka, topic = t and `connection`.
    A value `SECRET s` is the text `secret:s`."""

    options: Mapping[str, str] = field(default_factory=dict)
    format: Format | None = None
    include: tuple[Include, ...] = ()
    connection: ObjectName | None = None


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    name: ObjectName
    body: RelationBody
    connector: Connector = field(default_factory=Connector)
    if_not_exists: bool = False
    temporary: bool = False
    append_only: bool = False
    on_conflict: str = ""
    """"", "overwrite", "ignore" or "do update if not null"."""
    version_columns: tuple[ColumnName, ...] = ()
    from_source: ObjectName | None = None
    external_name: str = ""
    """Of `FROM source TABLE 'name'`."""


@dataclass(frozen=True, slots=True)
class CreateTableAs(Statement):
    name: ObjectName
    query: SqlExpression
    columns: tuple[ColumnName, ...] = ()
    if_not_exists: bool = False
    temporary: bool = False
    append_only: bool = False
    with_data: bool = True
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    name: ObjectName
    body: RelationBody
    connector: Connector
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    name: ObjectName
    query: SqlExpression
    columns: tuple[ColumnName, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateMaterializedView(Statement):
    name: ObjectName
    query: SqlExpression
    columns: tuple[ColumnName, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    emit_on_window_close: bool = False
    with_data: bool = True
    replacement_for: ObjectName | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    """Clauses accepted without effect (IN CLUSTER), each to be said in a NOTICE."""


@dataclass(frozen=True, slots=True)
class CreateSink(Statement):
    """Exactly one of `from_` and `query`; `into` writes to a table."""

    name: ObjectName
    from_: ObjectName | None
    query: SqlExpression | None
    into: ObjectName | None
    connector: Connector
    key: tuple[ColumnName, ...] = ()
    into_columns: tuple[ColumnName, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """`column` is "" when the index is on an expression."""

    column: str
    expression: SqlExpression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class CreateIndex(Statement):
    """`name` is "" when it was left out; no `columns`: Materialize's default index."""

    name: str
    table: ObjectName
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    if_not_exists: bool = False
    include: tuple[ColumnName, ...] = ()
    distributed_by: tuple[ColumnName, ...] = ()
    method: str = "btree"
    where: SqlExpression | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateSchema(Statement):
    name: str
    if_not_exists: bool = False
    authorization: str = ""


@dataclass(frozen=True, slots=True)
class CreateSequence(Statement):
    name: ObjectName
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateConnection(Statement):
    """`options` has `type` (kafka, schema_registry, postgres, …) beside what was written."""

    name: ObjectName
    options: Mapping[str, str]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateSecret(Statement):
    name: ObjectName
    value: str
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateSubscription(Statement):
    name: ObjectName
    from_: ObjectName
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """`kind` in lower case: "table", "view", "materialized view", "source", "sink", "index",
    "schema", "sequence", "connection", "secret", "subscription", "function", "database", …"""

    kind: str
    names: tuple[ObjectName, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Comment(Statement):
    """COMMENT ON. `column` is set when `kind` is "column" and `name` is then its relation."""

    kind: str
    name: ObjectName
    column: str
    comment: str | None


# ALTER.
@dataclass(frozen=True, slots=True)
class AddColumn:
    column: ColumnDefinition
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    name: ColumnName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RenameTo:
    name: str


@dataclass(frozen=True, slots=True)
class RenameColumn:
    old: ColumnName
    new: str


@dataclass(frozen=True, slots=True)
class RenameConstraint:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class SetSchema:
    schema: str


@dataclass(frozen=True, slots=True)
class AlterColumnDefault:
    """`default` None: DROP DEFAULT."""

    column: ColumnName
    default: SqlExpression | None


@dataclass(frozen=True, slots=True)
class AlterColumnType:
    column: ColumnName
    type: TypeName
    using: SqlExpression | None = None


@dataclass(frozen=True, slots=True)
class AlterColumnNotNull:
    column: ColumnName
    not_null: bool


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """One of PRIMARY KEY, UNIQUE, CHECK, FOREIGN KEY; `kind` says "primary key" or "unique"."""

    kind: str
    constraint: KeyConstraint | CheckConstraint | ForeignKey


@dataclass(frozen=True, slots=True)
class DropConstraint:
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class SwapWith:
    name: ObjectName


@dataclass(frozen=True, slots=True)
class ApplyReplacement:
    name: ObjectName


@dataclass(frozen=True, slots=True)
class SetOptions:
    """`SET (a = b, …)`, and `SET PARALLELISM = n` or `SET SOURCE_RATE_LIMIT TO n` as one option."""

    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ResetOptions:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnerTo:
    role: str


AlterAction = (
    AddColumn | DropColumn | RenameTo | RenameColumn | RenameConstraint | SetSchema | AlterColumnDefault
    | AlterColumnType | AlterColumnNotNull | AddConstraint | DropConstraint | SwapWith | ApplyReplacement
    | SetOptions | ResetOptions | OwnerTo
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alter(Statement):
    """ALTER kind name action, …; `kind` as in `Drop`."""

    kind: str
    name: ObjectName
    actions: tuple[AlterAction, ...]
    if_exists: bool = False


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
