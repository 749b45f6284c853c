"""Exact sums of integers by group, in numpy.

A weighted sum by group is `numpy.bincount`, which adds in float64: exact as long as no partial sum
can pass 2^53. Values too big for that are cut into 32-bit limbs summed one by one and put together in
128 bits; the rows are taken in pieces whose weights add up to no more than 2^20.

A 128-bit integer is a pair (low uint64, high int64), two's complement: the layout of decimal128.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
Wide = tuple[UInt64, Int64]

EXACT_MAX = 2**53
PIECE_WEIGHT_MAX = 2**20
_LIMB = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALL128 = (1 << 128) - 1


def counts(weights: Int64, ids: Int64, groups: int) -> Int64:
    """The sum of the weights of each group."""
    if len(weights) == 1:
        found = np.zeros(groups, np.int64)
        found[ids[0]] = weights[0]
        return found
    if groups == 1:
        return np.array([weights.sum()])
    if len(weights) and (weights == 1).all():
        return np.bincount(ids, minlength=groups)
    return np.bincount(ids, weights=weights, minlength=groups).astype(np.int64)


def pieces(weights: Int64) -> Iterator[slice]:
    """Slices of the rows, in order, whose absolute weights add up to at most PIECE_WEIGHT_MAX.

    A single row may weigh more.
    """
    total = int(np.abs(weights).sum())
    if total <= PIECE_WEIGHT_MAX:
        yield slice(0, len(weights))
        return
    sums = np.cumsum(np.abs(weights))
    start = 0
    while start < len(weights):
        before = int(sums[start - 1]) if start else 0
        stop = max(int(np.searchsorted(sums, before + PIECE_WEIGHT_MAX, "right")), start + 1)
        yield slice(start, stop)
        start = stop


def sum_by_group(data: npt.NDArray[Any], weights: Int64, ids: Int64, groups: int) -> Wide:
    """Σ weight · value of each group, of integers of at most 64 bits."""
    if not len(data):
        return np.zeros(groups, np.uint64), np.zeros(groups, np.int64)
    if len(data) == 1:
        total = int(data[0]) * int(weights[0])
        if -EXACT_MAX < total < EXACT_MAX:
            sums = np.zeros(groups, np.int64)
            sums[ids[0]] = total
            return widen(sums)
    largest = max(abs(int(data.max())), abs(int(data.min())))
    plain = bool((weights == 1).all())
    total = len(weights) if plain else int(np.abs(weights).sum())
    if largest * total < EXACT_MAX:
        weighted = data if plain else data * weights
        return widen(np.bincount(ids, weights=weighted, minlength=groups).astype(np.int64))
    data = data.astype(np.int64, copy=False)
    return limb_sums([data & 0xFFFFFFFF, data >> 32], weights, ids, groups)


def limb_sums(limbs: list[Int64], weights: Int64, ids: Int64, groups: int) -> Wide:
    """Σ weight · Σ limb_k · 2^(32 k) of each group, modulo 2^128; |limb| < 2^33."""
    result = np.zeros(groups, np.uint64), np.zeros(groups, np.int64)
    for piece in pieces(weights):
        if piece.stop - piece.start == 1:
            part = _one_row(limbs, weights, ids, groups, piece.start)
            result = add_wide(result, part)
            continue
        w, where = weights[piece], ids[piece]
        for k, limb in enumerate(limbs):
            part = np.bincount(where, weights=limb[piece] * w, minlength=groups).astype(np.int64)
            result = add_wide(result, shift_wide(widen(part), k))
    return result


def _one_row(limbs: list[Int64], weights: Int64, ids: Int64, groups: int, row: int) -> Wide:
    exact = int(weights[row]) * sum(int(limb[row]) << (32 * k) for k, limb in enumerate(limbs))
    low, high = np.zeros(groups, np.uint64), np.zeros(groups, np.int64)
    exact &= (1 << 128) - 1
    low[ids[row]] = exact & (2**64 - 1)
    high.view(np.uint64)[ids[row]] = exact >> 64
    return low, high


def widen(data: Int64) -> Wide:
    """64-bit integers as 128-bit ones."""
    return data.view(np.uint64), data >> 63


def add_wide(a: Wide, b: Wide) -> Wide:
    """The sum, modulo 2^128."""
    low = a[0] + b[0]
    return low, a[1] + b[1] + (low < a[0])


def shift_wide(a: Wide, limbs: int) -> Wide:
    """`a` · 2^(32 · limbs), modulo 2^128."""
    low, high = a
    if limbs >= 2:
        low, high, limbs = np.zeros_like(low), low.view(np.int64), limbs - 2
    if limbs == 1:
        high = (high << 32) | (low >> _LIMB).view(np.int64)
        low = low << _LIMB
    return low, high


def from_decimal(array: pa.Array) -> Wide:
    """The unscaled values of a decimal128 array; garbage behind NULLs."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), np.uint64), np.zeros(len(array), np.int64)
    words = np.frombuffer(buffer, np.uint64, 2 * len(array), 16 * array.offset)
    return words[::2], words[1::2].view(np.int64)


def words(array: pa.Array) -> Int64:
    """The two halves of each value of a decimal128 array one after the other, the low one first."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(2 * len(array), np.int64)
    return np.frombuffer(buffer, np.int64, 2 * len(array), 16 * array.offset)


def to_decimal(wide: Wide, scale: int, valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """A decimal128(38, scale) array of unscaled values; digits are not checked."""
    length = len(wide[0])
    words = np.empty(2 * length, np.int64)
    words[::2] = wide[0].view(np.int64)
    words[1::2] = wide[1]
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.decimal128(38, scale), length, [bits, pa.py_buffer(words)])


def add_decimals(a: pa.Array, b: pa.Array) -> pa.Array:
    """The sum of two decimal128 arrays of one scale without NULLs, as 128-bit integers."""
    if len(a) == 1:
        total = (_one_decimal(a) + _one_decimal(b)) & _ALL128
        buffer = pa.py_buffer(total.to_bytes(16, "little"))
        return pa.Array.from_buffers(a.type, 1, [None, buffer])
    return to_decimal(add_wide(from_decimal(a), from_decimal(b)), a.type.scale)


def _one_decimal(array: pa.Array) -> int:
    start = 16 * array.offset
    return int.from_bytes(memoryview(array.buffers()[1])[start : start + 16], "little")


_BOUND_HIGH, _BOUND_LOW = divmod(10**38, 2**64)


def too_wide(wide: Wide) -> npt.NDArray[np.bool_]:
    """Where the value has more than 38 digits."""
    low, high = wide
    if len(high) and int(high.min()) > -_BOUND_HIGH and int(high.max()) < _BOUND_HIGH:
        return np.zeros(len(high), np.bool_)
    over = (high > _BOUND_HIGH) | ((high == _BOUND_HIGH) & (low >= np.uint64(_BOUND_LOW)))
    negative_low = ~low + np.uint64(1)
    negative_high = ~high + (low == 0)
    under = (high < 0) & (
        (negative_high > _BOUND_HIGH)
        | ((negative_high == _BOUND_HIGH) & (negative_low >= np.uint64(_BOUND_LOW)))
    )
    return over | under


def sum_decimals(array: pa.Array, weights: Int64, ids: Int64, groups: int) -> tuple[Wide, Wide]:
    """Σ weight · unscaled value of each group of a decimal128 array without NULLs, as (rest, high).

    A value is high · 2^64 + rest, rest being a signed 64-bit integer; both parts are summed, so that
    no number of values of 38 digits wraps. `join_parts` puts the sums together.
    """
    low, high = from_decimal(array)
    rest = np.ascontiguousarray(low).view(np.int64)
    upper = high + (rest < 0)
    rests = sum_by_group(rest, weights, ids, groups)
    if not upper.any():
        return rests, (np.zeros(groups, np.uint64), np.zeros(groups, np.int64))
    return rests, sum_by_group(upper, weights, ids, groups)


def join_parts(rest: Wide, high: Wide) -> tuple[Wide, npt.NDArray[np.bool_]]:
    """high · 2^64 + rest, and where that has more than 38 digits (and the number is meaningless)."""
    upper = add_wide(high, widen(rest[1]))
    narrow = np.ascontiguousarray(upper[0]).view(np.int64)
    total = rest[0], narrow
    return total, (upper[1] != narrow >> 63) | too_wide(total)


def to_ints(wide: Wide) -> list[int]:
    """The values as Python integers."""
    return [(h << 64) | lo for lo, h in zip(wide[0].tolist(), wide[1].tolist(), strict=True)]
