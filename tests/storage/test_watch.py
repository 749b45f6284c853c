"""What a storage counts of itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from millpond.storage.commit import Storage
from millpond.storage.limits import StorageLimits
from millpond.storage.schema import Schema
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8

from ..simulation.world import NoMemory

SPEC = TableSpec(Schema.of(id=INT8, value=INT8), key=(0,))


def test_commits_checkpoints_evictions_and_reads_are_counted(tmp_path: Path) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 0.01
        return now[0]

    limits = StorageLimits(memory=NoMemory(1 << 30), checkpoint_s=1e9)
    storage = Storage.open(tmp_path / "data", limits=limits, clock=clock)
    table = storage.table("t", SPEC)
    for start in range(0, 30_000, 10_000):
        now[0] += 1
        storage.begin()
        table.upsert([pa.array(range(start, start + 10_000))] * 2)
        storage.commit({})
        storage.checkpoint(wait=True)
    seen = storage.watch()
    assert sum(seen.commits.log.counts) == 3 and seen.commits.log.sum_s == pytest.approx(0.03)
    assert seen.commits.rows == {"t": 30_000} and seen.commits.log_bytes > 30_000
    assert sum(seen.checkpoints.time.counts) >= 3 and seen.checkpoints.failures == 0
    assert 0 < seen.checkpoint_age_s < 1
    assert seen.evictions.tables > 0 and seen.evictions.rows == seen.tables["t"].evicted > 0
    assert seen.log is not None and seen.log[2] >= 1
    assert set(seen.store) == {"files", "buffers", "cache", "indexes"} and seen.store["files"] > 0
    before = seen.fetched
    storage.begin()
    assert table.lookup([pa.array([3])])[0] >= 0
    storage.rollback()
    assert storage.watch().fetched == before + 1
    storage.close()
    assert storage.watch().store == {}


def test_a_failed_checkpoint_is_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    storage = Storage.open(tmp_path / "data")
    storage.begin()
    storage.table("t", SPEC).upsert([pa.array([1])] * 2)
    storage.commit({})

    def fail(_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(storage._recovered.mirror, "apply", fail)
    with pytest.raises(Exception, match="no space"):
        storage.checkpoint(wait=True)
    assert storage.watch().checkpoints.failures == 1
    assert [record.event for record in caplog.records] == ["checkpoint_failed"]  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.undo()
    storage.close()
