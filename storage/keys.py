"""`Keys`: the key bytes of rows, and what follows from them: hash, vnode, order, groups.

How values become such bytes is in `keycode.py`. Here they are bytes and nothing else: equal keys are equal
bytes, and the order of keys is the order of their bytes (memcmp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels, kernels_keys
from .arrow_compute import pc

HASH_NAME = "millpond-64-1"
"""Names the hash function and the key bytes; stamped in stores, where both are kept."""

VNODES = 256

ByteArray = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]

NO_OFFSETS = np.empty(0, np.int64)
"""Of keys of one width."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Key bytes of n rows: `width` bytes each, or (`width` 0) between consecutive `offsets`."""

    length: int
    width: int
    data: ByteArray
    offsets: Int64Array

    def __len__(self) -> int:
        return self.length

    def hash(self) -> npt.NDArray[np.uint64]:
        """The stable hash called HASH_NAME of each key."""
        out = np.empty(self.length, np.uint64)
        kernels.hash_keys(self.data, self.offsets, self.width, out)
        return out

    def vnode(self) -> ByteArray:
        """The virtual node of each key: the lowest byte of its hash."""
        return self.hash().astype(np.uint8)

    def to_bytes_list(self) -> list[bytes]:
        """The bytes of each key."""
        data = self.data.tobytes()
        if self.width:
            return [data[i : i + self.width] for i in range(0, self.length * self.width, self.width)]
        bounds: list[int] = self.offsets.tolist()
        return [data[a:b] for a, b in pairwise(bounds)]

    def slice(self, start: int, length: int) -> Keys:
        """`length` keys from number `start` on, sharing the memory."""
        if self.width:
            data = self.data[start * self.width : (start + length) * self.width]
            return Keys(length, self.width, data, NO_OFFSETS)
        return Keys(length, 0, self.data, self.offsets[start : start + length + 1])

    def take(self, places: Int64Array) -> Keys:
        """Some of the keys."""
        if self.width:
            data = self.data.reshape(-1, self.width)[places].reshape(-1)
            return Keys(len(places), self.width, data, NO_OFFSETS)
        starts = self.offsets[places]
        lengths = self.offsets[places + 1] - starts
        return assemble([Encoded(self.data, starts, lengths)], len(places))

    def to_arrow(self) -> pa.Array:
        """The keys as a (fixed-size or large) binary array, sharing the memory."""
        if self.width:
            buffers = [None, pa.py_buffer(self.data)]
            return pa.Array.from_buffers(pa.binary(self.width), self.length, buffers)
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), self.length, buffers)

    def sort_order(self) -> Int64Array:
        """The rows in ascending order of their bytes; equal ones stay in their order."""
        if self.length < 2:
            return np.arange(self.length)
        if self.width == 9:
            matrix = self.data.reshape(-1, 9)
            if (matrix[:, 0] == matrix[0, 0]).all():
                words = np.ascontiguousarray(matrix[:, 1:]).view(">u8").ravel().astype(np.uint64)
                return np.argsort(words, kind="stable")
        return pc.call_function("array_sort_indices", [self.to_arrow()]).to_numpy().astype(np.int64)


class Part(Protocol):
    """The encoded values of one column, still to be placed in the keys."""

    def sizes(self, total: Int64Array) -> None: ...
    def place(self, out: ByteArray, cursor: Int64Array) -> None: ...


@dataclass(slots=True)
class Encoded:
    """Bytes already encoded: row i is `data[starts[i]:][:lengths[i]]`."""

    data: ByteArray
    starts: Int64Array
    lengths: Int64Array

    def sizes(self, total: Int64Array) -> None:
        total += self.lengths

    def place(self, out: ByteArray, cursor: Int64Array) -> None:
        kernels_keys.place_bytes(self.data, self.starts, self.lengths, out, cursor)

    def complement(self) -> None:
        """Complements all bytes but the marker, for descending order."""
        markers = self.data[self.starts]
        self.data = ~self.data
        self.data[self.starts] = markers


def assemble(parts: Sequence[Part], rows: int) -> Keys:
    """Keys of varying width: of each row the bytes of all parts, side by side."""
    sizes = np.zeros(rows, np.int64)
    for part in parts:
        part.sizes(sizes)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    cursor = offsets[:-1].copy()
    for part in parts:
        part.place(data, cursor)
    return Keys(rows, 0, data, offsets)


def dense_group_ids(values: Int64Array) -> tuple[Int64Array, Int64Array] | None:
    """`group_ids` of integers that lie close together (at least one in every two); None of others."""
    low, high = int(values.min()), int(values.max())
    if high - low >= 2 * len(values):
        return None
    ids, first = np.empty(len(values), np.int64), np.empty(min(len(values), high - low + 1), np.int64)
    groups = kernels.group_dense(values, low, np.zeros(high - low + 1, np.int32), ids, first)
    return ids, first[:groups]


def group_ids(keys: Keys) -> tuple[Int64Array, Int64Array]:
    """Numbers equal keys alike: (group of each row, first row of each group).

    Groups are numbered in order of first appearance; keys are compared, not only hashed.
    """
    if keys.length == 1:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    ids = np.empty(keys.length, np.int64)
    first = np.empty(keys.length, np.int64)
    slots = np.zeros(keys.length * 2 + 1, np.uint64)
    groups = kernels.group_keys(keys.data, keys.offsets, keys.width, slots, ids, first)
    return ids, first[:groups].copy() if groups * 2 < keys.length else first[:groups]
