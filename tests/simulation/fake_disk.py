"""A disk that loses, tears and refuses, all from a seed.

What a file system may do at a power cut: of the writes since the last `sync` of a file any 512-byte
sectors may be there or not, in any combination, and the length is whatever they reach; of the names
changed since the last `sync_folder` any first few may be. A killed process loses nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa

SECTOR = 512
"""Bytes the disk writes or loses together."""


class Crash(BaseException):
    """The machine stopped. Not an Exception: nobody may handle it."""


class Inode:
    """A file's bytes as the page cache shows them, as the disk has them, and the writes between."""

    def __init__(self, content: bytes = b"") -> None:
        self.cached = bytearray(content)
        self.durable = bytearray(content)
        self.pending: list[tuple[int, bytes | None]] = []

    def write(self, offset: int, data: bytes) -> None:
        _put(self.cached, offset, data)
        self.pending.append((offset, data))

    def truncate(self, length: int) -> None:
        _cut(self.cached, length)
        self.pending.append((length, None))

    def sync(self) -> None:
        self.durable = bytearray(self.cached)
        self.pending.clear()

    def lose_power(self, random: Random) -> bytes:
        chance = random.choice((0.0, 0.3, 0.7, 1.0))
        content = bytearray(self.durable)
        for offset, data in self.pending:
            if data is None:
                if random.random() < chance:
                    _cut(content, offset)
                continue
            for start in range(offset - offset % SECTOR, offset + len(data), SECTOR):
                low, high = max(start, offset), min(start + SECTOR, offset + len(data))
                if random.random() < chance:
                    _put(content, low, data[low - offset : high - offset])
        return bytes(content)


def _put(target: bytearray, offset: int, data: bytes) -> None:
    if len(target) < offset:
        target.extend(bytes(offset - len(target)))
    target[offset : offset + len(data)] = data


def _cut(target: bytearray, length: int) -> None:
    del target[length:]
    target.extend(bytes(length - len(target)))


class FakeFile:
    def __init__(self, disk: FakeDisk, inode: Inode) -> None:
        self._disk, self._inode = disk, inode

    def write_at(self, offset: int, buffers: Sequence) -> None:
        data = b"".join(bytes(buffer) for buffer in buffers)
        room = self._disk.room(self._inode, offset + len(data))
        refused = self._disk.refuses(self._disk.write_failure)
        if room < offset + len(data) or refused:
            self._inode.write(offset, data[: max(0, min(room, offset + len(data) // 2) - offset)])
            raise OSError(errno.EIO if refused else errno.ENOSPC, "Input/output error or no space")
        self._disk.step(lambda: self._inode.write(offset, data[: self._disk.random.randrange(len(data) + 1)]))
        self._inode.write(offset, data)

    def read_at(self, offset: int, length: int) -> pa.Buffer:
        self._disk.alive()
        return pa.py_buffer(bytes(self._inode.cached[offset : offset + length]))

    def peek(self, length: int) -> bytes | None:
        self._disk.alive()
        named = self._inode in self._disk.names_cached.values()
        return bytes(self._inode.cached[:length]) if named else None

    def size(self) -> int:
        self._disk.alive()
        return len(self._inode.cached)

    def truncate(self, length: int) -> None:
        self._disk.step()
        self._inode.truncate(length)

    def sync(self) -> None:
        self._disk.step()
        if self._disk.refuses(self._disk.sync_failure):
            # The kernel reports the loss once and takes the pages for clean.
            self._inode.durable = bytearray(self._inode.lose_power(self._disk.random))
            self._inode.pending.clear()
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        lost = self._inode.durable if not self._inode.pending else None
        if lost is None:
            self._inode.durable = _after(self._inode)
        self._inode.pending.clear()

    def close(self) -> None:
        pass


def _after(inode: Inode) -> bytearray:
    """The disk's bytes when all pending writes reach it (not those a failed sync gave up)."""
    content = bytearray(inode.durable)
    for offset, data in inode.pending:
        if data is None:
            _cut(content, offset)
        else:
            _put(content, offset, data)
    return content


class FakeLock:
    def __init__(self, disk: FakeDisk, path: Path) -> None:
        self._disk, self._path = disk, path

    def release(self) -> None:
        self._disk.locks.discard(self._path)


class FakeDisk:
    """Crashes after `crash_after` more steps; refuses by chance; is full at `space` bytes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names_cached: dict[Path, Inode] = {}
        self.names_durable: dict[Path, Inode] = {}
        self.name_changes: list[tuple[Path, Inode | None]] = []
        self.locks: set[Path] = set()
        self.crash_after: int | None = None
        self.dead = False
        self.write_failure = self.sync_failure = 0.0
        self.space: int | None = None
        self.steps = 0

    # What fails and when.

    def alive(self) -> None:
        if self.dead:
            raise Crash

    def step(self, last_act=lambda: None) -> None:
        """One change of the disk; `last_act` is how far it gets if this is the moment of the crash."""
        self.alive()
        self.steps += 1
        if self.crash_after is not None:
            self.crash_after -= 1
            if self.crash_after < 0:
                last_act()
                self.dead = True
                raise Crash

    def refuses(self, chance: float) -> bool:
        return chance > 0 and self.random.random() < chance

    def room(self, inode: Inode, wanted: int) -> int:
        """How long the file may get."""
        if self.space is None:
            return wanted
        used = sum(len(one.cached) for one in self.names_cached.values() if one is not inode)
        return max(len(inode.cached), self.space - used)

    def after_crash(self, power: bool) -> FakeDisk:
        """The disk as the next process finds it."""
        after = FakeDisk(self.random)
        names = self.names_cached
        if power:
            names = dict(self.names_durable)
            for path, inode in self.name_changes[: self.random.randrange(len(self.name_changes) + 1)]:
                _name(names, path, inode)
        for path, inode in names.items():
            content = inode.lose_power(self.random) if power else bytes(inode.cached)
            after.names_cached[path] = Inode(content)
            if not power:
                after.names_cached[path].durable = inode.durable
                after.names_cached[path].pending = inode.pending
        after.names_durable = dict(after.names_cached)
        if not power:
            twins = {id(inode): after.names_cached[path] for path, inode in names.items()}
            after.names_durable = {p: twins.get(id(i), i) for p, i in self.names_durable.items()}
            after.name_changes = [(p, i and twins.get(id(i), i)) for p, i in self.name_changes]
        return after

    def at_rest(self) -> FakeDisk:
        """A copy of all there is, everything on it durable."""
        copy = FakeDisk(self.random)
        copy.names_cached = {path: Inode(bytes(inode.cached)) for path, inode in self.names_cached.items()}
        copy.names_durable = dict(copy.names_cached)
        return copy

    def flip(self, path: Path, offset: int, bit: int) -> None:
        """Changes one bit of a disk at rest."""
        inode = self.names_cached[path]
        inode.cached[offset] ^= 1 << bit
        inode.durable = bytearray(inode.cached)

    # The interface of `Disk`.

    def make_folder(self, folder: Path) -> None:
        self.alive()

    def names(self, folder: Path) -> list[str]:
        self.alive()
        # A copy: a checkpoint may be at work in another thread.
        known = list(self.names_cached)
        inside = {path.relative_to(folder).parts[0] for path in known if folder in path.parents}
        return sorted(inside)

    def create(self, path: Path) -> FakeFile:
        self.step()
        if path in self.names_cached:
            inode = self.names_cached[path]
            inode.truncate(0)
        else:
            inode = Inode()
            self._rename(path, inode)
        return FakeFile(self, inode)

    def open(self, path: Path, write: bool = False) -> FakeFile:
        self.alive()
        return FakeFile(self, self._named(path))

    def rename(self, source: Path, target: Path) -> None:
        self.step()
        inode = self._named(source)
        self._rename(source, None)
        self._rename(target, inode)

    def place(self, source: Path, target: Path) -> None:
        self.step()
        if target in self.names_cached:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        inode = self._named(source)
        self._rename(target, inode)
        self._rename(source, None)

    def remove(self, path: Path) -> None:
        self.step()
        self._rename(path, None)

    def sync_folder(self, folder: Path) -> None:
        self.step()
        if self.refuses(self.sync_failure):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rest: list[tuple[Path, Inode | None]] = []
        for path, inode in self.name_changes:
            if path.parent == folder:
                _name(self.names_durable, path, inode)
            else:
                rest.append((path, inode))
        self.name_changes = rest

    def lock(self, path: Path) -> FakeLock | None:
        self.alive()
        if path in self.locks:
            return None
        self.locks.add(path)
        return FakeLock(self, path)

    def seize(self, path: Path) -> FakeLock:
        self.step()
        self.locks.add(path)
        return FakeLock(self, path)

    def token(self) -> bytes:
        return self.random.randbytes(16)

    def _named(self, path: Path) -> Inode:
        inode = self.names_cached.get(path)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return inode

    def _rename(self, path: Path, inode: Inode | None) -> None:
        _name(self.names_cached, path, inode)
        self.name_changes.append((path, inode))


def _name(names: dict[Path, Inode], path: Path, inode: Inode | None) -> None:
    if inode is None:
        names.pop(path, None)
    else:
        names[path] = inode
