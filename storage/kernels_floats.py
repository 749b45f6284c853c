"""Compiled loops over the exact sums of doubles that `operators/functions/exact_floats.py` describes.

A sum is an integer in units of 2^−1074, in limbs of 32 bits. Stored: four bytes with the number of its lowest
limb, then the limbs up from it, the last one signed; nothing for 0.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numba import types as t

from .kernels_lazy import njit

LIMBS = 80
"""Limbs of a group while it is added to: finite sums, counts of NaN and infinities, and the sign."""
WEIGHT_MAX = 1 << 20
"""What weights may add up to, so that a limb's sum stays within 64 bits."""

_FINITE_LIMBS = 69
_MASK = np.int64(0xFFFFFFFF)
_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_OFFSETS = t.Array(t.int32, 1, "C", readonly=True)
_BYTES = t.Array(t.uint8, 1, "C", readonly=True)
_FLOATS = t.Array(t.float64, 1, "C", readonly=True)


@nb.njit(nogil=True, inline="always")
def _limb(data, at):
    """Four bytes, little-endian."""
    return (
        np.int64(data[at])
        | np.int64(data[at + 1]) << 8
        | np.int64(data[at + 2]) << 16
        | np.int64(data[at + 3]) << 24
    )


@nb.njit(nogil=True, inline="always")
def _put(data, at, limb):
    for k in range(4):
        data[at + k] = np.uint8((limb >> (8 * k)) & 255)


@nb.njit(nogil=True)
def _carry(limbs):
    """Brings all limbs but the last, which keeps the sign, into 0 … 2^32 − 1."""
    for k in range(LIMBS - 1):
        limbs[k + 1] += limbs[k] >> 32
        limbs[k] &= _MASK


@nb.njit(nogil=True)
def _pack(limbs, out, at):
    """Writes the stored form of carried limbs at `at`; returns where it ends."""
    negative = limbs[LIMBS - 1] < 0
    sign = _MASK if negative else np.int64(0)
    lowest = 0
    while lowest < LIMBS and limbs[lowest] & _MASK == 0:
        lowest += 1
    if lowest == LIMBS:
        return at
    highest = LIMBS - 1
    while highest > lowest and limbs[highest] & _MASK == sign:
        highest -= 1
    if ((limbs[highest] >> 31) & 1 == 1) != negative:
        highest += 1
    _put(out, at, lowest)
    for k in range(lowest, highest + 1):
        at += 4
        _put(out, at, limbs[k] & _MASK)
    return at + 4


@nb.njit(nogil=True)
def _light(weights):
    """Whether weights add up to no more than WEIGHT_MAX."""
    total = 0
    for i in range(weights.size):
        total += abs(weights[i])
        if total > WEIGHT_MAX:
            return False
    return True


@nb.njit(nogil=True)
def _unpack(stored, start, stop, limbs):
    """Adds a stored sum to `limbs`."""
    if start == stop:
        return
    limb = _limb(stored, start)
    for at in range(start + 4, stop, 4):
        limbs[limb] += _limb(stored, at)
        limb += 1
    if stored[stop - 1] >= 128:
        limbs[limb - 1] -= np.int64(1) << 32


@nb.njit(nogil=True)
def _add(data, bits, weights, ids, limbs):
    """Adds weight · value of each row to its group's limbs."""
    for i in range(data.size):
        exponent = (bits[i] >> 52) & 0x7FF
        group, weight = ids[i], weights[i]
        if exponent == 0x7FF:
            special = 70 if math.isnan(data[i]) else (73 if bits[i] > 0 else 76)
            limbs[group, special] += weight
            continue
        mantissa = bits[i] & ((np.int64(1) << 52) - 1)
        if exponent > 0:
            mantissa |= np.int64(1) << 52
        position = max(exponent, 1) - 1
        limb, shift = position >> 5, position & 31
        low, high = (mantissa & _MASK) << shift, (mantissa >> 32) << shift
        if bits[i] < 0:
            weight = -weight
        limbs[group, limb] += (low & _MASK) * weight
        limbs[group, limb + 1] += ((low >> 32) + (high & _MASK)) * weight
        limbs[group, limb + 2] += (high >> 32) * weight


@njit(
    [
        t.int64(
            _OFFSETS, _BYTES, t.int64, _FLOATS, _INT64, _INT64, _INT64, t.int64[:, ::1], t.int32[::1],
            t.uint8[::1],
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def add_to_sums(offsets, stored, known, data, bits, weights, ids, limbs, out_offsets, out):
    """The stored sums of the first `known` groups plus Σ weight · value of each group.

    `bits` are those of `data`. `limbs` int64[groups, LIMBS] is zeroed. Returns the bytes written to `out`, or
    −1 if the weights add up to more than WEIGHT_MAX; then nothing is.
    """
    if not _light(weights):
        return -1
    for g in range(known):
        _unpack(stored, offsets[g], offsets[g + 1], limbs[g])
    _add(data, bits, weights, ids, limbs)
    at = 0
    out_offsets[0] = 0
    for g in range(limbs.shape[0]):
        _carry(limbs[g])
        at = _pack(limbs[g], out, at)
        out_offsets[g + 1] = at
    return at


@njit(
    [
        t.int64(
            _FLOATS, _INT64, _INT64, _INT64, _INT64, t.int64, t.int64[:, ::1], t.int64[::1], t.int32[::1],
            t.uint8[::1],
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def write_float_sums(data, bits, weights, ids, positions, start, limbs, counts, offsets, stored):
    """`add_to_sums`, and `write_counts` (`kernels_sums.py`), of groups whose rows lie in arrays with room.

    Group g had the row `positions[g]`, −1: none, and has row `start + g`: its sum is `stored` between two
    `offsets`. Returns the least count, or −1 as `add_to_sums` does.
    """
    if not _light(weights):
        return -1
    for g in range(positions.size):
        before = positions[g]
        counts[start + g] = 0
        if before >= 0:
            counts[start + g] = counts[before]
            _unpack(stored, offsets[before], offsets[before + 1], limbs[g])
    for i in range(weights.size):
        counts[start + ids[i]] += weights[i]
    _add(data, bits, weights, ids, limbs)
    least = np.int64(0x7FFFFFFFFFFFFFFF)
    at = offsets[start]
    for g in range(positions.size):
        least = min(least, counts[start + g])
        _carry(limbs[g])
        at = _pack(limbs[g], stored, at)
        offsets[start + g + 1] = at
    return least


@nb.njit(nogil=True)
def _rounded(quotient, count, lowest, sticky):
    """The double nearest to `count` limbs of units 2^(32 · lowest − 1074); `sticky`: there is more below."""
    top = count - 1
    while top >= 0 and quotient[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    lead = 31
    while (quotient[top] >> lead) & 1 == 0:
        lead -= 1
    # The 64 bits from the leading one down; there are always two limbs below the first.
    window = np.uint64(quotient[top]) << np.uint64(63 - lead)
    window |= np.uint64(quotient[top - 1]) << np.uint64(31 - lead)
    third = np.uint64(quotient[top - 2])
    window |= third >> np.uint64(lead + 1)
    sticky = sticky or third & ((np.uint64(1) << np.uint64(lead + 1)) - np.uint64(1)) != 0
    for k in range(top - 2):
        sticky = sticky or quotient[k] != 0
    place = 32 * (lowest + top) + lead
    kept = min(53, place + 1)
    if kept < 0:
        return 0.0
    if kept == 0:
        half, below = window >> np.uint64(63), window << np.uint64(1)
        mantissa = np.uint64(0)
    else:
        shift = np.uint64(64 - kept)
        mantissa = window >> shift
        half = (window >> (shift - np.uint64(1))) & np.uint64(1)
        below = window & ((np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1))
    if half == 1 and (sticky or below != 0 or mantissa & np.uint64(1) == 1):
        mantissa += np.uint64(1)
    return math.ldexp(np.float64(mantissa), place - kept + 1 - 1074)


@njit([t.boolean(_OFFSETS, _BYTES, _INT64, t.float64[::1])], cache=True, nogil=True)
def divide_sums(offsets, stored, divisors, out):
    """Each stored sum divided by its divisor (1 … 2^31 − 1) and rounded once.

    Whether all are finite, before and after; if not, `out` is of no use.
    """
    quotient = np.empty(LIMBS + 4, np.int64)
    for g in range(out.size):
        start, stop = offsets[g], offsets[g + 1]
        if start == stop:
            out[g] = 0.0
            continue
        lowest, count = _limb(stored, start), (stop - start) // 4 - 1
        if lowest + count > _FINITE_LIMBS:
            return False
        negative = stored[stop - 1] >= 128
        carry = np.int64(1)
        for k in range(count):
            limb = _limb(stored, start + 4 + 4 * k)
            if negative:
                limb = (limb ^ _MASK) + carry
                carry = limb >> 32
                limb &= _MASK
            quotient[k + 3] = limb
        rest = np.int64(0)
        for k in range(count + 2, -1, -1):
            rest = rest << 32 | (quotient[k] if k >= 3 else np.int64(0))
            quotient[k] = rest // divisors[g]
            rest -= quotient[k] * divisors[g]
        value = _rounded(quotient, count + 3, lowest - 3, rest != 0)
        if math.isinf(value):
            return False
        out[g] = -value if negative else value
    return True
