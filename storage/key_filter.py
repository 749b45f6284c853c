"""`KeyFilters`: which keys rows that are in the store only may have, by primary key and by each index.

Asking the store for a key that is nowhere costs a microsecond and more, asking a filter of a few bytes a key
costs a hundredth of that. A key that was let go stays in its filter when its row is fetched or deleted: then
the store is asked in vain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import kernels_filter
from .keycode import encode_keys
from .keys import Keys
from .reserve import zeros
from .tablespec import Positions
from .versions import GrowingRows

PRIMARY = -1
"""Stands for the primary index among the numbers of secondary ones."""

KEYS_WORD = 4
"""Keys for each word of 64 bits in a full filter: 1 % of the keys that are nowhere pass it."""

WORDS_MIN = 1 << 10

PART_ROWS = 1 << 16
"""Rows whose keys are added at a time."""


class KeyFilter:
    """A Bloom filter that grows: when its words are full, twice as many are put beside them."""

    __slots__ = ("_count", "_layers")

    def __init__(self) -> None:
        self._layers: list[npt.NDArray[np.uint64]] = []
        self._count = 0
        """Keys in the last layer."""

    def add(self, keys: Keys) -> None:
        hashes = keys.hash()
        hashes = hashes[~self._found(hashes)]
        if not self._layers or self._count + len(hashes) > KEYS_WORD * len(self._layers[-1]):
            least = max(WORDS_MIN, len(hashes) // (KEYS_WORD // 2), 2 * sum(map(len, self._layers)))
            self._layers.append(zeros(1 << (least - 1).bit_length(), np.uint64))
            self._count = 0
        kernels_filter.add_hashes(self._layers[-1], hashes)
        self._count += len(hashes)

    def may_have(self, keys: Keys) -> Positions:
        """Which of the keys may have been added: all that were, and few others."""
        return np.flatnonzero(self._found(keys.hash()))

    def _found(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(hashes), np.bool_)
        for words in self._layers:
            kernels_filter.find_hashes(words, hashes, found)
        return found

    @property
    def nbytes(self) -> int:
        return sum(words.nbytes for words in self._layers)


class KeyFilters:
    """One filter for each index of a table."""

    __slots__ = ("_filters",)

    def __init__(self, indexes: int) -> None:
        self._filters = {index: KeyFilter() for index in range(PRIMARY, indexes)}

    def add(self, rows: GrowingRows, positions: Positions) -> None:
        """Rows that are about to be in the store only."""
        spec = rows.spec
        for start in range(0, len(positions), PART_ROWS):
            part = positions[start : start + PART_ROWS]
            for index, filter_ in self._filters.items():
                places = spec.key_columns if index == PRIMARY else spec.indexes[index]
                types = rows.key_types if index == PRIMARY else rows.index_types[index]
                filter_.add(encode_keys(rows.take(part, places), types, len(part)))

    def may_have(self, index: int, keys: Keys) -> Keys:
        """Those of the keys that a row in the store may have."""
        places = self._filters[index].may_have(keys)
        return keys if len(places) == len(keys) else keys.take(places)

    @property
    def nbytes(self) -> int:
        return sum(filter_.nbytes for filter_ in self._filters.values())
