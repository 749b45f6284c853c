"""Compiled loops over values by group: sums without a pass each for counting, widening and merging."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels_lazy import njit

_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_INT64_OUT = t.int64[::1]
_ROWS = (_INT64, _INT64, _INT64, t.int64)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@nb.njit(nogil=True, inline="always")
def _product(a, b):
    """a · b as (low, high) of 128 bits, by halves of 32 bits (Knuth, TAOCP 2, 4.3.1 M)."""
    x, y = np.uint64(a), np.uint64(b)
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    first = x0 * y0
    middle = x1 * y0 + (first >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    high = np.int64(x1 * y1 + (middle >> _HALF) + (other >> _HALF))
    # Of two's complements, a negative factor counted as 2^64 too many of the other.
    if a < 0:
        high -= b
    if b < 0:
        high -= a
    return (other << _HALF) | (first & _LOW), high


@nb.njit(nogil=True, inline="always")
def add_wide(words, group, value, weight):
    """Adds weight · value to the 128-bit integer of a group, modulo 2^128."""
    if weight == 1:
        low, high = np.uint64(value), value >> 63
    else:
        low, high = _product(value, weight)
    total = np.uint64(words[2 * group]) + low
    words[2 * group] = np.int64(total)
    words[2 * group + 1] += high + (1 if total < low else 0)


@njit([t.void(_INT64, _INT64, _INT64, _INT64, _INT64, _INT64_OUT, _INT64_OUT)], cache=True, nogil=True)
def add_by_group(data, weights, ids, old_counts, old_words, counts, words):
    """Σ weight and Σ weight · value of each group, added to what the first groups had.

    `counts` int64[groups]; `words` int64[2 · groups]: 128-bit integers, the low half first. `old_counts` and
    `old_words` are those of the first groups, the others had 0. Sums are modulo 2^128.
    """
    known = old_counts.size
    counts[:known] = old_counts
    words[: 2 * known] = old_words
    counts[known:] = 0
    words[2 * known :] = 0
    for i in range(data.size):
        counts[ids[i]] += weights[i]
        add_wide(words, ids[i], data[i], weights[i])


@njit([t.int64(*_ROWS, _INT64_OUT)], cache=True, nogil=True)
def write_counts(weights, ids, positions, start, counts):
    """Writes the counts of groups in the rows from `start` on; returns the least of them.

    Group g had the row `positions[g]`, −1: none, and has row `start + g`.
    """
    groups = positions.size
    for g in range(groups):
        counts[start + g] = counts[positions[g]] if positions[g] >= 0 else 0
    for i in range(weights.size):
        counts[start + ids[i]] += weights[i]
    least = np.int64(0x7FFFFFFFFFFFFFFF)
    for g in range(groups):
        least = min(least, counts[start + g])
    return least


@njit([t.int64(_INT64, *_ROWS, _INT64_OUT, _INT64_OUT)], cache=True, nogil=True)
def write_sums(data, weights, ids, positions, start, counts, words):
    """`write_counts`, and the sums of `data` beside it: 128-bit integers, the low half first."""
    groups = positions.size
    for g in range(groups):
        row, before = start + g, positions[g]
        counts[row] = counts[before] if before >= 0 else 0
        words[2 * row] = words[2 * before] if before >= 0 else 0
        words[2 * row + 1] = words[2 * before + 1] if before >= 0 else 0
    for i in range(data.size):
        row = start + ids[i]
        counts[row] += weights[i]
        add_wide(words, row, data[i], weights[i])
    least = np.int64(0x7FFFFFFFFFFFFFFF)
    for g in range(groups):
        least = min(least, counts[start + g])
    return least
