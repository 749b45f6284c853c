"""Storage over RocksDB and real files: commit, rollback, recovery, kill -9, shapes that changed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import disk as disk_module
from millpond.storage.check import check
from millpond.storage.commit import Storage
from millpond.storage.errors import DiskFull, StartupError
from millpond.storage.memory import MemoryStore
from millpond.storage.schema import Schema
from millpond.storage.store import StoreFailure
from millpond.storage.table import StateTable, TableSpec
from millpond.storage.types import INT8, TEXT

KEYED = TableSpec(Schema.of(id=INT8, name=TEXT), (0,))
BAG = TableSpec(Schema.of(word=TEXT), None)


def put(table: StateTable, **rows: int) -> None:
    """Rows by name and id."""
    table.upsert([pa.array(list(rows.values()), pa.int64()), pa.array(list(rows))])


def rows(table: StateTable) -> dict[int, str]:
    (ids, names), _ = table.scan()
    return dict(zip(ids.to_pylist(), names.to_pylist(), strict=True))


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    one = Storage.open(tmp_path / "data")
    yield one
    one.close()


def test_what_was_committed_is_there_after_reopening(tmp_path: Path) -> None:
    for clean in (True, False):
        folder = tmp_path / str(clean)
        storage = Storage.open(folder)
        table, bag = storage.table("t", KEYED), storage.table("bag", BAG)
        assert storage.begin() == 1
        put(table, a=1, b=2)
        bag.upsert([pa.array(["x"])], np.array([3]))
        assert storage.commit({"source": b"7"}) == 1
        storage.begin()
        put(table, B=2, c=3)
        table.delete(table.lookup([pa.array([1])]))
        storage.commit({})
        if clean:
            storage.close()
        else:
            copy = tmp_path / "copy"
            shutil.copytree(folder, copy)
            storage.close()
            folder = copy
        storage = Storage.open(folder)
        assert (storage.epoch, storage.sources) == (2, {"source": b"7"})
        assert storage.names() == ["bag", "t"]
        assert rows(storage.table("t", KEYED)) == {2: "B", 3: "c"}
        assert storage.table("bag", BAG).scan()[1].tolist() == [3]
        storage.close()


def test_a_row_without_columns_comes_back(tmp_path: Path) -> None:
    nothing = TableSpec(Schema(()), ())
    storage = Storage.open(tmp_path)
    storage.begin()
    storage.table("t", nothing).upsert([])
    storage.commit({})
    storage.close()
    storage = Storage.open(tmp_path)
    assert len(storage.table("t", nothing)) == 1
    storage.close()


def test_rollback_undoes_rows_tables_and_drops(storage: Storage) -> None:
    table = storage.table("t", KEYED)
    storage.begin()
    put(table, a=1)
    storage.commit({})
    storage.begin()
    put(table, b=2)
    storage.drop("t")
    put(storage.table("new", KEYED), x=9)
    assert storage.names() == ["new"]
    storage.rollback()
    assert storage.names() == ["t"]
    assert rows(storage.table("t", KEYED)) == {1: "a"}
    assert storage.table("t", KEYED) is table


def test_a_table_loaded_and_dropped_in_one_epoch_survives_its_rollback(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path / "data")
    storage.begin()
    put(storage.table("t", KEYED), a=1)
    put(storage.table("u", KEYED), b=2)
    storage.commit({})
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    storage.close()
    storage = Storage.open(tmp_path / "copy")
    storage.begin()
    storage.drop("t")
    storage.table("u", KEYED)
    storage.drop("u")
    storage.rollback()
    assert rows(storage.table("t", KEYED)) == {1: "a"}
    assert rows(storage.table("u", KEYED)) == {2: "b"}
    storage.close()


def test_a_dropped_table_is_gone_and_its_name_is_free(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    storage.begin()
    put(storage.table("t", KEYED), a=1)
    put(storage.table("u", KEYED), a=1)
    storage.commit({})
    storage.checkpoint(wait=True)
    storage.begin()
    storage.drop("t")
    storage.drop("u")
    put(storage.table("t", KEYED), z=26)
    storage.commit({})
    with pytest.raises(KeyError):
        storage.begin()
        storage.drop("u")
    storage.close()
    for _ in range(2):
        storage = Storage.open(tmp_path)
        assert storage.names() == ["t"]
        assert rows(storage.table("t", KEYED)) == {26: "z"}
        storage.close()


def test_a_new_table_does_not_find_the_rows_of_a_dropped_one(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path / "data")
    storage.begin()
    put(storage.table("t", KEYED), a=1)
    storage.commit({})
    storage.checkpoint(wait=True)
    storage.begin()
    storage.drop("t")
    storage.commit({})
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    storage.close()
    storage = Storage.open(tmp_path / "copy")
    storage.begin()
    put(storage.table("u", KEYED), b=2)
    storage.commit({})
    shutil.copytree(tmp_path / "copy", tmp_path / "copy of copy")
    storage.close()
    storage = Storage.open(tmp_path / "copy of copy")
    assert rows(storage.table("u", KEYED)) == {2: "b"}
    storage.close()


def test_sources_are_merged_and_forgotten(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    for offsets in ({"a": b"1", "b": b"1"}, {"a": b"2"}, {}, {"b": b""}):
        storage.begin()
        storage.commit(offsets)
    assert storage.sources == {"a": b"2"}
    storage.close()
    storage = Storage.open(tmp_path)
    assert storage.sources == {"a": b"2"}
    storage.close()


def test_another_shape_begins_empty_and_is_stale(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    storage.begin()
    put(storage.table("t", KEYED), a=1)
    storage.commit({})
    storage.close()
    other = TableSpec(KEYED.schema, None)
    storage = Storage.open(tmp_path)
    assert len(storage.table("t", other)) == 0
    assert storage.stale == {"t"}
    storage.close()
    # Nothing was committed: the rows are still there for who asks in their shape.
    storage = Storage.open(tmp_path)
    assert rows(storage.table("t", TableSpec(Schema.of(i=INT8, n=TEXT), (0,), ((1,),)))) == {1: "a"}
    assert storage.stale == set()
    storage.close()
    storage = Storage.open(tmp_path)
    table = storage.table("t", other)
    storage.begin()
    table.upsert([pa.array([5]), pa.array(["five"])], np.array([2]))
    storage.commit({})
    storage.close()
    storage = Storage.open(tmp_path)
    assert storage.table("t", other).scan()[1].tolist() == [2]
    assert storage.stale == set()
    storage.close()


def test_a_failed_commit_leaves_the_epoch_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage.open(tmp_path)
    table = storage.table("t", KEYED)
    storage.begin()
    put(table, a=1)
    storage.commit({"s": b"1"})

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk_module._RealFile, "write_at", full)
        for _ in range(2):
            storage.begin()
            put(table, b=2)
            put(storage.table("u", KEYED), c=3)
            with pytest.raises(DiskFull):
                storage.commit({"s": b"2"})
            assert (storage.epoch, storage.sources, storage.names()) == (1, {"s": b"1"}, ["t"])
            assert rows(table) == {1: "a"}
    storage.begin()
    put(table, c=3)
    assert storage.commit({"s": b"3"}) == 2
    storage.close()
    storage = Storage.open(tmp_path)
    assert rows(storage.table("t", KEYED)) == {1: "a", 3: "c"}
    storage.close()


def test_snapshots_show_an_epoch_only_after_its_commit(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = storage.table("t", KEYED)
    seen: list[int] = []
    sync = disk_module._RealFile.sync

    def look_and_sync(file: disk_module._RealFile) -> None:
        seen.append(len(table.snapshot()))
        sync(file)

    monkeypatch.setattr(disk_module._RealFile, "sync", look_and_sync)
    storage.begin()
    put(table, a=1)
    storage.commit({})
    assert set(seen) == {0}
    assert len(table.snapshot()) == 1


def test_directories_in_use_newer_foreign_or_not_writable_are_refused(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path / "data")
    with pytest.raises(StartupError, match=f"{tmp_path / 'data'} is in use"):
        Storage.open(tmp_path / "data")
    with pytest.raises(StartupError, match=r"log directory .* in use"):
        Storage.open(tmp_path / "other", tmp_path / "data" / "log")
    storage.close()
    stamp = tmp_path / "data" / "FORMAT"
    stamp.write_text(json.dumps({"format": 99}))
    with pytest.raises(StartupError, match="has format 99"):
        Storage.open(tmp_path / "data")
    stamp.write_text("rubbish")
    with pytest.raises(StartupError, match="FORMAT is damaged"):
        Storage.open(tmp_path / "data")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(StartupError, match="is not a millpond data directory"):
        Storage.open(tmp_path / "home")
    with pytest.raises(StartupError, match="cannot use"):
        Storage.open(tmp_path / "home" / "letter.txt" / "data")


def test_a_lost_or_foreign_store_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    for name in ("one", "two"):
        storage = Storage.open(tmp_path / name)
        storage.begin()
        put(storage.table("t", KEYED), **{name: 1})
        storage.commit({})
        storage.close()
    one = tmp_path / "one"
    shutil.rmtree(one / "state")
    shutil.copytree(tmp_path / "two" / "state", one / "state")
    for damage in (lambda: None, lambda: shutil.rmtree(one / "state"), lambda: _scribble(one / "state")):
        damage()
        storage = Storage.open(one)
        assert rows(storage.table("t", KEYED)) == {1: "one"}
        storage.close()


def _scribble(state: Path) -> None:
    (state / "CURRENT").write_text("rubbish\n")


def test_a_store_ahead_of_a_lost_log_is_refused(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    for _ in range(3):
        storage.begin()
        put(storage.table("t", KEYED), a=1)
        storage.commit({})
    kept = tmp_path / "log" / f"{1:020d}.seg"
    storage.checkpoint(wait=True)
    storage.close()
    data = kept.read_bytes()
    kept.write_bytes(data[: len(data) - 8])
    (tmp_path / "log" / "END").unlink()
    with pytest.raises(StartupError, match=r"log ends at epoch 2, the store .* epoch 3 .*: epoch 3 is lost"):
        Storage.open(tmp_path)


WRITER = """
import sys
from pathlib import Path
import pyarrow as pa
from millpond.storage.commit import Storage
from millpond.storage.limits import StorageLimits
from millpond.storage.schema import Schema
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8, TEXT
limits = StorageLimits(segment_bytes=20_000, checkpoint_bytes=10_000, compact_bytes=30_000)
storage = Storage.open(Path(sys.argv[1]), limits=limits)
one = storage.table("one", TableSpec(Schema.of(id=INT8, name=TEXT), (0,)))
two = storage.table("two", TableSpec(Schema.of(id=INT8, name=TEXT), (0,)))
while True:
    epoch = storage.begin()
    for table in (one, two):
        table.upsert([pa.array([epoch, 0]), pa.array([f"name {epoch}" * 20, f"last {epoch}"])])
        if epoch > 50:
            table.delete(table.lookup([pa.array([epoch - 50])]))
    storage.commit({"source": str(epoch).encode()})
    print(epoch, flush=True)
"""


def test_kill_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    acknowledged = 0
    for life in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _, line in zip(range(60 + 37 * life), process.stdout, strict=False):
            acknowledged = int(line)
        os.kill(process.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in process.stdout.read().split("\n")[:-1])])
        process.wait()
        storage = Storage.open(tmp_path)
        assert storage.epoch in (acknowledged, acknowledged + 1)
        assert storage.sources == {"source": str(storage.epoch).encode()}
        expected = {e: f"name {e}" * 20 for e in range(max(1, storage.epoch - 49), storage.epoch + 1)}
        for name in ("one", "two"):
            assert rows(storage.table(name, KEYED)) == {0: f"last {storage.epoch}", **expected}
        storage.close()


def test_a_store_without_its_log_is_not_emptied(tmp_path: Path) -> None:
    """The store is then all there is of the rows, so nothing is done to it."""
    storage = Storage.open(tmp_path)
    table = storage.table("t", TableSpec(Schema.of(a=INT8), (0,)))
    storage.begin()
    table.upsert([pa.array([1], pa.int64())])
    storage.commit({})
    storage.close()
    (tmp_path / "log").rename(tmp_path / "elsewhere")
    with pytest.raises(StartupError, match="rows of a log that is not here"):
        Storage.open(tmp_path)
    again = Storage.open(tmp_path, tmp_path / "elsewhere")
    assert len(again.table("t", TableSpec(Schema.of(a=INT8), (0,)))) == 1
    again.close()


def test_a_damaged_store_is_refused_and_never_read_in_part(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    table = storage.table("t", KEYED)
    storage.begin()
    names = [os.urandom(20).hex() for _ in range(20_000)]
    table.upsert([pa.array(range(20_000)), pa.array(names)])
    storage.commit({})
    storage.close()
    file = max((tmp_path / "state").glob("*.sst"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = bytes(64)
    file.write_bytes(content)
    storage = Storage.open(tmp_path)
    with pytest.raises(StartupError, match="remove state/ in the data directory"):
        storage.table("t", KEYED)
    storage.close()
    (finding,) = check(tmp_path)
    assert "is damaged" in finding and "made anew from the log" in finding
    shutil.rmtree(tmp_path / "state")
    assert check(tmp_path) == [] and not (tmp_path / "state").exists()
    storage = Storage.open(tmp_path)
    assert rows(storage.table("t", KEYED)) == dict(enumerate(names))
    storage.close()


def test_a_store_whose_description_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    class Unreadable(MemoryStore):
        def items(self, low: bytes, high: bytes) -> list[tuple[bytes, bytes]]:
            raise StoreFailure("could not read the store: a block is damaged")

    kept = MemoryStore()
    storage = Storage.open(tmp_path, open_store=lambda folder, fresh: kept)
    table = storage.table("t", KEYED)
    storage.begin()
    put(table, a=1)
    storage.commit({})
    storage.close()
    unreadable = Unreadable(kept.batches)
    storage = Storage.open(tmp_path, open_store=lambda folder, fresh: MemoryStore() if fresh else unreadable)
    assert rows(storage.table("t", KEYED)) == {1: "a"}
    storage.close()


def test_what_comes_after_a_commit_cannot_undo_it(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_threads(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("millpond.storage.checkpoint_schedule.CheckpointSchedule.begin", out_of_threads)
    storage._checkpoints.hasten()
    table = storage.table("t", KEYED)
    for epoch in (1, 2):
        storage.begin()
        put(table, a=epoch)
        assert storage.commit({}) == epoch
        assert storage.epoch == table.epoch == epoch and epoch in rows(table)
    monkeypatch.undo()
