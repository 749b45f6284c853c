"""Mapping over `concurrent.futures.Future`."""

from __future__ import annotations

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
