"""Overload choice (PostgreSQL documentation, sections 10.2 and 10.3) over the function registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ..storage.types import Type


class Overload(Protocol):
    """What ScalarFunction, TableFunction and AggregateFunction have in common."""

    @property
    def name(self) -> str: ...
    @property
    def args(self) -> tuple[Type, ...]: ...


F = TypeVar("F", bound=Overload)


@dataclass(frozen=True, slots=True)
class Resolved(Generic[F]):
    """The chosen overload, and the type each argument is to be coerced to (pseudo-types resolved).

    A target that equals the argument's type but for modifier or scale needs no cast: the argument's own
    type is then given, so that a numeric keeps its physical scale.
    """

    function: F
    targets: tuple[Type, ...]


def resolve_function(
    name: str, args: Sequence[Type], overloads: Sequence[F], position: int = 0, shown: str = ""
) -> Resolved[F]:
    """The function `name(args)` means. UNKNOWN stands for untyped literals and parameters.

    Raises UndefinedFunction `function f(integer) does not exist`, AmbiguousFunction `… is not unique`.
    """
    raise NotImplementedError


def resolve_operator(
    symbol: str, left: Type | None, right: Type, overloads: Sequence[F], position: int = 0
) -> Resolved[F]:
    """The operator `left symbol right`; `left` None for a prefix operator.

    Raises UndefinedFunction `operator does not exist: integer + text`.
    """
    raise NotImplementedError
