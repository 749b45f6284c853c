"""`Warmer`: when the engine goes on with bringing rows into memory that a start left in the store.

A part takes about PART_S between two epochs. While clients write, parts are at least PAUSE_S apart.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Set

from ..storage.commit import Storage

log = logging.getLogger("millpond.warming")

PART_S = 0.002
"""What a work that comes at the worst moment waits longer."""

PAUSE_S = 0.005

FIRST_S = 0.25
"""After a start clients come back: they go first."""

FOREVER_S = float("inf")


class Warmer:
    """Used by the engine's thread."""

    def __init__(self, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock = clock
        self._next = clock() + FIRST_S
        self._failed = False

    def rest(self) -> float:
        """Seconds until an idle engine is to call `step`; FOREVER_S when nothing is left to do."""
        if self._failed or not self._storage.warming:
            return FOREVER_S
        return self._next - self._clock()

    def step(self, busy: bool) -> Set[str]:
        """Between epochs. `busy`: there were works. Returns the tables of which readers are to see more."""
        if self.rest() > 0:
            return frozenset()
        try:
            self._storage.warm(PART_S)
        except Exception:
            # The tables stay as they are, incomplete and right.
            self._failed = True
            log.exception("rows could not be brought into memory")
        self._next = self._clock() + (PAUSE_S if busy else 0.0)
        return self._storage.take_renewed()
