"""`RowTemplate`: a prepared write of one row, so that the rows of many statements are computed as columns.

INSERT … VALUES of one row, and UPDATE and DELETE of the row with one primary key, have a template if what
they compute depends on nothing but the values of `$1`, `$2` …, the row that is there, and now(). Statements
of one template then differ in their values only, and a batch of them is a batch of rows. An INSERT may also
have *personal* expressions (nextval, random, what depends on the session): its row is computed by itself, and
only what comes after that is done for many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..operators import expr as e
from ..operators.expr import Cast, ColumnRef, Expr, Now, Parameter, walk_expr
from ..operators.node import Node
from ..operators.project import Project
from ..operators.values import Values
from ..storage.schema import Schema
from ..storage.types import TIMESTAMPTZ, Type
from .defaults import bound_checks
from .dml import ConflictAction, TableWrite, WriteKind
from .key_lookup import KeyLookup
from .rewriting import replace_expr

NOW = -1
"""As the parameter of a source: the statement's now()."""

_CLASSES = (
    e.ColumnRef, e.Literal, e.Parameter, e.Call, e.Cast, e.And, e.Or, e.Not, e.IsNull, e.IsTruth,
    e.IsDistinct, e.Case, e.Coalesce, e.InList, e.AnyAll,
)  # fmt: skip
_INTEGERS = ("int2", "int4", "int8")
_FIXED_SIZE = frozenset(
    {*_INTEGERS, "float4", "float8", "bool", "numeric", "date", "timestamp", "interval", "uuid"}
)
_STRINGS = frozenset({"text", "varchar", "bpchar"})
_CASTABLE = _FIXED_SIZE - {"date", "timestamp", "interval"} | _STRINGS
"""Among these no conversion depends on a session's settings."""
_SHORT = frozenset({"||", "lower", "upper", "btrim", "ltrim", "rtrim", "left", "right", "substr"})
"""Functions whose texts are about as long as what they are given."""


@dataclass(frozen=True, slots=True, eq=False)
class RowTemplate:
    """What statements of one prepared write have in common.

    `sources` are columns made of the statements' values: (position of the parameter or `NOW`, the type it is
    read as). Each layer of expressions is over the columns of the one before, then the sources; the first is
    over the sources only (INSERT), or over the row found by `keys` (expressions over the sources) and the
    sources. The last one gives the rows of `write.node`.
    """

    write: TableWrite
    schema: Schema
    sources: tuple[tuple[int, Type], ...]
    keys: tuple[Expr, ...] | None
    layers: tuple[tuple[Expr, ...], ...]
    personal: bool
    fresh: bool
    """An INSERT that only the primary key can be in the way of."""


def row_template(write: TableWrite) -> RowTemplate | None:
    """The template of a planned write, None if it is not of the kind."""
    projections: list[tuple[Expr, ...]] = []
    node: Node = write.node
    while isinstance(node, Project):
        projections.insert(0, node.exprs)
        node = node.input
    making = _Making()
    personal = False
    keys: tuple[Expr, ...] | None = None
    if write.kind is WriteKind.INSERT:
        if not isinstance(node, Values) or len(node.rows) != 1:
            return None
        given, width = [node.rows[0], *projections], 0
        personal = not all(_impersonal(expr, now=True) for layer in given for expr in layer)
    else:
        if not _of_one_key(write, node) or not _moves_no_key(write, projections):
            return None
        assert isinstance(node, KeyLookup)
        given, width = projections, len(node.schema_)
        if not all(_impersonal(expr, now=True) for layer in (*given, node.keys[0]) for expr in layer):
            return None
        keys = tuple(making.over_sources(expr, 0) for expr in node.keys[0])
    if not _same_for_all(write):
        return None
    layers: list[tuple[Expr, ...]] = []
    for layer in given:
        layers.append(tuple(making.over_sources(expr, width) for expr in layer))
        width = len(layer)
    fresh = write.kind is WriteKind.INSERT and write.conflict is None and not write.table.uniques
    return RowTemplate(write, write.node.schema, tuple(making.sources), keys, tuple(layers), personal, fresh)


@dataclass(slots=True)
class _Making:
    """The sources needed so far."""

    sources: list[tuple[int, Type]] = field(default_factory=list)

    def over_sources(self, expr: Expr, width: int) -> Expr:
        """`expr` over rows of `width` columns, then the sources, in place of parameters and now()."""

        def change(part: Expr, level: int) -> Expr | None:
            if isinstance(part, Now):
                return self._column(NOW, TIMESTAMPTZ, width)
            if isinstance(part, Parameter):
                return self._column(part.number - 1, part.type, width)
            if (
                isinstance(part, Cast)
                and isinstance(part.arg, Parameter)
                and _widens(part.arg.type, part.type)
            ):
                return self._column(part.arg.number - 1, part.type, width)
            return None

        return replace_expr(expr, change)

    def _column(self, number: int, type_: Type, width: int) -> ColumnRef:
        wanted = (number, type_)
        if wanted not in self.sources:
            self.sources.append(wanted)
        return ColumnRef(width + self.sources.index(wanted), type_)


def _widens(source: Type, target: Type) -> bool:
    """Whether every value is the same whole number in both types."""
    if source.name not in _INTEGERS or target.name not in _INTEGERS:
        return False
    return _INTEGERS.index(source.name) <= _INTEGERS.index(target.name)


def _of_one_key(write: TableWrite, node: Node) -> bool:
    """Whether the rows come from the written table by one primary key."""
    return (
        isinstance(node, KeyLookup)
        and node.relation == write.table.id
        and node.columns is None
        and len(node.keys) == 1
    )


def _moves_no_key(write: TableWrite, projections: Sequence[tuple[Expr, ...]]) -> bool:
    """Whether unique columns stay as they are: what one statement frees another could then take."""
    if write.kind is WriteKind.DELETE:
        return len(projections) <= 1
    if len(projections) != 1:
        return False
    table, [row] = write.table, projections
    kept = {*(table.key or ()), *(i for unique in table.uniques for i in unique.columns)}
    width = len(table.schema)
    return all(isinstance(old := row[width + i], ColumnRef) and old.index == i for i in kept)


def _same_for_all(write: TableWrite) -> bool:
    """Whether constraints, ON CONFLICT and RETURNING are computed alike for every statement."""
    shared: list[Expr] = [condition for _, condition in bound_checks(write.table)]
    shared += write.returning or ()
    if write.conflict is not None:
        if not _can_conflict(write, write.conflict):
            return False
        shared += write.conflict.update or ()
        shared += [] if write.conflict.where is None else [write.conflict.where]
    return all(_impersonal(expr, now=False) and not _reads_parameters(expr) for expr in shared)


def _can_conflict(write: TableWrite, conflict: ConflictAction) -> bool:
    """With several constraints that decide, a row may be in the way of another and then not come itself.

    And DO UPDATE must leave unique columns as they are, like UPDATE.
    """
    table = write.table
    if conflict.arbiter is None:
        return not table.uniques
    if conflict.update is None:
        return True
    unique = [table.key or (), *(unique.columns for unique in table.uniques)]
    deciding, width = unique[conflict.arbiter], len(table.schema)
    for i in {i for columns in unique for i in columns}:
        new = conflict.update[i]
        if not isinstance(new, ColumnRef) or new.index not in ((i, width + i) if i in deciding else (i,)):
            return False
    return True


def _reads_parameters(expr: Expr) -> bool:
    return any(isinstance(part, Parameter) for part in walk_expr(expr))


def _impersonal(expr: Expr, now: bool) -> bool:
    """Whether the value depends on nothing but columns, parameters and, if allowed, now()."""
    return all(_plain(part, now) for part in walk_expr(expr))


def _plain(part: Expr, now: bool) -> bool:
    if isinstance(part, Now):
        return now
    if isinstance(part, e.Call):
        return part.function.volatility == "immutable" and (
            part.type.name in _FIXED_SIZE or (part.type.name in _STRINGS and part.function.name in _SHORT)
        )
    if isinstance(part, Cast):
        return part.arg.type == part.type or _castable((part.arg.type, part.type))
    return isinstance(part, _CLASSES)


def _castable(types: Iterable[Type]) -> bool:
    return all(type_.name in _CASTABLE for type_ in types)
