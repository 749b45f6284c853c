"""A compiled loop for rows that compete for several things at once."""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numpy as np
from numba import types as t

from .kernels_lazy import njit


@njit([t.void(t.int64[:, ::1], t.int64, t.uint8[::1])], cache=True, nogil=True)
def claim_in_order(ids, count, kept):
    """Marks in `kept` the rows that find all they want unclaimed, and claims it for them, in their order.

    `ids`: (things wanted, rows), numbers below `count`, −1 where a row wants nothing of that kind. A row
    that is not kept claims nothing.
    """
    claimed = np.zeros((ids.shape[0], count), np.uint8)
    for row in range(ids.shape[1]):
        free = True
        for kind in range(ids.shape[0]):
            wanted = ids[kind, row]
            if wanted >= 0 and claimed[kind, wanted]:
                free = False
                break
        if not free:
            continue
        kept[row] = 1
        for kind in range(ids.shape[0]):
            if ids[kind, row] >= 0:
                claimed[kind, ids[kind, row]] = 1
