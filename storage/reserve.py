"""Arrays that grow in place: addresses are reserved for all they may become, memory is taken when written.

A growing array that is copied into one twice as large holds up whoever is writing, the longer the larger
it is. An anonymous mapping costs nothing until a page of it is written, so an array beyond `SMALL_BYTES` is
mapped as large as the machine's memory and never moves. Readers share it. Where the system refuses (a
limit on addresses), arrays double.

Linux has 2**47 addresses for a process. All reservations together take a quarter of them at most: each gets a
256th of what is left of that, should it be less than the memory.
"""

from __future__ import annotations

import itertools
import mmap
import os
import sys
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from .ahead import HUGE_PAGE, Mapping, come_near

CAPACITY_MIN = 16
SMALL_BYTES = 1 << 20
"""Arrays up to here are copied when they grow, in less than a millisecond."""
HUGE_PAGES_FROM = 4 << 20
"""Behind so many bytes an array takes memory 2 MiB at a time: five times as fast as by pages."""
ADDRESSES = 1 << 45
"""Bytes of all reservations."""
SHARE = 256
MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)

_reserved: dict[int, int] = {}
"""Bytes of each reservation, by a number of its own."""
_numbers = itertools.count()


def empty(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of at least `count` elements, with room to grow if it is large. Its values are arbitrary."""
    kind = np.dtype(dtype)
    if count * kind.itemsize > SMALL_BYTES:
        array = _reserve(count * kind.itemsize, _room(), kind)
        if array is not None:
            return array
    return np.empty(count, kind)


def zeros(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """`count` zeros, of which those not yet written take no memory if they are many."""
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    array = _reserve(size, size, kind) if size > SMALL_BYTES else None
    return np.zeros(count, kind) if array is None else array[:count]


def capacity_for(needed: int, capacity: int) -> int:
    """The capacity to grow to: at least doubled."""
    return max(needed, capacity * 2, CAPACITY_MIN)


def grown(array: npt.NDArray[Any], used: int, needed: int) -> npt.NDArray[Any]:
    """`array` with room for `needed` elements, the first `used` kept: itself if it is large enough."""
    if needed <= len(array):
        look_ahead(array, needed)
        return array
    larger = empty(capacity_for(needed, len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger


def look_ahead(array: npt.NDArray[Any], used: int) -> None:
    """So many elements of `array` are or will be written: memory for the next is provided beside."""
    size = used * array.itemsize
    if size > HUGE_PAGES_FROM:
        base = array.base.base if isinstance(array.base, np.ndarray) else array.base
        mapping = getattr(base, "obj", None)
        if isinstance(mapping, Mapping):
            come_near(mapping, mapping.start + size)


def _room() -> int:
    """Bytes to reserve for an array that grows."""
    left = ADDRESSES - sum(list(_reserved.values()))
    return max(min(MEMORY_BYTES, left // SHARE), 0)


def _reserve(needed: int, size: int, kind: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """A mapping of `size` bytes as an array; None if it would not do, or the system refuses."""
    if size < needed:
        return None
    number = next(_numbers)
    start = _stagger(number) if size > HUGE_PAGES_FROM else 0
    pages = start + -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    try:
        mapping = Mapping(-1, pages, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    except (OSError, ValueError, OverflowError):
        return None
    if pages > HUGE_PAGES_FROM and hasattr(mmap, "MADV_HUGEPAGE"):
        mapping.madvise(mmap.MADV_HUGEPAGE, HUGE_PAGES_FROM)
    _reserved[number] = pages
    weakref.finalize(mapping, _reserved.pop, number, None).atexit = False
    array = np.frombuffer(mapping, kind, (pages - start) // kind.itemsize, start)
    mapping.start, mapping.address = start, array.ctypes.data - start
    return array


def _stagger(number: int) -> int:
    """Where in its mapping an array begins, so that huge pages begin elsewhere in each (by the golden ratio).

    Columns that grow side by side would otherwise all take their next in the same epoch, 0.3 ms for each.
    """
    return int(number * 0.6180339887 % 1 * HUGE_PAGE) // mmap.PAGESIZE * mmap.PAGESIZE
