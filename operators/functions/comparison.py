"""Comparison operators of every type: = <> < <= > >=, and `distinct` for IS DISTINCT FROM.

As PostgreSQL compares, not as Arrow does: NaN equals NaN and is above every number, character(n)
ignores trailing blanks, intervals compare by length with a month of 30 days, numerics by value over
both physical forms, text by bytes (C collation), arrays element by element, jsonb by its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.types import Type
from .ordering import sign
from .registry import Kernel, scalar
from .vector import native, valid_of, values

if TYPE_CHECKING:
    from ..node import EpochContext

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")

_ARROW: dict[str, Callable[[Any, Any], pa.Array]] = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
    ">=": pc.greater_equal,
}  # fmt: skip
_UFUNCS: dict[str, np.ufunc] = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip
_SIGN: dict[str, Callable[[Any], Any]] = {
    "=": lambda s: s == 0, "<>": lambda s: s != 0, "<": lambda s: s < 0, "<=": lambda s: s <= 0,
    ">": lambda s: s > 0, ">=": lambda s: s >= 0,
}  # fmt: skip

PLAIN_TYPES = (
    "bool", "int2", "int4", "int8", "oid", "xid",
    "text", "varchar", "name", "char", "bytea", "uuid", "date", "time", "timestamp",
    "timestamptz",
)  # fmt: skip
"""Types whose Arrow arrays compare as SQL does."""


def _plain_kernel(symbol: str) -> Kernel:
    compare = _ARROW[symbol]

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Compares two values."""
        return compare(args[0], args[1])

    kernel.ufunc = _UFUNCS[symbol]  # pyright: ignore[reportFunctionMemberAccess]
    return kernel


def _has_nan(argument: pa.Array | pa.Scalar) -> bool:
    if isinstance(argument, pa.Scalar):
        return argument.as_py() != argument.as_py()
    return bool(np.isnan(values(argument)).any())


def _float_kernel(symbol: str) -> Kernel:
    compare = _ARROW[symbol]

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Compares two floating-point numbers; NaN equals NaN and is greater than any other."""
        result = compare(args[0], args[1])
        if not any(_has_nan(arg) for arg in args):
            return result
        nans = [pc.is_nan(arg) for arg in args]
        # With a NaN about, compare (is NaN, value) pairs instead.
        left, right = nans
        same = pc.equal(left, right)
        among_numbers = pc.if_else(pc.or_(left, right), compare(pa.scalar(0), pa.scalar(0)), result)
        return pc.if_else(
            same, among_numbers, _ARROW[symbol](pc.cast(left, pa.int8()), pc.cast(right, pa.int8()))
        )

    return kernel


def _sign_kernel(symbol: str, left: Type, right: Type) -> Kernel:
    decide = _SIGN[symbol]

    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Compares two values."""
        return pa.array(decide(sign(args[0], args[1], left, right, context)))

    return kernel


def _register() -> None:
    integers, floats = (t.INT2, t.INT4, t.INT8), (t.FLOAT4, t.FLOAT8)
    moments = (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ)
    plain = [(Type(name), Type(name)) for name in PLAIN_TYPES]
    plain += [(a, b) for a in integers for b in integers if a != b]
    for symbol in COMPARISONS:
        for pair in plain:
            scalar(symbol, pair, t.BOOL)(_plain_kernel(symbol))
        for pair in product(floats, floats):
            scalar(symbol, pair, t.BOOL)(_float_kernel(symbol))
        for type_ in (t.NUMERIC, t.INTERVAL, t.BPCHAR, t.JSONB, Type("anyarray")):
            scalar(symbol, (type_, type_), t.BOOL)(_sign_kernel(symbol, type_, type_))
        for a, b in product(moments, moments):
            if a != b:
                volatility = "stable" if t.TIMESTAMPTZ in (a, b) else "immutable"
                scalar(symbol, (a, b), t.BOOL, volatility=volatility)(_sign_kernel(symbol, a, b))


_register()


def distinct(
    left: pa.Array, right: pa.Array, left_type: Type, right_type: Type, context: EpochContext
) -> npt.NDArray[np.bool_]:
    """Whether two columns differ on each row, NULL being a value equal to itself."""
    if (
        left_type.name in PLAIN_TYPES
        and left.type == right.type
        and not (left.null_count or right.null_count)
    ):
        return pc.not_equal(left, right).to_numpy(zero_copy_only=False)
    valid = valid_of((left, right))
    if valid is None:
        return sign(left, right, left_type, right_type, context) != 0
    differs = left.is_null().to_numpy(zero_copy_only=False) != right.is_null().to_numpy(zero_copy_only=False)
    both = np.flatnonzero(valid)
    if len(both):
        indices = pa.array(both)
        part = sign(left.take(indices), right.take(indices), left_type, right_type, context)
        differs[both] = part != 0
    return differs
