"""128-bit integers as two numpy columns: the arithmetic under decimal128.

A column of unscaled decimals is `Limbs(high, low)`: `high` int64 and `low` uint64 of the two's
complement. Most real columns fit 64 bits, and each operation first looks whether they do. Products are
schoolbook in base 2^32 (Knuth, TAOCP vol. 2, 4.3.1, algorithm M).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .textform_rows import fixed_values, from_values, valid_mask

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_MASK32 = np.uint64(0xFFFFFFFF)
_SHIFT32 = np.uint64(32)
_MASK64 = (1 << 64) - 1
_LIMIT_HIGH, _LIMIT_LOW = np.uint64(10**38 >> 64), np.uint64(10**38 & _MASK64)
POWERS = tuple(10**k for k in range(39))


class Limbs(NamedTuple):
    """Signed 128-bit integers, one a row."""

    high: Int64s
    low: UInt64s

    def narrow(self) -> Int64s | None:
        """The same as int64, or None unless all rows fit."""
        values = self.low.view(np.int64)
        return values if np.array_equal(values >> 63, self.high) else None

    def to_list(self) -> list[int]:
        return [high << 64 | low for high, low in zip(self.high.tolist(), self.low.tolist(), strict=True)]


def of_array(array: pa.Array) -> Limbs:
    """The unscaled values of a decimal128 column; zero where NULL. Copies."""
    words = fixed_values(array, "V16").view(np.int64).reshape(-1, 2)
    high, low = words[:, 1].copy(), words[:, 0].copy()
    if array.null_count:
        null = ~valid_mask(array)
        high[null] = low[null] = 0
    return Limbs(high, low.view(np.uint64))


def to_array(limbs: Limbs, scale: int, like: pa.Array | None = None) -> pa.Array:
    """A decimal128(38, scale) column of these unscaled values, NULL where `like` is."""
    words = np.empty((len(limbs.high), 2), np.int64)
    words[:, 0], words[:, 1] = limbs.low.view(np.int64), limbs.high
    return from_values(words.reshape(-1).view("V16"), pa.decimal128(38, scale), like)


def of_int64(values: Int64s) -> Limbs:
    values = np.ascontiguousarray(values, np.int64)
    return Limbs(values >> 63, values.view(np.uint64))


def of_list(values: list[int]) -> Limbs:
    low = np.array([value & _MASK64 for value in values], np.uint64)
    return Limbs(np.array([value >> 64 for value in values], np.int64), low)


def add(a: Limbs, b: Limbs) -> Limbs:
    low = a.low + b.low
    return Limbs(a.high + b.high + (low < a.low), low)


def negate(a: Limbs) -> Limbs:
    low = ~a.low + np.uint64(1)
    return Limbs(~a.high + (low == 0), low)


def subtract(a: Limbs, b: Limbs) -> Limbs:
    return Limbs(a.high - b.high - (a.low < b.low), a.low - b.low)


def select(condition: Mask, a: Limbs, b: Limbs) -> Limbs:
    return Limbs(np.where(condition, a.high, b.high), np.where(condition, a.low, b.low))


def magnitude(a: Limbs) -> Limbs:
    return select(a.high < 0, negate(a), a) if (a.high < 0).any() else a


def too_long(a: Limbs) -> Mask:
    """Rows of more than 38 digits (for values that did not overflow 128 bits)."""
    if a.narrow() is not None:
        return np.zeros(len(a.high), dtype=bool)
    size = magnitude(a)
    high = size.high.view(np.uint64)
    return (high > _LIMIT_HIGH) | ((high == _LIMIT_HIGH) & (size.low >= _LIMIT_LOW))


def _wide_product(a: UInt64s, b: UInt64s) -> tuple[UInt64s, UInt64s]:
    """(high, low) of the 128-bit products."""
    a0, a1, b0, b1 = a & _MASK32, a >> _SHIFT32, b & _MASK32, b >> _SHIFT32
    low = a0 * b0
    middle = a0 * b1 + (low >> _SHIFT32)
    cross = a1 * b0 + (middle & _MASK32)
    high = a1 * b1 + (middle >> _SHIFT32) + (cross >> _SHIFT32)
    return high, cross << _SHIFT32 | low & _MASK32


def multiply(a: Limbs, b: Limbs) -> tuple[Limbs, Mask]:
    """The products, and the rows whose product has more than 38 digits."""
    x, y = a.narrow(), b.narrow()
    if x is not None and y is not None and _bound(x) * _bound(y) < 1 << 63:
        product = of_int64(x * y)
        return product, np.zeros(len(x), dtype=bool)
    negative = (a.high < 0) != (b.high < 0)
    a, b = magnitude(a), magnitude(b)
    high, low = _wide_product(a.low, b.low)
    a_high, b_high = a.high.view(np.uint64), b.high.view(np.uint64)
    wrong = (a_high != 0) & (b_high != 0)
    for x_high, y_low in ((a_high, b.low), (b_high, a.low)):
        if x_high.any():
            spill, cross = _wide_product(x_high, y_low)
            total = high + cross
            wrong |= (spill != 0) | (total < high)
            high = total
    wrong |= (high > _LIMIT_HIGH) | ((high == _LIMIT_HIGH) & (low >= _LIMIT_LOW))
    product = Limbs(high.view(np.int64), low)
    return select(negative, negate(product), product), wrong


def _bound(values: Int64s) -> int:
    """The largest absolute value."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def scale_up(a: Limbs, digits: int) -> tuple[Limbs, Mask]:
    """a × 10^digits, and the rows beyond 38 digits."""
    if digits == 0:
        return a, np.zeros(len(a.high), dtype=bool)
    factor = POWERS[digits]
    count = len(a.high)
    return multiply(a, Limbs(np.full(count, factor >> 64), np.full(count, factor & _MASK64, np.uint64)))


def scale_down(a: Limbs, digits: int, rounding: str = "half") -> Limbs:
    """a / 10^digits rounded: "half" (away from zero), "down" (to zero), "floor" or "ceiling"."""
    values = a.narrow()
    if values is not None and digits <= 18:
        return of_int64(_divide_narrow(values, POWERS[digits], rounding))
    return of_list([divide_integer(value, POWERS[digits], rounding) for value in a.to_list()])


def _divide_narrow(values: Int64s, divisor: int, rounding: str) -> Int64s:
    if divisor == 1:
        return values
    quotient = values // divisor
    rest = values - quotient * divisor
    if rounding == "floor":
        return quotient
    if rounding == "ceiling":
        return quotient + (rest != 0)
    if rounding == "down":
        return quotient + ((rest != 0) & (values < 0))
    half = divisor // 2
    return quotient + np.where(values < 0, rest > half, rest >= half)


def divide_integer(value: int, divisor: int, rounding: str) -> int:
    """One value of `scale_down`; `divisor` is positive."""
    if rounding == "floor":
        return value // divisor
    if rounding == "ceiling":
        return -(-value // divisor)
    quotient, rest = divmod(abs(value), divisor)
    if rounding == "half":
        quotient += 2 * rest >= divisor
    return -quotient if value < 0 else quotient


def compare(a: Limbs, b: Limbs) -> npt.NDArray[np.int8]:
    """−1, 0 or 1 a row."""
    greater = (a.high > b.high) | ((a.high == b.high) & (a.low > b.low))
    equal = (a.high == b.high) & (a.low == b.low)
    return greater.astype(np.int8) * 2 - 1 + equal
