"""Taking conditions apart and putting them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..operators.expr import And, Call, Cast, Expr, Literal
from ..operators.functions.aggregates import AGGREGATES, AggregateFunction
from ..operators.functions.registry import SCALARS
from ..storage.types import BOOL, Type


def conjuncts(expr: Expr) -> list[Expr]:
    """The parts of a conjunction, nested ones too; TRUE has none."""
    if isinstance(expr, And):
        return [part for arg in expr.args for part in conjuncts(arg)]
    if isinstance(expr, Literal) and expr.value is True:
        return []
    return [expr]


def all_of(parts: Sequence[Expr]) -> Expr:
    """The conjunction of `parts`; TRUE of none."""
    if not parts:
        return Literal(True, BOOL)
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def condition_of(parts: Sequence[Expr]) -> Expr | None:
    """As `all_of`, None of none: what `Join.condition` wants."""
    return all_of(parts) if parts else None


def comparison(operator: str, left: Expr, right: Expr) -> Call:
    """`left operator right` of two values of one type."""
    for function in SCALARS[operator]:
        if all(arg.same(left.type) for arg in function.args) and len(function.args) == 2:
            return Call(function, (left, right), BOOL)
    for function in SCALARS[operator]:
        if len(function.args) == 2 and all(arg.name.startswith("any") for arg in function.args):
            return Call(function, (left, right), BOOL)
    raise AssertionError(f"no operator {operator} of {left.type}")


def equality(expr: Expr) -> tuple[Expr, Expr] | None:
    """Both sides of `a = b`, None of anything else."""
    if isinstance(expr, Call) and expr.function.name == "=" and len(expr.args) == 2:
        return expr.args[0], expr.args[1]
    return None


_WIDTHS = {"int2": 16, "int4": 32, "int8": 64}
_ALIKE = frozenset({"text", "varchar", "name"})
"""Strings whose equality is that of their characters (bpchar ignores blanks at the end)."""


def as_equal(expr: Expr, target: Type) -> Expr | None:
    """`expr` as a `target` such that equality with a `target` means what it meant before, or None.

    PostgreSQL compares integers of different widths, and strings of different types, without a cast.
    """
    if expr.type.same(target) and expr.type.arrow == target.arrow:
        return expr
    have, want = expr.type.name, target.name
    if have in _WIDTHS and want in _WIDTHS:
        if isinstance(expr, Literal) and isinstance(expr.value, int):
            fits = -(1 << (_WIDTHS[want] - 1)) <= expr.value < 1 << (_WIDTHS[want] - 1)
            return Literal(expr.value, Type(want)) if fits else None
        return Cast(expr, Type(want)) if _WIDTHS[have] < _WIDTHS[want] else None
    return Cast(expr, target) if have in _ALIKE and want in _ALIKE else None


def aggregate_function(name: str, args: Sequence[Type]) -> AggregateFunction:
    """The aggregate of these argument types, exact or polymorphic."""
    overloads: Iterable[AggregateFunction] = AGGREGATES[name]
    for function in overloads:
        if len(function.args) == len(args) and all(
            want.same(have) or want.name.startswith("any")
            for want, have in zip(function.args, args, strict=True)
        ):
            return function
    raise AssertionError(f"no aggregate {name}({', '.join(map(str, args))})")
