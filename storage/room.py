"""How much memory one query may hold, so that it ends with an error and not by the kernel's hand."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from .errors import InternalError, OutOfMemory, ProgramLimitExceeded

HELD_SHARE = 0.25
"""Share of the machine's memory that one result, or one input of an operator, may take."""

LOOK_BYTES = 64 << 20
"""Below so many bytes nobody looks how much memory there is."""

VALUE_BYTES_MAX = 0x3FFFFFFF
"""Bytes of one value, as in PostgreSQL."""

ARRAY_ELEMENTS_MAX = VALUE_BYTES_MAX // 8
"""Elements of one array, as in PostgreSQL."""

ARROW_BYTES_MAX = 0x7FFFFFFE
"""Bytes that the strings of one Arrow array may have together."""

_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def machine_bytes() -> int:
    """Memory of the machine, or of the container this process is in."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in _LIMIT_FILES:
        try:
            total = min(total, int(Path(name).read_text()))
        except (OSError, ValueError):  # There is no such group, or it has no limit ("max").
            continue
    return total


def available_bytes() -> int:
    """What the machine could still give, the page cache included."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except OSError:  # not Linux
        pass
    return machine_bytes()


def refuse_beyond_room(held: int) -> None:
    """Raises OutOfMemory when `held` bytes are more than a query may hold, or than can be copied once."""
    if held <= LOOK_BYTES:
        return
    if held > machine_bytes() * HELD_SHARE or held > available_bytes():
        raise OutOfMemory(
            "out of memory",
            detail=f"A query would hold {held >> 20} MB of rows, more than there is room for.",
        )


def check_value(size: int) -> None:
    """Raises, as PostgreSQL does, for allocating a value of too many bytes."""
    if size > VALUE_BYTES_MAX:
        raise InternalError(f"invalid memory alloc request size {size}")


def check_buffer(size: int, more: int) -> None:
    """Raises, as PostgreSQL does, for making a string of `size` bytes longer by `more`."""
    if size + more > VALUE_BYTES_MAX:
        detail = f"Cannot enlarge string buffer containing {size} bytes by {more} more bytes."
        raise ProgramLimitExceeded("out of memory", detail=detail)


def check_elements(count: int) -> None:
    """Raises, as PostgreSQL does, for an array of so many elements."""
    if not 0 <= count <= ARRAY_ELEMENTS_MAX:
        raise ProgramLimitExceeded(f"array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})")


def check_column(size: int) -> None:
    """Raises OutOfMemory for strings of so many bytes in one column of one piece."""
    if size > ARROW_BYTES_MAX:
        raise OutOfMemory("out of memory", detail=f"Texts of {size} bytes do not fit into one batch.")
