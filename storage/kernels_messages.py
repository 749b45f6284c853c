"""Compiled loops over many small record batch messages that lie one behind the other (`row_messages.py`).

What they are given comes from a file. `read_fronts` checks every number of a message against its bytes; the
other loops may be called for messages that it found readable, and then read within them.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels_lazy import njit

_BYTES = t.Array(t.uint8, 1, "C", readonly=True)
_OUT = t.uint8[::1]
_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_PLACES = t.Array(t.int64, 1, "A", readonly=True)
_ALL = t.int64[:, ::1]

BITS = 0
TEXT = -1
"""Instead of the width of a column's values, in bytes: one bit each; strings with int32 offsets."""


@nb.njit(nogil=True, inline="always")
def _int64(data, at):
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return np.int64(word)


@nb.njit(nogil=True, inline="always")
def _int32(data, at):
    word = np.uint32(0)
    for k in range(4):
        word |= np.uint32(data[at + k]) << np.uint32(8 * k)
    return np.int64(np.int32(word))


@nb.njit(nogil=True)
def _text_size(data, at, count, size):
    """Bytes of `count` strings whose offsets are at `at` and point into `size` bytes; −1 if they do not."""
    first = before = _int32(data, at)
    if first < 0:
        return -1
    for row in range(1, count + 1):
        here = _int32(data, at + 4 * row)
        if here < before:
            return -1
        before = here
    return before - first if before <= size else -1


@nb.njit(nogil=True)
def _column(data, body, body_size, count, nulls, buffers, width, valid, values, texts, lengths):
    """Finds one column of a message at its entry in `valid` and so on; returns its buffers, 0 if it is wrong.

    `buffers` is where their places and lengths are, relative to `body`.
    """
    number = 3 if width == TEXT else 2
    for k in range(number):
        place, size = _int64(data, buffers + 16 * k), _int64(data, buffers + 16 * k + 8)
        if place < 0 or place & 7 or size < 0 or place > body_size or size > body_size - place:
            return 0
        if k == 0:
            if nulls > 0 and count > 8 * size:
                return 0
            valid[0] = body + place if nulls > 0 else -1
        elif k == 1:
            if width > 0:
                enough = count <= size // width
            elif width == BITS:
                enough = count <= 8 * size
            else:
                enough = count < size // 4
            if not enough:
                return 0
            values[0] = body + place
        else:
            lengths[0] = _text_size(data, values[0], count, size)
            if lengths[0] < 0:
                return 0
            texts[0] = body + place + _int32(data, values[0])
    return number


@njit(
    t.void(_BYTES, _INT64, _BYTES, _BYTES, _INT64, _INT64, t.int64[::1], _ALL, _ALL, _ALL, _ALL),
    cache=True,
    nogil=True,
)
def read_fronts(data, starts, front, fixed, places, widths, counts, valid, values, texts, lengths):
    """Finds the columns of the messages `data[starts[i]:starts[i + 1]]`.

    A message begins as `front` does where `fixed` is 255; where that is 0 there are numbers. `places` are
    those of the size of the body, the rows, the nodes and the buffers; `widths` are by column.

    `counts[i]` becomes the number of rows, 0 when the message is not like that, is damaged, or has none. By
    message and column: `valid` is where its validity bits are in `data`, −1 if no row is NULL; `values` where
    its values, bits or offsets are; `texts` and `lengths` where the bytes of its strings are, and how many.
    """
    size = front.size
    for i in range(counts.size):
        counts[i] = 0
        start = starts[i]
        whole = starts[i + 1] - start
        if start < 0 or whole < size or starts[i + 1] > data.size:
            continue
        unlike = np.uint8(0)
        for k in range(size):
            unlike |= (data[start + k] ^ front[k]) & fixed[k]
        if unlike:
            continue
        body_size, count = _int64(data, start + places[0]), _int64(data, start + places[1])
        if body_size < 0 or body_size > whole - size or count < 1:
            continue
        buffers = start + places[3]
        good = True
        for c in range(widths.size):
            node = start + places[2] + 16 * c
            nulls = _int64(data, node + 8)
            if _int64(data, node) != count or nulls < 0 or nulls > count:
                good = False
                break
            found = _column(
                data, start + size, body_size, count, nulls, buffers, widths[c],
                valid[i, c:], values[i, c:], texts[i, c:], lengths[i, c:],
            )  # fmt: skip
            if found == 0:
                good = False
                break
            buffers += 16 * found
        if good:
            counts[i] = count


@njit(t.void(_BYTES, _INT64, _PLACES, t.int64, _OUT), cache=True, nogil=True)
def copy_values(data, counts, places, width, out):
    """Copies `counts[i]` values of `width` bytes each from `places[i]`, one behind the other."""
    at = np.uint64(0)
    for i in range(counts.size):
        place, size = np.uint64(places[i]), np.uint64(counts[i] * width)
        # Unsigned: an index that might count from the end would keep the loop from being vectorised.
        for k in range(size):
            out[at + k] = data[place + k]
        at += size


@njit(t.void(_BYTES, _INT64, _PLACES, _OUT), cache=True, nogil=True)
def copy_bits(data, counts, places, out):
    """Copies `counts[i]` bits from `places[i]`; ones where that is −1. `out` is zero before."""
    at = 0
    for i in range(counts.size):
        place = places[i]
        for k in range(counts[i]):
            bit = 1 if place < 0 else data[place + (k >> 3)] >> (k & 7) & 1
            out[at >> 3] |= bit << (at & 7)
            at += 1


@njit(t.void(_BYTES, _INT64, _PLACES, t.int32[::1]), cache=True, nogil=True)
def join_offsets(data, counts, places, out):
    """Offsets of strings that are to lie one behind the other, from offsets at `places[i]`."""
    row, end = 0, 0
    out[0] = 0
    for i in range(counts.size):
        place = places[i]
        first = _int32(data, place)
        for k in range(1, counts[i] + 1):
            out[row + k] = end + _int32(data, place + 4 * k) - first
        row += counts[i]
        end = np.int64(out[row])
