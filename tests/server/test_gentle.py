"""A start that yields: of which threads, until when, and that it ends."""

from __future__ import annotations

import os
import subprocess
import sys

from millpond.server.gentle import PATIENCE_S, Gentle, may_return

THREADS = """
import os, threading
from pathlib import Path
from millpond.server.gentle import Gentle

def all_threads():
    return {os.getpriority(os.PRIO_PROCESS, int(task.name)) for task in Path("/proc/self/task").iterdir()}

before = os.getpriority(os.PRIO_PROCESS, 0)
gentle = Gentle(7)
gentle.begin()
over = threading.Event()
for _ in range(3):
    threading.Thread(target=over.wait).start()
during = all_threads()
gentle.end()
print(before, sorted(during), sorted(all_threads()))
over.set()
"""


class Meter:
    """A clock, and what the process got meanwhile."""

    def __init__(self) -> None:
        self.now = self.used = 0.0

    def gentle(self) -> Gentle:
        return Gentle(1, lambda: self.now, lambda: self.used)


def test_all_threads_yield_and_no_thread_does_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    during = min(before + 7, 19) if may_return() else before
    assert done.stdout == f"{before} [{during}] [{before}]\n", done.stderr


def test_a_start_that_gets_next_to_nothing_yields_no_longer() -> None:
    meter = Meter()
    gentle = meter.gentle()
    gentle.begin()
    yielding = gentle.yields
    assert yielding == may_return()
    meter.now, meter.used = 10.0, 1.0
    gentle.look()
    assert gentle.yields == yielding
    meter.now, meter.used = 20.0, 1.1
    gentle.look()
    assert not gentle.yields


def test_it_does_not_yield_for_ever() -> None:
    meter = Meter()
    gentle = meter.gentle()
    gentle.begin()
    while meter.now <= PATIENCE_S:
        assert gentle.yields == may_return()
        meter.now, meter.used = meter.now + 10, meter.used + 5
        gentle.look()
    assert not gentle.yields


def test_nothing_is_given_away_when_that_is_not_wanted() -> None:
    gentle = Gentle(0)
    gentle.begin()
    assert not gentle.yields
    gentle.end()
