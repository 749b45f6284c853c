"""Mathematical functions of floats, and the integer functions that are not plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import types as t
from ...storage.errors import (
    InvalidArgumentForLog,
    InvalidArgumentForPower,
    NumericOutOfRange,
    SqlError,
)
from ...storage.types import Type
from .numeric import INTEGER_TYPES, fail_valid, out_of_range
from .registry import Kernel, scalar
from .vector import each, from_numpy, null_safe, values

if TYPE_CHECKING:
    from ..node import EpochContext

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Domain = tuple[Callable[[Floats], Mask], type[SqlError], str]


class InvalidArgumentForWidthBucket(SqlError, code="2201G"): ...


_RANGE = "input is out of range"


def _outside(limit: float) -> Domain:
    return lambda x: np.abs(x) > limit, NumericOutOfRange, _RANGE


_NEGATIVE_ROOT: Domain = (
    lambda x: x < 0, InvalidArgumentForPower, "cannot take square root of a negative number",
)  # fmt: skip
_LOG_ZERO: Domain = (lambda x: x == 0, InvalidArgumentForLog, "cannot take logarithm of zero")
_LOG_NEGATIVE: Domain = (lambda x: x < 0, InvalidArgumentForLog, "cannot take logarithm of a negative number")
_INFINITE: Domain = (np.isinf, NumericOutOfRange, _RANGE)


def _half_even(x: Floats) -> Floats:
    return np.rint(x)


def _cot(x: Floats) -> Floats:
    return 1.0 / np.tan(x)


_UNARY: list[tuple[tuple[str, ...], Callable[[Any], Any], tuple[Domain, ...], str]] = [
    (("ceil", "ceiling"), np.ceil, (), "Nearest integer not below."),
    (("floor",), np.floor, (), "Nearest integer not above."),
    (("round",), _half_even, (), "Nearest integer, ties to even."),
    (("trunc",), np.trunc, (), "Integer part."),
    (("sign",), lambda x: (x > 0) * 1.0 - (x < 0), (), "−1, 0 or 1."),
    (("sqrt", "|/"), np.sqrt, (_NEGATIVE_ROOT,), "Square root."),
    (("cbrt", "||/"), np.cbrt, (), "Cube root."),
    (("exp",), np.exp, (), "e to the power."),
    (("ln",), np.log, (_LOG_ZERO, _LOG_NEGATIVE), "Natural logarithm."),
    (("log", "log10"), np.log10, (_LOG_ZERO, _LOG_NEGATIVE), "Logarithm to the base 10."),
    (("sin",), np.sin, (_INFINITE,), "Sine."),
    (("cos",), np.cos, (_INFINITE,), "Cosine."),
    (("tan",), np.tan, (_INFINITE,), "Tangent."),
    (("cot",), _cot, (_INFINITE,), "Cotangent."),
    (("asin",), np.arcsin, (_outside(1),), "Arc sine."),
    (("acos",), np.arccos, (_outside(1),), "Arc cosine."),
    (("atan",), np.arctan, (), "Arc tangent."),
    (("sinh",), np.sinh, (), "Hyperbolic sine."),
    (("cosh",), np.cosh, (), "Hyperbolic cosine."),
    (("tanh",), np.tanh, (), "Hyperbolic tangent."),
    (("asinh",), np.arcsinh, (), "Inverse hyperbolic sine."),
    (("acosh",), np.arccosh, ((lambda x: x < 1, NumericOutOfRange, _RANGE),), "Inverse hyperbolic cosine."),
    (("atanh",), np.arctanh, (_outside(1),), "Inverse hyperbolic tangent."),
    (("degrees",), np.degrees, (), "Radians as degrees."),
    (("radians",), np.radians, (), "Degrees as radians."),
]
_MAY_OVERFLOW = frozenset({"exp", "degrees"})


def _unary(name: str, function: Callable[[Any], Any], domains: tuple[Domain, ...], doc: str) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        x = values(args[0])
        with np.errstate(all="ignore"):
            for test, kind, message in domains:
                fail_valid(kind, message, test(x), args)
            result = function(x)
        if name in _MAY_OVERFLOW:
            lost = np.isinf(result) & ~np.isinf(x)
            fail_valid(NumericOutOfRange, "value out of range: overflow", lost, args)
            if name == "exp":
                gone = (result == 0) & ~np.isinf(x)
                fail_valid(NumericOutOfRange, "value out of range: underflow", gone, args)
        return from_numpy(result, pa.float64(), args)

    kernel.__doc__ = doc
    return kernel


for _names, _function, _domains, _doc in _UNARY:
    for _name in _names:
        scalar(_name, (t.FLOAT8,), t.FLOAT8)(_unary(_name, _function, _domains, _doc))


def _power(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The first raised to the power of the second."""
    x, y = values(args[0]), values(args[1])
    message = "zero raised to a negative power is undefined"
    fail_valid(InvalidArgumentForPower, message, (x == 0) & (y < 0), args)
    fractional = (x < 0) & (np.floor(y) != y) & ~np.isnan(y) & np.isfinite(y)
    message = "a negative number raised to a non-integer power yields a complex result"
    fail_valid(InvalidArgumentForPower, message, fractional, args)
    with np.errstate(all="ignore"):
        result = np.power(x, y)
    finite = np.isfinite(x) & np.isfinite(y)
    fail_valid(NumericOutOfRange, "value out of range: overflow", np.isinf(result) & finite, args)
    fail_valid(NumericOutOfRange, "value out of range: underflow", (result == 0) & finite & (x != 0), args)
    return from_numpy(result, pa.float64(), args)


for _name in ("power", "pow", "^"):
    scalar(_name, (t.FLOAT8, t.FLOAT8), t.FLOAT8)(null_safe(_power))


@scalar("atan2", (t.FLOAT8, t.FLOAT8), t.FLOAT8)
@null_safe
def _atan2(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Arc tangent of y/x."""
    return from_numpy(np.arctan2(values(args[0]), values(args[1])), pa.float64(), args)


@scalar("pi", (), t.FLOAT8)
def _pi(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """π."""
    return pa.repeat(pa.scalar(math.pi), length)


# Trigonometry in degrees: exact where the angle is (30°, 45°, 60° and their kin), as PostgreSQL scales it.

_SIN_30 = math.sin(math.radians(30.0))
_ONE_MINUS_COS_60 = 1.0 - math.cos(math.radians(60.0))


def _sin_first(x: float) -> float:
    if x <= 30.0:
        return math.sin(math.radians(x)) / _SIN_30 / 2.0
    return 1.0 - (1.0 - math.cos(math.radians(90.0 - x))) / _ONE_MINUS_COS_60 / 2.0


def _cos_first(x: float) -> float:
    if x <= 60.0:
        return 1.0 - (1.0 - math.cos(math.radians(x))) / _ONE_MINUS_COS_60 / 2.0
    return math.sin(math.radians(90.0 - x)) / _SIN_30 / 2.0


_TAN_45 = _sin_first(45.0) / _cos_first(45.0)
_COT_45 = _cos_first(45.0) / _sin_first(45.0)


def _quadrant(x: float) -> tuple[float, int, int]:
    """(angle in 0…90, sign of the sine, sign of the cosine)."""
    if math.isinf(x):
        raise NumericOutOfRange(_RANGE)
    x = math.fmod(x, 360.0)
    sine, cosine = (-1, 1) if x < 0 else (1, 1)
    x = abs(x)
    if x > 180.0:
        x, sine = 360.0 - x, -sine
    if x > 90.0:
        x, cosine = 180.0 - x, -1
    return x, sine, cosine


def _sind(x: float) -> float:
    """Sine of an angle in degrees."""
    angle, sine, _ = _quadrant(x)
    return sine * _sin_first(angle)


def _cosd(x: float) -> float:
    """Cosine of an angle in degrees."""
    angle, _, cosine = _quadrant(x)
    return cosine * _cos_first(angle)


def _tand(x: float) -> float:
    """Tangent of an angle in degrees."""
    angle, sine, cosine = _quadrant(x)
    if not (below := _cos_first(angle)):
        return math.copysign(math.inf, sine * cosine)
    found = sine * cosine * (_sin_first(angle) / below / _TAN_45)
    return found or 0.0


def _cotd(x: float) -> float:
    """Cotangent of an angle in degrees."""
    angle, sine, cosine = _quadrant(x)
    if not (below := _sin_first(angle)):
        return math.copysign(math.inf, sine * cosine)
    return sine * cosine * (_cos_first(angle) / below / _COT_45) or 0.0


def _nan_through(function: Callable[[float], float]) -> Callable[[float], float]:
    def guarded(x: float) -> float:
        return x if x != x else function(x)

    guarded.__doc__ = function.__doc__
    return guarded


def _asind(x: float) -> float:
    """Arc sine in degrees."""
    if abs(x) > 1:
        raise NumericOutOfRange(_RANGE)
    return math.copysign(_asin_first(abs(x)), x)


def _asin_first(x: float) -> float:
    if x <= 0.5:
        return math.asin(x) / math.asin(0.5) * 30.0
    return 90.0 - math.acos(x) / math.acos(0.5) * 60.0


def _acosd(x: float) -> float:
    """Arc cosine in degrees."""
    if abs(x) > 1:
        raise NumericOutOfRange(_RANGE)
    if x >= 0:
        return math.acos(x) / math.acos(0.5) * 60.0 if x >= 0.5 else 90.0 - _asin_first(x)
    return 90.0 + _asin_first(-x)


def _atand(x: float) -> float:
    """Arc tangent in degrees."""
    return math.atan(x) / math.atan(1.0) * 45.0


for _name, _fn in (
    ("sind", _sind), ("cosd", _cosd), ("tand", _tand), ("cotd", _cotd), ("asind", _asind),
    ("acosd", _acosd), ("atand", _atand),
):  # fmt: skip
    _kernel = each(_nan_through(_fn), pa.float64())
    _kernel.__doc__ = _fn.__doc__
    scalar(_name, (t.FLOAT8,), t.FLOAT8)(_kernel)


@scalar("atan2d", (t.FLOAT8, t.FLOAT8), t.FLOAT8)
@null_safe
def _atan2d(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Arc tangent of y/x in degrees."""
    angle = np.arctan2(values(args[0]), values(args[1]))
    return from_numpy(angle / math.atan(1.0) * 45.0, pa.float64(), args)


# Integers.


def _bits(symbol: str, type_: Type) -> Kernel:
    combine: Any = {"&": np.bitwise_and, "|": np.bitwise_or, "#": np.bitwise_xor}[symbol]

    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Bitwise and, or, exclusive or."""
        return from_numpy(combine(values(args[0]), values(args[1])), type_.arrow, args)

    return kernel


def _shift(symbol: str, type_: Type) -> Kernel:
    combine: Any = np.left_shift if symbol == "<<" else np.right_shift
    wide: Any = np.int64 if type_ == t.INT8 else np.int32

    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Bits shifted."""
        places = values(args[1]) & (63 if wide is np.int64 else 31)
        return from_numpy(combine(values(args[0]).astype(wide), places.astype(wide)), type_.arrow, args)

    return kernel


def _invert(type_: Type) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Bitwise not."""
        return from_numpy(~values(args[0]), type_.arrow, args)

    return kernel


def _common(name: str, type_: Type) -> Kernel:
    function = math.gcd if name == "gcd" else math.lcm
    limit = np.iinfo(values(pa.array([], type_.arrow)).dtype).max

    def one(a: int, b: int) -> int:
        found = function(a, b)
        if found > limit:
            raise NumericOutOfRange(out_of_range(type_))
        return found

    kernel = each(one, type_.arrow)
    kernel.__doc__ = "Greatest common divisor." if name == "gcd" else "Least common multiple."
    return kernel


for _type in INTEGER_TYPES:
    for _symbol in "&|#":
        scalar(_symbol, (_type, _type), _type)(_bits(_symbol, _type))
    for _symbol in ("<<", ">>"):
        scalar(_symbol, (_type, t.INT4), _type)(_shift(_symbol, _type))
    scalar("~", (_type,), _type)(_invert(_type))
    if _type != t.INT2:
        for _name in ("gcd", "lcm"):
            scalar(_name, (_type, _type), _type)(_common(_name, _type))


def _factorial(n: int) -> str:
    if n < 0:
        raise NumericOutOfRange("factorial of a negative number is undefined")
    if n > 32177:
        raise NumericOutOfRange("value overflows numeric format")
    return str(math.factorial(n))


_kernel = each(_factorial, pa.string())
_kernel.__doc__ = "Factorial."
scalar("factorial", (t.INT8,), t.NUMERIC)(_kernel)


def _width_bucket(operand: float, low: float, high: float, count: int) -> int:
    if count <= 0:
        raise InvalidArgumentForWidthBucket("count must be greater than zero")
    if operand != operand or low != low or high != high:
        raise InvalidArgumentForWidthBucket("operand, lower bound, and upper bound cannot be NaN")
    if math.isinf(low) or math.isinf(high):
        raise InvalidArgumentForWidthBucket("lower and upper bounds must be finite")
    if low == high:
        raise InvalidArgumentForWidthBucket("lower bound cannot equal upper bound")
    if low > high:
        return _width_bucket(-operand, -low, -high, count)
    if operand < low:
        return 0
    if operand >= high:
        if count == 2**31 - 1:
            raise NumericOutOfRange("integer out of range")
        return count + 1
    return min(int(count * ((operand - low) / (high - low))) + 1, count)


_kernel = each(_width_bucket, pa.int32())
_kernel.__doc__ = "Number of the bucket, of `count` equal ones between two bounds, that the operand is in."
scalar("width_bucket", (t.FLOAT8, t.FLOAT8, t.FLOAT8, t.INT4), t.INT4)(_kernel)
