"""`TableState`: what a `StateTable` consists of, how it is read, and which of its rows are in memory.

A table that does not fit is *incomplete* (`absent.py`): it fetches rows from the store when they are looked
up or written, and lets them go again (`evict`). After a start it may be incomplete only until all rows have
been brought in (`warm`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from .absent import Absent, unknown_rows
from .changelog import Rows
from .cold import BATCH_ROWS, ColdRows
from .coldview import admit, parts_of, scan_incomplete
from .compaction import Compaction
from .index import Entries
from .key_filter import KeyFilters
from .replay import NetChange
from .snapshot import TableSnapshot
from .tablespec import Int64Array, Positions, TableChange, TableSpec
from .versions import GrowingRows
from .warming import overwrite


class TableState:
    """Reading methods show the current state, the open epoch's writes included."""

    def __init__(self, name: str, spec: TableSpec) -> None:
        self.name = name
        self.spec = spec
        self._rows = GrowingRows(spec, base=-1)
        self._absent: Absent | None = None
        self._marked: int | None = None
        self._epoch: int | None = None
        self._committed = 0
        self._start = 0
        self._live = 0
        self._ended: list[Positions] = []
        self._deleted: list[tuple[Positions, Entries | None]] = []
        self._before: tuple[GrowingRows, Absent | None] | None = None
        self._admitted: list[tuple[int, int, Entries]] = []
        """Rows fetched from the store after the open epoch had written: first, end, and their entries."""
        self._noted: TableChange | None = None
        """What `change` found, until the next write."""
        self._compaction: Compaction | None = None
        self._tolerated = 0
        """Ended row versions that are tolerated because compacting has failed."""
        self._horizon: int | None = None
        """The oldest reader of the rows as of the open epoch's begin, once asked for."""
        self._none = spec.schema.empty()
        self._no_keys = [self._none[i] for i in spec.key_columns]
        self._published = TableSnapshot(spec, 0, self._rows.freeze(1))

    def __len__(self) -> int:
        """Live rows (of a bag: distinct rows)."""
        return self._rows.live + (0 if self._absent is None else self._absent.count)

    @property
    def complete(self) -> bool:
        """Whether all rows are in memory."""
        return self._absent is None

    @property
    def resident(self) -> int:
        """Live rows in memory."""
        return self._rows.live

    @property
    def epoch(self) -> int:
        """The last committed epoch, 0 before the first."""
        return self._committed

    @property
    def nbytes(self) -> int:
        """Bytes in use for rows and indexes, and to know which rows are in the store only."""
        filters = None if self._absent is None else self._absent.filters
        return self._rows.nbytes + (0 if filters is None else filters.nbytes)

    # -- reading

    def lookup(self, keys: Sequence[pa.Array], length: int | None = None) -> Positions:
        """Position of the live row with each key, −1 where there is none.

        `keys` are arrays for the key columns, in their order (of a bag: for all columns). `length` is
        the number of probes of a table with key `()`, 1 unless given.
        """
        if self._absent is not None:
            self._fetch(self._absent, keys, length)
        return self._rows.lookup(keys, length)

    def matches(
        self, index: int, keys: Sequence[pa.Array], null_equal: bool = False, length: int | None = None
    ) -> tuple[Int64Array, Positions]:
        """(probe row, position) of all live rows found by secondary index number `index`.

        Ascending by probe, then by position. A NULL in `keys` matches nothing unless `null_equal`.
        """
        if self._absent is not None and not self._absent.cold.indexed(index):
            while not self.complete:
                self.warm(BATCH_ROWS)
        absent = self._absent
        if absent is not None:
            count = _count(keys, length)
            absent.fetch_matches(self._rows, index, keys, null_equal, count, partial(self._admit, absent))
        if self._horizon is None:
            self._horizon = self._rows.oldest_reader()
        return self._rows.matches_pruned(index, keys, null_equal, length, self._horizon)

    def take(self, positions: Positions, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """The rows at `positions` (all columns, or those asked for); NULLs where it is −1."""
        return self._rows.take(positions, columns)

    def weights(self, positions: Positions) -> Int64Array:
        """How often each row is there: 1 in a keyed table; 0 where the position is −1."""
        return self._rows.weights(positions)

    def scan(self, columns: Sequence[int] | None = None) -> tuple[list[pa.Array], Int64Array]:
        """All live rows (all columns, or those asked for) and their weights.

        They are not copied unless some row version has ended, or some are in the store only.
        """
        if self._absent is not None:
            return scan_incomplete(self._rows, self._absent, columns)
        return self._rows.scan(columns)

    def parts(self, columns: Sequence[int] | None = None) -> Iterator[tuple[list[pa.Array], Int64Array]]:
        """What `scan` gives, in parts; nothing may be written before the last."""
        return parts_of(self._rows, self._absent, columns)

    def last_keys(self, column: int) -> list[pa.Array]:
        """Values of the only key column, among them the highest; not all rows are read to find it."""
        assert self.spec.key == (column,)
        (here,), _ = self._rows.scan([column])
        return [here] if self._absent is None else [here, self._absent.cold.last_rows().columns[column]]

    def snapshot(self) -> TableSnapshot:
        """The table as of the last committed epoch."""
        return self._published

    def _publish(self, epoch: int) -> None:
        rows = self._rows
        absent = None if self._absent is None else self._absent.copy()
        self._published = TableSnapshot(self.spec, epoch, rows.freeze(epoch - rows.base), absent)

    # -- rows in the store

    def mark(self) -> None:
        """Between epochs, when a checkpoint begins: what is committed is what `evict` may let go.

        From now on keys that go are remembered: the store will still have them.
        """
        self._rows.clean = self._rows.limit
        self._marked = self._committed

    def unmark(self) -> None:
        """Nothing will be let go after all."""
        self._marked = None

    def evict(self, cold: ColdRows, bytes_max: int | None = None) -> None:
        """Between epochs: `cold` is this table as of the last `mark`, and is read from now on.

        Rows older than that are let go, the oldest first, until what is left takes at most `bytes_max`
        bytes; without it none are. Has no effect on a complete table unless it lets rows go.
        """
        assert self._epoch is None
        rows, absent = self._rows, self._absent
        self._marked = None
        if bytes_max is None:
            self._absent = None if absent is None else absent.rebased(cold)
            return
        left, gone = rows.evicted(self._committed - 1, cold.epoch, bytes_max)
        if not gone and absent is None:
            return
        filters = KeyFilters(len(self.spec.indexes)) if absent is None else absent.filters
        if filters is not None:
            filters.add(rows, rows.visible()[:gone])
        count = gone + (0 if absent is None else absent.count)
        self._rows, self._absent = left, Absent(cold, count, filters=filters)
        self._publish(self._committed)

    def open_cold(self, cold: ColdRows, count: int, warming: bool = False) -> None:
        """Instead of `restore`: the table is the `count` rows of `cold`, none of them in memory.

        With `warming` they are to come into memory by and by (`warm`).
        """
        assert self._epoch is None and not self._rows.limit
        place = b"" if warming else None
        self._rows, self._absent = GrowingRows(self.spec, cold.epoch - 1), Absent(cold, count, place)
        self._committed = cold.epoch
        self._publish(cold.epoch)

    def replay(self, change: NetChange, count: int, epoch: int) -> None:
        """After `open_cold`: what became of some rows up to `epoch`, when there are `count`; reads none."""
        assert self._epoch is None and self._absent is not None and not self._rows.limit
        overwrite(self._rows, change, epoch)
        self._absent.count = count - self._rows.live
        self._committed = epoch
        self._publish(epoch)

    @property
    def warming(self) -> bool:
        """Whether it is incomplete only until `warm` has brought in all rows."""
        return self._absent is not None and self._absent.place is not None

    def warm(self, rows_max: int) -> None:
        """Brings the next rows of an incomplete table into memory; after the last it is complete.

        Readers have it so from the next commit that writes to the table on, or after `renew`.
        """
        absent = self._absent
        if absent is None:
            return
        found, place = absent.cold.part(absent.place or b"", rows_max)
        unknown = unknown_rows(self._rows, found)
        if unknown is not None:
            self._admit(absent, unknown)
        absent.place = place
        if not place:
            assert not absent.count, f"{self.name}: the store lacks {absent.count} rows"
            self._rows.remembered, self._absent = 0, None

    def renew(self) -> None:
        """Between epochs: the snapshot has the rows that came into memory since the last commit."""
        assert self._epoch is None
        self._publish(self._committed)

    @property
    def _stored(self) -> int | None:
        """The epoch as of which the store is asked, or soon will be, about keys that are not in memory."""
        return self._marked if self._absent is None else self._absent.cold.epoch

    def _fetch(self, absent: Absent, keys: Sequence[pa.Array], length: int | None) -> None:
        """Brings the rows with these keys into memory."""
        absent.fetch(self._rows, keys, _count(keys, length), partial(self._admit, absent))

    def _admit(self, absent: Absent, found: Rows) -> None:
        rows, first = self._rows, self._rows.limit
        written = self._epoch is not None and first > self._start
        entries = admit(rows, found, undoable=written)
        absent.count -= len(found)
        self._live += len(found)
        if written:
            self._admitted.append((first, rows.limit, entries))
        else:
            self._start = rows.limit


def _count(keys: Sequence[pa.Array], length: int | None) -> int:
    if keys:
        return len(keys[0])
    return 1 if length is None else length
