"""Conversions between types: `CASTS` says which exist and when they may be applied.

An entry's context is PostgreSQL's `pg_cast.castcontext`: "implicit" (anywhere), "assignment" (INSERT,
UPDATE) or "explicit" (CAST only). Besides the entries every type converts to text by assignment and
from text explicitly, through its text form, and an array converts as its elements do; `cast_context`
and `cast_kernel` know that. A cast of a type to itself applies the modifier (varchar(n), numeric(p,s)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from ...storage.arrow_compute import pc
from ...storage.types import STRINGS, VECTORS, Type

if TYPE_CHECKING:
    from ..node import EpochContext

CastKernel = Callable[[pa.Array, Type, Type, "EpochContext", bool], pa.Array]
"""(array, source, target, context, explicit) → array of `target.arrow`; passes NULLs through."""


@dataclass(frozen=True, slots=True)
class CastEntry:
    """One way from a type to another, as in `pg_cast`."""

    context: str
    kernel: CastKernel


CASTS: dict[tuple[str, str], CastEntry] = {}


def cast(source: str, target: str, context: str) -> Callable[[CastKernel], CastKernel]:
    """Registers the decorated kernel as the cast between two types named as in `Type.name`."""

    def register(kernel: CastKernel) -> CastKernel:
        CASTS[source, target] = CastEntry(context, kernel)
        return kernel

    return register


def cast_context(source: Type, target: Type) -> str | None:
    """When a value of `source` may become a `target`: "implicit", "assignment", "explicit" or never.

    Only the names count. A type converts to itself implicitly, and `unknown` to everything.
    """
    if source.same(target) or source.name == "unknown":
        return "implicit"
    if source.element is not None and target.element is not None and target.name not in VECTORS:
        return cast_context(source.element, target.element)
    entry = CASTS.get((source.name, target.name))
    if entry is not None:
        return entry.context
    if target.category == "S":
        return "assignment"
    return "explicit" if source.category == "S" else None


@lru_cache(4096)
def cast_kernel(source: Type, target: Type) -> CastKernel | None:
    """The conversion from `source` to `target`, or None when there is none."""
    entry = CASTS.get((source.name, target.name))
    if entry is not None:
        return entry.kernel
    if source.element is not None and target.element is not None:
        return _cast_elements if cast_kernel(source.element, target.element) else None
    from . import casts_text

    if target.name in STRINGS:
        return casts_text.to_string
    if source.name in STRINGS:
        return casts_text.from_string
    return _same if source.same(target) else None


def cast_array(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool = False
) -> pa.Array:
    """`array` of `source` as `target`. Raises 22P02, 22003, 22001 … with `rows`."""
    if source == target:
        return array
    kernel = cast_kernel(source, target)
    assert kernel is not None, (source, target)
    result = kernel(array, source, target, context, explicit)
    assert result.type == target.arrow, (source, target, result.type)
    return result


def _same(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return array


def _cast_elements(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    assert source.element is not None and target.element is not None
    inner = cast_array(array.flatten(), source.element, target.element, context, explicit)
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    sums = pc.cumulative_sum(lengths.cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), sums])
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(offsets, inner, type=target.arrow, mask=mask)
