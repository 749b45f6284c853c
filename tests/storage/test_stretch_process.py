"""Changelog that another process turned into files does to a store what is done without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import stretch_process
from millpond.storage.budget import MemoryBudget
from millpond.storage.changelog import Rows, StoredSpec
from millpond.storage.check import check
from millpond.storage.checkpoint import Abandoned
from millpond.storage.commit import Storage
from millpond.storage.limits import StorageLimits
from millpond.storage.log import Position
from millpond.storage.log_reader import LogReader
from millpond.storage.memory import MemoryStore
from millpond.storage.mirror import Mirror
from millpond.storage.replay import NetChange, Stretch, follow
from millpond.storage.rocks import RocksStore
from millpond.storage.schema import Schema
from millpond.storage.stretch_files import PIECE_ROWS, without_rows, write_stretch
from millpond.storage.stretch_process import ProcessLost, StretchProcess, process_for
from millpond.storage.table import TableSpec
from millpond.storage.types import FLOAT8, INT8, TEXT

IDENTITY = bytes(16)
SCHEMA = Schema.of(id=INT8, word=TEXT, weight=FLOAT8)
SPECS = {
    "by id": StoredSpec(3, SCHEMA, (0,)),
    "by two": StoredSpec(1, SCHEMA, (1, 0)),
    "bag": StoredSpec(2, SCHEMA, None),
    "no columns": StoredSpec(4, Schema(()), ()),
}
INDEXES = {"by id": [(0,)], "by two": [(0,), (1,)], "bag": [(2, 1), (1,)]}
KEYED = TableSpec(Schema.of(id=INT8, name=TEXT), (0,))
LIMITS = StorageLimits(process_from_bytes=0, checkpoint_s=1e9, compact_bytes=20_000)


def some_rows(spec: StoredSpec, ids: np.ndarray, random: np.random.Generator) -> Rows:
    if not len(spec.schema):
        return Rows([], np.array([int(random.integers(1, 9))]))
    words = [None if i % 11 == 0 else f"word {i % 5}" * (i % 4) for i in ids.tolist()]
    columns = [pa.array(ids), pa.array(words, pa.string()), pa.array(random.integers(0, 9, len(ids)) / 4)]
    weights = random.integers(1, 4, len(ids)) if spec.weighed else np.ones(len(ids), np.int64)
    return Rows(columns, weights)


def some_change(spec: StoredSpec, random: np.random.Generator) -> NetChange:
    """Rows in one or two batches, and others that go, which may not be there."""
    ids = random.permutation(4 * PIECE_ROWS)[: int(random.integers(1, 3 * PIECE_ROWS))]
    come, go = np.split(ids, [int(random.integers(0, len(ids) + 1))])
    change = NetChange(spec, truncated=bool(random.random() < 0.2))
    if not len(spec.schema):
        change.rows = [some_rows(spec, ids, random)]
        return change
    change.rows = [some_rows(spec, part, random) for part in np.array_split(come, int(random.integers(1, 3)))]
    if len(go):
        gone = some_rows(spec, go, random)
        change.deleted = [gone.columns[i] for i in spec.key_columns]
        change.deleted_count = len(go)
    return change


def some_stretches(random: np.random.Generator) -> Iterator[Stretch]:
    for epoch in range(1, 9):
        known = {n: s for n, s in SPECS.items() if epoch == 1 or random.random() < 0.6}
        changes = {name: some_change(spec, random) for name, spec in known.items()}
        yield Stretch(Position(epoch, 1, epoch), b"at %d" % epoch, epoch in (1, 6), [], dict(SPECS), changes)


@pytest.mark.parametrize("seed", range(6))
def test_a_file_does_what_writing_key_by_key_does(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    stores = (MemoryStore(), RocksStore(tmp_path / "state"))
    written, taken = (Mirror(store, IDENTITY) for store in stores)
    for number, stretch in enumerate(some_stretches(random)):
        written.apply(stretch)
        path = tmp_path / f"{number}.sst"
        has_file = write_stretch(path, stretch, taken.indexes)
        taken.take_in(without_rows(stretch), path if has_file else None)
        taken.flush()
        assert stores[0].items(b"", b"\xff" * 8) == stores[1].items(b"", b"\xff" * 8)
        assert (taken.position, taken.offsets, taken.specs) == (stretch.position, stretch.meta, written.specs)
        assert not path.exists()
        if number == 1:
            for mirror in (written, taken):
                for name, indexes in INDEXES.items():
                    mirror.index(SPECS[name], indexes)
            assert taken.takes_files
    stores[1].close()


def test_indexes_on_what_a_row_was_are_not_for_files(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "state")
    mirror = Mirror(store, IDENTITY)
    mirror.apply(next(some_stretches(np.random.default_rng(0))))
    assert mirror.takes_files
    mirror.index(SPECS["by id"], [(1,)])
    assert not mirror.takes_files
    assert not Mirror(MemoryStore(), IDENTITY).takes_files
    store.close()


def write(storage: Storage, low: int, high: int, name: str) -> None:
    storage.begin()
    table = storage.table("t", KEYED)
    table.upsert([pa.array(np.arange(low, high)), pa.array([name] * (high - low))])
    gone = table.lookup([pa.array(np.arange(low, high, 5))], len(range(low, high, 5)))
    table.delete(gone[gone >= 0])
    storage.commit({"s": name.encode()})


def checkpoint(storage: Storage) -> None:
    storage.checkpoint()
    storage._checkpoints.settle()
    if storage.checkpoint_error is not None:
        raise storage.checkpoint_error


def content(storage: Storage) -> dict[int, str]:
    (ids, names), _ = storage.table("t", KEYED).scan()
    return dict(zip(ids.to_pylist(), names.to_pylist(), strict=True))


def process_of(storage: Storage) -> StretchProcess:
    process = storage._checkpointer._process
    assert process is not None
    return process


def stored(storage: Storage) -> dict[int, str]:
    """What the store has, without the table."""
    spec = storage._tables.specs["t"]
    parts = [rows.columns for rows in storage._recovered.mirror.rows(spec)]
    return {
        i: name for ids, names in parts for i, name in zip(ids.to_pylist(), names.to_pylist(), strict=True)
    }


def test_checkpoints_bases_and_restarts(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    for number in range(12):
        write(storage, number * 70, number * 70 + 400, f"name {number}")
        if number % 3 == 0:
            checkpoint(storage)
            assert stored(storage) == content(storage)
    process = process_of(storage)
    worker = process._process
    assert worker is not None and worker.poll() is None and process.nbytes > 10 << 20
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    assert list((tmp_path / "checkpoint").iterdir()) == []
    expected = content(storage)
    storage.close()
    assert worker.poll() is not None and not (tmp_path / "checkpoint").exists()
    assert check(tmp_path) == []
    storage = Storage.open(tmp_path, limits=LIMITS)
    assert stored(storage) == content(storage) == expected
    storage.close()


def test_a_process_that_is_killed_is_not_missed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    process = process_of(storage)
    process.stretch_bytes = 3000
    mirror = storage._recovered.mirror
    take_in, taken = mirror.take_in, 0

    def and_kill(stretch: Stretch, file: Path | None) -> None:
        nonlocal taken
        take_in(stretch, file)
        taken += 1
        worker = process._process
        if worker is not None and taken % 4 == 1:
            os.kill(worker.pid, signal.SIGKILL)

    mirror.take_in = and_kill
    for number in range(40):
        write(storage, number * 7, number * 7 + 100, f"name {number}")
        if number % 10 == 9:
            checkpoint(storage)
            assert stored(storage) == content(storage)
    assert taken > 4
    assert "goes on without its process" in caplog.text
    assert list((tmp_path / "checkpoint").iterdir()) == []
    storage.close()
    assert check(tmp_path) == []


def test_one_that_ended_for_want_of_work_is_started_again(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    for number in range(3):
        write(storage, number, number + 50, f"name {number}")
        checkpoint(storage)
        worker = process_of(storage)._process
        assert worker is not None
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(30)
    write(storage, 0, 10, "last")
    checkpoint(storage)
    assert stored(storage) == content(storage)
    storage.close()


def test_what_is_wrong_with_the_log_or_the_disk_is_said_as_without(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path / "data", limits=LIMITS)
    write(storage, 0, 50, "a")
    checkpoint(storage)
    (tmp_path / "data" / "checkpoint").rmdir()
    (tmp_path / "data" / "checkpoint").write_text("a file in the way")
    write(storage, 10, 60, "b")
    with pytest.raises(Exception, match="could not write a checkpoint"):
        checkpoint(storage)
    (tmp_path / "data" / "checkpoint").unlink()
    checkpoint(storage)
    assert stored(storage) == content(storage)
    storage.close()
    log = tmp_path / "data" / "log"
    reader = LogReader(log)
    segment = log / f"{reader.inventory().segments[0]:020d}.seg"
    data = bytearray(segment.read_bytes())
    data[len(data) // 3] ^= 1
    segment.write_bytes(data)
    process = StretchProcess(log, tmp_path / "files")
    end = reader.end_mark()
    assert end is not None
    told: list[str] = []
    for attempt in (
        lambda: list(process.stretches(None, end, {}, {})),
        lambda: list(follow(reader.read(None, end), {})),
    ):
        with pytest.raises(Exception, match="damaged") as raised:
            attempt()
        told.append(f"{type(raised.value).__name__}: {raised.value}")
    assert told[0] == told[1]
    process.close()


def test_it_ends_with_the_server(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
import numpy as np, pyarrow as pa
from millpond.storage.commit import Storage
from millpond.tests.storage.test_stretch_process import LIMITS, checkpoint, process_of, write
storage = Storage.open(Path({str(tmp_path)!r}), limits=LIMITS)
write(storage, 0, 100, "a")
checkpoint(storage)
print(process_of(storage)._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -signal.SIGKILL
    worker = int(killed.stdout)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{worker}").exists()
    storage = Storage.open(tmp_path, limits=LIMITS)
    assert len(content(storage)) == 80
    storage.close()


def test_small_budgets_do_without(tmp_path: Path) -> None:
    reader = LogReader(tmp_path)
    assert process_for(reader, tmp_path, MemoryBudget(1 << 30)) is None
    assert process_for(reader, tmp_path, MemoryBudget(4 << 30)) is not None
    assert process_for(reader, tmp_path, None) is not None


def test_one_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    process = StretchProcess(tmp_path, tmp_path / "files")
    with pytest.raises(ProcessLost):
        list(process.stretches(None, Position(1, 1, 1), {}, {}))
    assert process.nbytes == 0
    process.close()


@pytest.mark.parametrize("beside", [True, False])
def test_a_checkpoint_can_be_abandoned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, beside: bool
) -> None:
    caplog.set_level("INFO")
    limits = StorageLimits(process_from_bytes=0 if beside else 1 << 40, checkpoint_s=1e9)
    storage = Storage.open(tmp_path, limits=limits)
    for number in range(3):
        write(storage, number * 9_000, number * 9_000 + 10_000, f"name {number}")
    checkpointer, begun, go_on = storage._checkpointer, threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(30)

    checkpointer.pause_with(wait)
    take_in = storage._recovered.mirror.take_in
    storage._recovered.mirror.take_in = lambda stretch, file: (wait(), take_in(stretch, file))[1]
    process_of(storage).stretch_bytes = 1
    storage.checkpoint()
    assert begun.wait(30)
    checkpointer.abandon()
    go_on.set()
    started = time.monotonic()
    storage._checkpoints.settle()
    assert time.monotonic() - started < 5
    assert isinstance(storage.checkpoint_error, Abandoned) and checkpointer.measures.failures == 0
    assert [r.event for r in caplog.records] == ["checkpoint_abandoned"]  # pyright: ignore[reportAttributeAccessIssue]
    assert len(stored(storage)) < len(content(storage))
    checkpoint(storage)
    assert stored(storage) == content(storage)
    checkpointer.abandon()
    storage.close()
    assert check(tmp_path) == []


def test_one_that_does_not_move_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    write(storage, 0, 100, "a")
    checkpoint(storage)
    worker = process_of(storage)._process
    assert worker is not None
    os.kill(worker.pid, signal.SIGSTOP)
    write(storage, 50, 200, "b")
    monkeypatch.setattr(stretch_process, "STUCK_S", 0.2)
    checkpoint(storage)
    assert "has not moved" in caplog.text and worker.poll() is not None
    assert stored(storage) == content(storage)
    storage.close()


def test_a_file_that_is_not_taken_in_ends_what_was_asked_for(tmp_path: Path) -> None:
    """What the process would still have said must not be taken for an answer to the next request."""
    storage = Storage.open(tmp_path, limits=LIMITS)
    process_of(storage).stretch_bytes = 1
    mirror = storage._recovered.mirror
    take_in, calls = mirror.take_in, 0

    def fails_sometimes(stretch: Stretch, file: Path | None) -> None:
        nonlocal calls
        calls += 1
        if calls % 5 == 2:
            raise RuntimeError("of any kind, and kept with where it came from")
        take_in(stretch, file)

    mirror.take_in = fails_sometimes
    failures = 0
    for number in range(40):
        write(storage, number * 7, number * 7 + 100, f"name {number}")
        if number % 4 == 3:
            try:
                checkpoint(storage)
            except RuntimeError:
                failures += 1
    assert failures > 3
    mirror.take_in = take_in
    checkpoint(storage)
    assert stored(storage) == content(storage)
    storage.close()
    assert check(tmp_path) == []
