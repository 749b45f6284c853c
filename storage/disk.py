"""`Disk`: every access to files, behind one interface, so that the simulation can be the disk.

What is promised is what POSIX promises: written bytes are durable after `DiskFile.sync`; a file's
name (created, renamed, removed) is durable after `sync_folder` of its folder. Every method raises
OSError as the system call does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

Bytes = bytes | memoryview | pa.Buffer

_VECTORS_MAX = 512
"""Buffers handed to one pwritev call; the kernel refuses more than IOV_MAX (1,024)."""


class DiskFile(Protocol):
    """An open file."""

    def write_at(self, offset: int, buffers: Sequence[Bytes]) -> None:
        """Writes all buffers one behind the other; extends the file as needed. Not durable yet."""
        ...

    def read_at(self, offset: int, length: int) -> pa.Buffer:
        """At most `length` bytes; fewer only at the end of the file. The memory is the caller's."""
        ...

    def peek(self, length: int) -> bytes | None:
        """What the first `length` bytes are now; None once the file has no name any more."""
        ...

    def size(self) -> int: ...

    def truncate(self, length: int) -> None: ...

    def sync(self) -> None:
        """Makes content and length durable. After a failure nothing is known of the written bytes."""
        ...

    def close(self) -> None: ...


class DiskLock(Protocol):
    """An exclusive lock, held until released or the process ends."""

    def release(self) -> None: ...


class Disk(Protocol):
    """A file system."""

    def make_folder(self, folder: Path) -> None:
        """Creates the folder and its parents, durably; fine when it exists."""
        ...

    def names(self, folder: Path) -> list[str]:
        """Names in the folder, sorted; empty when there is no such folder."""
        ...

    def create(self, path: Path) -> DiskFile:
        """A new, empty file for reading and writing; an older one of that name is emptied."""
        ...

    def open(self, path: Path, write: bool = False) -> DiskFile:
        """An existing file. Raises FileNotFoundError."""
        ...

    def rename(self, source: Path, target: Path) -> None: ...

    def place(self, source: Path, target: Path) -> None:
        """Renames, but onto no other file. Raises FileExistsError, atomically."""
        ...

    def remove(self, path: Path) -> None: ...

    def sync_folder(self, folder: Path) -> None: ...

    def lock(self, path: Path) -> DiskLock | None:
        """The lock of that file, created when missing; None when another process has it."""
        ...

    def seize(self, path: Path) -> DiskLock:
        """A lock under this name although another process may have it, whose own is worth nothing now."""
        ...

    def token(self) -> bytes:
        """16 bytes unlike any other token: the identity of a new log."""
        ...


class _RealFile:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write_at(self, offset: int, buffers: Sequence[Bytes]) -> None:
        for start in range(0, len(buffers), _VECTORS_MAX):
            part: Sequence[Bytes] = buffers[start : start + _VECTORS_MAX]
            total = sum(len(buffer) for buffer in part)
            written = os.pwritev(self._descriptor, part, offset)
            if written < total:
                self._write_rest(offset, b"".join(part), written)
            offset += total

    def _write_rest(self, offset: int, data: bytes, written: int) -> None:
        # A full disk and a limit on the file's size both show as a short write first.
        while written < len(data):
            written += os.pwrite(self._descriptor, memoryview(data)[written:], offset + written)

    def read_at(self, offset: int, length: int) -> pa.Buffer:
        memory = np.empty(max(0, min(length, self.size() - offset)), np.uint8)
        view, done = memory.data, 0
        while done < len(view):
            count = os.preadv(self._descriptor, [view[done:]], offset + done)
            if count == 0:
                break
            done += count
        return pa.py_buffer(view).slice(0, done)

    def peek(self, length: int) -> bytes | None:
        content = os.pread(self._descriptor, length, 0)
        return content if os.fstat(self._descriptor).st_nlink else None

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, length: int) -> None:
        os.ftruncate(self._descriptor, length)

    def sync(self) -> None:
        # fdatasync flushes the length too whenever that is needed to read the bytes back.
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class _RealLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """The machine's own file system."""

    def make_folder(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for one in missing:
            self.sync_folder(one.parent)

    def names(self, folder: Path) -> list[str]:
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []

    def create(self, path: Path) -> DiskFile:
        return _RealFile(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644))

    def open(self, path: Path, write: bool = False) -> DiskFile:
        return _RealFile(os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC))

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def place(self, source: Path, target: Path) -> None:
        os.link(source, target)
        os.unlink(source)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def sync_folder(self, folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path) -> DiskLock | None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        if not _still_named(path, descriptor):
            # Seized between opening and locking.
            os.close(descriptor)
            return None
        return _RealLock(descriptor)

    def seize(self, path: Path) -> DiskLock:
        fresh = path.with_name(f"{path.name}.{self.token().hex()}.new")
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.replace(fresh, path)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            raise
        return _RealLock(descriptor)

    def token(self) -> bytes:
        return os.urandom(16)


def _still_named(path: Path, descriptor: int) -> bool:
    try:
        return os.stat(path).st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


REAL = RealDisk()


def read_whole(disk: Disk, path: Path) -> bytes:
    """The content of a small file. Raises FileNotFoundError."""
    file = disk.open(path)
    try:
        return file.read_at(0, file.size()).to_pybytes()
    finally:
        file.close()


def write_whole(disk: Disk, path: Path, content: bytes) -> None:
    """Puts a small file in place durably and at once: whole or, after a crash, not at all."""
    temporary = path.with_name(path.name + ".new")
    file = disk.create(temporary)
    try:
        file.write_at(0, [content])
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_folder(path.parent)
