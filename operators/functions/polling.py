"""Looks, from within a function of single values, whether its statement is still wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..node import EpochContext

Poll = Callable[[], None]

CALLS_BETWEEN_POLLS = 256
"""Values a function is called with between two looks."""

_local = threading.local()


@contextmanager
def polled(context: EpochContext | None) -> Generator[Poll | None]:
    """Within, `poll_here` in this thread polls `context`."""
    cancelled = None if context is None else context.cancelled
    if cancelled is None:
        yield None
        return
    before = getattr(_local, "poll", None)
    _local.poll = cancelled
    try:
        yield cancelled
    finally:
        _local.poll = before


def poll_here() -> None:
    """Raises QueryCanceled when the statement this thread works for is no longer wanted."""
    poll: Poll | None = getattr(_local, "poll", None)
    if poll is not None:
        poll()
