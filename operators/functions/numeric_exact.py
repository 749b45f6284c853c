"""Arithmetic and mathematics of numeric, over both physical forms (`storage.decimals`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import decimals
from ...storage import decimals_rounding as rounding
from ...storage import decimals_value as exact
from ...storage import types as t
from ...storage.types import Type
from .ordering import numeric_of, numeric_text
from .registry import Kernel, TypeRule, scalar
from .vector import as_array, each, native, null_safe

if TYPE_CHECKING:
    from ..node import EpochContext

_Two = Callable[[pa.Array, pa.Array, Type, Type], pa.Array]
_One = Callable[[pa.Array, Type], pa.Array]


def _binary(function: _Two) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        a, b = args
        return function(a, b, numeric_of(a), numeric_of(b))

    return kernel


def _unary(function: _One) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        return function(args[0], numeric_of(args[0]))

    return kernel


def _of_two(rule: Callable[[Type, Type], Type]) -> TypeRule:
    return lambda types: rule(types[0], types[1])


def _of_one(rule: Callable[[Type], Type]) -> TypeRule:
    return lambda types: rule(types[0])


_BINARY: list[tuple[str, _Two, TypeRule, str]] = [
    ("+", decimals.add, _of_two(decimals.add_type), "Sum."),
    ("-", decimals.subtract, _of_two(decimals.subtract_type), "Difference."),
    ("*", decimals.multiply, _of_two(decimals.multiply_type), "Product."),
    ("/", decimals.divide, _of_two(decimals.divide_type), "Quotient, at least 16 significant digits."),
    ("%", decimals.modulo, _of_two(decimals.modulo_type), "Remainder with the sign of the dividend."),
    ("mod", decimals.modulo, _of_two(decimals.modulo_type), "Remainder with the sign of the dividend."),
    ("^", decimals.power, lambda types: t.NUMERIC, "Power."),
    ("power", decimals.power, lambda types: t.NUMERIC, "Power."),
    ("pow", decimals.power, lambda types: t.NUMERIC, "Power."),
    ("log", decimals.logarithm, lambda types: t.NUMERIC, "Logarithm of the second to the base of the first."),
    ("div", decimals.integer_quotient, _of_two(lambda a, b: decimals.integral_type(a) if b.scale is not None
     else t.NUMERIC), "Quotient truncated to an integer."),
]  # fmt: skip


def _log10(array: pa.Array, type_: Type) -> pa.Array:
    base = pa.array(["10"] * len(array), pa.string())
    return decimals.logarithm(base, array, t.NUMERIC, type_)


_UNARY: list[tuple[str, _One, TypeRule, str]] = [
    ("-", decimals.negate, _of_one(decimals.negate_type), "The value with its sign changed."),
    ("abs", decimals.absolute, _of_one(decimals.negate_type), "Absolute value."),
    ("@", decimals.absolute, _of_one(decimals.negate_type), "Absolute value."),
    ("sign", decimals.sign, _of_one(decimals.integral_type), "−1, 0 or 1."),
    ("ceil", rounding.ceiling, _of_one(decimals.integral_type), "Nearest integer not below."),
    ("ceiling", rounding.ceiling, _of_one(decimals.integral_type), "Nearest integer not below."),
    ("floor", rounding.floor, _of_one(decimals.integral_type), "Nearest integer not above."),
    ("round", rounding.round_to, _of_one(decimals.integral_type), "Nearest integer, ties away from zero."),
    ("trunc", rounding.truncate, _of_one(decimals.integral_type), "Integer part."),
    ("sqrt", decimals.square_root, lambda types: t.NUMERIC, "Square root."),
    ("exp", decimals.exponential, lambda types: t.NUMERIC, "e to the power."),
    ("ln", decimals.natural_logarithm, lambda types: t.NUMERIC, "Natural logarithm."),
    ("log", _log10, lambda types: t.NUMERIC, "Logarithm to the base 10."),
    ("log10", _log10, lambda types: t.NUMERIC, "Logarithm to the base 10."),
]  # fmt: skip


def _documented(kernel: Kernel, doc: str) -> Kernel:
    kernel.__doc__ = doc
    return kernel


for _name, _function, _rule, _doc in _BINARY:
    scalar(_name, (t.NUMERIC, t.NUMERIC), _rule)(_documented(_binary(_function), _doc))
for _name, _one, _rule, _doc in _UNARY:
    scalar(_name, (t.NUMERIC,), _rule)(_documented(_unary(_one), _doc))


@scalar("+", (t.NUMERIC,), _of_one(decimals.negate_type))
@null_safe
def _identity(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The value itself."""
    return args[0]


def _digits(truncating: bool) -> Kernel:
    shorten = rounding.truncate if truncating else rounding.round_to

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        array, digits = as_array(args[0], length), args[1]
        type_ = numeric_of(array)
        constant = digits.as_py() if isinstance(digits, pa.Scalar) else None
        if constant is not None and rounding.round_type(type_, constant).scale is not None:
            return numeric_text(shorten(array, type_, constant))
        return rounding.round_each(array, as_array(digits, length), type_, truncating)

    return kernel


scalar("round", (t.NUMERIC, t.INT4), t.NUMERIC)(_documented(_digits(False), "Rounded to that many decimals."))
scalar("trunc", (t.NUMERIC, t.INT4), t.NUMERIC)(_documented(_digits(True), "Cut to that many decimals."))


def _of_texts(function: Callable[..., Any], arrow: pa.DataType) -> Kernel:
    """A kernel over the texts of the values, whichever form the columns have."""
    inner = each(function, arrow)

    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        return inner([numeric_text(arg) for arg in args], length, context)

    return kernel


def _scale(text: str) -> int | None:
    return None if text[-1] in "Ny" else len(text.partition(".")[2])


def _min_scale(text: str) -> int | None:
    return None if text[-1] in "Ny" else len(text.partition(".")[2].rstrip("0"))


def _trim_scale(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _gcd(a: str, b: str) -> str:
    if "N" in a or "N" in b or "y" in a or "y" in b:
        return "NaN"
    x, y = abs(exact.parse(a)), abs(exact.parse(b))
    scale = max(exact.scale_of(x), exact.scale_of(y))
    while y:
        x, y = y, exact.modulo(x, y)
    return exact.to_text(exact.rounded(x, scale))


def _lcm(a: str, b: str) -> str:
    if "N" in a or "N" in b or "y" in a or "y" in b:
        return "NaN"
    x, y = exact.parse(a), exact.parse(b)
    scale = max(exact.scale_of(x), exact.scale_of(y))
    if not x or not y:
        return exact.to_text(exact.rounded(x * 0, scale))
    part = exact.parse(_gcd(a, b))
    product = exact.multiply(exact.integer_quotient(x, part), y)
    return exact.to_text(exact.rounded(abs(product), scale))


for _name, _fn, _result, _doc in (
    ("scale", _scale, t.INT4, "Digits after the point as displayed."),
    ("min_scale", _min_scale, t.INT4, "Digits after the point that are needed."),
    ("trim_scale", _trim_scale, t.NUMERIC, "The value without trailing zeros."),
):
    scalar(_name, (t.NUMERIC,), _result)(_documented(_of_texts(_fn, _result.arrow), _doc))
for _name, _fn2, _doc in (
    ("gcd", _gcd, "Greatest common divisor."),
    ("lcm", _lcm, "Least common multiple."),
):
    scalar(_name, (t.NUMERIC, t.NUMERIC), t.NUMERIC)(_documented(_of_texts(_fn2, pa.string()), _doc))
