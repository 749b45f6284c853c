"""Checkpoints, compaction and `check`, over both stores."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import changelog, evictions
from millpond.storage.budget import MemoryBudget
from millpond.storage.check import check
from millpond.storage.checkpoint import Abandoned, Base
from millpond.storage.commit import Storage
from millpond.storage.errors import DiskFull
from millpond.storage.limits import StorageLimits
from millpond.storage.log import Frame
from millpond.storage.log_files import FileLog
from millpond.storage.log_reader import LogReader
from millpond.storage.memory import MemoryStore
from millpond.storage.rocks import RocksStore
from millpond.storage.schema import Schema
from millpond.storage.store import StoreBatch
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8, TEXT

KEYED = TableSpec(Schema.of(id=INT8, name=TEXT), (0,))
SMALL = StorageLimits(segment_bytes=4000, compact_bytes=10_000)


def write(storage: Storage, low: int, high: int, name: str) -> None:
    storage.begin()
    table = storage.table("t", KEYED)
    table.upsert([pa.array(np.arange(low, high)), pa.array([name] * (high - low))])
    storage.commit({"s": name.encode()})


def content(storage: Storage) -> dict[int, str]:
    (ids, names), _ = storage.table("t", KEYED).scan()
    return dict(zip(ids.to_pylist(), names.to_pylist(), strict=True))


def test_both_stores_do_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    stores = (MemoryStore(), RocksStore(tmp_path / "state"))
    for _ in range(60):
        keys = [bytes(random.integers(0, 4, random.integers(1, 4)).astype(np.uint8)) for _ in range(6)]
        batch = StoreBatch(deletes=keys[4:], keys=keys[:4], values=[b"v%d" % i for i in range(4)])
        if random.random() < 0.3:
            batch.ranges.append((min(keys), max(keys)))
        for store in stores:
            store.write(batch)
            store.flush()
        low, high = sorted(keys[:2])
        seen = [(store.get(keys[3]), store.items(low, high), store.items(b"", b"\xff")) for store in stores]
        assert seen[0] == seen[1]
        values = [[v for part in store.values(low, high, 2) for v in part] for store in stores]
        assert values[0] == values[1]
    stores[1].close()


def test_recovery_reads_only_what_is_behind_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Storage.open(tmp_path)
    write(storage, 0, 1000, "a")
    storage.checkpoint(wait=True)
    write(storage, 500, 1500, "b")
    storage._recovered.mirror.close()  # No checkpoint at the end: as after a kill.
    storage._log.close()
    storage._lock.release()
    storage = Storage.open(tmp_path)
    overlay = storage._recovered.overlay
    assert overlay is not None and [len(r) for r in overlay.changes["t"].rows] == [1000]
    assert content(storage) == {i: "a" if i < 500 else "b" for i in range(1500)}
    storage.close()


def test_the_log_stays_small_and_can_rebuild_the_store(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=SMALL)
    for i in range(60):
        write(storage, i % 7, i % 7 + 20, f"name {i}")
        if i % 5 == 4:
            storage.checkpoint(wait=True)
    expected = content(storage)
    assert len(expected) == 26
    base, segments, count = storage._log.sizes()
    assert base < 3000 and segments < 25_000 and count < 8
    storage.close()
    assert check(tmp_path) == []
    RocksStore(tmp_path / "state", fresh=True).close()
    storage = Storage.open(tmp_path)
    assert (storage.epoch, storage.sources, content(storage)) == (60, {"s": b"name 59"}, expected)
    storage.close()


def test_a_base_holds_tables_nobody_asked_for(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=SMALL)
    write(storage, 0, 100, "kept")
    storage.close()
    storage = Storage.open(tmp_path, limits=StorageLimits(compact_bytes=0))
    storage.begin()
    storage.table("other", KEYED)
    storage.commit({})
    storage.checkpoint(wait=True)
    reader = storage._log.reader
    assert isinstance(reader, LogReader) and reader.inventory().base
    storage.close()
    RocksStore(tmp_path / "state", fresh=True).close()
    storage = Storage.open(tmp_path)
    assert storage.names() == ["other", "t"]
    assert content(storage) == dict.fromkeys(range(100), "kept")
    storage.close()


class NoMemory(MemoryBudget):
    """For tables that keep nothing in memory beside what was written last."""

    @property
    def share(self) -> int:
        return 0

    def goals(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return dict.fromkeys(sizes, 0)


def test_a_base_holds_rows_that_are_in_the_store_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evictions, "LOOK_S", 0.0)
    limits = StorageLimits(compact_bytes=0, memory=NoMemory(1 << 40))
    storage = Storage.open(tmp_path, limits=limits)
    table = storage.table("t", KEYED)
    expected: dict[int, str] = {}
    for i in range(6):
        write(storage, i * 50, i * 50 + 100, f"{i}")
        expected |= dict.fromkeys(range(i * 50, i * 50 + 100), f"{i}")
        storage.checkpoint(wait=True)
    reader = storage._log.reader
    assert isinstance(reader, LogReader) and reader.inventory().base
    assert not table.complete and table.resident < len(table) == len(expected)
    storage.close()
    RocksStore(tmp_path / "state", fresh=True).close()
    storage = Storage.open(tmp_path)
    assert content(storage) == expected
    storage.close()


def test_commits_go_on_while_a_checkpoint_runs(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=StorageLimits(compact_bytes=100_000, checkpoint_bytes=50_000))
    for i in range(100):
        write(storage, i * 100, i * 100 + 150, f"{i}")
    storage.checkpoint(wait=True)
    assert storage.checkpoint_error is None
    assert check_content(storage) == content(storage)
    storage.close()
    assert check(tmp_path) == []


def check_content(storage: Storage) -> dict[int, str]:
    mirror = storage._recovered.mirror
    found: dict[int, str] = {}
    for batch in mirror.load(mirror.specs["t"]):
        found.update(zip(*(c.to_pylist() for c in batch.columns), strict=True))
    return found


def test_checkpoints_begin_by_size_and_by_time(tmp_path: Path) -> None:
    now = 0.0
    storage = Storage.open(tmp_path, limits=StorageLimits(checkpoint_bytes=5000), clock=lambda: now)
    mirror = storage._recovered.mirror
    write(storage, 0, 10, "a")
    assert mirror.position is None and not storage._checkpointer.running
    write(storage, 0, 1000, "b")
    storage._checkpointer.join()
    assert mirror.position is not None and mirror.position.epoch == 2
    write(storage, 0, 10, "c")
    storage._checkpointer.join()
    assert mirror.position.epoch == 2
    now = 31.0
    write(storage, 0, 10, "d")
    storage._checkpointer.join()
    assert mirror.position.epoch == 4
    storage.close()


def test_a_failed_checkpoint_is_kept_and_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage.open(tmp_path, limits=StorageLimits(compact_bytes=0))
    write(storage, 0, 10, "a")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FileLog, "_write_base", full)
        with pytest.raises(DiskFull):
            storage.checkpoint(wait=True)
        storage.checkpoint()
        storage._checkpointer.join()
        assert isinstance(storage.checkpoint_error, DiskFull)
        write(storage, 0, 20, "b")
    storage.checkpoint(wait=True)
    assert storage.checkpoint_error is None
    storage.close()
    assert check(tmp_path) == []


def test_check_finds_damage(tmp_path: Path) -> None:
    assert "no data directory" in check(tmp_path)[0]
    assert "no data directory" in check(tmp_path / "absent")[0]
    storage = Storage.open(tmp_path)
    write(storage, 0, 10, "a")
    write(storage, 0, 10, "b")
    assert "in use" in check(tmp_path)[0]
    storage.close()
    assert check(tmp_path) == []
    store = RocksStore(tmp_path / "state")
    [key, *_] = [key for key, _ in store.items(bytes(3) + b"\1", bytes(3) + b"\2")]
    store.write(StoreBatch(deletes=[key]))
    store.flush()
    store.close()
    assert check(tmp_path) == ["table 't': 1 row versions differ between store and log"]
    path = tmp_path / "log" / f"{1:020d}.seg"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    assert "epochs 1 to 2 are lost" in check(tmp_path)[0]
    assert LogReader(tmp_path / "log").end_mark() is not None


def test_a_base_that_is_being_written_can_be_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever hands over must not wait until all rows there are have been written again."""
    monkeypatch.setattr(changelog, "FRAME_BYTES_MAX", 1000)
    storage = Storage.open(tmp_path / "data", limits=SMALL)
    write(storage, 0, 2000, "x" * 20)
    begun, go_on = threading.Event(), threading.Event()
    frames = Base.frames

    def slow(base: Base) -> Iterator[Frame]:
        for number, frame in enumerate(frames(base)):
            if number == 2:
                begun.set()
                assert go_on.wait(10)
            assert number < 5, "it is not abandoned"
            yield frame

    monkeypatch.setattr(Base, "frames", slow)
    storage.checkpoint()
    assert begun.wait(10)
    storage._checkpointer.abandon()
    go_on.set()
    storage._checkpointer.join()
    assert isinstance(storage.checkpoint_error, Abandoned)
    assert not [name for name in os.listdir(tmp_path / "data" / "log") if name.endswith((".new", ".base"))]
    monkeypatch.undo()
    storage.close()
