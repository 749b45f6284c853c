"""Memory taken before it is written, in a thread beside.

The first write to 2 MiB of a reserved array (`reserve.py`) waits until the system has emptied them: 0.3 ms,
and 5 ms where a hypervisor has to find the memory first. Whoever commits a few rows need not be the one who
waits. So when an array comes near its next 2 MiB, a thread has the system provide them. Where the system
does not know how (before Linux 5.14), or the writer is quicker, the first write does it.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from queue import SimpleQueue

HUGE_PAGE = 2 << 20
NEAR_BYTES = 256 << 10
"""How near: some thousand rows. The nearer, the less memory is taken that is not written in the end."""

_MADV_POPULATE_WRITE = 23
"""Linux 5.14: as if each page were written, and what is in them stays."""


class Mapping(mmap.mmap):
    """An anonymous mapping that knows how far it was asked for."""

    address = 0
    """Where it begins."""
    start = 0
    """Bytes before the array that lies in it."""
    asked = 0
    """The address up to which memory was asked for."""


_KNOWN = sys.platform == "linux"

_asked: SimpleQueue[tuple[Mapping, int]] = SimpleQueue()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def come_near(mapping: Mapping, used: int) -> None:
    """`used` bytes of the mapping are or will be written. Asks for the next huge page if it begins soon."""
    end = mapping.address + used
    page = -(-end // HUGE_PAGE) * HUGE_PAGE
    fits = page + HUGE_PAGE <= mapping.address + len(mapping)
    if _KNOWN and page - end < NEAR_BYTES and page >= mapping.asked and fits:
        mapping.asked = page + HUGE_PAGE
        _asked.put((mapping, page))
        _start()


def _start() -> None:
    global _thread
    if _thread is None:
        with _lock:
            if _thread is None:
                _thread = threading.Thread(target=_provide, name="memory", daemon=True)
                _thread.start()


def _provide() -> None:
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    while True:
        # The mapping is held meanwhile: its addresses stay what they are.
        mapping, page = _asked.get()
        advise(page, HUGE_PAGE, _MADV_POPULATE_WRITE)
        del mapping
