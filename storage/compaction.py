"""`Compaction`: the live rows of a large table moved into new arrays beside the epochs that go on.

A thread moves the rows of one committed epoch, as any reader of it sees them. What later epochs did is then
brought up, some at each commit: the marks of rows they ended, and the rows they appended, into columns and
chains. When nothing is left, the new rows take the place of the old ones; readers keep theirs.

        old   |......moved by the thread......|..brought up at commits..|
        new   |..live ones..|..brought up at commits..|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from .index import Entries
from .keycode import encode_keys
from .reserve import grown
from .tablespec import Int64Array, Positions
from .version_rows import ALIVE
from .versions import GrowingRows, Moved, compact_view

BESIDE_ROWS = 1 << 15
"""Tables of fewer live rows are compacted at once, in a few milliseconds."""

WRITTEN_SHARE = 4
"""So are those whose epoch has written one in so many of their rows: it took about as long."""

CATCH_UP_ROWS = 8192
"""Rows and marks brought up at a commit, or four times as many rows as it wrote: so the new rows catch up."""

WORKER = ThreadPoolExecutor(1, "compaction")


class Compaction:
    """From the commit of `epoch` until `advance` gives the new rows. Used by the writer's thread."""

    def __init__(self, rows: GrowingRows, epoch: int, stored: int | None) -> None:
        """`stored` as in `GrowingRows.compacted`. `rows` are committed."""
        self.rows = rows
        self._old_limit = rows.limit
        self._at = rows.limit
        """Rows of the old ones below are in the new ones."""
        self._ended: deque[Positions] = deque()
        """Rows that ended since."""
        self._batches: deque[list[tuple[Entries, int]]] = deque()
        """What was entered since: for each batch its entries in each index, and its first row."""
        view = rows.freeze(epoch - rows.base)
        self._moving: Future[Moved] = WORKER.submit(compact_view, view, rows.base, epoch - 1, stored)

    def note(self, rows: GrowingRows, ended: Sequence[Positions]) -> None:
        """At a commit, before what it could undo is forgotten."""
        if rows is self.rows:
            self._ended.extend(ended)
            undo = [index.undo for index in (rows.primary, *rows.secondary)]
            self._batches.extend(list(batch) for batch in zip(*undo, strict=True))

    def advance(self, written: int) -> GrowingRows | None:
        """At a commit that wrote so many rows: the new rows, if all is in them. Raises what moving raised."""
        if not self._moving.done():
            return None
        moved = self._moving.result()
        left = max(CATCH_UP_ROWS, 4 * written)
        while self._ended or self._batches:
            if left <= 0:
                return None
            if self._ended:
                left -= self._bring_marks(moved, self._ended.popleft())
            else:
                left -= self._bring_up(moved, self._batches.popleft())
        self._finish(moved)
        return moved.rows

    def _bring_up(self, moved: Moved, batch: list[tuple[Entries, int]]) -> int:
        """The rows of a batch, and those before it of epochs that were undone. Returns how many."""
        old, new = self.rows, moved.rows
        entries, first = batch[0]
        start, stop = self._at, first + len(entries)
        at = start - self._old_limit + moved.count
        columns = [column.array(start, stop) for column in old.columns]
        for column, array in zip(new.columns, columns, strict=True):
            column.append(array, at)
        end = at + stop - start
        new.died = grown(new.died, at, end)
        new.died[at:end] = _renumbered(old.died[start:stop], moved.shift)
        if old.counts is not None and new.counts is not None:
            new.counts = grown(new.counts, at, end)
            new.counts[at:end] = old.counts[start:stop]
        new.limit, self._at = end, stop
        places = (old.spec.key_columns, *old.spec.indexes)
        types = (old.key_types, *old.index_types)
        for i, index in enumerate((new.primary, *new.secondary)):
            chained, count = batch[i][0], stop - first
            if moved.renumbered[i]:
                keys = [columns[place].slice(first - start) for place in places[i]]
                chained = index.enter(encode_keys(keys, types[i], count))
            else:
                index.share((old.primary, *old.secondary)[i])
            index.chain_entries(chained, end - count)
        return stop - start

    def _bring_marks(self, moved: Moved, ended: Positions) -> int:
        """The marks of ended rows that are there; others will come with theirs. Returns how many."""
        positions = ended[ended < self._at]
        start = self._old_limit
        before = moved.places[np.minimum(positions, start - 1)]
        places = np.where(positions < start, before, positions - start + moved.count)
        moved.rows.died[places] = _renumbered(self.rows.died[positions], moved.shift)
        return len(ended)

    def _finish(self, moved: Moved) -> None:
        """What the rows know of themselves."""
        old, new, start = self.rows, moved.rows, self._old_limit
        new.live = old.live
        if old.clean <= start:
            new.clean = moved.kept_below(old.clean)
        else:
            new.clean = min(old.clean - start + moved.count, new.limit)
        for i, index in enumerate((new.primary, *new.secondary)):
            if not moved.renumbered[i]:
                index.share((old.primary, *old.secondary)[i])
        new.forget_undo()


def _renumbered(marks: npt.NDArray[np.uint32], shift: int) -> Int64Array | npt.NDArray[Any]:
    """Marks counted from a base that is `shift` later; 0 and ALIVE stay."""
    ended = (marks != ALIVE) & (marks > shift)
    return np.where(ended, marks - np.uint32(shift), np.where(marks == ALIVE, marks, 0))
