"""Kernels of catalogue functions: plain Python functions of values that see the `SystemContext`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...operators.functions.registry import scalar
from ...operators.functions.vector import call_each, each, native
from ...storage.types import Type
from .registry import SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext


def catalog_function(
    name: str, *signatures: Sequence[Type], result: Type, strict: bool = True, volatility: str = "stable"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers `function(system, *values)` under each signature; strict ones are never called with NULL.

    Called once a distinct value where only one argument varies.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = _kernel(function, result.arrow, strict)
        for args in signatures:
            scalar(name, tuple(args), result, strict=strict, volatility=volatility)(kernel)
        return function

    return register


def _kernel(function: Callable[..., Any], arrow: pa.DataType, strict: bool) -> Any:
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        system = context.surroundings if context.surroundings is not None else _NOWHERE
        if not args:
            return pa.array([function(system)] * length, arrow)
        if not strict:
            return pa.array(call_each(lambda *row: function(system, *row), _rows(args)), arrow)
        return each(lambda *row: function(system, *row), arrow)(args, length, context)

    kernel.__doc__ = function.__doc__
    return native(kernel) if strict else kernel


def _rows(args: Sequence[pa.Array]) -> Any:
    return zip(*[arg.to_pylist() for arg in args], strict=True)


def _nowhere() -> SystemContext:
    """What functions see where there is no session: an empty catalogue."""
    from ..catalog import Catalog

    return SystemContext(Catalog.initial())


_NOWHERE = _nowhere()
