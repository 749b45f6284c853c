"""Compiled loops of the hash index: hashing, grouping, interning and finding keys.

Keys lie as bytes: key i is `data[offsets[i]:offsets[i+1]]`, or with `width` > 0 `data[i*width:(i+1)*width]`
(`offsets` is then unused). A slot array of any size holds `tag << 32 | entry + 1`, 0 when empty, where
`tag` is the upper half of the key's hash and `entry` a dense key number; a tag's home slot is
`tag * size >> 32` (Lemire, "Fast random integer generation in an interval", 2019), so a larger array
keeps the order of the tags and growing is one sequential pass without hashing again. Collisions probe
linearly and are settled by comparing the key bytes.

An index's slot array has twice as many elements as homes. So probing never comes back to the beginning, and
the pass can be made in parts (`kernels_slots.sweep_slots`): keys whose home is below `swept` are in the
larger array `after`, the others in `slots`. What is swept stays where it was, for readers that know an
earlier `swept`.
"""

# numba takes the types from the signatures.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types as t

_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xD6E8FEB86659FD93)
_K3 = np.uint64(0xFF51AFD7ED558CCD)
_K4 = np.uint64(0xC4CEB9FE1A85EC53)
_32 = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)
_BLOCK = 128

_BYTES = t.Array(t.uint8, 1, "C", readonly=True)
_BYTES_OUT = t.uint8[::1]
_INT64 = t.Array(t.int64, 1, "C", readonly=True)
_INT64_OUT = t.int64[::1]
_ENTRIES = t.int32[::1]
_SLOTS = t.uint64[::1]


@nb.njit(nogil=True, inline="always")
def _word(data, i):
    """Eight bytes at `i`, little-endian."""
    return (
        np.uint64(data[i])
        | np.uint64(data[i + 1]) << np.uint64(8)
        | np.uint64(data[i + 2]) << np.uint64(16)
        | np.uint64(data[i + 3]) << np.uint64(24)
        | np.uint64(data[i + 4]) << np.uint64(32)
        | np.uint64(data[i + 5]) << np.uint64(40)
        | np.uint64(data[i + 6]) << np.uint64(48)
        | np.uint64(data[i + 7]) << np.uint64(56)
    )


@nb.njit(nogil=True)
def _hash(data, start, end):
    """64-bit hash of `data[start:end]`: one multiply-xorshift round a word, MurmurHash3's finaliser."""
    h = np.uint64(end - start) * _K3
    i = start
    while i + 8 <= end:
        x = _word(data, i) * _K1
        x ^= x >> _32
        h = (h ^ x) * _K2
        h ^= h >> np.uint64(29)
        i += 8
    if i < end:
        x = np.uint64(0)
        shift = np.uint64(0)
        while i < end:
            x |= np.uint64(data[i]) << shift
            shift += np.uint64(8)
            i += 1
        x *= _K1
        x ^= x >> _32
        h = (h ^ x) * _K2
        h ^= h >> np.uint64(29)
    h ^= h >> np.uint64(33)
    h *= _K3
    h ^= h >> np.uint64(33)
    h *= _K4
    h ^= h >> np.uint64(33)
    return h


@nb.njit(nogil=True)
def _same(a, a_start, b, b_start, length):
    i = 0
    while i + 8 <= length:
        if _word(a, a_start + i) != _word(b, b_start + i):
            return False
        i += 8
    while i < length:
        if a[a_start + i] != b[b_start + i]:
            return False
        i += 1
    return True


@nb.njit(nogil=True, inline="always")
def _home(tag, size):
    return np.int64((tag * np.uint64(size)) >> _32)


@nb.njit(nogil=True)
def _touch(slots, size, after, swept, key_data, key_offsets, width, limit, data, offsets, begin, end, tags):
    """Tags of the keys `begin` to `end`, their slots and stored keys brought into the cache.

    Loads of a loop as short as these overlap in memory; those of the comparing loop do not, being too
    far apart. Finding keys among a million is four times as fast for it.
    """
    for i in range(begin, end):
        start = i * width if width > 0 else offsets[i]
        tags[i - begin] = _hash(data, start, start + width if width > 0 else offsets[i + 1]) >> _32
    seen = np.uint64(0)
    for i in range(end - begin):
        at = _home(tags[i], size)
        seen += after[_home(tags[i], after.size >> 1)] if at < swept else slots[at]
    if limit > 0:
        for i in range(end - begin):
            at = _home(tags[i], size)
            slot = after[_home(tags[i], after.size >> 1)] if at < swept else slots[at]
            entry = min(max(np.int64(slot & _LOWER) - 1, 0), limit - 1)
            seen += key_data[entry * width if width > 0 else key_offsets[entry]]
    tags[_BLOCK] = seen  # or the loads would be optimised away


@nb.njit(nogil=True)
def _probe(slots, at, tag, key_data, key_offsets, width, limit, data, start, length):
    """The place, from `at` on, of the slot of a key (`data[start:start + length]`) or of the empty slot
    that says there is none among the entries below `limit`."""
    while True:
        slot = slots[at]
        if slot == 0:
            return at
        if slot >> _32 == tag:
            entry = np.int64(slot & _LOWER) - 1
            if entry < limit:
                other = entry * width if width > 0 else key_offsets[entry]
                stored = width if width > 0 else key_offsets[entry + 1] - other
                if stored == length and _same(data, start, key_data, other, length):
                    return at
        at += 1


@nb.njit([t.void(_BYTES, _INT64, t.int64, t.uint64[::1])], cache=True, nogil=True)
def hash_keys(data, offsets, width, out):
    """The hash of every key; `out` has one element a key."""
    for i in range(out.size):
        if width > 0:
            out[i] = _hash(data, i * width, i * width + width)
        else:
            out[i] = _hash(data, offsets[i], offsets[i + 1])


@nb.njit([t.int64(_BYTES, _INT64, t.int64, _SLOTS, _INT64_OUT, _INT64_OUT)], cache=True, nogil=True)
def group_keys(data, offsets, width, slots, ids, first):
    """Numbers equal keys alike, in order of first appearance; returns how many there are.

    `slots` is zeroed and larger than the number of keys, `ids` and `first` have one element a key.
    """
    size = np.uint64(slots.size)
    groups = 0
    tags = np.empty(_BLOCK + 1, np.uint64)
    for i in range(ids.size):
        if i % _BLOCK == 0:
            stop = min(i + _BLOCK, ids.size)
            _touch(slots, slots.size, slots, 0, data, offsets, width, 0, data, offsets, i, stop, tags)
        start = i * width if width > 0 else offsets[i]
        end = start + width if width > 0 else offsets[i + 1]
        tag = tags[i % _BLOCK]
        at = np.int64((tag * size) >> _32)
        while True:
            slot = slots[at]
            if slot == 0:
                slots[at] = tag << _32 | np.uint64(groups + 1)
                first[groups] = i
                ids[i] = groups
                groups += 1
                break
            if slot >> _32 == tag:
                group = np.int64(slot & _LOWER) - 1
                row = first[group]
                other = row * width if width > 0 else offsets[row]
                length = width if width > 0 else offsets[row + 1] - other
                if length == end - start and _same(data, start, data, other, length):
                    ids[i] = group
                    break
            at += 1
            if at == slots.size:
                at = 0
    return groups


@nb.njit([t.int64(_INT64, t.int64, _ENTRIES, _INT64_OUT, _INT64_OUT)], cache=True, nogil=True)
def group_dense(values, low, numbers, ids, first):
    """`group_keys` of integers from `low` up to `low + numbers.size`, `numbers` zeroed: no hashing."""
    groups = 0
    for i in range(values.size):
        at = values[i] - low
        if numbers[at] == 0:
            first[groups] = i
            groups += 1
            numbers[at] = groups
        ids[i] = numbers[at] - 1
    return groups


@nb.njit(
    [t.void(_SLOTS, _SLOTS, t.int64, _BYTES, _INT64, t.int64, t.int64, _BYTES, _INT64, _ENTRIES)],
    cache=True,
    nogil=True,
)
def find_keys(slots, after, swept, key_data, key_offsets, width, limit, data, offsets, out):
    """The entry of each probe key among the entries below `limit`, −1 when there is none."""
    size = slots.size >> 1
    tags = np.empty(_BLOCK + 1, np.uint64)
    for i in range(out.size):
        if i % _BLOCK == 0:
            stop = min(i + _BLOCK, out.size)
            _touch(
                slots, size, after, swept, key_data, key_offsets, width, limit, data, offsets, i, stop, tags
            )
        start = i * width if width > 0 else offsets[i]
        length = width if width > 0 else offsets[i + 1] - start
        tag = tags[i % _BLOCK]
        at = _home(tag, size)
        found = -1
        if at < swept:
            at = _home(tag, after.size >> 1)
            at = _probe(after, at, tag, key_data, key_offsets, width, limit, data, start, length)
            # An empty slot that a writer has filled in the meantime has an entry that is too new.
            entry = np.int64(after[at] & _LOWER) - 1
            out[i] = entry if entry < limit else -1
            continue
        while True:  # As `_probe`, a call of which takes as long as all this.
            slot = slots[at]
            if slot == 0:
                break
            if slot >> _32 == tag:
                entry = np.int64(slot & _LOWER) - 1
                if entry < limit:
                    other = entry * width if width > 0 else key_offsets[entry]
                    stored = width if width > 0 else key_offsets[entry + 1] - other
                    if stored == length and _same(data, start, key_data, other, length):
                        found = entry
                        break
            at += 1
        out[i] = found


@nb.njit(
    [
        t.int64(
            _SLOTS, _SLOTS, t.int64, _BYTES_OUT, _INT64_OUT, t.int64, t.int64, _ENTRIES, _BYTES, _INT64,
            _ENTRIES,
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def intern_keys(slots, after, swept, key_data, key_offsets, width, count, head, data, offsets, out):
    """The entry of each key, made where missing (`head` −1); returns the new number of entries.

    All arrays must have room for every key being new.
    """
    size = slots.size >> 1
    tags = np.empty(_BLOCK + 1, np.uint64)
    for i in range(out.size):
        if i % _BLOCK == 0:
            stop = min(i + _BLOCK, out.size)
            _touch(
                slots, size, after, swept, key_data, key_offsets, width, count, data, offsets, i, stop, tags
            )
        start = i * width if width > 0 else offsets[i]
        length = width if width > 0 else offsets[i + 1] - start
        tag = tags[i % _BLOCK]
        at = _home(tag, size)
        found = -1
        swept_already = at < swept
        if swept_already:
            at = _home(tag, after.size >> 1)
            at = _probe(after, at, tag, key_data, key_offsets, width, count, data, start, length)
            found = np.int64(after[at] & _LOWER) - 1
        while not swept_already:  # As `_probe`, a call of which takes as long as all this.
            slot = slots[at]
            if slot == 0:
                break
            if slot >> _32 == tag:
                entry = np.int64(slot & _LOWER) - 1
                other = entry * width if width > 0 else key_offsets[entry]
                stored = width if width > 0 else key_offsets[entry + 1] - other
                if stored == length and _same(data, start, key_data, other, length):
                    found = entry
                    break
            at += 1
        if found >= 0:
            out[i] = found
            continue
        target = count * width if width > 0 else key_offsets[count]
        for j in range(length):
            key_data[target + j] = data[start + j]
        if width == 0:
            key_offsets[count + 1] = target + length
        head[count] = -1
        made = tag << _32 | np.uint64(count + 1)
        if swept_already:
            after[at] = made
        else:
            slots[at] = made
        out[i] = count
        count += 1
    return count
