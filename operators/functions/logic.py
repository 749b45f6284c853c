"""GREATEST, LEAST and NULLIF, boolean equality helpers, and pg_typeof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...storage import types as t
from ...storage.types import Type, format_type
from .comparison import distinct
from .ordering import sign
from .registry import Kernel, scalar
from .vector import typed, values

if TYPE_CHECKING:
    from ..node import EpochContext

_ANY = Type("anycompatible")


def _first(types: tuple[Type, ...]) -> Type:
    return types[0].bare()


def _extreme(name: str) -> Kernel:
    wanted = 1 if name == "greatest" else -1

    @typed
    def kernel(
        args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
    ) -> pa.Array:
        """The greatest or least of the arguments that are not NULL."""
        best = args[0]
        for arg in args[1:]:
            best = _better(best, arg, types[0], wanted, context)
        return best

    return kernel


def _better(best: pa.Array, arg: pa.Array, type_: Type, wanted: int, context: EpochContext) -> pa.Array:
    """Each row's better of two values, NULL being worse than any."""
    known, candidate = values(best.is_valid()), values(arg.is_valid())
    change = candidate & ~known
    both = np.flatnonzero(known & candidate)
    if len(both):
        indices = pa.array(both)
        signs = sign(arg.take(indices), best.take(indices), type_, type_, context)
        change[both] = signs == wanted
    if not change.any():
        return best
    joined = pa.concat_arrays([best, arg])
    return joined.take(pa.array(np.arange(len(best)) + change * len(best)))


for _name in ("greatest", "least"):
    scalar(_name, (_ANY,), _first, strict=False, variadic=True)(_extreme(_name))


@scalar("nullif", (_ANY, _ANY), _first, strict=False)
@typed
def _nullif(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The first argument, or NULL when it equals the second."""
    same = ~distinct(args[0], args[1], types[0], types[1], context)
    if not same.any():
        return args[0]
    return args[0].take(pa.array(np.arange(length), mask=same))


@scalar("pg_typeof", (Type("any"),), t.REGTYPE, strict=False, volatility="stable")
@typed
def _typeof(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The type of the argument."""
    return pa.repeat(pa.scalar(types[0].oid, pa.int64()), length)


@scalar("format_type", (t.OID, t.INT4), t.TEXT, strict=False, volatility="stable")
def _format_type(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The SQL name of a type OID with its modifier."""
    pairs = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
    return pa.array([_type_name(oid, typmod) for oid, typmod in pairs], pa.string())


def _type_name(oid: int | None, typmod: int | None) -> str | None:
    if oid is None:
        return None
    if oid == 0:
        return "-"
    type_ = t.type_by_oid(oid, -1 if typmod is None else typmod)
    return "???" if type_ is None else format_type(type_)
