"""A table whose rows come into memory behind it: at every moment it answers as if they were all there."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import table as table_module
from millpond.storage.budget import MemoryBudget
from millpond.storage.changelog import StoredSpec, change_frames
from millpond.storage.commit import Storage
from millpond.storage.limits import StorageLimits
from millpond.storage.log import Frame, FrameKind, LogEpoch, Position
from millpond.storage.memory import MemoryStore
from millpond.storage.mirror import Mirror
from millpond.storage.replay import NetChange, follow
from millpond.storage.rocks import RocksStore
from millpond.storage.schema import Schema
from millpond.storage.store import Store
from millpond.storage.table import StateTable
from millpond.storage.tablespec import TableChange, TableSpec
from millpond.storage.types import INT8

from .table_model import SPECS, Model, apply, check, check_commit, delete, truncate, upsert


class Stored:
    """A store that follows a table's changes, without any of its indexes."""

    def __init__(self, store: Store, spec: TableSpec) -> None:
        self.mirror = Mirror(store, b"log")
        self.spec = StoredSpec(1, spec.schema, spec.key)
        self.indexes = spec.indexes

    def follow(self, changes: list[TableChange]) -> NetChange | None:
        """The store reaches the last of the changes; returns what they come to."""
        net = None
        for stretch in follow([self._epoch(change) for change in changes], self.mirror.specs):
            self.mirror.apply(stretch)
            net = stretch.changes.get("t", net)
        return net

    def net(self, changes: list[TableChange]) -> NetChange | None:
        """What the changes come to, of which the store hears nothing."""
        stretches = list(follow([self._epoch(change) for change in changes], self.mirror.specs))
        return stretches[0].changes.get("t") if stretches else None

    def _epoch(self, change: TableChange) -> LogEpoch:
        frames = [Frame("t", FrameKind.SPEC, self.spec.encode()), *change_frames(change, self.spec)]
        return LogEpoch(change.epoch, b"", frames, Position(change.epoch, 0, change.epoch))

    def cold(self):
        return self.mirror.cold(self.spec, self.indexes, self.mirror.snapshot())


def epochs(
    table: StateTable, model: Model, rng: random.Random, count: int, emptied: bool
) -> list[TableChange]:
    """Commits `count` epochs of changes."""
    changes: list[TableChange] = []
    kinds = [upsert, upsert, delete, apply, *([truncate] if emptied else [])]
    for _ in range(count):
        before = model.copy()
        table.begin(table.epoch + 1)
        for _ in range(rng.choice([1, 2, 5])):
            rng.choice(kinds)(table, model, rng)
        changes.append(table.commit())
        check_commit(changes[-1], before, model)
    return changes


def run(spec: TableSpec, store: Store, rng: random.Random) -> int:
    """Opens a table without its rows, and warms it while it is written, read and rolled back.

    Returns how often it was still incomplete.
    """
    table, model, stored = StateTable("t", spec), Model(spec), Stored(store, spec)
    stored.follow(epochs(table, model, rng, 4, emptied=True))
    tail = epochs(table, model, rng, rng.choice([0, 3]), emptied=False)
    warm = StateTable("t", spec)
    warm.open_cold(stored.cold(), len(table), warming=True)
    net = stored.net(tail)
    if net is not None:
        warm.replay(net, len(table), tail[-1].epoch)
    assert len(warm) == len(model.rows) and warm.warming
    pending, incomplete = list(tail), 0
    held = [(warm.snapshot(), model.copy())]
    for _ in range(14):
        if rng.random() < 0.6:
            warm.warm(rng.randrange(1, 4))
        if rng.random() < 0.3:
            warm.renew()
        held.append((warm.snapshot(), model.copy()))
        pending += _epoch_or_none(warm, model, rng)
        if rng.random() < 0.3:
            warm.mark()
            stored.follow(pending)
            if rng.random() < 0.5:
                pending = epochs(warm, model, rng, 1, emptied=False)
            else:
                pending = []
            warm.evict(stored.cold(), None)
        incomplete += not warm.complete
        for old, then in rng.sample(held, 2):
            check(old, then, rng)
        if rng.random() < 0.3:
            check(warm, model, rng)
    while not warm.complete:
        warm.warm(2)
    warm.renew()
    check(warm, model, rng)
    check(warm.snapshot(), model, rng)
    return incomplete


def _epoch_or_none(table: StateTable, model: Model, rng: random.Random) -> list[TableChange]:
    if rng.random() < 0.3:
        before = model.copy()
        table.begin(table.epoch + 1)
        upsert(table, model, rng)
        if rng.random() < 0.5:
            check(table, model, rng)
        table.rollback()
        model.rows = before.rows
        check(table, model, rng)
        return []
    return epochs(table, model, rng, 1, emptied=False)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("seed", range(5))
def test_a_table_being_warmed_agrees_with_a_dict(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 12)
    run(SPECS[name], MemoryStore(), random.Random(seed))


@pytest.mark.parametrize("name", SPECS)
def test_it_does_over_rocksdb(name: str, tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "state")
    run(SPECS[name], store, random.Random(5))
    store.close()


LARGE = TableSpec(Schema.of(id=INT8, value=INT8), (0,), ((1,),))
SMALL = TableSpec(Schema.of(id=INT8), (0,))
LIMITS = StorageLimits(
    waited_for_bytes=60_000, counted_rows_min=100, memory=MemoryBudget(1 << 40), checkpoint_s=1e9
)


def _write(storage: Storage, first: int, last: int, value: int) -> None:
    storage.begin()
    ids = pa.array(np.arange(first, last))
    storage.table("large", LARGE).upsert([ids, pa.array(np.full(last - first, value))])
    storage.table("small", SMALL).upsert([ids[:3]])
    storage.commit({})


def _sum(table: StateTable) -> tuple[int, int]:
    (_, values), _ = table.scan()
    return len(table), int(values.to_numpy().sum())


def _killed(storage: Storage) -> None:
    """What a killed process leaves: neither checkpoint nor farewell."""
    storage.release_log()
    storage._recovered.mirror.close()
    storage._lock.release()


@pytest.mark.parametrize("clean", (True, False))
def test_a_start_reads_small_tables_only_and_the_others_behind(tmp_path: Path, clean: bool) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    _write(storage, 0, 5000, 1)
    storage.checkpoint(wait=True)
    _write(storage, 4000, 6000, 2)
    storage.begin()
    large = storage.table("large", LARGE)
    large.delete(large.lookup([pa.array([5, 4500])]))
    storage.commit({})
    if clean:
        storage.close()
    else:
        _killed(storage)
    storage = Storage.open(tmp_path, limits=LIMITS)
    large, small = storage.table("large", LARGE), storage.table("small", SMALL)
    assert small.complete and not large.complete and large.warming
    assert large.resident == (0 if clean else 1999)
    expected = (5998, 3999 + 2 * 1999)
    assert len(large) == 5998 and large.lookup([pa.array([5, 4500])]).tolist() == [-1, -1]
    assert _sum(large) == expected
    assert max(number for part in large.last_keys(0) for number in part.to_pylist()) == 5999
    while storage.warming:
        storage.warm(0.001)
    assert large.complete and storage.take_renewed() == {"large"}
    assert _sum(large) == expected and large.resident == 5998
    assert len(large.matches(1 - 1, [pa.array([2])])[0]) == 1999
    assert large.snapshot().evicted == 0
    storage.close()


def test_an_index_that_the_store_lacks_is_asked_for(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    _write(storage, 0, 5000, 1)
    storage.close()
    storage = Storage.open(tmp_path, limits=LIMITS)
    large = storage.table("large", LARGE)
    before = large.snapshot()
    storage.begin()
    large.upsert([pa.array([7]), pa.array([3])])
    assert len(large.matches(0, [pa.array([1])])[0]) == 4999
    storage.rollback()
    assert large.complete and _sum(large) == (5000, 5000)
    assert len(before.matches(0, [pa.array([1])])[0]) == 5000
    storage.close()


def test_without_room_rows_stay_in_the_store(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    _write(storage, 0, 5000, 1)
    storage.close()
    storage = Storage.open(tmp_path, limits=LIMITS)
    large = storage.table("large", LARGE)
    storage.warming.step({"large": large}, 0.001, 100)
    assert not storage.warming and not large.complete
    assert _sum(large) == (5000, 5000)
    storage.close()


def test_who_stops_before_it_opened_a_table_does_not_vouch_for_its_rows(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, limits=LIMITS)
    _write(storage, 0, 5000, 1)
    storage.checkpoint(wait=True)
    _write(storage, 5000, 6000, 2)
    _killed(storage)
    # Stopped while it recovered: the store has the new rows now, nobody has counted them.
    Storage.open(tmp_path, limits=LIMITS).close()
    storage = Storage.open(tmp_path, limits=LIMITS)
    large = storage.table("large", LARGE)
    assert len(large) == 6000 and _sum(large) == (6000, 7000)
    while storage.warming:
        storage.warm(0.001)
    assert large.complete
    storage.close()
