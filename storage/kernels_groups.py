"""A compiled loop that writes the rows of groups and enters them: one call for all columns of a table.

Columns are given by the addresses of their arrays, so that there may be any number of them. Whoever calls
holds the arrays.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba import types as t
from numba.core import cgutils
from numba.extending import intrinsic

from .kernels_lazy import njit
from .kernels_rows import ALIVE
from .kernels_sums import add_wide

FIXED, TEXT, COUNT, SUM, COPY = range(5)
"""What a step does: values of one width or strings stay what they were; weights are added; weight · value is
added to integers of 128 bits; such integers are those of another column."""

STEP = 5
"""Numbers of a step: what it does, the address of the column's values (of strings: of their offsets) and of
its validity (0: nothing is NULL), then

    FIXED   bytes of a value                SUM    which of the data
    TEXT    address and size of the bytes   COPY   address of the other column's values
"""

_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_ENTRIES = t.int32[::1]


def _as_pointer(typing_context: Any, address: Any) -> Any:
    """The address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return t.voidptr(t.int64), generate


_pointer: Any = intrinsic(_as_pointer)


@nb.njit(nogil=True)
def _numbers(address, count):
    return nb.carray(_pointer(address), count, np.int64)


@nb.njit(nogil=True)
def _bytes(address, count):
    return nb.carray(_pointer(address), count, np.uint8)


@nb.njit(nogil=True)
def _keep_fixed(step, positions, start):
    stop = start + positions.size
    width = step[3]
    if width == 8:
        numbers = _numbers(step[1], stop)
        for g in range(positions.size):
            numbers[start + g] = numbers[positions[g]]
        return
    data = _bytes(step[1], stop * width)
    for g in range(positions.size):
        for k in range(width):
            data[(start + g) * width + k] = data[positions[g] * width + k]


@nb.njit(nogil=True)
def _keep_text(step, positions, start):
    """False: there is not enough room."""
    stop = start + positions.size
    offsets = nb.carray(_pointer(step[1]), stop + 1, np.int32)
    data = _bytes(step[3], step[4])
    at = np.int64(offsets[start])
    for g in range(positions.size):
        first, last = offsets[positions[g]], offsets[positions[g] + 1]
        if at + last - first > step[4]:
            return False
        for k in range(first, last):
            data[at] = data[k]
            at += 1
        offsets[start + g + 1] = at
    return True


@nb.njit(nogil=True)
def _add_weights(step, weights, ids, positions, start):
    """False: a group has nothing left."""
    counts = _numbers(step[1], start + positions.size)
    for g in range(positions.size):
        counts[start + g] = counts[positions[g]]
    for i in range(weights.size):
        counts[start + ids[i]] += weights[i]
    least = np.int64(1)
    for g in range(positions.size):
        least = min(least, counts[start + g])
    return least > 0


@nb.njit(nogil=True)
def _add_values(step, data, weights, ids, positions, start):
    words = _numbers(step[1], 2 * (start + positions.size))
    values = _numbers(data[step[3]], weights.size)
    for g in range(positions.size):
        words[2 * (start + g)] = words[2 * positions[g]]
        words[2 * (start + g) + 1] = words[2 * positions[g] + 1]
    for i in range(weights.size):
        add_wide(words, start + ids[i], values[i], weights[i])


@nb.njit(nogil=True)
def _copy_wide(step, start, stop):
    words, others = _numbers(step[1], 2 * stop), _numbers(step[3], 2 * stop)
    for k in range(2 * start, 2 * stop):
        words[k] = others[k]


@njit(
    [
        t.boolean(
            t.int64[:, ::1], _INT64, _INT64, _INT64, _INT64, t.int64, _ENTRIES, t.int64, _ENTRIES, _ENTRIES,
            t.uint32[::1],
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def write_groups(steps, data, weights, ids, positions, start, entries, now, head, link, died):
    """Writes row `start + g` of each group, which has the row `positions[g]`, and enters it in its place.

    Row i is one of group `ids[i]`; `data` are addresses of int64[rows]. False, and nothing is entered, if a
    group has nothing left to count, or strings have no room. All other arrays have room. `entries` are those
    of the groups; they are entered, and rows end, as by `kernels_rows.replace_rows`.
    """
    groups = positions.size
    for k in range(steps.shape[0]):
        step = steps[k]
        if step[0] == COUNT:
            if not _add_weights(step, weights, ids, positions, start):
                return False
        elif step[0] == SUM:
            _add_values(step, data, weights, ids, positions, start)
        elif step[0] == COPY:
            _copy_wide(step, start, start + groups)
        elif step[0] == FIXED:
            _keep_fixed(step, positions, start)
        elif not _keep_text(step, positions, start):
            return False
        if step[2] != 0:
            valid = _bytes(step[2], start + groups)
            kept = step[0] == FIXED or step[0] == TEXT
            for g in range(groups):
                valid[start + g] = valid[positions[g]] if kept else 1
    for g in range(groups):
        entry = entries[g]
        died[start + g] = ALIVE
        link[start + g] = head[entry]
        died[positions[g]] = now
        head[entry] = start + g
    return True
