"""Counters of serial and identity columns and of CREATE SEQUENCE.

Numbers are handed out at once and never taken back: as in PostgreSQL, a rolled-back transaction
leaves a gap. The counter is stored with the next epoch that commits, which is at the latest the one
holding a row with a number handed out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from ..sql.entries import Sequence
from ..storage.errors import SqlError


class SequenceExhausted(SqlError, code="2200H"): ...


class Sequences:
    """The next number of each sequence, by OID. Any thread may draw."""

    def __init__(self, following: Mapping[int, int]) -> None:
        self._next = dict(following)
        self._moved: set[int] = set()
        self._lock = threading.Lock()

    def draw(self, sequence: Sequence, count: int) -> int:
        """The first of `count` numbers, each `sequence.increment` after the one before."""
        with self._lock:
            first = self._next.get(sequence.oid, sequence.start)
            last = first + (count - 1) * sequence.increment
            if not sequence.minimum <= last <= sequence.maximum:
                raise SequenceExhausted(
                    f'nextval: reached maximum value of sequence "{sequence.name}" ({sequence.maximum})'
                )
            self._next[sequence.oid] = last + sequence.increment
            self._moved.add(sequence.oid)
            return first

    def set_next(self, oid: int, value: int) -> None:
        with self._lock:
            self._next[oid] = value
            self._moved.add(oid)

    def last(self, sequence: Sequence) -> int | None:
        """The number drawn last, None if none ever was."""
        with self._lock:
            following = self._next.get(sequence.oid)
        return None if following is None else following - sequence.increment

    def take_moved(self) -> dict[int, int]:
        """The counters that moved since the last call."""
        with self._lock:
            moved = {oid: self._next[oid] for oid in self._moved}
            self._moved.clear()
            return moved

    def give_back(self, oids: Iterable[int]) -> None:
        """What `take_moved` gave was not stored after all."""
        with self._lock:
            self._moved.update(oids)
