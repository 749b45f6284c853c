"""Rounding of numeric columns: round, trunc, ceil and floor, in both physical forms.

`round_type` is the rule for the result's type, as in `decimals.py`. Errors carry `rows`: 22003 for more than
38 digits in the fixed form.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from . import decimals_limbs as limbs
from . import decimals_value as value
from .decimals import integral_type
from .decimals_convert import check_fit, from_decimals, map_each, to_decimals
from .textform_rows import SMALL, convert_each
from .types import NUMERIC, NUMERIC_PRECISION, Type, fixed_numeric


def round_type(a: Type, digits: int | None) -> Type:
    """Of round(a, digits) and trunc(a, digits); `digits` None when it is not a constant."""
    if a.scale is None or digits is None or max(digits, 0) > NUMERIC_PRECISION:
        return NUMERIC
    return fixed_numeric(max(digits, 0))


def _shorten(
    array: pa.Array,
    type_: Type,
    digits: int,
    rounding: str,
    operation: Callable[[Decimal], Decimal],
    result: Type,
) -> pa.Array:
    """Rounds a column to a constant number of digits after (negative: before) the point."""
    if type_.scale is None or result.scale is None or len(array) <= SMALL:
        return map_each(array, type_, operation, result)
    found, wrong = limbs.of_array(array), np.zeros(len(array), dtype=bool)
    if digits >= type_.scale:
        found, wrong = limbs.scale_up(found, digits - type_.scale)
    elif type_.scale - digits > NUMERIC_PRECISION:
        found = limbs.of_int64(np.zeros(len(array), np.int64))
    else:
        found = limbs.scale_down(found, type_.scale - digits, rounding)
    if digits < 0:
        found, wrong = limbs.scale_up(found, min(-digits, NUMERIC_PRECISION))
    check_fit(wrong, array)
    return limbs.to_array(found, result.scale, array)


def round_to(array: pa.Array, type_: Type, digits: int = 0) -> pa.Array:
    """round(array, digits), ties away from zero; type `round_type(type_, digits)`."""
    result = round_type(type_, digits)
    return _shorten(array, type_, digits, "half", lambda v: value.round_to(v, digits), result)


def truncate(array: pa.Array, type_: Type, digits: int = 0) -> pa.Array:
    """trunc(array, digits); type `round_type(type_, digits)`."""
    result = round_type(type_, digits)
    return _shorten(array, type_, digits, "down", lambda v: value.truncate(v, digits), result)


def round_each(array: pa.Array, digits: pa.Array, type_: Type, truncating: bool = False) -> pa.Array:
    """round or trunc with a number of digits a row (int4); text form."""
    operation: Callable[[Decimal, int], Decimal] = value.truncate if truncating else value.round_to
    pairs: list[Any] = [
        None if x is None or n is None else (x, n)
        for x, n in zip(to_decimals(array, type_), digits.to_pylist(), strict=True)
    ]
    return from_decimals(convert_each(pairs, lambda pair: operation(*pair)), NUMERIC)


def ceiling(array: pa.Array, type_: Type) -> pa.Array:
    return _shorten(array, type_, 0, "ceiling", value.ceiling, integral_type(type_))


def floor(array: pa.Array, type_: Type) -> pa.Array:
    return _shorten(array, type_, 0, "floor", value.floor, integral_type(type_))
