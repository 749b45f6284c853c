"""`RocksStore`: the store on RocksDB. The only file that knows rocksdict.

The write-ahead log is off: the changelog is the redo log. All keys are in one column family, so that
a flush can never part rows from the changelog position written with them.
"""

from __future__ import annotations

import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DbClosedError,
    DBCompressionType,
    IngestExternalFileOptions,
    Options,
    Rdict,
    RdictIter,
    Snapshot,
    SstFileWriter,
    WriteBatch,
    WriteOptions,
)

from .store import StoreBatch, StoreFailure, StoreUnreadable

CACHE_BYTES = 64 << 20
"""Block cache of a store."""

WRITE_BUFFER_BYTES = 64 << 20
"""A memtable that reached this size is flushed in the background."""

BLOOM_BITS = 10
"""Bits a key in the bloom filters; 1 % of misses read a block."""


_FIGURES = {
    "files": "rocksdb.total-sst-files-size",
    "buffers": "rocksdb.cur-size-all-mem-tables",
    "cache": "rocksdb.block-cache-usage",
    "indexes": "rocksdb.estimate-table-readers-mem",
}

_STALL = "Write stall"
"""What RocksDB says of a write that came while it is behind with its buffers and files."""

STALL_S = 0.002
"""So long such a write waits before it is tried again."""

_NO_KEY = "key not found"
"""What rocksdict says of a key that a snapshot does not have: a bare Exception, as for all else."""


_CLOSED = "could not read the store: it is closed"


class RocksStore:
    """A RocksDB directory."""

    def __init__(
        self,
        folder: Path,
        fresh: bool = False,
        *,
        cache_bytes: int = CACHE_BYTES,
        buffer_bytes: int = WRITE_BUFFER_BYTES,
    ) -> None:
        """Opens or creates the directory; `fresh` removes what is there.

        Raises StoreUnreadable when RocksDB cannot open it.
        """
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            self._db = Rdict(str(folder), _options(cache_bytes, buffer_bytes))
        except Exception as error:
            # rocksdict raises bare Exception for anything RocksDB says.
            raise StoreUnreadable(str(error)) from error
        self._snapshots: weakref.WeakSet[RocksSnapshot] = weakref.WeakSet()
        self._unlogged = WriteOptions()
        # The stub calls the property a method.
        self._unlogged.disable_wal = True  # pyright: ignore[reportAttributeAccessIssue]
        # rocksdict 0.3.29 writes under the interpreter's lock: nobody may wait for the disk in there.
        self._unlogged.no_slowdown = True  # pyright: ignore[reportAttributeAccessIssue]
        self._moving = IngestExternalFileOptions()
        self._moving.set_move_files(True)

    def get(self, key: bytes) -> bytes | None:
        try:
            return self._db.get(key)
        except Exception as error:
            raise _unreadable(error) from error

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        return _parts(partial(_part, self._cursor()), low, high, chunk)

    def items(self, low: bytes, high: bytes) -> list[tuple[bytes, bytes]]:
        cursor, found = self._cursor(), []
        cursor.seek(low)
        while cursor.valid() and cursor.key() < high:  # pyright: ignore[reportOperatorIssue]
            found.append((cursor.key(), cursor.value()))
            cursor.next()
        _check(cursor)
        return found

    def _cursor(self) -> RdictIter:
        # Not `Rdict.items`, which ends before a block that cannot be read as if nothing were behind it. And
        # without ReadOptions.set_iterate_upper_bound: in rocksdict 0.3.29 the bound is not kept alive and
        # scans end anywhere.
        try:
            return self._db.iter()
        except Exception as error:
            raise _unreadable(error) from error

    def snapshot(self) -> RocksSnapshot:
        snapshot = RocksSnapshot(self._db)
        self._snapshots.add(snapshot)
        return snapshot

    def write(self, batch: StoreBatch) -> None:
        while True:
            try:
                self._db.write(_writes(batch), self._unlogged)
                return
            except Exception as error:
                if _STALL not in str(error):
                    raise OSError(f"RocksDB: {error}") from error
            time.sleep(STALL_S)

    def ingest(self, file: Path) -> None:
        try:
            self._db.ingest_external_file([str(file)], self._moving)
        except Exception as error:
            raise OSError(f"RocksDB: {error}") from error

    def flush(self) -> None:
        try:
            self._db.flush(True)
        except Exception as error:
            raise OSError(f"RocksDB: {error}") from error

    def figures(self) -> dict[str, int]:
        try:
            return {name: self._db.property_int_value(key) or 0 for name, key in _FIGURES.items()}
        except DbClosedError:
            return {}

    def close(self) -> None:
        """Snapshots that somebody still holds are closed too: they would keep the directory locked."""
        for snapshot in list(self._snapshots):
            snapshot.close()
        self._db.close()


class SortedFile:
    """A file for `RocksStore.ingest`: keys in ascending order, each with a value or gone. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._writer = SstFileWriter(_options(0, WRITE_BUFFER_BYTES))
        self._call(self._writer.open, str(path))
        self._put, self._delete = self._writer.__setitem__, self._writer.__delitem__

    def put(self, key: bytes, value: bytes) -> None:
        self._call(self._put, key, value)

    def delete(self, key: bytes) -> None:
        self._call(self._delete, key)

    def finish(self) -> None:
        """The file is whole and durable."""
        self._call(self._writer.finish)

    @staticmethod
    def _call(method: Callable[..., None], *arguments: bytes | str) -> None:
        try:
            method(*arguments)
        except Exception as error:
            raise OSError(f"RocksDB: {error}") from error


class RocksSnapshot:
    """What the database held at the time it was made; RocksDB keeps that as long as this is alive.

    In rocksdict 0.3.29 iterators of a snapshot show the database as it is when they are made. So one is made
    at once, and used by one thread at a time. Reading raises StoreFailure.
    """

    def __init__(self, db: Rdict) -> None:
        self._snapshot: Snapshot | None = db.snapshot()
        self._cursor: RdictIter | None = db.iter()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Lets go of the database; reading fails from now on."""
        with self._lock:
            self._snapshot = self._cursor = None

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        snapshot = self._snapshot
        if snapshot is None:
            raise StoreFailure(_CLOSED)
        return [_value(snapshot, key) for key in keys]

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        return _parts(self.part, low, high, chunk)

    def part(self, low: bytes, high: bytes, chunk: int) -> tuple[list[bytes], bytes]:
        with self._lock:
            return _part(self._opened(), low, high, chunk)

    def last(self, low: bytes, high: bytes) -> bytes | None:
        with self._lock:
            cursor = self._opened()
            cursor.seek_for_prev(high)
            if cursor.valid() and cursor.key() == high:
                cursor.prev()
            _check(cursor)
            there = cursor.valid() and cursor.key() >= low  # pyright: ignore[reportOperatorIssue]
            return cursor.value() if there else None  # pyright: ignore[reportReturnType]

    def continuations(self, prefixes: Sequence[bytes]) -> list[list[bytes]]:
        with self._lock:
            return [self._continuation(prefix) for prefix in prefixes]

    def _continuation(self, prefix: bytes) -> list[bytes]:
        cursor, rest = self._opened(), []
        cursor.seek(prefix)
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):  # pyright: ignore[reportAttributeAccessIssue]
                break
            rest.append(key[len(prefix) :])  # pyright: ignore[reportIndexIssue]
            cursor.next()
        _check(cursor)
        return rest

    def _opened(self) -> RdictIter:
        if self._cursor is None:
            raise StoreFailure(_CLOSED)
        return self._cursor


def _parts(
    read: Callable[[bytes, bytes, int], tuple[list[bytes], bytes]], low: bytes, high: bytes, chunk: int
) -> Iterator[list[bytes]]:
    """All that `read` gives of [low, high), part by part."""
    after = low
    while True:
        found, after = read(after, high, chunk)
        if found:
            yield found
        if not after:
            return


def _part(cursor: RdictIter, low: bytes, high: bytes, chunk: int) -> tuple[list[bytes], bytes]:
    """At most `chunk` values from `low` on, and the key behind them (empty: none). Raises StoreFailure."""
    found: list[bytes] = []
    cursor.seek(low)
    while cursor.valid():
        key = cursor.key()
        if key >= high:  # pyright: ignore[reportOperatorIssue]
            break
        if len(found) == chunk:
            return found, key  # pyright: ignore[reportReturnType]
        found.append(cursor.value())  # pyright: ignore[reportArgumentType]
        cursor.next()
    _check(cursor)
    return found, b""


def _writes(batch: StoreBatch) -> WriteBatch:
    """As RocksDB has it: used up by one attempt to write it."""
    writes = WriteBatch(raw_mode=True)
    for low, high in batch.ranges:
        writes.delete_range(low, high)
    delete, put = writes.delete, writes.put
    for key in batch.deletes:
        delete(key)
    for key, value in zip(batch.keys, batch.values, strict=True):
        put(key, value)
    return writes


def _value(snapshot: Snapshot, key: bytes) -> bytes | None:
    try:
        return snapshot[key]  # pyright: ignore[reportReturnType]
    except Exception as error:
        if str(error) == _NO_KEY:
            return None
        raise _unreadable(error) from error


def _check(cursor: RdictIter) -> None:
    """An iterator that met an error says that it has ended."""
    try:
        cursor.status()
    except Exception as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> StoreFailure:
    return StoreFailure(f"could not read the store: {error}")


def _options(cache_bytes: int, buffer_bytes: int) -> Options:
    blocks = BlockBasedOptions()
    blocks.set_block_cache(Cache(cache_bytes))
    # Index and filter blocks stay outside of the cache: in it, point reads are twenty times slower.
    blocks.set_bloom_filter(BLOOM_BITS, False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(buffer_bytes)
    options.set_keep_log_file_num(4)
    return options
