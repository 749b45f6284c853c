"""Typed expressions: frozen trees whose every node knows its SQL type.

The binder makes them, with names resolved and every coercion an explicit `Cast`; `evaluate.py`
computes them over a batch. `Column.index` is a position in the input row (for a join condition:
left columns, then right columns).

`OuterColumn` and `Subquery` exist only between translation and decorrelation: `verify` refuses
them afterwards. `Parameter` is replaced by a `Literal` before execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from ..storage.types import BOOL, TIMESTAMPTZ, Type
from .fields import field_names

if TYPE_CHECKING:
    from .functions.registry import ScalarFunction
    from .node import Node


class Expr:
    """Base of all expressions; each is a frozen dataclass with a `type`."""

    type: Type

    @property
    def children(self) -> tuple[Expr, ...]:
        found: list[Expr] = []
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Expr):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(v for v in value if isinstance(v, Expr))
        return tuple(found)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        queue: Iterator[Expr] = iter(children)
        changed: dict[str, object] = {}
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Expr):
                changed[name] = next(queue)
            elif isinstance(value, tuple) and any(isinstance(v, Expr) for v in value):
                changed[name] = tuple(next(queue) if isinstance(v, Expr) else v for v in value)
        return replace(self, **changed)  # pyright: ignore[reportArgumentType,reportCallIssue,reportUnknownVariableType]


@dataclass(frozen=True, slots=True)
class ColumnRef(Expr):
    """Column `index` of the input row."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant. `value` is what `pyarrow.array([value], type.arrow)` takes, None for NULL.

    So: int, float, bool, str, bytes, Decimal for a fixed-scale numeric, text for an unconstrained
    one, days for date, µs since 1970 for timestamps, 16 bytes for interval and uuid, list for arrays.
    """

    value: object
    type: Type

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (repr(self.value), self.type) == (repr(other.value), other.type)


@dataclass(frozen=True, slots=True)
class Parameter(Expr):
    """`$number`, 1-based, of a prepared statement."""

    number: int
    type: Type


@dataclass(frozen=True, slots=True)
class Now(Expr):
    """now(): the time of the epoch or of the transaction."""

    type: Type = TIMESTAMPTZ


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar function or operator; arguments already have the types the overload declares."""

    function: ScalarFunction
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """Conversion of `arg` to `type`. `explicit` as in `x::t` (truncates varchar(n) silently)."""

    arg: Expr
    type: Type
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class And(Expr):
    """Three-valued AND; an argument is evaluated only on rows no earlier one made false."""

    args: tuple[Expr, ...]
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class Or(Expr):
    """Three-valued OR; an argument is evaluated only on rows no earlier one made true."""

    args: tuple[Expr, ...]
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class Not(Expr):
    arg: Expr
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    """`arg IS NULL`, or with `negated` `IS NOT NULL`."""

    arg: Expr
    negated: bool = False
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class IsTruth(Expr):
    """`arg IS [NOT] TRUE/FALSE/UNKNOWN`; `truth` is True, False or None."""

    arg: Expr
    truth: bool | None
    negated: bool = False
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class IsDistinct(Expr):
    """`left IS DISTINCT FROM right`, or with `negated` `IS NOT DISTINCT FROM`."""

    left: Expr
    right: Expr
    negated: bool = False
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """`CASE WHEN conditions[i] THEN results[i] … ELSE otherwise END`; branches only where needed."""

    conditions: tuple[Expr, ...]
    results: tuple[Expr, ...]
    otherwise: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Coalesce(Expr):
    """The first argument that is not NULL; later ones are evaluated only where needed."""

    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class InList(Expr):
    """`arg IN (items)`, items of the type of `arg`, with SQL's NULL rule."""

    arg: Expr
    items: tuple[Expr, ...]
    negated: bool = False
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class ArrayExpr(Expr):
    """`ARRAY[items]`."""

    items: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class AnyAll(Expr):
    """`left op ANY (array)`, or ALL; `function` compares `left` with one element."""

    left: Expr
    function: ScalarFunction
    array: Expr
    every: bool = False
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class OuterColumn(Expr):
    """Column `index` of the row of the query `depth` levels out (1 = the immediately enclosing)."""

    depth: int
    index: int
    type: Type


class SubqueryKind(Enum):
    SCALAR = "scalar"
    EXISTS = "exists"
    ANY = "any"
    """`args op ANY (subquery)`, which is what IN (subquery) is."""
    ALL = "all"
    ARRAY = "array"
    """`ARRAY(subquery)`."""


@dataclass(frozen=True, slots=True)
class Subquery(Expr):
    """A subquery used as a value.

    For ANY and ALL, `test` is the condition over (the outer row's columns, then the subquery's).
    """

    kind: SubqueryKind
    query: Node
    type: Type
    test: Expr | None = None
    negated: bool = False


def rewrite_expr(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`change` applied to every expression of the tree, children first."""
    children = expr.children
    if children:
        changed = tuple(rewrite_expr(child, change) for child in children)
        if any(a is not b for a, b in zip(children, changed, strict=True)):
            expr = expr.with_children(changed)
    return change(expr)


def walk_expr(expr: Expr) -> Iterator[Expr]:
    """Every expression of the tree, children first."""
    for child in expr.children:
        yield from walk_expr(child)
    yield expr


def columns_of(expr: Expr) -> set[int]:
    """Positions of the input columns that `expr` reads."""
    return {e.index for e in walk_expr(expr) if isinstance(e, ColumnRef)}
