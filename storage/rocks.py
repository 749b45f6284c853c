"""`RocksStore`: the store on RocksDB. The only file that knows rocksdict.

The write-ahead log is off: the changelog is the redo log. All keys are in one column family, so that
a flush can never part rows from the changelog position written with them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
    WriteOptions,
)

from .store import StoreBatch, StoreUnreadable

CACHE_BYTES = 64 << 20
"""Block cache of a store."""

WRITE_BUFFER_BYTES = 64 << 20
"""A memtable that reached this size is flushed in the background."""

BLOOM_BITS = 10
"""Bits a key in the bloom filters; 1 % of misses read a block."""


class RocksStore:
    """A RocksDB directory."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        """Opens or creates the directory; `fresh` removes what is there.

        Raises StoreUnreadable when RocksDB cannot open it.
        """
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            self._db = Rdict(str(folder), _options())
        except Exception as error:
            # rocksdict raises bare Exception for anything RocksDB says.
            raise StoreUnreadable(str(error)) from error
        self._unlogged = WriteOptions()
        # The stub calls the property a method.
        self._unlogged.disable_wal = True  # pyright: ignore[reportAttributeAccessIssue]

    def get(self, key: bytes) -> bytes | None:
        return self._db.get(key)

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        items = self._items(low)
        while found := list(islice(items, chunk)):
            if found[-1][0] < high:
                yield [value for _, value in found]
                continue
            if last := [value for key, value in found if key < high]:
                yield last
            return

    def items(self, low: bytes, high: bytes) -> list[tuple[bytes, bytes]]:
        return list(takewhile(lambda item: item[0] < high, self._items(low)))

    def _items(self, low: bytes) -> Iterator[tuple[bytes, bytes]]:
        # Without ReadOptions.set_iterate_upper_bound: in rocksdict 0.3.29 the bound is not kept alive
        # and scans end anywhere.
        return iter(self._db.items(from_key=low))  # pyright: ignore[reportReturnType]

    def write(self, batch: StoreBatch) -> None:
        writes = WriteBatch(raw_mode=True)
        for low, high in batch.ranges:
            writes.delete_range(low, high)
        delete, put = writes.delete, writes.put
        for key in batch.deletes:
            delete(key)
        for key, value in zip(batch.keys, batch.values, strict=True):
            put(key, value)
        try:
            self._db.write(writes, self._unlogged)
        except Exception as error:
            raise OSError(f"RocksDB: {error}") from error

    def flush(self) -> None:
        try:
            self._db.flush(True)
        except Exception as error:
            raise OSError(f"RocksDB: {error}") from error

    def close(self) -> None:
        self._db.close()


def _options() -> Options:
    blocks = BlockBasedOptions()
    blocks.set_block_cache(Cache(CACHE_BYTES))
    blocks.set_bloom_filter(BLOOM_BITS, False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_keep_log_file_num(4)
    return options
