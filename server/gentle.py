"""`Gentle`: while a standby starts it leaves the processor to others on its machine.

Loading the program, reading the log and building tables then run in what others leave, and in about a tenth
of a core that they want as well (`nice 10`). Once it has caught up it is a process like any other: it must
follow, answer and take over. On Linux, and only where the system lets a process take back what it gave away:
root, or a limit that allows it (`ulimit -e 20`; systemd: `LimitNICE=+0`). Elsewhere nothing is given away.

A start that gets next to nothing would not end: then, and after PATIENCE_S in any case, it no longer yields.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

NICE_MAX = 19
LOOK_S = 5.0
"""Between two looks at what it gets."""

STARVED_SHARE = 0.04
"""A start that gets less of a core has others in its way that do not yield either."""

PATIENCE_S = 120.0
"""The longest time it yields."""

_TASKS = Path("/proc/self/task")


class Gentle:
    """`begin`, then `end` from any thread; as often as wanted."""

    def __init__(
        self,
        nice: int,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
    ) -> None:
        """`nice`: by how much others come first, 0 for not at all."""
        self._nice = min(nice, NICE_MAX)
        self._clock = clock
        self._cpu = cpu
        self._normal: int | None = None
        self._began = 0.0
        self._looked: tuple[float, float] = (0.0, 0.0)
        self._lock = threading.Lock()
        self._over = threading.Event()

    @property
    def yields(self) -> bool:
        return self._normal is not None

    def begin(self) -> None:
        """Yields from here on; threads begun later do as well."""
        if not self._nice or not may_return():
            return
        self._normal = os.getpriority(os.PRIO_PROCESS, 0)
        self._began, self._looked = self._clock(), (self._clock(), self._cpu())
        os.setpriority(os.PRIO_PROCESS, 0, min(self._normal + self._nice, NICE_MAX))
        threading.Thread(target=self._watch, name="gentle", daemon=True).start()

    def end(self) -> None:
        """Every thread is as it was before."""
        self._over.set()
        with self._lock:
            normal, self._normal = self._normal, None
            if normal is not None:
                _restore(normal)

    def look(self) -> None:
        """Ends it if it gets too little, or has yielded for long enough."""
        now, used = self._clock(), self._cpu()
        since, before = self._looked
        self._looked = (now, used)
        if used - before < STARVED_SHARE * (now - since) or now - self._began > PATIENCE_S:
            self.end()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_S):
            self.look()


def may_return() -> bool:
    """Whether a thread here that yields may take that back."""
    if not sys.platform.startswith("linux"):
        return False
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(_there_and_back()))
    thread.start()
    thread.join()
    return found == [True]


def _there_and_back() -> bool:
    try:
        normal = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, normal + 1)
        os.setpriority(os.PRIO_PROCESS, 0, normal)
    except OSError:
        return False
    return True


def _restore(normal: int) -> None:
    """Again and again, until no thread is left that began with what its maker had."""
    left = True
    while left:
        left = False
        for task in _TASKS.iterdir():
            with contextlib.suppress(OSError):
                number = int(task.name)
                if os.getpriority(os.PRIO_PROCESS, number) != normal:
                    os.setpriority(os.PRIO_PROCESS, number, normal)
                    left = True
