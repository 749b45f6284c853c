"""Compiled loops over the words of a Bloom filter (`key_filter.py`).

All bits of a key lie in one word, so a key costs one access to memory (Putze, Sanders and Singler, "Cache-,
hash- and space-efficient Bloom filters", 2007): the lower 24 bits of a hash say which four bits, those above
which word.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

from .kernels_lazy import njit

_HASHES = t.Array(t.uint64, 1, "C", readonly=True)
_WORDS = t.uint64[::1]
_6 = np.uint64(6)
_63 = np.uint64(63)
_ONE = np.uint64(1)
_UPPER = np.uint64(24)


@nb.njit(nogil=True, inline="always")
def _bits(hash_):
    bits = np.uint64(0)
    for _ in range(4):
        bits |= _ONE << (hash_ & _63)
        hash_ >>= _6
    return bits


@njit([t.void(_WORDS, _HASHES)], cache=True, nogil=True)
def add_hashes(words, hashes):
    """Sets the bits of each hash. The number of words is a power of two."""
    mask = np.uint64(words.size - 1)
    for i in range(hashes.size):
        words[(hashes[i] >> _UPPER) & mask] |= _bits(hashes[i])


@njit([t.void(_WORDS, _HASHES, t.boolean[::1])], cache=True, nogil=True)
def find_hashes(words, hashes, found):
    """Sets `found` where all bits of a hash are set; leaves it as it is where not."""
    mask = np.uint64(words.size - 1)
    for i in range(hashes.size):
        bits = _bits(hashes[i])
        if words[(hashes[i] >> _UPPER) & mask] & bits == bits:
            found[i] = True
