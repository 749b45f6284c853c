"""Statements that make, remove and comment on objects. Import them from `statements.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .statements_base import ColumnName, ObjectName, SqlExpression, Statement
from .typename import TypeName


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
