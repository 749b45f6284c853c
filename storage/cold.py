"""`ColdRows`: the rows of one table in the store, as of one epoch.

A table that does not fit in memory holds some of its rows and knows what became of every key it wrote since
that epoch; about all other keys it asks here (DESIGN section 4, "read through").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from .changelog import Rows, StoredSpec
from .keys import VNODES, Keys
from .measures import SharedCount
from .store import StoreSnapshot
from .storedrows import StoredCode, index_prefixes, store_keys, store_order, table_range
from .tablespec import Positions

BATCH_ROWS = 1 << 15
"""Rows decoded at a time when all of them are read."""


class ColdRows:
    """Immutable; may be read in any thread.

    `epoch`: what was committed up to there is in it, nothing later is.
    """

    __slots__ = ("_code", "_indexes", "_snapshot", "_spec", "epoch", "fetched")

    def __init__(
        self,
        epoch: int,
        spec: StoredSpec,
        indexes: Sequence[int | None],
        snapshot: StoreSnapshot,
        fetched: SharedCount,
    ) -> None:
        """`indexes`: for each secondary index of the table, which of the store's it is, if any.

        `fetched` counts the rows that are read.
        """
        self.epoch = epoch
        self._spec = spec
        self._code = StoredCode(spec)
        self._indexes = tuple(indexes)
        self._snapshot = snapshot
        self.fetched = fetched

    def find(self, keys: Keys) -> tuple[Positions, Rows]:
        """(which of the distinct `keys` have a row, those rows), in the order of the store.

        They are asked for in that order, so that each block of the store is read once.
        """
        order, names = store_order(keys), store_keys(self._spec, keys)
        values = self._snapshot.get_many([names[i] for i in order.tolist()])
        there = np.fromiter((value is not None for value in values), np.bool_, len(values))
        return order[there], self._decode([value for value in values if value is not None])

    def matches(self, index: int, keys: Keys) -> tuple[Positions, Rows]:
        """(probe, row) for each row that secondary index `index` finds by one of the distinct `keys`."""
        place = self._indexes[index]
        assert place is not None
        prefixes = index_prefixes(self._spec, place, keys)
        found = self._snapshot.continuations(prefixes)
        number = self._spec.number.to_bytes(4, "big")
        values = self._snapshot.get_many([number + rest for rests in found for rest in rests])
        probes = np.repeat(np.arange(len(found)), [len(rests) for rests in found])
        return probes, self._decode([value for value in values if value is not None])

    def indexed(self, index: int) -> bool:
        """Whether the store has the table's secondary index number `index`, for `matches`."""
        return self._indexes[index] is not None

    def part(self, after: bytes, rows_max: int) -> tuple[Rows, bytes]:
        """(the next rows in the order of the store, where to go on): from the beginning if `after` is empty.

        The second is empty after the last row. It means the same place in a later state of the store.
        """
        low, high = table_range(self._spec.number)
        values, after = self._snapshot.part(after or low, high, rows_max)
        return self._decode(values), after

    def last_rows(self) -> Rows:
        """Of each vnode the row with the highest key: among them is that with the highest of all."""
        low, high = table_range(self._spec.number)
        bounds = [*(low + bytes((vnode,)) for vnode in range(VNODES)), high]
        found = [self._snapshot.last(low, high) for low, high in pairwise(bounds)]
        return self._decode([value for value in found if value is not None])

    def batches(self) -> Iterator[Rows]:
        """All rows, in the order of the store."""
        for values in self._snapshot.values(*table_range(self._spec.number), BATCH_ROWS):
            yield self._decode(values)

    def _decode(self, values: Sequence[bytes]) -> Rows:
        self.fetched.add(len(values))
        return self._code.decode(values)
