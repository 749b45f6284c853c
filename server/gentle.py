"""`Gentle`: while a standby starts, it takes little of a processor that others on its machine want as well.

Loading the program, reading the log and building tables would otherwise take half of two cores for seconds,
from a primary beside it. A priority would not do: it counts within a session or a control group only, and
only root may take it back. So a thread of its own measures what the process takes and whether it had to wait
for a core; if so, it holds the interpreter until the process is down to its share. Nothing else of Python
runs meanwhile, and a start has nothing that could not wait so long. Where cores are idle nothing is held.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

LOOK_S = 0.01
"""Between two looks."""

WAITED_SHARE = 0.05
"""Who waits for a core longer than this share of the time it has one is not alone."""

CROWDED_S = 1.0
"""How long a machine is taken to be crowded after it was seen to be."""

HOLD_S_MAX = 0.2
"""The longest time without the interpreter."""

OWED_S_MAX = 2.0
"""How much is made up for after a piece of work that could not be interrupted."""

_SCHEDSTAT = Path("/proc/self/schedstat")


class Gentle:
    """Measures and holds; `look` is called again and again by a thread of `begin`, until `end`."""

    def __init__(
        self,
        percent: int,
        now: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.process_time,
        waited: Callable[[], tuple[float, float]] | None = None,
        hold: Callable[[float], None] | None = None,
    ) -> None:
        """`percent` of one core is its share of a crowded machine; 100 and more: whatever it gets."""
        self._share = percent / 100
        self._now = now
        self._used = used
        self._waited = waited or main_thread
        self._hold = hold or hold_interpreter
        self._crowded_until = -1.0
        self._owed = 0.0
        self._mark = (now(), used())
        self._ran = self._waited()
        self._over = threading.Event()

    def begin(self) -> None:
        if 0 < self._share < 1 and os.name == "posix":
            threading.Thread(target=self._run, name="gentle", daemon=True).start()

    def end(self) -> None:
        """From any thread."""
        self._over.set()

    def look(self) -> None:
        """Holds for as long as makes what was used since the last look this process's share of the time."""
        now, (since, before) = self._now(), self._mark
        owed = self._owed + (self._used() - before) / self._share - (now - since)
        if self._is_crowded(now) and owed > 0:
            held = min(owed, HOLD_S_MAX)
            self._hold(held)
            self._owed = min(owed - held, OWED_S_MAX)
        else:
            self._owed = 0.0
        self._mark = (self._now(), self._used())

    def _is_crowded(self, now: float) -> bool:
        (ran, waited), self._ran = self._ran, self._waited()
        if self._ran[1] - waited > WAITED_SHARE * (self._ran[0] - ran):
            self._crowded_until = now + CROWDED_S
        return now < self._crowded_until

    def _run(self) -> None:
        while not self._over.wait(LOOK_S):
            self.look()


def main_thread() -> tuple[float, float]:
    """Seconds for which the main thread, which does the work of a start, has run, and waited for a core.

    Where the system does not tell, the machine is crowded when more wants to run than it has cores.
    """
    try:
        ran, waited, _ = _SCHEDSTAT.read_text().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        used = time.process_time()
        return used, used if os.getloadavg()[0] > (os.cpu_count() or 1) else 0.0


def hold_interpreter(seconds: float) -> None:
    """Sleeps without letting other threads of Python run, as `time.sleep` would."""
    _ = ctypes.PyDLL(None).usleep(int(seconds * 1e6))
