"""`MemoryBudget`: how much memory tables may take, and which of them give some back.

The budget is for the whole process. What the process takes beside its tables (the interpreter and its
libraries, blocks of the store, an epoch's batches, copies while tables grow) is measured, not assumed: the
tables' share is most of what that leaves, and is divided so that small tables stay whole.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa

from .room import machine_bytes

TABLES_SHARE = 0.75
"""Of what is left beside everything else. The rest is for what comes between two looks."""

OTHER_DECAY = 0.05
"""A peak of everything else is forgotten by this share of its height at each look."""

EVICT_TO = 0.6
"""What tables may keep of their share when it is exceeded: evicting copies what is left, so not too often."""

URGENT = 1.2
"""Times the share at which writing waits for an eviction."""

SHARE_MIN = 0.1
"""Of the budget: what tables may always take."""

SMALL_TABLE_BYTES = 1 << 16
"""Tables below are not worth evicting."""

MACHINE_SHARE = 0.6
"""The budget unless one is given: this much of the machine's memory, or of the container's."""

MMAP_THRESHOLD = 4 << 20
"""Bytes of an allocation that gets pages of its own."""

AFFORDS_PROCESS_FROM = 3 << 29
"""Budgets below have better use for the memory that a second process takes."""

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(slots=True)
class MemoryBudget:
    """`bytes_max` for the process; `other` is what it takes beside its tables, peaks included."""

    bytes_max: int
    fixed: int = 0
    """What it took when it started; the least that `other` is taken to be."""
    other: int = 0

    def __post_init__(self) -> None:
        self.other = self.fixed

    @property
    def share(self) -> int:
        """Bytes that tables may take together."""
        return int(max(self.bytes_max * SHARE_MIN, (self.bytes_max - self.other) * TABLES_SHARE))

    @property
    def store_cache(self) -> int:
        """Bytes for the store's blocks."""
        return min(64 << 20, max(4 << 20, self.bytes_max // 32))

    @property
    def store_buffer(self) -> int:
        """Bytes of what the store gathers before it writes a file."""
        return min(64 << 20, max(4 << 20, self.bytes_max // 64))

    @property
    def stretch(self) -> int:
        """Bytes of changelog that a checkpoint holds at a time."""
        return min(128 << 20, max(4 << 20, self.bytes_max // 64))

    @property
    def affords_process(self) -> bool:
        """Whether checkpoints may have a process of their own."""
        return self.bytes_max >= AFFORDS_PROCESS_FROM

    def look(self, tables: int, resident: int) -> None:
        """Tables take `tables` bytes, the process `resident`."""
        self.other -= int((self.other - self.fixed) * OTHER_DECAY)
        self.other = max(self.other, resident - tables)

    def over(self, tables: int) -> bool:
        """Whether tables that take so many bytes must give some back."""
        return tables > self.share

    def urgent(self, tables: int) -> bool:
        """Whether nothing more may be written before."""
        return tables > self.share * URGENT

    def goals(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """How many bytes each of the tables to be evicted may keep; the others may keep all.

        The largest are cut to the same size (max-min fairness).
        """
        left = int(min(self.share, sum(sizes.values())) * EVICT_TO)
        ascending = sorted(sizes, key=lambda name: sizes[name])
        for place, name in enumerate(ascending):
            level = left // (len(ascending) - place)
            if sizes[name] > max(level, SMALL_TABLE_BYTES):
                return dict.fromkeys(ascending[place:], level)
            left = max(0, left - sizes[name])
        return {}


def resident_bytes(process: int | str = "self") -> int:
    """The resident set of a process; without procfs, of this one."""
    try:
        return int(Path(f"/proc/{process}/statm").read_bytes().split()[1]) * _PAGE
    except (OSError, IndexError):
        # No procfs: the peak is the nearest there is, in bytes on macOS, in KiB elsewhere.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10


def private_bytes(process: int) -> int:
    """What another process has resident and shares with nobody; without procfs, nothing."""
    try:
        _, resident, shared = Path(f"/proc/{process}/statm").read_bytes().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE


def processor_s(process: int) -> float:
    """Seconds of processor time that another process has used; without procfs, as many as have passed."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return time.monotonic()


def default_bytes() -> int:
    """The budget of a server that was given none."""
    return int(machine_bytes() * MACHINE_SHARE)


def release_memory() -> None:
    """Gives pages that were freed back to the system, as far as its allocators can.

    Rows that went may be held by objects that refer to each other; these are collected first.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def keep_heap_small() -> None:
    """Makes glibc keep few heaps, and give arrays pages of their own: so that freed memory can go.

    By default each thread has a heap, and arrays of up to 32 MB lie among smaller things that outlive them.
    """
    option = getattr(_libc(), "mallopt", None)
    if option is not None:
        option(_M_ARENA_MAX, 2)
        option(_M_MMAP_THRESHOLD, MMAP_THRESHOLD)


@cache
def _libc() -> ctypes.CDLL | None:
    # Each makes a class of its own, which refers to itself.
    try:
        return ctypes.CDLL(None)
    except OSError:
        return None
