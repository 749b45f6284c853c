"""A start that leaves the processor to others: how much it takes, and when."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from random import Random

import pytest

from millpond.server import serve as serving
from millpond.server.__main__ import main
from millpond.server.config import Config
from millpond.server.gentle import HOLD_S_MAX, OWED_S_MAX, Gentle, main_thread

HELD = """
import threading, time
from millpond.server.gentle import hold_interpreter

done = []
def note():
    time.sleep(0.01)
    done.append(time.monotonic())

thread = threading.Thread(target=note)
thread.start()
before = time.monotonic()
hold_interpreter(0.5)
thread.join()
print(done[0] - before >= 0.5)
"""


class Machine:
    """A process on a machine whose cores others want as well, or do not."""

    def __init__(self, percent: int, crowded: bool) -> None:
        self.crowded = crowded
        self.now = self.used = self.waited = self.held = 0.0
        self.gentle = Gentle(
            percent, lambda: self.now, lambda: self.used, lambda: (self.used, self.waited), self.hold
        )

    def hold(self, seconds: float) -> None:
        assert 0 < seconds <= HOLD_S_MAX
        self.held += seconds
        self.now += seconds

    def work(self, seconds: float) -> None:
        self.used += seconds
        self.waited += seconds / 2 if self.crowded else 0.0
        self.now += seconds * 1.5 if self.crowded else seconds


@pytest.mark.parametrize("percent", [5, 20, 60])
def test_on_a_crowded_machine_it_takes_its_share(percent: int) -> None:
    machine, random = Machine(percent, crowded=True), Random(percent)
    while machine.used < 20:
        machine.work(random.uniform(0.001, 0.05))
        for _ in range(5):
            machine.gentle.look()
    assert machine.used / machine.now == pytest.approx(percent / 100, rel=0.05)


def test_where_cores_are_idle_nothing_is_held() -> None:
    machine = Machine(20, crowded=False)
    for _ in range(100):
        machine.work(0.05)
        machine.gentle.look()
    assert not machine.held


def test_it_never_stands_still() -> None:
    """However long one piece of work takes."""
    machine = Machine(1, crowded=True)
    for _ in range(100):
        machine.work(5.0)
        machine.gentle.look()
    assert machine.held <= 100 * HOLD_S_MAX
    while machine.held < machine.now / 2:
        before = machine.held
        machine.gentle.look()
        if machine.held == before:
            break
    assert machine.held <= 100 * HOLD_S_MAX + 2 * OWED_S_MAX


def test_a_crowd_is_remembered_and_forgotten() -> None:
    machine = Machine(50, crowded=True)
    machine.work(0.02)
    machine.gentle.look()
    machine.crowded, before = False, machine.held
    machine.work(0.02)
    machine.gentle.look()
    assert machine.held > before
    machine.now += 2.0
    machine.gentle.look()
    before = machine.held
    machine.work(0.02)
    machine.gentle.look()
    assert machine.held == before


def test_holding_keeps_other_threads_from_running() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n", done.stderr


def test_a_standby_starts_gently_and_is_like_any_other_when_it_has_caught_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    def serve(config: Config, standby: bool, caught_up: Callable[[], None]) -> int:
        watching = [thread for thread in threading.enumerate() if thread.name == "gentle"]
        caught_up()
        for thread in watching:
            thread.join()
        seen.append(standby and config.start_share < 100 and bool(watching))
        return 0

    monkeypatch.setattr(serving, "serve", serve)
    assert main(["standby", "--start-share", "50"]) == 0
    assert main(["standby", "--start-share", "100"]) == 0
    assert seen == [True, False]


def test_the_system_says_how_long_a_thread_has_run() -> None:
    before = main_thread()
    assert sum(range(3_000_000)) > 0
    assert main_thread()[0] > before[0]
