"""`Gathering`: whether an epoch waits a moment for clients that were just answered (group commit).

An epoch costs the same for one row as for ten. Without a pause, clients that write one row after the other
fall into two halves: while one half is told of its epoch, the next has already begun with the other half. So,
if several clients write at once, an epoch begins when as many works are there as could be: those that
waited already, and one more of each client that was answered. Where clients do not come back, it soon stops.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

GATHERING_S = 0.002
"""An epoch waits at most so long."""
ENOUGH_WORKS = 16
"""With so many, what an epoch costs beside its rows is no longer what counts."""
PASSES_MAX = 64
"""In vain as often as there was hope: then so many epochs are not waited for."""


class Waiting(Protocol):
    """A work that waits, as far as it matters here."""

    @property
    def solo(self) -> bool: ...


class Gathering:
    """Belongs to the engine's thread; `wanted` is read by those who submit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.wanted = 1
        """How many works must be there before the engine need be woken."""
        self._clock = clock
        self._answered = 0
        self._passes = 0
        """Epochs that are not waited for, and how many it will be if the next wait is in vain too."""
        self._passes_next = 1

    def answered(self, works: int) -> None:
        """So many works have just been answered."""
        self._answered = works

    def wait(self, condition: threading.Condition, works: Sequence[Waiting]) -> None:
        """Waits for more than the `works` that are there, if it is worth it. The condition is held."""
        hoped = min(self._answered + len(works), ENOUGH_WORKS)
        self._answered = 0
        if hoped < 2 or len(works) >= hoped or (works and works[0].solo):
            return
        if self._passes:
            self._passes -= 1
            return
        self.wanted, until = hoped, self._clock() + GATHERING_S
        while len(works) < hoped and (rest := until - self._clock()) > 0:
            condition.wait(rest)
        self.wanted = 1
        if len(works) >= hoped:
            self._passes_next = 1
        else:
            self._passes, self._passes_next = self._passes_next, min(2 * self._passes_next, PASSES_MAX)
