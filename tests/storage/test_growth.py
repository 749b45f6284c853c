"""Tables that outgrow many boundaries: arrays that are copied, reserved and used up, slots on the move."""

from __future__ import annotations

import gc
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import index as index_module
from millpond.storage import reserve
from millpond.storage import table as table_module
from millpond.storage.keycode import encode_keys
from millpond.storage.memory import MemoryStore
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSnapshot, TableSpec
from millpond.storage.types import INT8, TEXT

from .test_cold import run
from .test_table import VALUES, Model, apply, check, check_commit, columns_of, delete, upsert

SPECS = {
    "keyed": TableSpec(Schema.of(k=INT8, t=TEXT, v=INT8), (0,), ((1,),)),
    "text key": TableSpec(Schema.of(k=TEXT, v=INT8), (0,), ((1,), ())),
    "bag": TableSpec(Schema.of(k=INT8, t=TEXT), None, ((1,),)),
}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays are reserved from 64 bytes on, at most a page; slots move a few at a time."""
    monkeypatch.setattr(reserve, "SMALL_BYTES", 64)
    monkeypatch.setattr(reserve, "MEMORY_BYTES", 4096)
    monkeypatch.setattr(index_module, "SWEEP_FROM", 0)
    monkeypatch.setattr(index_module, "SWEEP_KEY", 1)
    monkeypatch.setattr(index_module, "SWEEP_MIN", 4)
    monkeypatch.setitem(VALUES, INT8, [*range(3000), None])
    monkeypatch.setitem(VALUES, TEXT, [*(str(i) * (i % 9) for i in range(500)), None])


def grow(table: StateTable, model: Model, rng: random.Random) -> None:
    """Keys not there before, in one batch."""
    spec = table.spec
    rows = [tuple(rng.choice(VALUES[c.type]) for c in spec.schema) for _ in range(rng.choice([1, 20, 300]))]
    fresh = list({model.key(row): row for row in rows if model.key(row) not in model.rows}.values())
    weights = np.ones(len(fresh), np.int64)
    if fresh:
        table.upsert(columns_of(spec, fresh), weights if spec.bag else None)
    model.rows.update((model.key(row), (row, 1)) for row in fresh)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("seed", range(2))
def test_growing_tables_and_their_snapshots_agree_with_a_dict(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 200)
    rng = random.Random(seed)
    spec = SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    held: list[tuple[TableSnapshot, Model]] = []
    for epoch in range(1, 40):
        before = model.copy()
        table.begin(epoch)
        for _ in range(rng.choice([1, 2, 4])):
            rng.choice([grow, grow, grow, upsert, delete, apply])(table, model, rng)
        if rng.random() < 0.25:
            table.rollback()
            model = before
            table.begin(epoch)
        check_commit(table.commit(), before, model)
        held.append((table.snapshot(), model.copy()))
        if len(held) > 8:
            del held[rng.randrange(len(held))]
        old, then = rng.choice(held)
        check(old, then, rng)
    for old, then in [*held, (table, model)]:
        check(old, then, rng)


@pytest.mark.parametrize("name", SPECS)
def test_a_table_grows_while_some_of_its_rows_are_in_the_store_only(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 100)
    monkeypatch.setitem(run.__globals__, "upsert", grow)
    assert run(SPECS[name], MemoryStore(), random.Random(5), 40) > 5


@pytest.mark.parametrize("batch", [1, 7, 90])
def test_an_index_finds_its_keys_while_its_slots_move(batch: int) -> None:
    index = index_module.HashIndex(9)
    keys = np.random.default_rng(batch).permutation(4000)
    views: list[index_module.IndexView] = []
    moving = 0
    for start in range(0, len(keys), batch):
        encoded = encode_keys(
            [pa.array(keys[start : start + batch])], [INT8], len(keys[start : start + batch])
        )
        assert index.enter(encoded).tolist() == list(range(start, min(start + batch, len(keys))))
        if index.after is not index.slots:
            moving += 1
            views.append(index.freeze())
        assert index.count <= index_module.LOAD_MAX * (len(index.slots) >> 1)
    everything = encode_keys([pa.array(keys)], [INT8], len(keys))
    assert moving > 0
    for view in [*views[:: max(1, len(views) // 20)], index]:
        assert view.find(everything).tolist() == [i if i < view.count else -1 for i in range(len(keys))]


def test_a_small_batch_moves_few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: this is what keeps an epoch short."""
    monkeypatch.setattr(index_module, "SWEEP_KEY", 16)
    monkeypatch.setattr(index_module, "SWEEP_MIN", 64)
    index = index_module.HashIndex(9)
    calls: list[int] = []
    sweep = index_module.kernels.sweep_slots

    def counted(slots: Any, after: Any, start: int, least: int) -> int:
        stop = sweep(slots, after, start, least)
        calls.append(stop - start)
        return stop

    monkeypatch.setattr(index_module.kernels, "sweep_slots", counted)
    for start in range(0, 60_000, 100):
        index.enter(encode_keys([pa.array(np.arange(start, start + 100))], [INT8], 100))
    assert len(index.slots) >> 1 > 60_000 and max(calls) < 1600 + 300


def test_a_reserved_array_grows_in_place_and_goes_with_its_last_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reserve, "MEMORY_BYTES", 1 << 20)
    before = dict(reserve._reserved)  # pyright: ignore[reportPrivateUsage]
    array = reserve.grown(np.arange(10), 10, 20)
    array[10:20] = 7
    assert reserve.grown(array, 20, 100_000) is array
    assert array[:20].tolist() == [*range(10), *([7] * 10)]
    larger = reserve.grown(array, 20, 200_000)
    assert larger is not array and larger[:20].tolist() == array[:20].tolist()
    assert not reserve.zeros(5000, np.uint64).any()
    reader = pa.py_buffer(array[5:8])
    del array, larger
    gc.collect()
    assert len(reserve._reserved) == len(before) + 1  # pyright: ignore[reportPrivateUsage]
    assert np.frombuffer(reader, np.int64).tolist() == [5, 6, 7]
    del reader
    gc.collect()
    assert reserve._reserved.keys() == before.keys()  # pyright: ignore[reportPrivateUsage]


def test_where_the_system_refuses_arrays_double(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise OSError("no addresses left")

    monkeypatch.setattr(reserve.mmap, "mmap", refuse)
    array = reserve.grown(np.arange(1000), 1000, 1001)
    assert len(array) == 2000 and array[:1000].tolist() == list(range(1000))
    assert len(reserve.zeros(1000, np.uint64)) == 1000


def test_reservations_leave_addresses_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "MEMORY_BYTES", 1 << 40)
    monkeypatch.setattr(reserve, "ADDRESSES", 1 << 30)
    arrays = [reserve.empty(100, np.int64) for _ in range(200)]
    assert arrays[0].nbytes == 4 << 20 > arrays[100].nbytes > arrays[199].nbytes
    assert sum(array.nbytes for array in arrays) < 1 << 30
