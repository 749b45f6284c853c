"""Hash index: from key bytes to the chain of row positions with that key.

Keys are numbered (an *entry*) as they come and kept once each, however many versions of the row there
are; an entry is only dropped when the table is compacted into a new index. The layout is in `kernels.py`,
the rules that let readers in without locks are in `kernels_rows.py`. The pair (`head`, `link`) belongs
together: when `link` is replaced by a longer copy, `head` is copied as well, so that no head a reader
holds points beyond the link array it holds.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import numpy.typing as npt

from . import kernels, kernels_rows
from .columns import CAPACITY_MIN, capacity_for, grown
from .errors import ProgramLimitExceeded
from .keycode import Keys
from .tablespec import Int64Array, Positions

ROWS_MAX = 2**31 - 2
"""Row versions of one table."""

LOAD_MAX = 0.75
"""Entries per slot of the slot array."""

KEPT_KEYS_MIN = 0.75
"""Rows per key from which on a compaction does not look for keys without rows."""

Entries = npt.NDArray[np.int32]
Died = npt.NDArray[np.uint32]

_NO_OFFSETS = np.empty(0, np.int64)
_AS_THEY_ARE = np.empty(0, np.int32)


class IndexView:
    """An index as readers see it: the entries below `count`, and rows below their own limit."""

    __slots__ = ("count", "head", "key_data", "key_offsets", "link", "slots", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.count = 0
        self.slots = np.zeros(CAPACITY_MIN, np.uint64)
        self.key_data = np.empty(CAPACITY_MIN * max(width, 1), np.uint8)
        self.key_offsets = _NO_OFFSETS if width else np.zeros(CAPACITY_MIN + 1, np.int64)
        self.head = np.empty(CAPACITY_MIN, np.int32)
        self.link = np.empty(CAPACITY_MIN, np.int32)

    def find(self, keys: Keys) -> Entries:
        """The entry of each key, −1 where the index has none."""
        assert keys.width == self.width
        out = np.empty(keys.length, np.int32)
        kernels.find_keys(
            self.slots, self.key_data, self.key_offsets, self.width, self.count, keys.data, keys.offsets, out
        )
        return out

    def latest(self, entries: Entries, died: Died, limit: int, as_of: int) -> Positions:
        """The newest row version below `limit` of each entry if visible at `as_of`, else −1."""
        out = np.empty(len(entries), np.int64)
        kernels_rows.latest_rows(entries, self.head, self.link, died, limit, as_of, out)
        return out

    def pairs(
        self, entries: Entries, died: Died, limit: int, as_of: int, total: int | None = None
    ) -> tuple[Int64Array, Positions]:
        """(probe number, position) of all rows below `limit` visible at `as_of`, ascending."""
        if total is None:
            total = kernels_rows.count_chain(entries, self.head, self.link, died, limit, as_of)
        probes = np.empty(total, np.int64)
        positions = np.empty(total, np.int64)
        kernels_rows.list_chain(entries, self.head, self.link, died, limit, as_of, probes, positions)
        return probes, positions

    def bytes_of(self, rows: int) -> int:
        """Bytes in use for the keys and the chains of the first `rows` rows."""
        count = self.count
        keys = count * self.width if self.width else int(self.key_offsets[count]) + 8 * count
        return self.slots.nbytes + keys + 4 * count + 4 * rows


class HashIndex(IndexView):
    """An index being written. `undo` lists the batches entered since it was last cleared."""

    __slots__ = ("undo",)

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.undo: list[tuple[Entries, int]] = []

    def freeze(self) -> IndexView:
        """The index as it is now, for readers of the rows committed until now."""
        view = IndexView.__new__(IndexView)
        view.width, view.count, view.slots = self.width, self.count, self.slots
        view.key_data, view.key_offsets = self.key_data, self.key_offsets
        view.head, view.link = self.head, self.link
        return view

    def replace(self, entries: Entries, died: Died, start: int, now: int) -> Positions | None:
        """Enters rows `start`… as the versions of distinct `entries`, ending the live ones before them.

        Returns the positions ended (−1: the key had no live row), or None if a key occurs twice;
        then nothing is entered.
        """
        self._open_rows(entries, start)
        old = np.empty(len(entries), np.int64)
        twice = kernels_rows.replace_rows(entries, self.head, self.link, died, start, now, old)
        if twice >= 0:
            kernels_rows.unchain_rows(entries[:twice], self.head, self.link, start)
            self.undo.pop()
            ended = old[:twice]
            died[ended[ended >= 0]] = kernels_rows.ALIVE
            return None
        return old

    def chain(self, keys: Keys, start: int) -> None:
        """Enters rows `start`… under their keys, beside the rows already there."""
        entries = self.enter(keys)
        self._open_rows(entries, start)
        kernels_rows.chain_rows(entries, self.head, self.link, start)

    def roll_back(self, kept: Container[int] = ()) -> None:
        """Takes all rows entered in `undo` out of the chains, but the batches that start at one of `kept`.

        Their keys stay known.
        """
        for entries, start in reversed(self.undo):
            kernels_rows.unchain_rows(entries, self.head, self.link, start)
        for entries, start in self.undo if kept else ():
            if start in kept:
                kernels_rows.chain_rows(entries, self.head, self.link, start)
        self.undo.clear()

    def prune(self, entries: Entries, died: Died, horizon: int) -> int:
        """Counts the live rows of the entries, unchaining those no reader can see any more."""
        return kernels_rows.prune_chain(entries, self.head, self.link, died, horizon)

    def compacted(self, moved: Entries, left: int, capacity: int, single: bool) -> HashIndex:
        """A new index of only the rows with a new position in `moved` (−1: gone), `left` of them.

        It has room for `capacity` rows. With `single` only the newest row of a key can be left. Keys are
        kept as they are, shared with readers, unless there are many more of them than rows.
        """
        new = HashIndex(self.width)
        if self.count * KEPT_KEYS_MIN <= left:
            new.count, new.slots = self.count, self.slots
            new.key_data, new.key_offsets = self.key_data, self.key_offsets
            new.head, new.link = np.empty(len(self.head), np.int32), np.empty(capacity, np.int32)
            kernels_rows.relink_rows(self.head, self.link, moved, self.count, single, new.head, new.link)
            return new
        keys = max(min(self.count, left), CAPACITY_MIN)
        size = keys * self.width if self.width else int(self.key_offsets[self.count])
        new.head = np.empty(keys, np.int32)
        new.link = np.empty(capacity, np.int32)
        new.key_data = np.empty(max(size, 1), np.uint8)
        if not self.width:
            new.key_offsets = np.zeros(keys + 1, np.int64)
        renumbered = np.empty(self.count, np.int32)
        new.count = kernels.compact_keys(
            self.head, self.link, moved, self.key_data, self.key_offsets, self.width, self.count, single,
            new.head, new.link, new.key_data, new.key_offsets, renumbered,
        )  # fmt: skip
        if not self.width:
            new.key_data = new.key_data[: max(int(new.key_offsets[new.count]), 1)].copy()
        new.slots = np.zeros(max(int(new.count / LOAD_MAX) + 1, CAPACITY_MIN), np.uint64)
        kernels.move_slots(self.slots, new.slots, renumbered)
        return new

    def plan_keyed(self, entries: Entries, weights: Int64Array, died: Died) -> Positions | None:
        """The live row of each key (−1: none) if the delta of a keyed table is simple, else None.

        What that means is told at `kernels_rows.plan_keyed`.
        """
        old = np.empty(len(entries), np.int64)
        going, coming = self._bits(), self._bits()
        simple = kernels_rows.plan_keyed(entries, weights, self.head, died, going, coming, old)
        return old if simple else None

    def plan_bag(self, entries: Entries, died: Died) -> Positions | None:
        """The live row of each key (−1: none) if the keys are distinct, else None."""
        old = np.empty(len(entries), np.int64)
        return old if kernels_rows.plan_bag(entries, self.head, died, self._bits(), old) else None

    def _bits(self) -> npt.NDArray[np.uint8]:
        return np.zeros((self.count >> 3) + 1, np.uint8)

    def enter(self, keys: Keys) -> Entries:
        """The entry of each key, made where there is none. A key without rows does no harm."""
        assert keys.width == self.width
        self._reserve_keys(keys)
        entries = np.empty(keys.length, np.int32)
        self.count = kernels.intern_keys(
            self.slots, self.key_data, self.key_offsets, self.width, self.count, self.head,
            keys.data, keys.offsets, entries,
        )  # fmt: skip
        return entries

    def _open_rows(self, entries: Entries, start: int) -> None:
        self._reserve_rows(start, start + len(entries))
        self.undo.append((entries, start))

    def _reserve_rows(self, used: int, needed: int) -> None:
        if needed > ROWS_MAX:
            raise ProgramLimitExceeded(f"a table holds more than {ROWS_MAX} row versions")
        if needed > len(self.link):
            self.head = self.head.copy()
            self.link = grown(self.link, used, needed)

    def _reserve_keys(self, keys: Keys) -> None:
        needed = self.count + keys.length
        if needed > len(self.head):
            self.head = grown(self.head, self.count, needed)
        if self.width:
            self.key_data = grown(self.key_data, self.count * self.width, needed * self.width)
        else:
            self.key_offsets = grown(self.key_offsets, self.count + 1, needed + 1)
            used = int(self.key_offsets[self.count])
            self.key_data = grown(self.key_data, used, used + len(keys.data))
        if needed > len(self.slots) * LOAD_MAX:
            slots = np.zeros(capacity_for(int(needed / LOAD_MAX) + 1, len(self.slots)), np.uint64)
            kernels.move_slots(self.slots, slots, _AS_THEY_ARE)
            self.slots = slots
