"""`WorkQueue`: the door through which works reach the engine, and how it divides them into epochs.

An idle engine is woken as soon as something arrives; a busy one takes everything that waits into its next
epoch (group commit). A work that needs to see all before it finished (`solo`) is the only one of its epoch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from ..storage.errors import AdminShutdown
from .gathering import Gathering
from .warmer import FOREVER_S
from .works import Work

WORKS_PER_EPOCH_MAX = 4096


class WorkQueue:
    """Works that wait for an epoch.

    `submit`, `wake` and `close` are for any thread, the rest is for the engine's.
    """

    def __init__(self) -> None:
        self._works: deque[Work] = deque()
        self._gathering = Gathering()
        self._condition = threading.Condition()
        self._closed = False

    def __len__(self) -> int:
        return len(self._works)

    def submit(self, work: Work) -> Future[Any]:
        """Queues a work; refuses it once the queue is closed."""
        with self._condition:
            if self._closed:
                work.future.set_exception(AdminShutdown("the server is shutting down"))
            else:
                self._works.append(work)
                if len(self._works) >= self._gathering.wanted:
                    self._condition.notify()
        return work.future

    def wake(self) -> None:
        """There is something else to do than works."""
        with self._condition:
            self._condition.notify()

    def close(self) -> None:
        """`next` returns None from now on; what waits goes on waiting, for `clear`."""
        with self._condition:
            self._closed = True
            self._condition.notify()

    def clear(self) -> list[Work]:
        """All that wait, which then do no longer."""
        works = [*self._works]
        self._works.clear()
        return works

    def add(self, work: Work) -> None:
        """A work of the engine's own, for its next epoch."""
        self._works.append(work)

    def next(self, returning: Callable[[], Sequence[Work]], rest: Callable[[], float]) -> list[Work] | None:
        """Waits for the works of the next epoch; None to stop.

        None of them when `rest`, the seconds that may be waited for works, comes to 0. `returning` are works
        that were taken out earlier, and go before those that wait.
        """
        with self._condition:
            self._gathering.wait(self._condition, self._works)
            while not (self._return(returning()) or self._closed):
                rest_s = rest()
                if rest_s <= 0:
                    break
                self._condition.wait(rest_s if rest_s < FOREVER_S else None)
            return None if self._closed else self._take()

    def more(self) -> list[Work]:
        """What came since `next` gave no works, and may be in the same epoch: none if the first is solo."""
        with self._condition:
            return self._take() if self._works and not self._works[0].solo else []

    def answered(self, works: int) -> None:
        """So many works have just been answered."""
        self._gathering.answered(works)

    def _return(self, works: Sequence[Work]) -> bool:
        """Whether works are there, those included that come back."""
        self._works.extendleft(reversed(works))
        return bool(self._works)

    def _take(self) -> list[Work]:
        """Takes out what waits and may be in the same epoch; the condition is held."""
        works: list[Work] = []
        while self._works and len(works) < WORKS_PER_EPOCH_MAX:
            if self._works[0].solo and works:
                break
            works.append(self._works.popleft())
            if works[-1].solo:
                break
        return works
