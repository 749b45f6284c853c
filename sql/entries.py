"""The entries of the catalogue: one frozen class per kind of object.

An entry knows everything about its object but its rows. Fields with SQL text (`definition`,
defaults, checks, queries) hold what the user wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..storage.schema import Schema as Columns

NO_COLUMNS = Columns(())
LITERALS = ("UTC", "ISO, MDY")
ROW_ID = "_row_id"
"""The hidden key column of a table that was declared without primary key."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What all objects have. `id` ("r16384") names the state and the dataflow's relation, and stays
    when the object is renamed. `definition` is the SQL that made it."""

    oid: int
    schema_name: str
    name: str
    definition: str = ""
    dependencies: frozenset[int] = frozenset()
    comment: str = ""
    column_comments: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"r{self.oid}"


@dataclass(frozen=True, slots=True)
class Relation(Entry):
    """An object with columns. `key`: positions no two rows share, None for a bag, () for one row."""

    schema: Columns = NO_COLUMNS
    key: tuple[int, ...] | None = None
    append_only: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint; `expression` is SQL text."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class UniqueConstraint:
    """UNIQUE on column positions; `oid` and `name` are those of its index."""

    oid: int
    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ForeignReference:
    """A declared, not enforced foreign key."""

    name: str
    columns: tuple[int, ...]
    table_oid: int
    references: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity or serial column: `sequence_oid` counts for it. `kind`: always, by default, serial."""

    kind: str
    sequence_oid: int


@dataclass(frozen=True, slots=True)
class Table(Relation):
    """A table. The mappings are by column name; defaults, generated columns and checks are SQL texts.

    Without primary key the last column is `_row_id` (int8, hidden), which is then the key;
    `primary_key` is the declared key only. `options` and `connector` texts are as in `Source`.
    """

    primary_key: tuple[int, ...] | None = None
    primary_key_name: str = ""
    primary_key_oid: int = 0
    defaults: Mapping[str, str] = field(default_factory=dict)
    generated: Mapping[str, str] = field(default_factory=dict)
    identities: Mapping[str, Identity] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    uniques: tuple[UniqueConstraint, ...] = ()
    foreign_keys: tuple[ForeignReference, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    on_conflict: str = ""
    version_columns: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    temporary: bool = False

    @property
    def has_row_id(self) -> bool:
        return bool(len(self.schema)) and self.schema[-1].name == ROW_ID and self.schema[-1].hidden


@dataclass(frozen=True, slots=True)
class Source(Relation):
    """Rows from a connector. `options` are WITH (…) with the format's as `format`, `encode`, …"""

    options: Mapping[str, str] = field(default_factory=dict)
    generated: Mapping[str, str] = field(default_factory=dict)
    watermarks: Mapping[str, str] = field(default_factory=dict)
    stored: bool = False


@dataclass(frozen=True, slots=True)
class View(Relation):
    """`query` is the SQL text behind AS; `search_path` that under which it is to be read, `literals` the
    TimeZone and DateStyle by which its dates and times are."""

    query: str = ""
    search_path: tuple[str, ...] = ("public",)
    literals: tuple[str, str] = LITERALS
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class MaterializedView(Relation):
    query: str = ""
    search_path: tuple[str, ...] = ("public",)
    literals: tuple[str, str] = LITERALS
    emit_on_window_close: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SystemRelation(Relation):
    """A read-only relation that the server computes; never stored in the catalogue's rows.

    `view`: shown as a view in pg_class, otherwise as a table.
    """

    view: bool = True


@dataclass(frozen=True, slots=True)
class IndexKey:
    """`column` is a position of the table, −1 when `expression` (SQL text) is indexed."""

    column: int
    expression: str = ""
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Index(Entry):
    table_oid: int = 0
    keys: tuple[IndexKey, ...] = ()
    include: tuple[int, ...] = ()
    unique: bool = False
    method: str = "btree"
    where: str = ""


@dataclass(frozen=True, slots=True)
class Sink(Entry):
    """Changes of `from_oid`, or of a query of its own, written to a connector or to table `into_oid`."""

    from_oid: int = 0
    query: str = ""
    search_path: tuple[str, ...] = ("public",)
    into_oid: int = 0
    schema: Columns = NO_COLUMNS
    key: tuple[int, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sequence(Entry):
    """A sequence's description; its counter is state of the engine. `owner`: (table oid, column)."""

    start: int = 1
    increment: int = 1
    minimum: int = 1
    maximum: int = 9223372036854775807
    cycle: bool = False
    type_name: str = "int8"
    owner: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Subscription(Entry):
    from_oid: int = 0
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connection(Entry):
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Secret(Entry):
    value: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema(Entry):
    """A namespace. Its own `schema_name` is empty."""
