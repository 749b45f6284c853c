"""Strings and the texts of other values joined: `||`, concat, concat_ws.

What would be too long is refused before it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.room import VALUE_BYTES_MAX, check_column, check_value
from ...storage.types import Type
from .casts_text import to_string
from .registry import scalar
from .text import bytes_of
from .vector import native, null_safe, typed

if TYPE_CHECKING:
    from ..node import EpochContext

_S = pa.string()


def _joined(parts: Sequence[Any]) -> pa.Array:
    """The texts of each row one after the other. Raises before one, or all, would be too long."""
    size = sum(bytes_of(part) for part in parts)
    if size > VALUE_BYTES_MAX:
        lengths = [pc.cast(pc.fill_null(pc.binary_length(part), 0), pa.int64()) for part in parts]
        whole = lengths[0]
        for more in lengths[1:]:
            whole = pc.add(whole, more)
        check_value((whole.as_py() if isinstance(whole, pa.Scalar) else pc.max(whole).as_py()) + 4)
        check_column(whole.as_py() if isinstance(whole, pa.Scalar) else pc.sum(whole).as_py())
    return pc.binary_join_element_wise(*parts, pa.scalar("", _S))


@scalar("||", (t.TEXT, t.TEXT), t.TEXT)
@native
def _concatenate(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
    """Two strings as one."""
    return _joined(args)


def _as_text(array: pa.Array, type_: Type, context: EpochContext) -> pa.Array:
    return array if type_.name in ("text", "unknown") else output_text(array, type_, context)


def output_text(array: pa.Array, type_: Type, context: EpochContext) -> pa.Array:
    """The output form, as concat shows values: t and f for booleans."""
    if type_.name == "bool":
        return pc.if_else(array, "t", "f")
    return to_string(array, type_, t.TEXT, context, False)


def _join_any(left: Type, right: Type) -> None:
    @scalar("||", (left, right), t.TEXT, volatility="stable")
    @typed
    @null_safe
    def _kernel(
        args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
    ) -> pa.Array:
        """A string and the text of another value as one string."""
        parts = [_as_value(arg, type_, context) for arg, type_ in zip(args, types, strict=True)]
        return _joined(parts)


def _as_value(array: pa.Array, type_: Type, context: EpochContext) -> pa.Array:
    return array if type_.name in ("text", "unknown") else to_string(array, type_, t.TEXT, context, False)


_join_any(t.TEXT, Type("anynonarray"))
_join_any(Type("anynonarray"), t.TEXT)


@scalar("concat", (Type("any"),), t.TEXT, strict=False, variadic=True, volatility="stable")
@typed
def _concat(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The texts of all values that are not NULL, joined."""
    parts = [pc.fill_null(_as_text(a, ty, context), "") for a, ty in zip(args, types, strict=True)]
    return _joined(parts)


@scalar("concat_ws", (t.TEXT, Type("any")), t.TEXT, strict=False, variadic=True, volatility="stable")
@typed
def _concat_ws(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The texts of all values that are not NULL, joined with a separator."""
    parts = [_as_text(a, ty, context).to_pylist() for a, ty in zip(args[1:], types[1:], strict=True)]
    joined = [
        None if separator is None else separator.join(v for v in row if v is not None)
        for separator, *row in zip(args[0].to_pylist(), *parts, strict=True)
    ]
    return pa.array(joined, _S)
