"""A compiled loop that keeps the least or greatest value of each group."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

from numba import types as t

from .kernels_lazy import njit

_INT64 = t.Array(t.int64, 1, "C", readonly=True)


@njit(
    [t.int64(_INT64, _INT64, _INT64, t.int64, t.boolean, t.uint8[::1], t.int64[::1], t.int64[::1])],
    cache=True,
    nogil=True,
)
def improve_extremes(data, weights, ids, known, last, has, state, lost):
    """Takes in rows that come and go; returns how many groups may have lost their extreme, listed in `lost`.

    `state` is the extreme of each group, the greatest value if `last`, where `has` is 1. Values that come
    are compared first: one that goes counts only if it equals the extreme as it is then, or if its group is
    none of the first `known`, whose extremes were known before. A group that is listed has none then. No
    value is in the rows both coming and going.
    """
    going = 0
    for i in range(data.size):
        if weights[i] <= 0:
            going += weights[i] < 0
            continue
        group = ids[i]
        value = data[i]
        if has[group] == 0 or (value > state[group] if last else value < state[group]):
            state[group] = value
            has[group] = 1
    found = 0
    if going == 0:
        return found
    for i in range(data.size):
        group = ids[i]
        if weights[i] >= 0 or has[group] == 2:
            continue
        if has[group] == 1 and data[i] != state[group] and group < known:
            continue
        has[group] = 2
        lost[found] = group
        found += 1
    for k in range(found):
        has[lost[k]] = 0
    return found
