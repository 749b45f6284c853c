"""ALTER: the statement, and a class for each of its actions. Import them from `statements.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .statements_base import ColumnName, ObjectName, SqlExpression, Statement
from .statements_ddl import CheckConstraint, ColumnDefinition, ForeignKey, KeyConstraint
from .typename import TypeName


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
class ResetSource:
    """`ALTER SOURCE s RESET`: go on although records are gone."""


@dataclass(frozen=True, slots=True)
class OwnerTo:
    role: str


AlterAction = (
    AddColumn | DropColumn | RenameTo | RenameColumn | RenameConstraint | SetSchema | AlterColumnDefault
    | AlterColumnType | AlterColumnNotNull | AddConstraint | DropConstraint | SwapWith | ApplyReplacement
    | SetOptions | ResetOptions | ResetSource | OwnerTo
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alter(Statement):
    """ALTER kind name action, …; `kind` as in `Drop`."""

    kind: str
    name: ObjectName
    actions: tuple[AlterAction, ...]
    if_exists: bool = False
