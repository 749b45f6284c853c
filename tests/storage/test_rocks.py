"""What the store on RocksDB promises to threads that run beside the one that writes it."""

import os
import threading
from pathlib import Path

import pytest

from millpond.storage import rocks
from millpond.storage.errors import IoError
from millpond.storage.rocks import RocksStore
from millpond.storage.store import StoreBatch


class BehindWithFlushes:
    """A database that refuses the first writes, and otherwise is the one behind it."""

    def __init__(self, db: object, refusals: list[str]) -> None:
        self._db = db
        self.refusals = refusals

    def write(self, writes: object, options: object) -> None:
        if self.refusals:
            raise Exception(self.refusals.pop(0))  # as rocksdict does for all that RocksDB says
        self._db.write(writes, options)  # pyright: ignore[reportAttributeAccessIssue]

    def __getattr__(self, name: str) -> object:
        return getattr(self._db, name)


@pytest.fixture
def store(tmp_path: Path):
    store = RocksStore(tmp_path / "state", buffer_bytes=64 << 10)
    yield store
    store.close()


def test_a_write_is_tried_again_when_rocksdb_is_behind(
    store: RocksStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(rocks.time, "sleep", waits.append)
    store._db = BehindWithFlushes(store._db, ["Result incomplete: Write stall"] * 3)  # pyright: ignore
    store.write(StoreBatch(deletes=[b"a"], keys=[b"b"], values=[b"1"]))
    assert store.get(b"b") == b"1" and waits == [rocks.STALL_S] * 3


def test_what_else_rocksdb_says_ends_the_write(store: RocksStore) -> None:
    store._db = BehindWithFlushes(store._db, ["IO error: No space left on device"])  # pyright: ignore
    with pytest.raises(OSError, match="No space left"):
        store.write(StoreBatch(keys=[b"b"], values=[b"1"]))


def test_writes_that_outrun_the_disk_all_arrive(store: RocksStore) -> None:
    """Buffers of 64 kB: RocksDB is behind again and again."""
    for first in range(0, 20_000, 100):
        keys = [number.to_bytes(8, "big") for number in range(first, first + 100)]
        store.write(StoreBatch(keys=keys, values=[key * 20 for key in keys]))
    found = [value for part in store.values(b"", b"\xff", 1000) for value in part]
    assert found == [number.to_bytes(8, "big") * 20 for number in range(20_000)]


def test_another_thread_reads_meanwhile(store: RocksStore) -> None:
    ended = threading.Event()
    seen: list[bytes | None] = []

    def read() -> None:
        while not ended.is_set():
            seen.append(store.get(b"\x00" * 8))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(2_000):
        key = number.to_bytes(8, "big")
        store.write(StoreBatch(keys=[key], values=[key]))
    ended.set()
    reader.join()
    assert set(seen) <= {None, b"\x00" * 8}


def damage(folder: Path) -> None:
    """Overwrites some bytes in the middle of the largest file."""
    file = max(folder.glob("*.sst"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    file.write_bytes(content)


def test_a_block_that_cannot_be_read_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    keys = [number.to_bytes(8, "big") for number in range(20_000)]
    store = RocksStore(tmp_path / "state")
    store.write(StoreBatch(keys=keys, values=[os.urandom(40) for _ in keys]))
    store.flush()
    store.close()
    damage(tmp_path / "state")
    store = RocksStore(tmp_path / "state")
    snapshot = store.snapshot()
    for read in (
        lambda: list(store.values(b"", b"\xff" * 9, 1000)),
        lambda: store.items(b"", b"\xff" * 9),
        lambda: [store.get(key) for key in keys],
        lambda: list(snapshot.values(b"", b"\xff" * 9, 1000)),
    ):
        with pytest.raises(IoError, match="could not read the store"):
            _ = read()
    store.close()
