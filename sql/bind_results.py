"""The result type of a chosen function, its pseudo-types resolved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..storage.types import Type, array_of

ANY_TYPES = frozenset({"any", "anyelement", "anyarray", "anynonarray", "anycompatible", "anycompatiblearray"})


class HasResult(Protocol):
    @property
    def args(self) -> tuple[Type, ...]: ...
    @property
    def result(self) -> Type | Callable[[tuple[Type, ...]], Type]: ...


def result_type(function: HasResult, args: tuple[Type, ...]) -> Type:
    """What `function` returns for arguments of the types `args` (already coerced)."""
    result = function.result
    if not isinstance(result, Type):
        return result(args)
    return resolve_pseudo(result, function.args, args)


def resolve_pseudo(wanted: Type, declared: tuple[Type, ...], args: tuple[Type, ...]) -> Type:
    """`wanted` of a declaration, a pseudo-type replaced by what `args` made of it."""
    if wanted.name not in ANY_TYPES:
        return wanted
    element = _element(declared, args)
    return array_of(element) if wanted.name.endswith("array") and wanted.name != "anynonarray" else element


def _element(declared: tuple[Type, ...], args: tuple[Type, ...]) -> Type:
    for i, arg in enumerate(args):
        name = declared[min(i, len(declared) - 1)].name
        if name in ("anyarray", "anycompatiblearray") and arg.element is not None:
            return arg.element
        if name in ("anyelement", "anynonarray", "anycompatible"):
            return arg
    raise AssertionError("a pseudo-type result needs a pseudo-type argument")
