"""The data directory itself: who may use it and what format it has.

FORMAT   json: format version, key hash, number of vnodes
LOCK     flock of the process that uses it
state/   the store           log/   the log, unless it lies elsewhere
checkpoint/   files about to become part of the store
"""

from __future__ import annotations

import json
from pathlib import Path

from .disk import Disk, DiskLock, read_whole, write_whole
from .errors import StartupError
from .keys import HASH_NAME, VNODES

DATA_FORMAT = 1
"""Version of the layout of a data directory; newer ones are refused."""

_OURS = {"FORMAT", "FORMAT.new", "LOCK", "state", "log", "checkpoint", "lost+found"}


def open_folder(data: Path, disk: Disk) -> DiskLock:
    """Creates the directory if need be and locks it. Raises StartupError, OSError."""
    disk.make_folder(data)
    foreign = [name for name in disk.names(data) if name not in _OURS]
    if foreign and "FORMAT" not in disk.names(data):
        raise StartupError(f"{data} is not a millpond data directory: it holds {foreign[0]!r} and no FORMAT")
    lock = disk.lock(data / "LOCK")
    if lock is None:
        raise StartupError(f"the data directory {data} is in use by another process")
    try:
        _check_format(data, disk)
    except BaseException:
        lock.release()
        raise
    return lock


def read_format(data: Path, disk: Disk) -> int | None:
    """The format version of the directory, None when it has none yet. Raises StartupError."""
    try:
        content = read_whole(disk, data / "FORMAT")
    except FileNotFoundError:
        return None
    try:
        return int(json.loads(content)["format"])
    except (ValueError, KeyError, TypeError):
        raise StartupError(f"{data / 'FORMAT'} is damaged") from None


def _check_format(data: Path, disk: Disk) -> None:
    version = read_format(data, disk)
    if version is None:
        stamp = {"format": DATA_FORMAT, "hash": HASH_NAME, "vnodes": VNODES}
        write_whole(disk, data / "FORMAT", json.dumps(stamp).encode() + b"\n")
    elif version > DATA_FORMAT:
        raise StartupError(
            f"the data directory {data} has format {version}; this version reads up to {DATA_FORMAT}"
        )
