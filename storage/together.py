"""Work on large deltas that has nothing in common, on several processors: `together`, `beside`.

What takes long in it are compiled loops, which let go of the interpreter, so threads do run side by side.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")

ROWS_MIN = 16_384
"""Rows in work from which on it is worth another thread: some milliseconds for each."""
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""That this process may use."""

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def together(works: Sequence[Callable[[], Result]], rows: int) -> list[Result]:
    """What each of `works` returns, in their order; `rows` are what each is about.

    No two of them may write to the same thing. When this returns or raises, all have ended; of several
    errors the first in their order is raised.
    """
    if len(works) < 2 or not worthwhile(rows):
        return [work() for work in works]
    others: list[Future[Result]] = []
    try:
        for work in works[1:]:
            others.append(_threads().submit(work))
        first = works[0]()
    finally:
        _ = wait(others)
    return [first, *(future.result() for future in others)]


def beside(work: Callable[[], Result], rows: int) -> Future[Result]:
    """Begins `work`, about so many rows, beside the caller; with few it is done when this returns.

    Whoever calls has to see to it that it has ended before anything is undone that it writes to.
    """
    if worthwhile(rows):
        return _threads().submit(work)
    done: Future[Result] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


def worthwhile(rows: int) -> bool:
    """Whether another thread would be of use."""
    return rows >= ROWS_MIN and PROCESSORS > 1


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(PROCESSORS - 1, 1), "together")
        return _pool
