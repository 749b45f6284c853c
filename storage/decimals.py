"""Arithmetic on numeric columns, both physical forms, with PostgreSQL's scales.

Each operation has a rule giving the result's type from the arguments' types, and a function on columns
returning an array of that type: `add_type(a, b)` and `add(a, b, type_a, type_b)`. All types here are
numeric; integers enter by `from_integers` (scale 0). NULL in, NULL out. Columns of fixed scale are
computed on two 64-bit limbs (`decimals_limbs.py`), the text form value by value (`decimals_value.py`).

Errors carry `rows`: 22003 for more than 38 digits in the fixed form, 22012 for division by zero.
Scales: + − % give the larger scale, × the sum of both (text form when beyond 38), / √ exp ln ^ the text
form, since there the display scale depends on each value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import decimals_functions as functions
from . import decimals_limbs as limbs
from . import decimals_value as value
from .arrow_compute import pc
from .decimals_limbs import Limbs
from .errors import DivisionByZero, NumericOutOfRange
from .textform_rows import SMALL, convert_each, fixed_values, from_values, raise_at, valid_mask
from .types import NUMERIC, NUMERIC_PRECISION, Type, fixed_numeric, numeric_modifier

__all__ = ["numeric_modifier"]

Int64s = npt.NDArray[np.int64]


def parse_numeric(type_: Type, text: str) -> Decimal | str:
    """One value in the physical form of `type_`. Raises 22P02 and 22003."""
    parsed = value.fit(type_, value.read(text))
    return value.to_text(parsed) if type_.scale is None else parsed


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


def round_type(a: Type, digits: int | None) -> Type:
    """Of round(a, digits) and trunc(a, digits); `digits` None when it is not a constant."""
    if a.scale is None or digits is None or max(digits, 0) > NUMERIC_PRECISION:
        return NUMERIC
    return fixed_numeric(max(digits, 0))


def integral_type(a: Type) -> Type:
    """Of ceil, floor, div and sign."""
    return NUMERIC if a.scale is None else fixed_numeric(0)


# Conversions.


def to_limbs(array: pa.Array) -> tuple[Int64s, Int64s]:
    """(high, low) 64-bit halves of the unscaled values of a decimal128 column, 0 where NULL."""
    found = limbs.of_array(array)
    return found.high, found.low.view(np.int64)


def from_limbs(high: Int64s, low: Int64s, scale: int, like: pa.Array | None = None) -> pa.Array:
    """The decimal128(38, scale) column of two halves as `to_limbs` gives them."""
    return limbs.to_array(Limbs(high, low.view(np.uint64)), scale, like)


def to_decimals(array: pa.Array, type_: Type) -> list[Decimal | None]:
    """Each value as Decimal, whichever form the column has."""
    if type_.scale is not None:
        return array.to_pylist()
    return [None if text is None else Decimal(text) for text in array.to_pylist()]


def from_decimals(values: list[Decimal | None], type_: Type) -> pa.Array:
    """A column of `type_` from values of its scale. Raises 22003 beyond 38 digits."""
    if type_.scale is None:
        return pa.array([None if v is None else value.to_text(v) for v in values], pa.string())
    try:
        return pa.array(values, type_.arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        scale = type_.scale
        wrong = [i for i, v in enumerate(values) if v is not None and _unfit(v, scale)]
        raise_at(value.overflow(), wrong)
        raise


def _unfit(number: Decimal, scale: int) -> bool:
    return not number.is_finite() or (bool(number) and number.adjusted() + scale >= NUMERIC_PRECISION)


def from_integers(array: pa.Array) -> pa.Array:
    """int2/4/8 as `fixed_numeric(0)`."""
    if len(array) <= SMALL:
        return pa.array(array.to_pylist(), pa.decimal128(NUMERIC_PRECISION, 0))
    return limbs.to_array(limbs.of_int64(fixed_values(array, array.type.to_pandas_dtype())), 0, array)


def to_integers(array: pa.Array, type_: Type, target: Type) -> pa.Array:
    """Rounded to int2/4/8, ties away from zero. Raises 22003, 0A000 for NaN."""
    bits = target.info.size * 8
    sql_name = target.info.sql_name
    if type_.scale is not None and len(array) > SMALL:
        narrow = limbs.scale_down(limbs.of_array(array), type_.scale).narrow()
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if narrow is not None and (bits == 64 or bool(((narrow >= low) & (narrow <= high)).all())):
            return from_values(narrow.astype(target.arrow.to_pandas_dtype()), target.arrow, array)
    numbers = to_decimals(array, type_)
    return pa.array(convert_each(numbers, lambda v: value.to_integer(v, sql_name, bits)), target.arrow)


def from_floats(array: pa.Array) -> pa.Array:
    """float4/float8 in text form, at 6 or 15 significant digits, as PostgreSQL casts them."""
    digits = 6 if pa.types.is_float32(array.type) else 15
    texts = convert_each(array.to_pylist(), lambda v: value.to_text(value.from_float(v, digits)))
    return pa.array(texts, pa.string())


def to_floats(array: pa.Array, type_: Type, target: Type) -> pa.Array:
    """As float8 or float4. Raises 22003 when out of range."""
    if len(array) > SMALL and target.name == "float8":
        texts = pc.cast(array, pa.string())
        result = pc.cast(texts, pa.float64())
        found = fixed_values(result, np.float64)
        if bool((np.isfinite(found) & (found != 0) | ~valid_mask(array)).all()):
            return result
    numbers = to_decimals(array, type_)
    floats = convert_each(numbers, lambda v: value.to_float(v, target.name))
    return pc.cast(pa.array(floats, pa.float64()), target.arrow)


def rescale(array: pa.Array, source: Type, target: Type) -> pa.Array:
    """A numeric as another numeric type: rounded to its scale, checked against its precision (22003)."""
    if source.scale is not None and target.scale is not None and len(array) > SMALL:
        change = target.scale - source.scale
        found = limbs.of_array(array)
        if change < 0:
            found = limbs.scale_down(found, -change)
            wrong = np.zeros(len(array), dtype=bool)
        else:
            found, wrong = limbs.scale_up(found, change)
        if not (wrong.any() or _beyond(found, target).any()):
            return limbs.to_array(found, target.scale, array)
    elif source.scale is None and target.scale is None and target.typmod < 0:
        return array
    return from_decimals(convert_each(to_decimals(array, source), lambda v: value.fit(target, v)), target)


def _beyond(found: Limbs, target: Type) -> npt.NDArray[np.bool_]:
    if target.typmod < 0:
        return limbs.too_long(found)
    precision, _ = numeric_modifier(target.typmod)
    bound = limbs.POWERS[precision]
    size = limbs.magnitude(found)
    limit = limbs.of_list([bound])
    return limbs.compare(size, Limbs(limit.high, limit.low)) >= 0


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
    _check(wrong_x | wrong_y, like)
    return x, y


def _check(wrong: npt.NDArray[np.bool_], like: pa.Array | None) -> None:
    if wrong.any():
        if like is not None:
            wrong = wrong & valid_mask(like)
        if wrong.any():
            raise_at(value.overflow(), np.flatnonzero(wrong))


def _linear(
    exact: Callable[[Limbs, Limbs], Limbs], operation: Callable[[Decimal, Decimal], Decimal],
    a: pa.Array, b: pa.Array, type_a: Type, type_b: Type,
) -> pa.Array:  # fmt: skip
    result = add_type(type_a, type_b)
    if result.scale is None or len(a) <= SMALL:
        return _each(operation, a, b, type_a, type_b, result)
    like = _valid_pair(a, b)
    total = exact(*_aligned(a, b, type_a, type_b, like))
    _check(limbs.too_long(total), like)
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
    _check(wrong, like)
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


def _map(array: pa.Array, type_: Type, operation: Callable[[Decimal], Decimal], result: Type) -> pa.Array:
    return from_decimals(convert_each(to_decimals(array, type_), operation), result)


def negate(array: pa.Array, type_: Type) -> pa.Array:
    if type_.scale is None or len(array) <= SMALL:
        return _map(array, type_, value.negate, type_)
    return limbs.to_array(limbs.negate(limbs.of_array(array)), type_.scale, array)


def absolute(array: pa.Array, type_: Type) -> pa.Array:
    if type_.scale is None or len(array) <= SMALL:
        return _map(array, type_, value.absolute, type_)
    return limbs.to_array(limbs.magnitude(limbs.of_array(array)), type_.scale, array)


def sign(array: pa.Array, type_: Type) -> pa.Array:
    return _map(array, type_, value.sign, integral_type(type_))


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
        return _map(array, type_, operation, result)
    found, wrong = limbs.of_array(array), np.zeros(len(array), dtype=bool)
    if digits >= type_.scale:
        found, wrong = limbs.scale_up(found, digits - type_.scale)
    elif type_.scale - digits > NUMERIC_PRECISION:
        found = limbs.of_int64(np.zeros(len(array), np.int64))
    else:
        found = limbs.scale_down(found, type_.scale - digits, rounding)
    if digits < 0:
        found, wrong = limbs.scale_up(found, min(-digits, NUMERIC_PRECISION))
    _check(wrong, array)
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


def square_root(array: pa.Array, type_: Type) -> pa.Array:
    """Text form. Raises 2201F below zero."""
    return _map(array, type_, functions.square_root, NUMERIC)


def exponential(array: pa.Array, type_: Type) -> pa.Array:
    """Text form. Raises 22003."""
    return _map(array, type_, functions.exponential, NUMERIC)


def natural_logarithm(array: pa.Array, type_: Type) -> pa.Array:
    """Text form. Raises 2201E."""
    return _map(array, type_, functions.natural_logarithm, NUMERIC)


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


# For aggregates.


def sum_by_group(
    array: pa.Array, weights: Int64s | None, groups: Int64s, count: int
) -> tuple[Int64s, Int64s]:
    """(high, low) halves of Σ weight × value per group 0 … count−1 of a decimal128 column; NULL is 0.

    `weights` None stands for all ones. Exact; raises 22003 when a sum exceeds 38 digits, with `rows` the
    groups concerned. Contributions of several calls add up by `add_limbs`.
    """
    if len(array) <= SMALL and count <= SMALL:
        return _sum_few(array, weights, groups, count)
    total, wrong = limbs.sum_by_group(limbs.of_array(array), weights, groups, count)
    _check(wrong, None)
    return total.high, total.low.view(np.int64)


def _sum_few(array: pa.Array, weights: Int64s | None, groups: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """`sum_by_group` of a few rows in plain Python."""
    totals = [0] * count
    factors = [1] * len(array) if weights is None else weights.tolist()
    rows = zip(limbs.of_array(array).to_list(), factors, groups.tolist(), strict=True)
    for number, factor, group in rows:
        totals[group] += number * factor
    wrong = [group for group, total in enumerate(totals) if abs(total) >= limbs.POWERS[NUMERIC_PRECISION]]
    if wrong:
        raise_at(value.overflow(), wrong)
    found = limbs.of_list(totals)
    return found.high, found.low.view(np.int64)


def add_limbs(high: Int64s, low: Int64s, other_high: Int64s, other_low: Int64s) -> tuple[Int64s, Int64s]:
    """Sum of two columns of halves. Raises 22003 with `rows` beyond 38 digits."""
    total = limbs.add(Limbs(high, low.view(np.uint64)), Limbs(other_high, other_low.view(np.uint64)))
    _check(limbs.too_long(total), None)
    return total.high, total.low.view(np.int64)


def mean(sums: pa.Array, counts: Int64s, type_: Type) -> pa.Array:
    """sum / count in text form with PostgreSQL's scale of avg; NULL where the count is 0.

    `sums` is a numeric column of `type_`.
    """
    if type_.scale is not None:
        known = valid_mask(sums) & (counts != 0)
        like = None if known.all() else pa.array(known, mask=~known)  # NULL where the mean is.
        return _divide_fixed(limbs.of_array(sums).to_list(), counts.tolist(), type_, fixed_numeric(0), like)
    pairs = [
        None if total is None or count == 0 else (total, Decimal(count))
        for total, count in zip(to_decimals(sums, type_), counts.tolist(), strict=True)
    ]
    return from_decimals(convert_each(pairs, lambda pair: value.divide(*pair)), NUMERIC)
