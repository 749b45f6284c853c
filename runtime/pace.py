"""`Pace`: when a view that is filled gets its next chunk, and how long that may take.

Clients go first. Nobody can know when one comes, and a chunk that has begun cannot be put off. So:

* After clients were answered no epoch begins for a chunk alone until they have had GIVE_WAY_S to come back.
* Clients that never leave such a gap would end the fill. Every PAUSE_S one of their epochs carries a chunk:
  then they wait for its work, which is short (CHUNK_S), but not for a commit of its own. Where epochs come
  more rarely, because they are long, a chunk may take as much of them as it would of short ones.
* While a checkpoint works, which wants the processor and the disk too, everything takes longer. So they carry
  a chunk every PAUSE_BUSY_S only, unless there are checkpoints most of the time.
* When nobody has written for QUIET_S, chunks follow each other and take their time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

CHUNK_S = 0.0004
"""Processor time of a chunk that clients may wait for; its progress and its commit take as long again."""

CHUNK_IDLE_S = 0.01
"""Processor time of a chunk while nobody has written for a while."""

GIVE_WAY_S = 0.0015
"""A client that writes one row after the other is back within this time."""

PAUSE_S = 0.006
"""While clients leave no gap, chunks are at least so far apart."""

PAUSE_BUSY_S = 0.1
"""The same while a checkpoint works."""

SAVED_S = 5.0
"""For so long at most, and as long as there was none before."""

QUIET_S = 0.5
"""So long after the last work chunks take their time."""

SWITCH_S = 0.0001
"""How long a thread may hold the interpreter meanwhile while another waits. Not always so short: clients that
commit all the time pay a tenth more processor time for it."""


class Pace:
    """Used by the engine's thread."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, busy: Callable[[], bool] = lambda: False
    ) -> None:
        """`busy`: whether a checkpoint works."""
        self._clock = clock
        self._busy = busy
        self._saved, self._looked = SAVED_S, clock()
        self._worked = self._fed = float("-inf")
        """When works were last there, and when a chunk had been fed."""
        self._rarely = 1.0
        """How many times more rarely than they might epochs carry chunks."""

    def worked(self) -> None:
        """Clients' works were there, or have just been answered."""
        self._worked = self._clock()

    def fed(self) -> None:
        """A chunk was fed."""
        self._fed = self._clock()

    def rest(self) -> float:
        """Seconds until an epoch may begin for a chunk alone."""
        return max(self._worked + GIVE_WAY_S - self._clock(), 0.0)

    def due(self, works: bool) -> bool:
        """Whether an epoch that begins, with works or without, carries a chunk."""
        if not works:
            self._rarely = 1.0
            return self.rest() <= 0
        gap, pause = self._clock() - self._fed, self._pause()
        self._rarely = max(gap / (2 * pause), 1.0) if gap < float("inf") else 1.0
        return gap >= pause

    def _pause(self) -> float:
        now, busy = self._clock(), self._busy()
        passed, self._looked = now - self._looked, now
        self._saved = max(self._saved - passed, 0.0) if busy else min(self._saved + passed, SAVED_S)
        return PAUSE_BUSY_S if busy and self._saved > 0 else PAUSE_S

    @property
    def seconds(self) -> float:
        """Processor time for the next chunk."""
        quiet = self._clock() - self._worked > QUIET_S
        return CHUNK_IDLE_S if quiet else min(CHUNK_S * self._rarely, CHUNK_IDLE_S)


class Switching:
    """The interpreter's switch interval, shortened while there is something to fill."""

    def __init__(self) -> None:
        self._usual: float | None = None

    def shorten(self, wanted: bool) -> None:
        """Or, if that is not wanted any longer, what it was before."""
        if wanted and self._usual is None:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._usual))
        elif not wanted and self._usual is not None:
            sys.setswitchinterval(self._usual)
            self._usual = None
