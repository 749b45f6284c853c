"""Compiled loops over a hash index as a whole: slots moved to a larger array, keys without rows left out."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels import _BYTES, _BYTES_OUT, _ENTRIES, _INT64, _INT64_OUT, _LOWER, _SLOTS, _32, _home


@nb.njit([t.int64(_SLOTS, _SLOTS, t.int64, t.int64)], cache=True, nogil=True)
def sweep_slots(slots, after, start, least):
    """Enters the slots from `start` on in the larger array `after`: at least so many, up to an empty one.

    Returns where it stopped: what lies there and behind has its home there or behind. That is the number of
    homes, or more, when all is done.
    """
    homes = slots.size >> 1
    size = after.size >> 1
    i = start
    while i < slots.size:
        slot = slots[i]
        if slot == 0:
            if i >= homes or i >= start + least:
                break
        else:
            at = _home(slot >> _32, size)
            while after[at] != 0:
                at += 1
            after[at] = slot
        i += 1
    return i


@nb.njit([t.void(_SLOTS, t.int64, t.int64, t.int64, _SLOTS, _ENTRIES)], cache=True, nogil=True)
def renumber_slots(slots, start, bound, homes, new, renumbered):
    """Enters slots in the zeroed `new` with new numbers of their entries.

    Those from place `start` on, whose home in an array of `homes` is below `bound`. Entries that are −1 in
    `renumbered`, or behind its end, are left out.
    """
    size = new.size >> 1
    for i in range(start, slots.size):
        slot = slots[i]
        tag = slot >> _32
        if slot == 0 or _home(tag, homes) >= bound:
            continue
        entry = np.int64(slot & _LOWER) - 1
        if entry >= renumbered.size or renumbered[entry] < 0:
            continue
        at = _home(tag, size)
        while new[at] != 0:
            at += 1
        new[at] = tag << _32 | np.uint64(renumbered[entry] + 1)


@nb.njit(
    [
        t.int64(
            _ENTRIES, _ENTRIES, _ENTRIES, _BYTES, _INT64, t.int64, t.int64, t.boolean,
            _ENTRIES, _ENTRIES, _BYTES_OUT, _INT64_OUT, _ENTRIES,
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def compact_keys(
    head, link, moved, key_data, key_offsets, width, count, single,
    new_head, new_link, new_data, new_offsets, renumbered,
):  # fmt: skip
    """Copies keys and chains without the rows that are gone, and without keys that have no row left.

    `moved` gives each row its new position, −1 if it is gone, as those behind its end are; `single` says
    that only the newest row of a key can be left. Returns the number of keys left; `renumbered` tells which
    they are.
    """
    kept = 0
    for entry in range(count):
        position = head[entry]
        before = np.int32(-1)
        while position >= moved.size:
            position = link[position]
        while position >= 0:
            row = moved[position]
            if row >= 0:
                if before < 0:
                    new_head[kept] = row
                else:
                    new_link[before] = row
                before = row
            if single:
                break
            position = link[position]
        if before < 0:
            renumbered[entry] = -1
            continue
        new_link[before] = -1
        renumbered[entry] = kept
        start = entry * width if width > 0 else key_offsets[entry]
        length = width if width > 0 else key_offsets[entry + 1] - start
        target = kept * width if width > 0 else new_offsets[kept]
        for j in range(length):
            new_data[target + j] = key_data[start + j]
        kept += 1
        if width == 0:
            new_offsets[kept] = target + length
    return kept
