"""`Absent`: what of a table is in the store only, and how its rows are found there.

A table is *incomplete* while it has one. About each key it then knows either everything (its rows hold a
version of the key, alive or dead) or nothing; of the latter keys the store has the last word. Of a secondary
index's key it knows all rows once they were asked for (`whole`). So whoever reads or writes by key first
fetches what is missing (`fetch`, `fetch_matches`), and then finds all rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .arrowview import validity
from .changelog import Rows
from .cold import ColdRows
from .key_filter import PRIMARY, KeyFilters
from .keycode import encode_keys
from .keys import Keys, group_ids
from .tablespec import Int64Array, Positions
from .types import Type
from .version_rows import VersionedRows
from .versions import GrowingRows

Admit = Callable[[Rows], None]
"""Takes rows of the store into memory."""


class Absent:
    """`count` live rows are only in `cold`."""

    __slots__ = ("_whole", "cold", "count", "filters", "place")

    def __init__(
        self,
        cold: ColdRows,
        count: int,
        place: bytes | None = None,
        filters: KeyFilters | None = None,
    ) -> None:
        self.cold = cold
        self.count = count
        self.filters = filters
        """What keys those rows may have; None if that is not known: they were never in memory."""
        self.place = place
        """Of a table being warmed: all rows before are in memory (`ColdRows.part`)."""
        self._whole: dict[int, npt.NDArray[np.bool_]] = {}
        """By number of an index: of which of its entries all rows are in memory, or are nowhere."""

    def rebased(self, cold: ColdRows) -> Absent:
        """The same over a later state of the store, whose changes since are all in memory."""
        new = Absent(cold, self.count, self.place, self.filters)
        new._whole = self._whole
        return new

    def renumbered(self) -> None:
        """The entries of the indexes have other numbers now."""
        self._whole.clear()

    def copy(self) -> Absent:
        """For a snapshot."""
        return Absent(self.cold, self.count)

    def fetch(self, rows: GrowingRows, keys: Sequence[pa.Array], length: int, admit: Admit) -> None:
        """Gives `admit` the rows with these keys that are in the store only. Raises IoError."""
        entries = rows.primary.enter(encode_keys(keys, rows.key_types, length))
        asked = self._flags(PRIMARY, rows.primary.count)
        unknown = np.flatnonzero((rows.primary.head[entries] < 0) & ~asked[entries])
        if not len(unknown):
            return
        wanted = self._wanted(PRIMARY, keys, rows.key_types, unknown)
        if len(wanted):
            _, found = self.cold.find(wanted)
            if len(found):
                admit(found)
        # Only now: if that failed, the store must be asked again.
        asked[entries] = True

    def fetch_matches(
        self,
        rows: GrowingRows,
        index: int,
        keys: Sequence[pa.Array],
        null_equal: bool,
        length: int,
        admit: Admit,
    ) -> None:
        """The same of the rows that a secondary index should find by these keys."""
        types = rows.index_types[index]
        asked = np.arange(length) if null_equal else without_nulls(keys, length)
        entries = rows.secondary[index].enter(_encode(keys, types, asked))
        whole = self._flags(index, rows.secondary[index].count)
        unknown = asked[~whole[entries]]
        if not len(unknown):
            return
        wanted = self._wanted(index, keys, types, unknown)
        if len(wanted):
            _, found = self.cold.matches(index, wanted)
            found = unknown_rows(rows, found)
            if found is not None:
                admit(found)
        whole[entries] = True

    def _wanted(self, index: int, keys: Sequence[pa.Array], types: Sequence[Type], places: Positions) -> Keys:
        """The keys at `places` for which the store is to be asked, each once."""
        encoded = _encode(keys, types, places)
        if self.filters is not None:
            encoded = self.filters.may_have(index, encoded)
        return _distinct(encoded) if len(encoded) else encoded

    def _flags(self, index: int, count: int) -> npt.NDArray[np.bool_]:
        flags = self._whole.get(index, np.zeros(0, np.bool_))
        if len(flags) < count:
            grown = np.zeros(2 * count, np.bool_)
            grown[: len(flags)] = flags
            self._whole[index] = flags = grown
        return flags


def known(rows: VersionedRows, keys: Keys) -> npt.NDArray[np.bool_]:
    """Of which keys `rows` hold a version, alive or dead, that a reader of `rows` can see."""
    entries = rows.primary.find(keys)
    return rows.primary.latest(entries, rows.died, rows.limit, -1) >= 0


def unknown_rows(rows: VersionedRows, found: Rows) -> Rows | None:
    """Those rows of the store about whose keys `rows` know nothing, None if there are none."""
    if not len(found):
        return None
    keys = encode_keys([found.columns[i] for i in rows.spec.key_columns], rows.key_types, len(found))
    unknown = np.flatnonzero(~known(rows, keys))
    if len(unknown) == len(found):
        return found
    return chosen_rows(found, unknown) if len(unknown) else None


def chosen_rows(rows: Rows, places: Positions) -> Rows:
    indices = pa.array(places)
    return Rows([column.take(indices) for column in rows.columns], rows.weights[places])


def distinct_keys(keys: Sequence[pa.Array], types: Sequence[Type], places: Positions) -> Keys:
    """The keys at `places`, each once."""
    return _distinct(_encode(keys, types, places))


def _distinct(keys: Keys) -> Keys:
    _, first = group_ids(keys)
    return keys if len(first) == len(keys) else keys.take(first)


def without_nulls(keys: Sequence[pa.Array], length: int) -> Int64Array:
    """The probe rows that have no NULL in their key."""
    whole = np.ones(length, np.bool_)
    for column in keys:
        valid = validity(column)
        if valid is not None:
            whole &= valid != 0
    return np.flatnonzero(whole)


def _encode(keys: Sequence[pa.Array], types: Sequence[Type], places: Positions) -> Keys:
    indices = pa.array(places)
    return encode_keys([column.take(indices) for column in keys], types, len(places))
