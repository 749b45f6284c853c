"""Futures of functions and of other futures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def then(future: Future[A], function: Callable[[A], B]) -> Future[B]:
    """A future of `function(result)`; errors of either pass through. `function` runs where `future` ends."""
    outcome: Future[B] = Future()

    def done(finished: Future[A]) -> None:
        error = finished.exception()
        if error is not None:
            outcome.set_exception(error)
            return
        try:
            outcome.set_result(function(finished.result()))
        except BaseException as failure:
            outcome.set_exception(failure)

    future.add_done_callback(done)
    return outcome


def in_thread(function: Callable[[], B]) -> Future[B]:
    """A future of `function()`, in a thread of its own: for what mostly waits."""
    outcome: Future[B] = Future()

    def run() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="waiting", daemon=True).start()
    return outcome
