"""A compiled loop that writes the least or greatest value of each group where its row will lie."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
from numba import types as t

from .kernels_lazy import njit

_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_BYTES = t.Array(t.uint8, 1, "C", readonly=True)


@nb.njit(nogil=True, inline="always")
def _beats(a, b):
    """Whether `a` is greater than `b`; NaN is the greatest."""
    return a > b or (a != a and b == b)


@nb.njit(nogil=True, inline="always")
def _equal(a, b):
    return a == b or (a != a and b != b)


def _signature(kind):
    data = t.Array(kind, 1, "C", readonly=True)
    return t.int64(
        data, _INT64, _INT64, _INT64, t.int64, t.boolean, kind[::1], _BYTES, t.uint8[::1], t.int64[::1]
    )


@njit(
    [_signature(kind) for kind in (t.int16, t.int32, t.int64, t.float32, t.float64)], cache=True, nogil=True
)
def write_extremes(data, weights, ids, positions, start, last, values, valid, has, lost):
    """`improve_extremes` (`kernels_extremes.py`) of groups whose extremes lie in `values`, which has room.

    Group g had the row `positions[g]`, −1: none, and has row `start + g`; its extreme there was NULL if
    `valid`, which may be empty, says 0. `has` is 0 or 1 for each group afterwards. Returns how many groups
    may have lost their extreme, listed in `lost`.
    """
    for g in range(positions.size):
        before = positions[g]
        values[start + g] = values[before] if before >= 0 else 0
        has[g] = 1 if before >= 0 and (valid.size == 0 or valid[before] != 0) else 0
    going = 0
    for i in range(data.size):
        if weights[i] <= 0:
            going += weights[i] < 0
            continue
        group, value = ids[i], data[i]
        best = values[start + group]
        if has[group] == 0 or (_beats(value, best) if last else _beats(best, value)):
            values[start + group] = value
            has[group] = 1
    found = 0
    if going == 0:
        return found
    for i in range(data.size):
        group = ids[i]
        if weights[i] >= 0 or has[group] == 2:
            continue
        if has[group] == 1 and positions[group] >= 0 and not _equal(data[i], values[start + group]):
            continue
        has[group] = 2
        lost[found] = group
        found += 1
    for k in range(found):
        has[lost[k]] = 0
    return found
