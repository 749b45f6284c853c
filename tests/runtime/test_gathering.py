"""When an epoch waits for clients that were just answered, and when no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from millpond.runtime.gathering import ENOUGH_WORKS, GATHERING_S, PASSES_MAX, Gathering


@dataclass
class One:
    solo: bool = False


class Condition:
    """Counts waits; at each one something happens, or else the time passes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits = 0
        self.happens: list[Callable[[], object]] = []

    def wait(self, timeout: float) -> None:
        self.waits += 1
        if self.happens:
            self.happens.pop(0)()
        else:
            self.now += timeout


def made() -> tuple[Gathering, Condition, list[One]]:
    condition = Condition()
    return Gathering(lambda: condition.now), condition, []


def wait(gathering: Gathering, condition: Condition, works: list[One]) -> int:
    """How often it slept."""
    before = condition.waits
    gathering.wait(condition, works)  # type: ignore[arg-type]
    assert gathering.wanted == 1
    return condition.waits - before


def test_a_client_alone_is_not_waited_for() -> None:
    gathering, condition, works = made()
    assert wait(gathering, condition, works) == 0
    gathering.answered(1)
    assert wait(gathering, condition, works) == 0
    works.append(One())
    assert wait(gathering, condition, works) == 0


def test_those_answered_are_waited_for_together() -> None:
    gathering, condition, works = made()
    works += [One(), One()]
    gathering.answered(2)
    wanted: list[int] = []

    def two_come() -> None:
        wanted.append(gathering.wanted)
        works.extend([One(), One()])

    condition.happens = [two_come]
    assert wait(gathering, condition, works) == 1
    assert wanted == [4] and condition.now == 0


def test_enough_is_enough() -> None:
    gathering, condition, works = made()
    works += [One()] * ENOUGH_WORKS
    gathering.answered(100)
    assert wait(gathering, condition, works) == 0


def test_what_must_run_alone_is_not_held_up() -> None:
    gathering, condition, works = made()
    works.append(One(solo=True))
    gathering.answered(5)
    assert wait(gathering, condition, works) == 0


def test_waits_in_vain_become_rare_and_end_when_clients_come_back() -> None:
    gathering, condition, works = made()
    slept = 0
    for _ in range(1000):
        gathering.answered(2)
        slept += wait(gathering, condition, works)
    assert 1000 / (PASSES_MAX + 1) <= slept <= 1000 / PASSES_MAX + 10
    assert abs(condition.now - slept * GATHERING_S) < 1e-9
    again = 0
    for _ in range(200):
        condition.happens = [lambda: works.extend([One(), One()])]
        gathering.answered(2)
        again += wait(gathering, condition, works)
        works.clear()
    assert again > 130


def test_an_engine_whose_clients_do_not_come_back_goes_on() -> None:
    gathering, condition = Gathering(), threading.Condition()
    gathering.answered(3)
    with condition:
        gathering.wait(condition, [One()])
    assert gathering.wanted == 1
