"""Large arrays find their memory there when they come to it, and nothing in it changes."""

import time

import numpy as np
import pytest

from millpond.storage import ahead, reserve
from millpond.storage.ahead import HUGE_PAGE, NEAR_BYTES


class Asked:
    """Takes the place of the queue to the thread."""

    def __init__(self) -> None:
        self.pages: list[int] = []

    def put(self, asked: tuple[ahead.Mapping, int]) -> None:
        self.pages.append(asked[1])


def test_each_huge_page_is_asked_for_once_shortly_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(ahead, "_asked", asked)
    monkeypatch.setattr(ahead, "_start", lambda: None)
    monkeypatch.setattr(ahead, "_KNOWN", True)
    array = reserve.empty(1 << 18, np.int64)
    first, size = array.ctypes.data, array.itemsize
    for used in range(0, 3_000_000, 10_000):
        known = len(asked.pages)
        assert reserve.grown(array, used, used + 10_000) is array
        end = first + (used + 10_000) * size
        for page in asked.pages[known:]:
            assert page % HUGE_PAGE == 0 and 0 <= page - end < NEAR_BYTES
    assert asked.pages == list(range(asked.pages[0], asked.pages[-1] + 1, HUGE_PAGE))
    assert len(asked.pages) in (9, 10)  # 24 MB, without the first 4 MiB


def test_small_arrays_and_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(ahead, "_asked", asked)
    reserve.look_ahead(np.empty(2_000_000, np.int64), 2_000_000)
    reserve.look_ahead(reserve.empty(1 << 18, np.int64), 1 << 18)
    assert asked.pages == []


def test_what_is_written_stays_and_what_is_not_is_zero() -> None:
    array = reserve.zeros(4_000_000, np.int64)
    for first in range(0, 3_000_000, 50_000):
        array[first : first + 50_000] = np.arange(first, first + 50_000)
        reserve.look_ahead(array, first + 50_000)
    while not ahead._asked.empty():
        time.sleep(0.001)
    time.sleep(0.01)
    assert (array[:3_000_000] == np.arange(3_000_000)).all() and not array[3_000_000:].any()
