"""Compiled loops of the key code: placing column values side by side in the key bytes of each row.

`cursor[i]` is where the next value of row i goes in `out`; every loop moves it on. `valid` is one byte
a row, or empty when no row is NULL. `flip` is 0, or 255 to complement value bytes (descending order).
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels_lazy import njit

_BYTES = t.Array(t.uint8, 1, "C", readonly=True)
_INT32 = t.Array(t.int32, 1, "C", readonly=True)
_INT64 = t.int64[::1]
_OUT = t.uint8[::1]
_PLACES = t.Array(t.int64, 1, "C", readonly=True)
_WORDS = t.Array(t.uint64, 1, "C", readonly=True)
_SIGN = np.uint64(1 << 63)
_INFINITY = np.uint64(0x7FF0000000000000)
_NAN = np.uint64(0x7FF8000000000000)
_BYTE = np.uint64(255)

NUMERIC_BYTES = 28
"""At most: marker, class, 3 of exponent, 20 pairs of digits, end."""

NUMERIC_TEXT_EXTRA = 7
"""Key bytes beyond the length of a number's text, at most."""


@nb.njit([t.void(_BYTES, _INT32, _BYTES, _INT64)], cache=True, nogil=True)
def text_sizes(data, offsets, valid, sizes):
    """Adds to `sizes` what `place_text` will write for each row."""
    for i in range(sizes.size):
        if valid.size > 0 and valid[i] == 0:
            sizes[i] += 1
            continue
        zeros = 0
        for j in range(offsets[i], offsets[i + 1]):
            zeros += data[j] == 0
        sizes[i] += 3 + offsets[i + 1] - offsets[i] + zeros


@nb.njit([t.void(_BYTES, _INT32, _BYTES, t.uint8, t.uint8, t.uint8, _OUT, _INT64)], cache=True, nogil=True)
def place_text(data, offsets, valid, mark, null_mark, flip, out, cursor):
    """Marker, the bytes with 00 written as 00 FF, then 00 00: no encoded value is a prefix of another."""
    for i in range(cursor.size):
        at = cursor[i]
        if valid.size > 0 and valid[i] == 0:
            out[at] = null_mark
            cursor[i] = at + 1
            continue
        out[at] = mark
        at += 1
        for j in range(offsets[i], offsets[i + 1]):
            byte = data[j]
            out[at] = byte ^ flip
            at += 1
            if byte == 0:
                out[at] = np.uint8(255) ^ flip
                at += 1
        out[at] = flip
        out[at + 1] = flip
        cursor[i] = at + 2


@nb.njit([t.void(_BYTES, _INT64, _INT64, _OUT, _INT64)], cache=True, nogil=True)
def place_bytes(data, starts, sizes, out, cursor):
    """`sizes[i]` bytes from `data[starts[i]]` on, as they are."""
    for i in range(cursor.size):
        at = cursor[i]
        start = starts[i]
        for j in range(sizes[i]):
            out[at + j] = data[start + j]
        cursor[i] = at + sizes[i]


@njit([t.int64(_PLACES, t.int64, _PLACES, _PLACES, t.int64, _INT64)], cache=True, nogil=True)
def joined_sizes(offsets, width, ids, more, more_width, out):
    """Where the keys of `join_keys` end; returns their bytes. An offset for each of `ids`, and one more."""
    total = np.int64(0)
    out[0] = 0
    for i in range(ids.size):
        total += width if width > 0 else offsets[ids[i] + 1] - offsets[ids[i]]
        total += more_width if more_width > 0 else more[i + 1] - more[i]
        out[i + 1] = total
    return total


@njit([t.void(_BYTES, _PLACES, t.int64, _PLACES, _BYTES, _PLACES, t.int64, _OUT)], cache=True, nogil=True)
def join_keys(data, offsets, width, ids, more_data, more, more_width, out):
    """Key `ids[i]` of some keys, and key i of others behind it."""
    at = np.int64(0)
    for i in range(ids.size):
        start = ids[i] * width if width > 0 else offsets[ids[i]]
        stop = start + width if width > 0 else offsets[ids[i] + 1]
        for j in range(start, stop):
            out[at] = data[j]
            at += 1
        start = i * more_width if more_width > 0 else more[i]
        stop = start + more_width if more_width > 0 else more[i + 1]
        for j in range(start, stop):
            out[at] = more_data[j]
            at += 1


@njit([t.void(_WORDS, t.uint8[:, :])], cache=True, nogil=True)
def put_integers(words, out):
    """Eight bytes of each number, the highest first, its sign bit inverted."""
    for i in range(words.size):
        word = words[i] ^ _SIGN
        for j in range(8):
            out[i, j] = np.uint8((word >> np.uint64(56 - 8 * j)) & _BYTE)


@njit([t.void(_WORDS, t.uint8[:, :])], cache=True, nogil=True)
def put_floats(words, out):
    """Eight bytes of each double, given by its bits, that compare as SQL orders doubles."""
    for i in range(words.size):
        word = words[i]
        magnitude = word & ~_SIGN
        if magnitude == 0:
            word = np.uint64(0)
        elif magnitude > _INFINITY:
            word = _NAN
        word = ~word if word & _SIGN != 0 else word | _SIGN
        for j in range(8):
            out[i, j] = np.uint8((word >> np.uint64(56 - 8 * j)) & _BYTE)


@nb.njit(nogil=True)
def _decimal_digits(low, high, digits):
    """Decimal digits of a 128-bit magnitude, least significant first; returns how many."""
    count = 0
    if high == 0:
        while low > 0:
            rest = low // np.uint64(10)
            digits[count] = np.uint8(low - rest * np.uint64(10))
            low = rest
            count += 1
        return count
    billion = np.uint64(1000000000)
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    limbs = (high >> shift, high & mask, low >> shift, low & mask)
    a, b, c, d = limbs
    while a | b | c | d:
        q = a // billion
        b |= (a - q * billion) << shift
        a = q
        q = b // billion
        c |= (b - q * billion) << shift
        b = q
        q = c // billion
        d |= (c - q * billion) << shift
        c = q
        q = d // billion
        part = d - q * billion
        d = q
        for _ in range(9):
            rest = part // np.uint64(10)
            digits[count] = np.uint8(part - rest * np.uint64(10))
            part = rest
            count += 1
    while count > 0 and digits[count - 1] == 0:
        count -= 1
    return count


@nb.njit(nogil=True)
def _write_numeric(digits, count, scale, negative, out, at):
    """Class, exponent and base-100 digits of a non-zero number; returns the position after them."""
    flip = np.uint8(255) if negative else np.uint8(0)
    out[at] = 2 if negative else 4
    point = count - scale
    exponent = (point + 1) >> 1
    biased = exponent + (1 << 23)
    out[at + 1] = np.uint8(biased >> 16) ^ flip
    out[at + 2] = np.uint8((biased >> 8) & 255) ^ flip
    out[at + 3] = np.uint8(biased & 255) ^ flip
    at += 4
    last = 0
    while digits[last] == 0:
        last += 1
    i = count - 1
    if 2 * exponent - point == 1:
        out[at] = (digits[i] + np.uint8(1)) ^ flip
        at += 1
        i -= 1
    while i >= last:
        pair = digits[i] * np.uint8(10)
        if i > last:
            pair += digits[i - 1]
        out[at] = np.uint8(pair + 1) ^ flip
        at += 1
        i -= 2
    out[at] = flip
    return at + 1


@nb.njit(
    [t.void(t.Array(t.uint64, 2, "C", readonly=True), _BYTES, t.int64, t.uint8, t.uint8, _OUT, _INT64)],
    cache=True,
    nogil=True,
)
def encode_decimals(values, valid, scale, mark, null_mark, out, sizes):
    """Marker and canonical bytes of 128-bit decimals, row i at `out[i * NUMERIC_BYTES]`."""
    digits = np.empty(48, np.uint8)
    for i in range(sizes.size):
        base = i * NUMERIC_BYTES
        if valid.size > 0 and valid[i] == 0:
            out[base] = null_mark
            sizes[i] = 1
            continue
        out[base] = mark
        low = values[i, 0]
        high = values[i, 1]
        negative = high >> np.uint64(63) == 1
        if negative:
            low = ~low + np.uint64(1)
            high = ~high + np.uint64(low == 0)
        count = _decimal_digits(low, high, digits)
        if count == 0:
            out[base + 1] = 3
            sizes[i] = 2
        else:
            sizes[i] = _write_numeric(digits, count, scale, negative, out, base + 1) - base


@nb.njit(nogil=True)
def _read_digits(data, start, end, digits):
    """Digits of `[-]12.34[e5]`, least significant first, without leading zeros: (how many, scale)."""
    count = 0
    scale = 0
    exponent = 0
    point = False
    i = start
    while i < end:
        byte = data[i]
        i += 1
        if byte == 46:
            point = True
        elif 48 <= byte <= 57:
            scale += point
            if count > 0 or byte != 48:
                digits[count] = byte - 48
                count += 1
        elif byte == 69 or byte == 101:
            minus = data[i] == 45
            if minus or data[i] == 43:
                i += 1
            while i < end:
                exponent = exponent * 10 + data[i] - 48
                i += 1
            if minus:
                exponent = -exponent
    for j in range(count // 2):
        swap = digits[j]
        digits[j] = digits[count - 1 - j]
        digits[count - 1 - j] = swap
    return count, scale - exponent


@nb.njit([t.void(_BYTES, _INT32, _BYTES, t.uint8, t.uint8, _OUT, _INT64, _INT64)], cache=True, nogil=True)
def encode_numeric_texts(data, offsets, valid, mark, null_mark, out, starts, sizes):
    """Marker and canonical bytes of numbers in text form, row i at `out[starts[i]]`.

    Each row has NUMERIC_TEXT_EXTRA bytes more than its text. Infinities and NaN are told by their letters.
    """
    longest = 0
    for i in range(sizes.size):
        longest = max(longest, offsets[i + 1] - offsets[i])
    digits = np.empty(longest + 1, np.uint8)
    for i in range(sizes.size):
        base = starts[i]
        sizes[i] = 2
        out[base] = mark
        if valid.size > 0 and valid[i] == 0:
            out[base] = null_mark
            sizes[i] = 1
            continue
        start = offsets[i]
        negative = data[start] == 45
        first = data[start + negative]
        if first == 73:
            out[base + 1] = 1 if negative else 5
            continue
        if first == 78:
            out[base + 1] = 6
            continue
        count, scale = _read_digits(data, start + negative, offsets[i + 1], digits)
        if count == 0:
            out[base + 1] = 3
        else:
            sizes[i] = _write_numeric(digits, count, scale, negative, out, base + 1) - base
