"""Compiled loop that moves many short byte strings at once."""

# pyright: basic
from __future__ import annotations

import numpy as np
from numba import types

from .kernels_lazy import njit

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "A", readonly=True)
_OUT = types.Array(types.uint8, 1, "C")


@njit(types.void(_BYTES, _PLACES, _PLACES, _OUT, _PLACES), cache=True, nogil=True)
def copy_pieces(data, starts, lengths, out, places):
    """Copies `lengths[i]` bytes from `data` at `starts[i]` to `out` at `places[i]`, for each i.

    All places must lie within: nothing is checked.
    """
    for i in range(starts.shape[0]):
        # Unsigned: an index that might count from the end would keep the loop from being vectorised.
        start, place = np.uint64(starts[i]), np.uint64(places[i])
        for j in range(np.uint64(lengths[i])):
            out[place + j] = data[start + j]
