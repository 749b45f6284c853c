"""`StateTable`: the rows an operator or a table remembers.

One writer, epoch by epoch; any number of readers, each holding a `TableSnapshot` of a committed epoch.
How rows are versioned so that neither waits for the other is told in `versions.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from .apply import NumberedKeys, apply_delta, integrate_bag
from .change import Change, DistinctRows
from .columns import GrowingColumn
from .compaction import BESIDE_ROWS, WRITTEN_SHARE, Compaction
from .errors import InternalError
from .index import Entries
from .keycode import encode_keys
from .known_keys import enter_keys
from .net_change import OpenEpoch, written
from .snapshot import TableSnapshot
from .table_state import TableState
from .tablespec import Int64Array, Positions, TableChange, TableSpec
from .version_rows import NOW
from .versions import GrowingRows

__all__ = ["Change", "NumberedKeys", "StateTable", "TableChange", "TableSnapshot", "TableSpec"]

log = logging.getLogger("millpond.table")

DEAD_ROWS_MIN = 8192
"""Ended row versions that are tolerated whatever their share; beyond, at most as many as live rows."""

_NOWHERE = np.empty(0, np.int64)


class StateTable(TableState):
    """Rows found by primary key and by secondary indexes, written between `begin` and `commit`.

    All reading methods show the current state, this epoch's writes included. Positions are valid until
    the end of the epoch. How it is read, and what becomes of rows that do not fit, is in `table_state.py`.
    """

    def __init__(self, name: str, spec: TableSpec) -> None:
        super().__init__(name, spec)
        self.opener: Callable[[StateTable], None] | None = None
        """Called by the first write of an epoch that has not begun here: it calls `begin`."""

    # -- writing

    def begin(self, epoch: int) -> None:
        """Opens an epoch, later than the last committed one."""
        assert self._epoch is None, f"{self.name}: epoch {self._epoch} is open"
        assert epoch > self._committed, f"{self.name}: epoch {epoch} is not after {self._committed}"
        if epoch - self._rows.base >= NOW:
            self.renumber(epoch)
        rows = self._rows
        self._epoch = epoch
        self._start = rows.limit
        self._live = rows.live
        self._horizon = None

    def renumber(self, epoch: int) -> None:
        """Counts epochs anew from the one before `epoch`, none being open. Positions change."""
        assert self._epoch is None
        self._compact(epoch)

    @property
    def ages_from(self) -> int:
        """The epoch from which marks are counted: they last for 2**32 epochs."""
        return self._rows.base

    def open_epoch(self) -> None:
        """What the first write of an epoch does first."""
        self._now()

    def upsert(self, columns: Sequence[pa.Array], weights: Int64Array | None = None) -> Positions:
        """Makes the rows of `columns` the current ones of their keys; returns their positions.

        Keys are distinct within the call. `weights` (bags only, all positive) are absolute.
        Raises InternalError if a key occurs twice; the epoch must then be rolled back.
        """
        count = len(columns[0]) if columns else (1 if weights is None else len(weights))
        if not count:
            return _NOWHERE
        self._now()
        if self._absent is not None:
            self._fetch(self._absent, [columns[i] for i in self.spec.key_columns], count)
        return self.upsert_entered(columns, weights, self._rows.enter(columns, count))

    def enter(self, keys: Sequence[pa.Array], length: int) -> tuple[Entries, Positions]:
        """(entries, positions): what `upsert_entered` takes for these keys, and what `lookup` gives.

        For an operator that looks up keys in order to write their rows in the same epoch: the index is
        searched once.
        """
        self._now()
        if self._absent is not None:
            self._fetch(self._absent, keys, length)
        rows = self._rows
        entries = rows.primary.enter(encode_keys(keys, self.spec.key_types, length))
        return entries, rows.primary.latest(entries, rows.died, rows.limit, NOW)

    def enter_groups(self, keys: Sequence[pa.Array], length: int) -> tuple[Entries, Positions, int]:
        """`enter` of different keys, and how many of them have a row."""
        self._now()
        if self._absent is not None:
            self._fetch(self._absent, keys, length)
        rows = self._rows
        return enter_keys(rows.primary, keys, rows.key_types, length, rows.died, rows.limit)

    def upsert_entered(
        self,
        columns: Sequence[pa.Array],
        weights: Int64Array | None,
        entries: Entries,
        chains: Entries | None = None,
    ) -> Positions:
        """`upsert` of at least one row whose entries in the primary index are known.

        `chains`: those in the only secondary index, None if they are not known.
        """
        count = len(entries)
        now = self._now()
        start = self._rows.append(columns, weights, count, chains)
        self._replace(start, entries, now)
        return np.arange(start, start + count)

    def room(self) -> tuple[GrowingRows, int]:
        """(the rows, the position of the next): where one may write the columns of rows to come."""
        self._now()
        return self._rows, self._rows.limit

    @property
    def columns(self) -> Sequence[GrowingColumn]:
        """The columns, to see of what kind they are."""
        return self._rows.columns

    def opened(self) -> tuple[GrowingRows, int]:
        """(the rows, the mark of the open epoch): for who writes rows and enters them itself."""
        now = self._now()
        return self._rows, now

    def note_entered(self, entries: Entries, positions: Positions) -> None:
        """Rows that lie behind the others, in a keyed table without other indexes, are in the primary index.

        They are the current ones of `entries`, in the place of those at `positions`, which have ended.
        """
        self._rows.note_entered(entries)
        self._ended.append(positions)

    def upsert_written(self, entries: Entries) -> None:
        """`upsert_entered` of rows that lie in the `room` already, in a keyed table without other indexes."""
        now = self._now()
        self._replace(self._rows.enter_written(len(entries)), entries, now)

    def _replace(self, start: int, entries: Entries, now: int) -> None:
        """Makes the rows from `start` on those of their keys."""
        ended = self._rows.replace(start, entries, now)
        if ended is None:
            raise InternalError(f'table "{self.name}": a key occurs twice in one upsert')
        ended = ended[ended >= 0]
        if len(ended):
            self._ended.append(ended)

    def delete(self, positions: Positions, entries: Entries | None = None) -> None:
        """Ends the live rows at `positions`, distinct. Raises InternalError if one is not live.

        `entries`: those of their keys in the primary index, None if they are not known.
        """
        now = self._now()
        if not len(positions):
            return
        if self._rows.end(positions, now) >= 0:
            raise InternalError(f'table "{self.name}": deleting a row that is not there')
        self._ended.append(positions)
        self._deleted.append((positions, entries))

    def truncate(self) -> None:
        """Ends all rows at once."""
        self._now()
        if self._before is None:
            self._undo_rows()
            self._before = self._rows, self._absent
        self._rows, self._absent = GrowingRows(self.spec, self._rows.base), None
        self._start = self._live = 0
        self._ended, self._deleted, self._admitted = [], [], []

    def apply(self, columns: Sequence[pa.Array], weights: Int64Array, exact: bool = False) -> Change:
        """Integrates a delta: rows come (positive weight) and go (negative weight), in any order.

        Keyed table: what remains after equal rows cancel is at most one row going and one coming per
        key. Bag: weights add up. `exact` vouches that a row going is the live row of its key, column by
        column, when no key has two rows coming or going; it is then not compared. Raises InternalError
        for a second row of a key, and for a row going that is not there; the epoch must then be rolled
        back.
        """
        self._open(columns, len(weights))
        return apply_delta(self, self._rows, columns, weights, exact)

    def integrate(
        self, columns: Sequence[pa.Array], weights: Int64Array, keys: NumberedKeys | None = None
    ) -> DistinctRows:
        """`apply` to a bag, of which only the distinct rows are asked for.

        `keys`, if known: those of the rows in the only secondary index.
        """
        self._open(columns, len(weights))
        return integrate_bag(self, self._rows, columns, weights, keys)

    def _open(self, columns: Sequence[pa.Array], length: int) -> None:
        """Before a delta is integrated."""
        self._now()
        if self._absent is not None:
            self._fetch(self._absent, [columns[i] for i in self.spec.key_columns], length)

    def _now(self) -> int:
        if self._epoch is None and self.opener is not None:
            self.opener(self)
        assert self._epoch is not None, f"{self.name}: no epoch is open"
        self._noted = None
        return self._epoch - self._rows.base

    # -- the end of an epoch

    def change(self) -> TableChange:
        """The open epoch's effect so far: what `commit` returns if nothing more is written.

        So the changelog can be made durable while the epoch can still be rolled back.
        """
        assert self._epoch is not None, f"{self.name}: no epoch is open"
        if self._noted is None:
            self._noted = self._change(self._epoch)
        return self._noted

    def commit(self) -> TableChange:
        """Ends the epoch and publishes its snapshot. Returns what changed."""
        assert self._epoch is not None, f"{self.name}: no epoch is open"
        epoch, rows = self._epoch, self._rows
        change = self.change()
        touched = rows.limit > self._start or bool(self._ended) or self._before is not None
        self._epoch = None
        self._committed = epoch
        if not touched:
            self._published = self._published.at(epoch)
            return change
        if self._compaction is not None:
            self._compaction.note(rows, self._ended)
        self._forget()
        self._compact_when_due(epoch, rows.limit - self._start)
        self._publish(epoch)
        return change

    def rollback(self) -> None:
        """Undoes the epoch: all is as if it had not begun."""
        assert self._epoch is not None, f"{self.name}: no epoch is open"
        if self._before is not None:
            self._rows, self._absent = self._before
        elif self._rows.limit > self._start or self._ended:
            self._undo_rows()
        self._epoch = None
        self._forget()

    def restore(self, columns: Sequence[pa.Array], weights: Int64Array | None, epoch: int) -> None:
        """Bulk load on recovery, outside of any epoch: these rows are there as of `epoch`.

        May be called several times with ascending epochs; a later row replaces one of the same key.
        Raises InternalError if a key occurs twice in one call.
        """
        assert self._epoch is None and epoch >= self._committed
        rows = self._rows
        count = len(columns[0]) if columns else (1 if weights is None else len(weights))
        if not rows.limit:
            rows = self._rows = GrowingRows(self.spec, epoch - 1)
        start = rows.append(columns, weights, count)
        if rows.replace(start, rows.enter(columns, count), max(epoch - rows.base, 0)) is None:
            rows.roll_back(start, rows.live - count, [])
            raise InternalError(f'table "{self.name}": a key occurs twice among restored rows')
        rows.forget_undo()
        self._committed = epoch
        self._publish(epoch)

    def _compact_when_due(self, epoch: int, written: int) -> None:
        """After a commit that wrote so many rows: at once, or if that takes long beside later epochs."""
        try:
            self._go_on_compacting(epoch, written)
        except Exception:
            # What was committed is as right as before; there is another attempt when as much is wasted again.
            log.exception("table %s could not be compacted", self.name)
            self._compaction, self._tolerated = None, 2 * self._rows.wasted

    def _go_on_compacting(self, epoch: int, written: int) -> None:
        rows, compaction = self._rows, self._compaction
        if compaction is not None and compaction.rows is rows:
            new = compaction.advance(written)
            if new is not None:
                self._rows, self._compaction = new, None
            return
        self._compaction = None
        if rows.wasted <= max(rows.live, DEAD_ROWS_MIN, self._tolerated):
            return
        self._tolerated = 0
        if self._absent is not None or rows.live < max(BESIDE_ROWS, WRITTEN_SHARE * written):
            self._compact(epoch)
        else:
            self._compaction = Compaction(rows, epoch, self._stored)

    def _compact(self, epoch: int) -> None:
        self._rows = self._rows.compacted(epoch - 1, self._stored)
        if self._absent is not None:
            self._absent.renumbered()

    def _undo_rows(self) -> None:
        admitted = [(first, stop) for first, stop, _ in self._admitted]
        self._rows.roll_back(self._start, self._live, self._ended, admitted)

    def _forget(self) -> None:
        self._rows.forget_undo()
        self._before = self._noted = None
        if self._ended:
            self._ended = []
        if self._deleted:
            self._deleted = []
        if self._admitted:
            self._admitted = []

    def _change(self, epoch: int) -> TableChange:
        rows = self._rows
        if self._came_at_once:
            return TableChange(self.name, epoch, *written(rows, self._start), self._no_keys)
        opened = OpenEpoch(rows, self._start, epoch - rows.base, self._deleted, self._admitted, self._none)
        columns, weights = opened.arrived()
        deleted, count = opened.gone()
        return TableChange(self.name, epoch, columns, weights, deleted, count, self._before is not None)

    @property
    def _came_at_once(self) -> bool:
        """Whether all the epoch did is one batch of rows, so that none of them has ended."""
        untouched = not self._deleted and not self._admitted and self._before is None
        return untouched and len(self._rows.primary.undo) == 1
