"""Arithmetic on numeric columns, both physical forms, with PostgreSQL's scales.

Each operation has a rule giving the result's type from the arguments' types, and a function on columns
returning an array of that type: `add_type(a, b)` and `add(a, b, type_a, type_b)`. All types here are
numeric; integers enter by `from_integers` (`decimals_convert.py`), with scale 0. NULL in, NULL out. Columns
of fixed scale are computed on two 64-bit limbs (`decimals_limbs.py`), the text form value by value
(`decimals_value.py`). Rounding is in `decimals_rounding.py`.

Errors carry `rows`: 22003 for more than 38 digits in the fixed form, 22012 for division by zero.
Scales: + − % give the larger scale, × the sum of both (text form when beyond 38), / √ exp ln ^ the text
form, since there the display scale depends on each value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import decimals_functions as functions
from . import decimals_limbs as limbs
from . import decimals_value as value
from .arrow_compute import pc
from .decimals_convert import check_fit, from_decimals, map_each, to_decimals
from .decimals_limbs import Limbs
from .errors import DivisionByZero, NumericOutOfRange
from .textform_rows import SMALL, convert_each, raise_at, valid_mask
from .types import NUMERIC, NUMERIC_PRECISION, Type, fixed_numeric

Int64s = npt.NDArray[np.int64]


def add_type(a: Type, b: Type) -> Type:
    """Of a + b, a − b and a % b."""
    if a.scale is None or b.scale is None:
        return NUMERIC
    return fixed_numeric(max(a.scale, b.scale))


subtract_type = add_type
modulo_type = add_type


def multiply_type(a: Type, b: Type) -> Type:
    if a.scale is None or b.scale is None or a.scale + b.scale > NUMERIC_PRECISION:
        return NUMERIC
    return fixed_numeric(a.scale + b.scale)


def divide_type(a: Type, b: Type) -> Type:
    return NUMERIC


def negate_type(a: Type) -> Type:
    """Of −a, abs(a)."""
    return a.bare()


def integral_type(a: Type) -> Type:
    """Of ceil, floor, div and sign."""
    return NUMERIC if a.scale is None else fixed_numeric(0)


# Operations.


def _valid_pair(a: pa.Array, b: pa.Array) -> pa.Array | None:
    """An array that is NULL where either is, for its validity; None when nothing is NULL."""
    if not (a.null_count or b.null_count):
        return None
    return pc.if_else(pc.and_(a.is_valid(), b.is_valid()), True, pa.scalar(None, pa.bool_()))


def _each(
    operation: Callable[[Decimal, Decimal], Decimal],
    a: pa.Array, b: pa.Array, type_a: Type, type_b: Type, result: Type,
) -> pa.Array:  # fmt: skip
    pairs = [
        None if x is None or y is None else (x, y)
        for x, y in zip(to_decimals(a, type_a), to_decimals(b, type_b), strict=True)
    ]
    return from_decimals(convert_each(pairs, lambda pair: operation(*pair)), result)


def _aligned(
    a: pa.Array, b: pa.Array, type_a: Type, type_b: Type, like: pa.Array | None
) -> tuple[Limbs, Limbs]:
    assert type_a.scale is not None
    assert type_b.scale is not None
    scale = max(type_a.scale, type_b.scale)
    x, wrong_x = limbs.scale_up(limbs.of_array(a), scale - type_a.scale)
    y, wrong_y = limbs.scale_up(limbs.of_array(b), scale - type_b.scale)
    check_fit(wrong_x | wrong_y, like)
    return x, y


def _linear(
    exact: Callable[[Limbs, Limbs], Limbs], operation: Callable[[Decimal, Decimal], Decimal],
    a: pa.Array, b: pa.Array, type_a: Type, type_b: Type,
) -> pa.Array:  # fmt: skip
    result = add_type(type_a, type_b)
    if result.scale is None or len(a) <= SMALL:
        return _each(operation, a, b, type_a, type_b, result)
    like = _valid_pair(a, b)
    total = exact(*_aligned(a, b, type_a, type_b, like))
    check_fit(limbs.too_long(total), like)
    return limbs.to_array(total, result.scale, like)


def add(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    return _linear(limbs.add, value.add, a, b, type_a, type_b)


def subtract(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    return _linear(limbs.subtract, value.subtract, a, b, type_a, type_b)


def multiply(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    result = multiply_type(type_a, type_b)
    if result.scale is None or len(a) <= SMALL:
        return _each(value.multiply, a, b, type_a, type_b, result)
    like = _valid_pair(a, b)
    product, wrong = limbs.multiply(limbs.of_array(a), limbs.of_array(b))
    check_fit(wrong, like)
    return limbs.to_array(product, result.scale, like)


def divide(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    """a / b in text form. Raises 22012."""
    if type_a.scale is not None and type_b.scale is not None:
        return _divide_fixed(
            limbs.of_array(a).to_list(), limbs.of_array(b).to_list(), type_a, type_b, _valid_pair(a, b)
        )
    return _each(value.divide, a, b, type_a, type_b, NUMERIC)


def _divide_fixed(a: list[int], b: list[int], type_a: Type, type_b: Type, like: pa.Array | None) -> pa.Array:
    """Quotients of unscaled values."""
    scale_a, scale_b = type_a.scale, type_b.scale
    assert scale_a is not None
    assert scale_b is not None
    pairs: list[tuple[int, int] | None] = list(zip(a, b, strict=True))
    if like is not None:
        pairs = [
            pair if known else None for pair, known in zip(pairs, valid_mask(like).tolist(), strict=True)
        ]
    texts = convert_each(pairs, lambda pair: value.divide_unscaled(pair[0], scale_a, pair[1], scale_b))
    return pa.array(texts, pa.string())


def modulo(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    """a % b, sign of a. Raises 22012."""
    result = modulo_type(type_a, type_b)
    if result.scale is None or len(a) <= SMALL:
        return _each(value.modulo, a, b, type_a, type_b, result)
    like = _valid_pair(a, b)
    x, y = (part.narrow() for part in _aligned(a, b, type_a, type_b, like))
    if x is None or y is None:
        return _each(value.modulo, a, b, type_a, type_b, result)
    zero = (y == 0) & (valid_mask(like) if like is not None else True)
    if zero.any():
        raise_at(DivisionByZero("division by zero"), np.flatnonzero(zero))
    return limbs.to_array(limbs.of_int64(np.fmod(x, np.where(y == 0, 1, y))), result.scale, like)


def integer_quotient(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    """div(a, b), cut towards zero; type `integral_type(add_type(a, b))`. Raises 22012."""
    return _each(value.integer_quotient, a, b, type_a, type_b, integral_type(add_type(type_a, type_b)))


def power(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> pa.Array:
    """a ^ b in text form. Raises 2201F and 22003."""
    return _each(functions.power, a, b, type_a, type_b, NUMERIC)


def logarithm(base: pa.Array, a: pa.Array, type_base: Type, type_a: Type) -> pa.Array:
    """log(base, a) in text form. Raises 2201E."""
    return _each(functions.logarithm, base, a, type_base, type_a, NUMERIC)


def negate(array: pa.Array, type_: Type) -> pa.Array:
    if type_.scale is None or len(array) <= SMALL:
        return map_each(array, type_, value.negate, type_)
    return limbs.to_array(limbs.negate(limbs.of_array(array)), type_.scale, array)


def absolute(array: pa.Array, type_: Type) -> pa.Array:
    if type_.scale is None or len(array) <= SMALL:
        return map_each(array, type_, value.absolute, type_)
    return limbs.to_array(limbs.magnitude(limbs.of_array(array)), type_.scale, array)


def sign(array: pa.Array, type_: Type) -> pa.Array:
    return map_each(array, type_, value.sign, integral_type(type_))


def square_root(array: pa.Array, type_: Type) -> pa.Array:
    """Text form. Raises 2201F below zero."""
    return map_each(array, type_, functions.square_root, NUMERIC)


def exponential(array: pa.Array, type_: Type) -> pa.Array:
    """Text form. Raises 22003."""
    return map_each(array, type_, functions.exponential, NUMERIC)


def natural_logarithm(array: pa.Array, type_: Type) -> pa.Array:
    """Text form. Raises 2201E."""
    return map_each(array, type_, functions.natural_logarithm, NUMERIC)


def compare(a: pa.Array, b: pa.Array, type_a: Type, type_b: Type) -> npt.NDArray[np.int8]:
    """−1, 0 or 1 a row, NaN greatest; 0 where either is NULL."""
    if type_a.scale is not None and type_b.scale is not None and len(a) > SMALL:
        try:
            result = limbs.compare(*_aligned(a, b, type_a, type_b, None))
            result[~(valid_mask(a) & valid_mask(b))] = 0
            return result
        except NumericOutOfRange:
            pass  # A value that does not fit the other's scale: compared one by one.
    pairs = zip(to_decimals(a, type_a), to_decimals(b, type_b), strict=True)
    found = [0 if x is None or y is None else value.compare(x, y) for x, y in pairs]
    return np.array(found, np.int8)
