"""Work side by side: results in order, and nobody is left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from millpond.storage import together as module
from millpond.storage.together import ROWS_MIN, together


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROCESSORS", 2)


def test_it_is_at_the_same_time_and_in_order() -> None:
    meeting = threading.Barrier(2, timeout=30)
    assert together([lambda: (meeting.wait(), 1)[1], lambda: (meeting.wait(), 2)[1]], ROWS_MIN) == [1, 2]


@pytest.mark.parametrize(("processors", "rows"), [(1, ROWS_MIN), (2, ROWS_MIN - 1)])
def test_little_work_stays_in_its_thread(processors: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROCESSORS", processors)
    assert set(together([threading.get_ident] * 3, rows)) == {threading.get_ident()}


@pytest.mark.parametrize("failing", [(0,), (1,), (0, 1), (2,)])
def test_all_have_ended_when_one_has_failed(failing: tuple[int, ...]) -> None:
    ended: list[int] = []

    def work(number: int) -> int:
        if number in failing:
            raise ValueError(number)
        time.sleep(0.05)
        ended.append(number)
        return number

    with pytest.raises(ValueError, match=str(failing[0])):
        together([lambda n=n: work(n) for n in range(3)], ROWS_MIN)
    assert sorted(ended) == [n for n in range(3) if n not in failing]


def test_all_have_ended_when_one_cannot_be_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    class OutOfThreads(ThreadPoolExecutor):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
            if self._work_queue.qsize() or self._threads:
                raise RuntimeError("can't start new thread")
            return super().submit(function, *arguments, **named)

    monkeypatch.setattr(module, "_pool", OutOfThreads(1))

    def work(number: int) -> None:
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(RuntimeError, match="new thread"):
        together([lambda n=n: work(n) for n in range(3)], ROWS_MIN)
    assert ended == [1]
