"""Compiled loops over deltas of bags: rows added up by key, and what becomes of each.

Keys are entries of the bag's index (`kernels.py`), so equal keys are equal numbers. Their latest rows are
found as in `kernels_rows.py`.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels_rows import ALIVE

_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_INT64_OUT = t.int64[::1]
_ENTRIES = t.int32[::1]
_DIED = t.uint32[::1]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@nb.njit(
    [t.int64(_ENTRIES, _INT64, t.int64, _ENTRIES, _DIED, _INT64_OUT, _ENTRIES, _ENTRIES, _INT64_OUT,
             _INT64_OUT, _INT64_OUT, _INT64_OUT)],
    cache=True,
    nogil=True,
)  # fmt: skip
def net_rows(entries, weights, made, head, died, counts, slots, numbers, first, net, old, had):
    """Adds up the weights of equal entries; returns how many different ones there are.

    They are in order of appearance. Of each, `first` is its first place, `net` the sum of its weights, `old`
    its live row (−1: none) and `had` the weight of that. Entries from `made` on were made for this
    delta: they have no rows. `slots` and `numbers` are zeroed. There are more slots than older entries, a
    power of two, and a number for each entry made; the other outputs have an element for each entry given.
    """
    mask = np.uint64(slots.size - 1)
    rows = 0
    for i in range(entries.size):
        entry = entries[i]
        if entry >= made:
            number = numbers[entry - made]
            if number == 0:
                numbers[entry - made] = rows + 1
                first[rows] = i
                net[rows] = weights[i]
                rows += 1
            else:
                net[number - 1] += weights[i]
            continue
        at = ((np.uint64(entry) * _SPREAD) >> np.uint64(32)) & mask
        while True:
            number = slots[at]
            if number == 0:
                slots[at] = rows + 1
                first[rows] = i
                net[rows] = weights[i]
                rows += 1
                break
            if entries[first[number - 1]] == entry:
                net[number - 1] += weights[i]
                break
            at = (at + np.uint64(1)) & mask
    # Loops as short as these wait for several loads at once.
    for k in range(rows):
        entry = entries[first[k]]
        old[k] = head[entry] if entry < made else -1
    for k in range(rows):
        position = old[k]
        alive = position >= 0 and died[position] == ALIVE
        had[k] = counts[position] if alive else 0
        old[k] = position if alive else -1
    return rows


@nb.njit(
    [t.UniTuple(t.int64, 2)(_ENTRIES, _INT64, _INT64, _INT64, _INT64, _INT64_OUT, _INT64_OUT, _ENTRIES,
                            _INT64_OUT, _ENTRIES)],
    cache=True,
    nogil=True,
)  # fmt: skip
def settle_rows(entries, first, net, old, had, kept, left, kept_entries, gone, gone_entries):
    """What to write for the rows of `net_rows`, whose arrays are cut to their number.

    Returns (rows written, rows that end for good); (−1, −1) if one goes more often than it came. Of a row
    written, `kept` is its first place, `left` its new weight; of one that ends, `gone` is its position.
    """
    written = 0
    ended = 0
    for k in range(first.size):
        weight = had[k] + net[k]
        if weight < 0:
            return -1, -1
        if net[k] == 0:
            continue
        entry = entries[first[k]]
        if weight > 0:
            kept[written] = first[k]
            left[written] = weight
            kept_entries[written] = entry
            written += 1
        else:
            gone[ended] = old[k]
            gone_entries[ended] = entry
            ended += 1
    return written, ended
