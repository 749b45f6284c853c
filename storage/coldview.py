"""`ColdView`: reading a snapshot of an incomplete table.

Rows that the snapshot does not have are fetched from the store as of the snapshot's epoch and kept aside, for
this snapshot only. Their positions follow those of the snapshot's own rows. When they have become many,
another snapshot takes the place of this one (`Evictions`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from .absent import Absent, chosen_rows, distinct_keys, known, unknown_rows, without_nulls
from .changelog import Rows
from .index import Entries
from .keycode import encode_keys
from .keys import group_ids
from .tablespec import Int64Array, Positions
from .version_rows import FrozenRows, VersionedRows
from .versions import GrowingRows


class ColdView:
    """`rows` and what `absent` says of the rest. From any thread."""

    def __init__(self, rows: FrozenRows, absent: Absent) -> None:
        self._rows = rows
        self._cold = absent.cold
        self._lock = threading.Lock()
        self._fetched = GrowingRows(rows.spec, 0)
        self._complete = False

    def lookup(self, keys: Sequence[pa.Array], length: int | None) -> Positions:
        """As `TableSnapshot.lookup`."""
        rows, count = self._rows, _length(keys, length)
        entries = rows.primary.find(encode_keys(keys, rows.key_types, count))
        newest = rows.primary.latest(entries, rows.died, rows.limit, -1)
        alive = (newest >= 0) & (rows.died[newest] > rows.as_of)
        found = np.where(alive, newest, -1)
        unknown = np.flatnonzero(newest < 0)
        if len(unknown):
            indices = pa.array(unknown)
            with self._lock:
                found[unknown] = self._fetch([column.take(indices) for column in keys], len(unknown))
        return found

    def matches(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool, length: int | None
    ) -> tuple[Int64Array, Positions]:
        """As `TableSnapshot.matches`."""
        rows, count = self._rows, _length(keys, length)
        types = rows.index_types[index]
        probes, positions = rows.matches(index, keys, null_equal, count)
        if not self._cold.indexed(index):
            self.limit()
            with self._lock:
                more, places = self._fetched.matches(index, keys, null_equal, count)
            return _by_probe(np.concatenate([probes, more]), np.concatenate([positions, places + rows.limit]))
        asked = np.arange(count) if null_equal else without_nulls(keys, count)
        if not len(asked):
            return probes, positions
        indices = pa.array(asked)
        ids, _ = group_ids(encode_keys([column.take(indices) for column in keys], types, len(asked)))
        of_key, found = self._cold.matches(index, distinct_keys(keys, types, asked))
        if not len(found):
            return probes, positions
        primary = [found.columns[i] for i in rows.spec.key_columns]
        fresh = np.flatnonzero(~known(rows, encode_keys(primary, rows.key_types, len(found))))
        with self._lock:
            places = self._keep(chosen_rows(found, fresh))
        more, which = _pairs(ids, of_key[fresh])
        return _by_probe(np.concatenate([probes, asked[more]]), np.concatenate([positions, places[which]]))

    def take(self, positions: Positions, columns: Sequence[int] | None) -> list[pa.Array]:
        """As `TableSnapshot.take`."""
        limit = self._rows.limit
        own = positions < limit
        if own.all():
            return self._rows.take(positions, columns)
        with self._lock:
            theirs = self._fetched.take(np.where(own, -1, positions - limit), columns)
        mine = self._rows.take(np.where(own, positions, -1), columns)
        count = len(positions)
        order = pa.array(np.where(own, 0, count) + np.arange(count))
        return [pa.concat_arrays([a, b]).take(order) for a, b in zip(mine, theirs, strict=True)]

    def weights(self, positions: Positions) -> Int64Array:
        """As `TableSnapshot.weights`."""
        limit = self._rows.limit
        own = positions < limit
        with self._lock:
            theirs = self._fetched.weights(np.where(own, -1, positions - limit))
        return np.where(own, self._rows.weights(np.where(own, positions, -1)), theirs)

    def limit(self) -> int:
        """As `TableSnapshot.limit`; fetches all rows, but lets others fetch theirs in between."""
        if not self._complete:
            for rows in cold_parts(self._rows, self._cold.batches()):
                with self._lock:
                    self._keep(rows)
            self._complete = True
        with self._lock:
            return self._rows.limit + self._fetched.limit

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that were fetched."""
        return self._fetched.nbytes

    def positions(self, start: int, stop: int) -> Positions:
        """As `TableSnapshot.positions`."""
        limit = self._rows.limit
        stop = min(stop, self.limit())
        own = start + np.flatnonzero(self._rows.died[start : min(stop, limit)] > self._rows.as_of)
        return np.concatenate([own, np.arange(max(start, limit), max(stop, limit))])

    def _fetch(self, keys: Sequence[pa.Array], length: int) -> Positions:
        """The positions of rows unknown to the snapshot, −1 where the store has none either."""
        fetched, limit = self._fetched, self._rows.limit
        found = fetched.lookup(keys, length)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            _, rows = self._cold.find(distinct_keys(keys, self._rows.key_types, missing))
            if len(rows):
                self._keep(rows)
                found = fetched.lookup(keys, length)
        return np.where(found >= 0, found + limit, -1)

    def _keep(self, rows: Rows) -> Positions:
        """The positions of these rows, remembered unless they are already."""
        fetched, count = self._fetched, len(rows)
        primary = [rows.columns[i] for i in fetched.spec.key_columns]
        fresh = np.flatnonzero(fetched.lookup(primary, count) < 0)
        if len(fresh):
            new = rows if len(fresh) == count else chosen_rows(rows, fresh)
            admit(fetched, new)
        return self._rows.limit + fetched.lookup(primary, count)


def admit(rows: GrowingRows, found: Rows, undoable: bool = False) -> Entries:
    """Adds rows of which `rows` know nothing, alive; returns their entries in the primary index.

    With `undoable` a rollback is told of them: it must be when the open epoch has entered other rows before.
    """
    start = rows.append(found.columns, found.weights, len(found))
    entries = rows.enter(found.columns, len(found))
    ended = rows.replace(start, entries, 0)
    assert ended is not None and not (ended >= 0).any(), "a row of the store was known already"
    if not undoable:
        for index in (rows.primary, *rows.secondary):
            index.undo.pop()
    return entries


def cold_parts(rows: VersionedRows, batches: Iterator[Rows]) -> Iterator[Rows]:
    """What of the store's rows belongs to the table."""
    for batch in batches:
        left = unknown_rows(rows, batch)
        if left is not None:
            yield left


def scan_incomplete(
    rows: VersionedRows, absent: Absent, columns: Sequence[int] | None
) -> tuple[list[pa.Array], Int64Array]:
    """All live rows and their weights (as `StateTable.scan`), those in memory first."""
    places = range(len(rows.spec.schema)) if columns is None else columns
    here, weights = rows.scan(places)
    parts, counts = [here], [weights]
    for part in cold_parts(rows, absent.cold.batches()):
        parts.append([part.columns[i] for i in places])
        counts.append(part.weights)
    return [pa.concat_arrays(list(column)) for column in zip(*parts, strict=True)], np.concatenate(counts)


def parts_of(
    rows: VersionedRows, absent: Absent | None, columns: Sequence[int] | None
) -> Iterator[tuple[list[pa.Array], Int64Array]]:
    """All live rows and their weights in parts, those in memory first; nothing may be written meanwhile."""
    yield from rows.parts(columns)
    if absent is not None:
        places = range(len(rows.spec.schema)) if columns is None else columns
        for part in cold_parts(rows, absent.cold.batches()):
            yield [part.columns[i] for i in places], part.weights


def _length(keys: Sequence[pa.Array], length: int | None) -> int:
    if keys:
        return len(keys[0])
    return 1 if length is None else length


def _by_probe(probes: Int64Array, positions: Positions) -> tuple[Int64Array, Positions]:
    order = np.lexsort((positions, probes))
    return probes[order], positions[order]


def _pairs(ids: Int64Array, of_key: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(i, j) for all i, j with ids[i] == of_key[j]; `of_key` is ascending."""
    first = np.searchsorted(of_key, ids, "left")
    counts = np.searchsorted(of_key, ids, "right") - first
    i = np.repeat(np.arange(len(ids)), counts)
    within = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts)
    return i, np.repeat(first, counts) + within
