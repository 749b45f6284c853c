"""Hash index: from key bytes to the chain of row positions with that key.

Keys are numbered (an *entry*) as they come and kept once each, however many versions of the row there
are; an entry is only dropped when the table is compacted into a new index. The layout is in `kernels.py`,
the rules that let readers in without locks are in `kernels_rows.py`. The pair (`head`, `link`) belongs
together: when `link` is replaced by a longer copy, `head` is copied as well, so that no head a reader
holds points beyond the link array it holds.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels, kernels_point, kernels_rows, kernels_slots
from .errors import ProgramLimitExceeded
from .keys import Keys
from .reserve import CAPACITY_MIN, capacity_for, empty, grown, look_ahead, zeros
from .tablespec import Int64Array, Positions

if TYPE_CHECKING:
    from .known_keys import KnownKeys

ROWS_MAX = 2**31 - 2
"""Row versions of one table."""

LOAD_MAX = 0.75
"""Entries per home in the slot array."""

LOAD_SWEPT = 0.65
"""From so many on, slots move to an array twice as large, some with each batch of keys."""

SWEEP_KEY = 16
"""Slots moved for each key of a batch: all have moved when LOAD_SWEPT has become 0.72."""

SWEEP_MIN = 64
SWEEP_FROM = 1 << 14
"""Arrays of fewer homes are moved at once, in less than 0.1 ms."""

KEPT_KEYS_MIN = 0.75
"""Rows per key from which on a compaction does not look for keys without rows."""

Entries = npt.NDArray[np.int32]
Died = npt.NDArray[np.uint32]

_NO_OFFSETS = np.empty(0, np.int64)


class IndexView:
    """An index as readers see it: the entries below `count`, and rows below their own limit."""

    __slots__ = ("after", "count", "head", "key_data", "key_offsets", "link", "slots", "swept", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.count = 0
        self.slots = _slots(CAPACITY_MIN)
        self.after = self.slots
        """Where slots are moving to, the keys with a home below `swept` being there already; else `slots`."""
        self.swept = 0
        self.key_data = np.empty(CAPACITY_MIN * max(width, 1), np.uint8)
        self.key_offsets = _NO_OFFSETS if width else np.zeros(CAPACITY_MIN + 1, np.int64)
        self.head = np.empty(CAPACITY_MIN, np.int32)
        self.link = np.empty(CAPACITY_MIN, np.int32)

    def find(self, keys: Keys) -> Entries:
        """The entry of each key, −1 where the index has none."""
        assert keys.width == self.width
        out = np.empty(keys.length, np.int32)
        kernels.find_keys(
            self.slots, self.after, self.swept, self.key_data, self.key_offsets, self.width, self.count,
            keys.data, keys.offsets, out,
        )  # fmt: skip
        return out

    def row(self, key: bytes, died: Died, limit: int, as_of: int) -> int:
        """`latest` of the entry of one key."""
        return int(kernels_point.find_row(
            np.frombuffer(key, np.uint8), self.slots, self.after, self.swept, self.key_data, self.key_offsets,
            self.width, self.count, self.head, self.link, died, limit, as_of,
        ))  # fmt: skip

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

    def compacted(self, moved: Entries, left: int, capacity: int, single: bool) -> HashIndex:
        """A new index of only the rows with a new position in `moved` (−1: gone), `left` of them.

        It has room for `capacity` rows. With `single` only the newest row of a key can be left. Keys are
        kept as they are, shared with readers, unless there are many more of them than rows. Rows behind the
        end of `moved` are passed over, so this may be done with a view while its index is written.
        """
        new = HashIndex(self.width)
        if self.count * KEPT_KEYS_MIN <= left:
            new.count = self.count
            new.slots, new.after, new.swept = self.slots, self.after, self.swept
            new.key_data, new.key_offsets = self.key_data, self.key_offsets
            new.head, new.link = empty(max(self.count, CAPACITY_MIN), np.int32), empty(capacity, np.int32)
            kernels_rows.relink_rows(self.head, self.link, moved, self.count, single, new.head, new.link)
            return new
        keys = max(min(self.count, left), CAPACITY_MIN)
        size = keys * self.width if self.width else int(self.key_offsets[self.count])
        new.head = empty(keys, np.int32)
        new.link = empty(capacity, np.int32)
        new.key_data = empty(max(size, 1), np.uint8)
        if not self.width:
            new.key_offsets = empty(keys + 1, np.int64)
            new.key_offsets[0] = 0
        renumbered = np.empty(self.count, np.int32)
        new.count = kernels_slots.compact_keys(
            self.head, self.link, moved, self.key_data, self.key_offsets, self.width, self.count, single,
            new.head, new.link, new.key_data, new.key_offsets, renumbered,
        )  # fmt: skip
        homes = len(self.slots) >> 1
        new.slots = new.after = _slots(max(int(new.count / LOAD_SWEPT) + 1, CAPACITY_MIN))
        kernels_slots.renumber_slots(self.slots, self.swept, homes, homes, new.slots, renumbered)
        if self.swept:
            kernels_slots.renumber_slots(self.after, 0, self.swept, homes, new.slots, renumbered)
        return new

    def bytes_of(self, rows: int) -> int:
        """Bytes in use for the keys and the chains of the first `rows` rows."""
        count = self.count
        keys = count * self.width if self.width else int(self.key_offsets[count]) + 8 * count
        slots = len(self.slots) if self.after is self.slots else len(self.slots) + len(self.after)
        return 4 * slots + keys + 4 * count + 4 * rows


class HashIndex(IndexView):
    """An index being written. `undo` lists the batches entered since it was last cleared."""

    __slots__ = ("bits", "known", "undo")

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.bits = [np.zeros(CAPACITY_MIN, np.uint8), np.zeros(CAPACITY_MIN, np.uint8)]
        self.undo: list[tuple[Entries, int]] = []
        self.known: KnownKeys | None = None
        """Entries of keys that other indexes are asked about too."""

    def freeze(self) -> IndexView:
        """The index as it is now, for readers of the rows committed until now."""
        view = IndexView.__new__(IndexView)
        view.width, view.count = self.width, self.count
        view.slots, view.after, view.swept = self.slots, self.after, self.swept
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
        self.chain_entries(self.enter(keys), start)

    def chain_entries(self, entries: Entries, start: int) -> None:
        """`chain` of keys whose entries are known."""
        self._open_rows(entries, start)
        kernels_rows.chain_rows(entries, self.head, self.link, start)

    def share(self, other: HashIndex) -> None:
        """Takes on the keys of `other`, of which it has the first ones; the new ones have no rows."""
        known, self.count = self.count, other.count
        self.slots, self.after, self.swept = other.slots, other.after, other.swept
        self.key_data, self.key_offsets = other.key_data, other.key_offsets
        self.head = grown(self.head, known, self.count)
        self.head[known : self.count] = -1

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

    def plan_keyed(self, entries: Entries, weights: Int64Array, died: Died) -> Positions | None:
        """The live row of each key (−1: none) if the delta of a keyed table is simple, else None.

        What that means is told at `kernels_rows.plan_keyed`.
        """
        old = np.empty(len(entries), np.int64)
        going, coming = self._bits(0), self._bits(1)
        simple = kernels_rows.plan_keyed(entries, weights, self.head, died, going, coming, old)
        kernels_rows.clear_bits(entries, going)
        kernels_rows.clear_bits(entries, coming)
        return old if simple else None

    def _bits(self, number: int) -> npt.NDArray[np.uint8]:
        """A bit for each entry, zero. They are kept and cleared after use: most are never set."""
        needed = (self.count >> 3) + 1
        if len(self.bits[number]) < needed:
            self.bits[number] = zeros(2 * needed, np.uint8)
        return self.bits[number]

    def enter(self, keys: Keys) -> Entries:
        """The entry of each key, made where there is none. A key without rows does no harm."""
        assert keys.width == self.width
        self._reserve_keys(keys)
        entries = np.empty(keys.length, np.int32)
        self.count = kernels.intern_keys(
            self.slots, self.after, self.swept, self.key_data, self.key_offsets, self.width, self.count,
            self.head, keys.data, keys.offsets, entries,
        )  # fmt: skip
        return entries

    def _open_rows(self, entries: Entries, start: int) -> None:
        self._reserve_rows(start, start + len(entries))
        self.undo.append((entries, start))

    def _reserve_rows(self, used: int, needed: int) -> None:
        if needed > ROWS_MAX:
            raise ProgramLimitExceeded(f"a table holds more than {ROWS_MAX} row versions")
        if needed > len(self.link):
            head = empty(len(self.head), np.int32)
            head[: self.count] = self.head[: self.count]
            self.head = head
            # Before `used` may be rows of an undone epoch, which a compaction does not chain.
            self.link = grown(self.link, min(used, len(self.link)), needed)
        look_ahead(self.link, needed)

    def _reserve_keys(self, keys: Keys) -> None:
        needed = self.count + keys.length
        if needed > len(self.head):
            self.head = grown(self.head, self.count, needed)
        look_ahead(self.head, needed)
        if self.width:
            self.key_data = grown(self.key_data, self.count * self.width, needed * self.width)
        else:
            self.key_offsets = grown(self.key_offsets, self.count + 1, needed + 1)
            used = int(self.key_offsets[self.count])
            self.key_data = grown(self.key_data, used, used + len(keys.data))
        self._reserve_slots(keys.length)

    def _reserve_slots(self, coming: int) -> None:
        """Makes room for so many more keys, moving slots along if they are on their way."""
        if self.after is not self.slots:
            self._sweep(max(SWEEP_KEY * coming, SWEEP_MIN))
        homes, needed = len(self.slots) >> 1, self.count + coming
        if needed <= homes * LOAD_SWEPT or (self.after is not self.slots and needed <= homes * LOAD_MAX):
            return
        if self.after is not self.slots:
            self._sweep(homes)
            self._reserve_slots(coming)
            return
        self.after = _slots(capacity_for(int(needed / LOAD_SWEPT) + 1, homes))
        if homes < SWEEP_FROM or needed > homes * LOAD_MAX:
            self._sweep(homes)

    def _sweep(self, least: int) -> None:
        """Moves at least so many slots on."""
        self.swept = kernels_slots.sweep_slots(self.slots, self.after, self.swept, least)
        look_ahead(self.after, int(self.swept / (len(self.slots) >> 1) * len(self.after)))
        if self.swept >= len(self.slots) >> 1:
            self.slots, self.swept = self.after, 0


def _slots(homes: int) -> npt.NDArray[np.uint64]:
    """Empty slots. Those behind the homes are for the keys that find the last ones taken."""
    return zeros(2 * homes, np.uint64)
