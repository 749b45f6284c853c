"""Compiled loops that gather strings."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

from numba import types as t

from .kernels_lazy import njit

_OFFSETS = t.Array(t.int32, 1, "C", readonly=True)
_BYTES = t.Array(t.uint8, 1, "C", readonly=True)
_INT64 = t.Array(t.int64, 1, "C", readonly=True)


@njit([t.int64(_OFFSETS, _INT64, t.int32[::1])], cache=True, nogil=True)
def place_strings(offsets, positions, out):
    """Offsets of the strings at `positions`, one behind the other; returns their bytes, −1 if too many."""
    total = 0
    out[0] = 0
    for i in range(positions.size):
        total += offsets[positions[i] + 1] - offsets[positions[i]]
        if total > 0x7FFFFFFF:
            return -1
        out[i + 1] = total
    return total


@njit([t.void(_OFFSETS, _BYTES, _INT64, t.uint8[::1])], cache=True, nogil=True)
def copy_strings(offsets, data, positions, out):
    """The bytes of the strings at `positions`."""
    at = 0
    for i in range(positions.size):
        for k in range(offsets[positions[i]], offsets[positions[i] + 1]):
            out[at] = data[k]
            at += 1
