"""`Precedence`: clients before what is done for later.

Threads of one interpreter take turns, and a statement needs its turn a dozen times: each time it may have to
wait for a thread that does something nobody waits for. So such a thread asks between two small steps whether
an epoch is answering clients, and sleeps meanwhile. It is not put off for ever: it sleeps at most SHARE times
as long as it works, and not for epochs that take long anyhow.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 0.003
"""An epoch that has taken so long is not waited for any more: a step matters little to it."""

SHARE = 2.0
"""Time slept to time worked, at most: beside clients that never pause a checkpoint takes three times as long.
"""

SAVED_S = 0.01
"""So much sleep can be saved up for later."""

STEP_S = 0.0001
"""The thread looks again after so long."""


class Precedence:
    """`begin` and `end` belong to the engine's thread, `give_way` to one other at a time."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._since: float | None = None
        """When the epoch began that clients wait for, if there is one."""
        self._left = clock()
        """When `give_way` was left."""
        self._saved = 0.0

    def begin(self) -> None:
        """An epoch begins that clients wait for."""
        self._since = self._clock()

    def end(self) -> None:
        """They are answered."""
        self._since = None

    def give_way(self) -> None:
        """Sleeps while clients are being answered, within the bounds above."""
        now = self._clock()
        self._saved = min(self._saved + SHARE * (now - self._left), SAVED_S)
        while (since := self._since) is not None and now - since < PATIENCE_S and self._saved > 0:
            self._sleep(STEP_S)
            before, now = now, self._clock()
            self._saved -= now - before
        self._left = now
