"""Python's garbage collector, and work that makes very many small objects of which none is garbage.

The collector walks all young objects, and nothing else runs meanwhile: of a hundred thousand epochs read by a
checkpoint that is a tenth of a second, in which no client gets an answer. All those objects go when nobody
refers to them. So such work is done without automatic collections.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_working = 0
_was_on = False


@contextmanager
def no_collections() -> Generator[None]:
    """Until the last of those who asked for it has ended there is none but by `gc.collect`."""
    global _working, _was_on
    with _lock:
        if not _working:
            _was_on = gc.isenabled()
            gc.disable()
        _working += 1
    try:
        yield
    finally:
        with _lock:
            _working -= 1
            if not _working and _was_on:
                gc.enable()
