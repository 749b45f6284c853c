"""Compiled loops over chains of row positions: entering, ending, finding and forgetting row versions.

The rows of one key form a chain, newest first: `head[entry]`, then `link[position]`, −1 at its end.
`died[position]` is the mark of the epoch that ended a row, `ALIVE` while nothing has. A reader that sees
rows below `limit` only walks past newer ones, so a writer may extend chains under it: a row's `link` is
stored before `head` names the row, and no compiler that must assume that the arrays overlap swaps them.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

ALIVE = 0xFFFFFFFF
"""The `died` mark of a row that no epoch has ended."""

_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_INT64_OUT = t.int64[::1]
_ENTRIES = t.int32[::1]
_DIED = t.uint32[::1]
_BITS = t.uint8[::1]


@nb.njit(nogil=True, inline="always")
def _set(bits, i):
    """Sets bit `i`; whether it was set."""
    mask = np.uint8(1) << np.uint8(i & 7)
    was = bits[i >> 3] & mask
    bits[i >> 3] |= mask
    return was != 0


@nb.njit([t.boolean(_ENTRIES, _INT64, _ENTRIES, _DIED, _BITS, _BITS, _INT64_OUT)], cache=True, nogil=True)
def plan_keyed(entries, weights, head, died, going, coming, old):
    """Whether a delta of a keyed table is simple; `old[i]` becomes the live row of each key, −1 if none.

    It is if each key has at most one row coming and one going (weights 1 and −1), every row going is
    alive, and none comes on top of a live row that does not go. `going` and `coming` are zeroed bit sets
    over the entries. Nothing but them and `old` is written.
    """
    for i in range(entries.size):
        if weights[i] >= 0:
            continue
        position = head[entries[i]]
        if weights[i] != -1 or position < 0 or died[position] != ALIVE or _set(going, entries[i]):
            return False
        old[i] = position
    for i in range(entries.size):
        if weights[i] < 0:
            continue
        entry = entries[i]
        if weights[i] != 1 or _set(coming, entry):
            return False
        position = head[entry]
        alive = position >= 0 and died[position] == ALIVE
        replaced = (going[entry >> 3] >> np.uint8(entry & 7)) & np.uint8(1) != 0
        if alive != replaced:
            return False
        old[i] = position if alive else -1
    return True


@nb.njit([t.int64(_ENTRIES, _ENTRIES, _ENTRIES, _DIED, _ENTRIES, _INT64_OUT)], cache=True, nogil=True)
def known_rows(numbers, entry_of, head, died, entries, positions):
    """The entries of numbered keys, and their live rows (−1: none); returns how many of them have one.

    −1 if the entry of one is not known; the outputs are then of no use.
    """
    alive = 0
    for i in range(numbers.size):
        entry = entry_of[numbers[i]] if numbers[i] < entry_of.size else -1
        if entry < 0:
            return -1
        entries[i] = entry
        position = head[entry]
        if position >= 0 and died[position] == ALIVE:
            positions[i] = position
            alive += 1
        else:
            positions[i] = -1
    return alive


@nb.njit([t.void(_ENTRIES, _BITS)], cache=True, nogil=True)
def clear_bits(entries, bits):
    """Clears the bits of entries, and others in the same bytes: all that are set are of these entries."""
    for i in range(entries.size):
        bits[entries[i] >> 3] = 0


@nb.njit([t.int64(_ENTRIES, _ENTRIES, _INT64_OUT, _INT64_OUT)], cache=True, nogil=True)
def group_entries(entries, numbers, ids, first):
    """Numbers equal entries alike, in order of first appearance; returns how many there are.

    `numbers` is zeroed and has an element for each entry there may be, `ids` and `first` one for each
    given.
    """
    groups = 0
    for i in range(entries.size):
        entry = entries[i]
        if numbers[entry] == 0:
            first[groups] = i
            groups += 1
            numbers[entry] = groups
        ids[i] = numbers[entry] - 1
    return groups


@nb.njit([t.int64(_ENTRIES, _ENTRIES, _ENTRIES, _DIED, t.int64, t.int64, _INT64_OUT)], cache=True, nogil=True)
def replace_rows(entries, head, link, died, start, now, old):
    """Makes row `start + i` the version of `entries[i]` and ends the live one before it.

    `old[i]` becomes the position of the ended row, −1 when there was none alive. Returns −1, or the
    first `i` whose key occurred earlier in the same call.
    """
    for i in range(entries.size):
        entry = entries[i]
        before = head[entry]
        if before >= start:
            return i
        old[i] = -1
        link[start + i] = before
        if before >= 0 and died[before] == ALIVE:
            died[before] = now
            old[i] = before
        head[entry] = start + i
    return -1


@nb.njit([t.void(_ENTRIES, _ENTRIES, _ENTRIES, t.int64)], cache=True, nogil=True)
def chain_rows(entries, head, link, start):
    """Puts row `start + i` at the front of the chain of `entries[i]`."""
    for i in range(entries.size):
        entry = entries[i]
        link[start + i] = head[entry]
        head[entry] = start + i


@nb.njit([t.void(_ENTRIES, _ENTRIES, _ENTRIES, t.int64)], cache=True, nogil=True)
def unchain_rows(entries, head, link, start):
    """Takes rows `start + i`, the newest of their chains, out again."""
    for i in range(entries.size - 1, -1, -1):
        head[entries[i]] = link[start + i]


@nb.njit(
    [t.void(_ENTRIES, _ENTRIES, _ENTRIES, t.int64, t.boolean, _ENTRIES, _ENTRIES)], cache=True, nogil=True
)
def relink_rows(head, link, moved, count, single, new_head, new_link):
    """The chains of `count` entries without rows that are gone or behind the end of `moved`.

    A key without rows gets head −1.

    `moved` and `single` as in `kernels_slots.compact_keys`.
    """
    for entry in range(count):
        position = head[entry]
        before = np.int32(-1)
        new_head[entry] = -1
        while position >= moved.size:
            position = link[position]
        while position >= 0:
            row = moved[position]
            if row >= 0:
                if before < 0:
                    new_head[entry] = row
                else:
                    new_link[before] = row
                new_link[row] = -1
                before = row
            if single:
                break
            position = link[position]


@nb.njit([t.int64(_INT64, _DIED, t.int64, t.int64)], cache=True, nogil=True)
def end_rows(positions, died, count, now):
    """Ends live rows. Returns −1, or the first `i` that is no live row; then nothing is changed."""
    for i in range(positions.size):
        position = positions[i]
        if position < 0 or position >= count or died[position] != ALIVE:
            for j in range(i):
                died[positions[j]] = ALIVE
            return i
        died[position] = now
    return -1


@nb.njit([t.void(_ENTRIES, _ENTRIES, _ENTRIES, _DIED, t.int64, t.int64, _INT64_OUT)], cache=True, nogil=True)
def latest_rows(entries, head, link, died, limit, as_of, out):
    """The newest row below `limit` of each entry if it is visible at `as_of`, else −1."""
    for i in range(entries.size):
        position = np.int64(-1)
        if entries[i] >= 0:
            position = np.int64(head[entries[i]])
            while position >= limit:
                position = np.int64(link[position])
            if position >= 0 and died[position] <= as_of:
                position = np.int64(-1)
        out[i] = position


@nb.njit([t.int64(_ENTRIES, _ENTRIES, _ENTRIES, _DIED, t.int64, t.int64)], cache=True, nogil=True)
def count_chain(entries, head, link, died, limit, as_of):
    """How many rows below `limit`, visible at `as_of`, the chains of `entries` hold together."""
    total = 0
    for i in range(entries.size):
        position = head[entries[i]] if entries[i] >= 0 else np.int32(-1)
        while position >= 0:
            if position < limit and died[position] > as_of:
                total += 1
            position = link[position]
    return total


@nb.njit([t.int64(_ENTRIES, _ENTRIES, _ENTRIES, _DIED, t.int64)], cache=True, nogil=True)
def prune_chain(entries, head, link, died, horizon):
    """Counts the live rows of the chains, taking out rows that ended at or before `horizon`.

    A reader standing on a row taken out goes on along its unchanged link.
    """
    total = 0
    for i in range(entries.size):
        entry = entries[i]
        position = head[entry] if entry >= 0 else np.int32(-1)
        before = np.int32(-1)
        while position >= 0:
            after = link[position]
            if died[position] <= horizon:
                if before < 0:
                    head[entry] = after
                else:
                    link[before] = after
            else:
                before = position
                if died[position] == ALIVE:
                    total += 1
            position = after
    return total


@nb.njit(
    [t.void(_ENTRIES, _ENTRIES, _ENTRIES, _DIED, t.int64, t.int64, _INT64_OUT, _INT64_OUT)],
    cache=True,
    nogil=True,
)
def list_chain(entries, head, link, died, limit, as_of, probes, positions):
    """The pairs `count_chain` counted: probe numbers ascending, positions ascending within a probe."""
    at = 0
    for i in range(entries.size):
        begin = at
        position = head[entries[i]] if entries[i] >= 0 else np.int32(-1)
        while position >= 0 and at < probes.size:
            if position < limit and died[position] > as_of:
                probes[at] = i
                positions[at] = position
                at += 1
            position = link[position]
        left = begin
        right = at - 1
        while left < right:
            swap = positions[left]
            positions[left] = positions[right]
            positions[right] = swap
            left += 1
            right -= 1
