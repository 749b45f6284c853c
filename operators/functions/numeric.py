"""Integer and floating-point arithmetic and mathematics.

Integers never wrap: 22003 with the rows. Floats overflow and underflow with 22003 as in PostgreSQL,
while infinities that were there before pass. Exact numerics are in `numeric_exact.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import DivisionByZero, NumericOutOfRange
from ...storage.types import Type
from .registry import Kernel, scalar
from .vector import as_array, dtype_of, fail, from_numpy, native, null_safe, values

if TYPE_CHECKING:
    from ..node import EpochContext

INTEGER_TYPES = (t.INT2, t.INT4, t.INT8)
_WIDTH = {"int2": 0, "int4": 1, "int8": 2}


def out_of_range(type_: Type) -> str:
    return f"{type_.info.sql_name} out of range"


def fail_valid(
    kind: Any, message: str, bad: npt.NDArray[np.bool_], args: Sequence[pa.Array], **fields: str
) -> None:
    """`fail`, not counting rows on which an argument is NULL."""
    if bad.any():
        for arg in args:
            if arg.null_count:
                bad = bad & arg.is_valid().to_numpy(zero_copy_only=False)
        fail(kind, message, bad, **fields)


_CHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked,
}  # fmt: skip


def _integer_kernel(symbol: str, type_: Type) -> Kernel:
    checked = _CHECKED[symbol]

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Integer arithmetic."""
        try:
            return checked(args[0], args[1])
        except pa.ArrowInvalid:
            _integer_overflow(symbol, type_, [as_array(arg, length) for arg in args])
            raise

    return kernel


def _integer_overflow(symbol: str, type_: Type, args: list[pa.Array]) -> None:
    """Finds the rows whose result does not fit, by exact Python integers (an error is rare)."""
    a, b = (values(arg).astype(object) for arg in args)
    exact = a + b if symbol == "+" else a - b if symbol == "-" else a * b
    info = np.iinfo(values(pa.array([], type_.arrow)).dtype)
    bad = ((exact < info.min) | (exact > info.max)).astype(np.bool_)
    fail_valid(NumericOutOfRange, out_of_range(type_), bad, args)


def _wider(a: Type, b: Type) -> Type:
    return a if _WIDTH[a.name] >= _WIDTH[b.name] else b


def _divide_kernel(type_: Type) -> Kernel:
    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Integer division, truncated towards zero."""
        try:
            return pc.divide_checked(args[0], args[1])
        except pa.ArrowInvalid:
            _refuse_division(type_, [as_array(arg, length) for arg in args])
            raise

    return kernel


def _refuse_division(type_: Type, args: list[pa.Array]) -> None:
    """Raises what is wrong with a division that Arrow refused."""
    a, b = values(args[0]), values(args[1])
    fail_valid(DivisionByZero, "division by zero", b == 0, args)
    lowest = np.iinfo(values(pa.array([], type_.arrow)).dtype).min
    fail_valid(NumericOutOfRange, out_of_range(type_), (a == lowest) & (b == -1), args)


def _modulo_kernel(type_: Type) -> Kernel:
    dtype = dtype_of(type_.arrow)

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Remainder with the sign of the dividend."""
        by = args[1].as_py() if isinstance(args[1], pa.Scalar) else None
        if by not in (None, 0, -1) and isinstance(args[0], pa.Array):
            return from_numpy(np.fmod(values(args[0]), dtype.type(by)), type_.arrow, args[:1])
        args = [as_array(arg, length) for arg in args]
        a, b = values(args[0]), values(args[1])
        fail_valid(DivisionByZero, "division by zero", b == 0, args)
        b = np.where((b == 0) | (b == -1), b.dtype.type(1), b)  # x % −1 is 0, and must not trap
        return from_numpy(np.fmod(a, b), type_.arrow, args)

    return kernel


def _float_result(
    result: npt.NDArray[Any],
    args: Sequence[pa.Array],
    operands: Sequence[npt.NDArray[Any]],
    arrow: pa.DataType,
    zero_from: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """Checks overflow (infinite from finite) and underflow (0 where `zero_from` says it cannot be)."""
    infinite = np.isinf(result)
    if infinite.any():
        for operand in operands:
            infinite &= ~np.isinf(operand)
        fail_valid(NumericOutOfRange, "value out of range: overflow", infinite, args)
    if zero_from is not None:
        tiny = (result == 0) & zero_from
        fail_valid(NumericOutOfRange, "value out of range: underflow", tiny, args)
    return from_numpy(result, arrow, args)


def _float_kernel(symbol: str, type_: Type) -> Kernel:
    wide = type_.name == "float8"
    dtype = np.float64 if wide else np.float32

    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Floating-point arithmetic."""
        a, b = values(args[0]).astype(dtype, copy=False), values(args[1]).astype(dtype, copy=False)
        with np.errstate(all="ignore"):
            if symbol == "+":
                return _float_result(a + b, args, (a, b), type_.arrow)
            if symbol == "-":
                return _float_result(a - b, args, (a, b), type_.arrow)
            if symbol == "*":
                return _float_result(a * b, args, (a, b), type_.arrow, (a != 0) & (b != 0))
            fail_valid(DivisionByZero, "division by zero", (b == 0) & ~np.isnan(a), args)
            return _float_result(a / b, args, (a, b), type_.arrow, (a != 0) & ~np.isinf(b))

    return kernel


def _register_arithmetic() -> None:
    for a in INTEGER_TYPES:
        for b in INTEGER_TYPES:
            result = _wider(a, b)
            for symbol in "+-*":
                scalar(symbol, (a, b), result)(_integer_kernel(symbol, result))
            scalar("/", (a, b), result)(_divide_kernel(result))
        for name in ("%", "mod"):
            scalar(name, (a, a), a)(_modulo_kernel(a))
    for a in (t.FLOAT4, t.FLOAT8):
        for b in (t.FLOAT4, t.FLOAT8):
            result = t.FLOAT8 if t.FLOAT8 in (a, b) else t.FLOAT4
            for symbol in "+-*/":
                scalar(symbol, (a, b), result)(_float_kernel(symbol, result))


_register_arithmetic()


def _negate_kernel(type_: Type) -> Kernel:
    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """The value with its sign changed."""
        try:
            return pc.negate_checked(args[0])
        except pa.ArrowInvalid:
            data = values(args[0])
            fail_valid(NumericOutOfRange, out_of_range(type_), data == np.iinfo(data.dtype).min, args)
            raise

    return kernel


def _abs_kernel(type_: Type) -> Kernel:
    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Absolute value."""
        try:
            return pc.abs_checked(args[0])
        except pa.ArrowInvalid:
            data = values(args[0])
            fail_valid(NumericOutOfRange, out_of_range(type_), data == np.iinfo(data.dtype).min, args)
            raise

    return kernel


@native
def _identity(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
    """The value itself."""
    return args[0]


for _type in (*INTEGER_TYPES, t.FLOAT4, t.FLOAT8):
    scalar("-", (_type,), _type)(_negate_kernel(_type))
    scalar("+", (_type,), _type)(_identity)
    scalar("abs", (_type,), _type)(_abs_kernel(_type))
    scalar("@", (_type,), _type)(_abs_kernel(_type))
