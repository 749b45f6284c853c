"""The compiled loop of a point read: one key to the position of its row."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels import _BYTES, _ENTRIES, _INT64, _LOWER, _SLOTS, _32, _hash, _home, _probe
from .kernels_rows import _DIED


@nb.njit(
    [
        t.int64(
            _BYTES, _SLOTS, _SLOTS, t.int64, _BYTES, _INT64, t.int64, t.int64, _ENTRIES, _ENTRIES, _DIED,
            t.int64, t.int64,
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def find_row(
    key, slots, after, swept, key_data, key_offsets, width, count, head, link, died, limit, as_of
):  # fmt: skip
    """The newest row below `limit` of the key if it is visible at `as_of`, else −1: `find_keys` and
    `latest_rows` of a single key."""
    tag = _hash(key, 0, key.size) >> _32
    at = _home(tag, slots.size >> 1)
    held = slots
    if at < swept:
        held = after
        at = _home(tag, after.size >> 1)
    slot = held[_probe(held, at, tag, key_data, key_offsets, width, count, key, 0, key.size)]
    entry = np.int64(slot & _LOWER) - 1
    # An empty slot that a writer has filled in the meantime has an entry that is too new.
    if entry < 0 or entry >= count:
        return np.int64(-1)
    position = np.int64(head[entry])
    while position >= limit:
        position = np.int64(link[position])
    if position >= 0 and died[position] <= as_of:
        return np.int64(-1)
    return position
