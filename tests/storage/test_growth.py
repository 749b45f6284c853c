"""Tables that outgrow many boundaries: arrays that are copied, reserved and used up, slots on the move."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import compaction, reserve, versions
from millpond.storage import index as index_module
from millpond.storage import table as table_module
from millpond.storage.apply import group_entries
from millpond.storage.keycode import encode_keys
from millpond.storage.memory import MemoryStore
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSnapshot, TableSpec
from millpond.storage.types import INT8, TEXT

from .table_model import SPECS as OTHER_SPECS
from .table_model import VALUES, Model, apply, check, check_commit, columns_of, delete, truncate, upsert
from .test_cold import run

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


class Later:
    """A worker whose work is done when it is asked for the `polls`-th time; what it reads has then moved on,
    unless it is `eager`."""

    def __init__(self, polls: int, eager: bool) -> None:
        self.polls, self.eager = polls, eager
        self.submitted = 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Later.Work:
        self.submitted += 1
        work = Later.Work(self.polls, cache(partial(function, *arguments)))
        if self.eager:
            work.result()
        return work

    @dataclass
    class Work:
        left: int
        result: Callable[[], Any]

        def done(self) -> bool:
            self.left -= 1
            return self.left <= 0


@pytest.fixture(params=["at once", "late", "eager", "thread"])
def worker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How tables are compacted."""
    if request.param != "at once":
        monkeypatch.setattr(table_module, "BESIDE_ROWS", 0)
        monkeypatch.setattr(table_module, "WRITTEN_SHARE", 0)
        monkeypatch.setattr(compaction, "CATCH_UP_ROWS", 5)
    if request.param in ("late", "eager"):
        monkeypatch.setattr(compaction, "WORKER", Later(3, request.param == "eager"))
    return request.param


@pytest.mark.parametrize("name", SPECS)
def test_growing_tables_and_their_snapshots_agree_with_a_dict(
    name: str, worker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 200 if worker == "at once" else 0)
    rng = random.Random(3)
    spec = SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    held: list[tuple[TableSnapshot, Model]] = []
    for epoch in range(1, 30):
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


@pytest.mark.parametrize("name", OTHER_SPECS)
@pytest.mark.parametrize("worker", ["late", "thread"], indirect=True)
@pytest.mark.usefixtures("worker")
def test_tables_compacted_beside_epochs_agree_with_a_dict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few keys with many versions, truncations, and marks of checkpoints."""
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 0)
    for type_ in (INT8, TEXT):
        monkeypatch.setitem(VALUES, type_, [*VALUES[type_][:30], None])
    rng = random.Random(17)
    spec = OTHER_SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    held: list[tuple[TableSnapshot, Model]] = []
    for epoch in range(1, 50):
        before = model.copy()
        table.begin(epoch)
        for _ in range(rng.choice([0, 1, 2])):
            rng.choice([upsert, upsert, delete, apply, apply, truncate])(table, model, rng)
        if rng.random() < 0.25:
            table.rollback()
            model = before
            table.begin(epoch)
        check_commit(table.commit(), before, model)
        if rng.random() < 0.1:
            table.mark()
        held.append((table.snapshot(), model.copy()))
        if len(held) > 5:
            del held[rng.randrange(len(held))]
        old, then = rng.choice(held)
        check(old, then, rng)
        check(table, model, rng)


def test_compaction_beside_epochs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dead rows go although every epoch adds some; no epoch moves more than its share."""
    later = Later(2, eager=True)
    monkeypatch.setattr(table_module, "BESIDE_ROWS", 500)
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 0)
    monkeypatch.setattr(compaction, "WORKER", later)
    monkeypatch.setattr(compaction, "CATCH_UP_ROWS", 5)
    brought: list[int] = []
    bring_up = compaction.Compaction._bring_up  # pyright: ignore[reportPrivateUsage]

    def counted(self: compaction.Compaction, *arguments: Any) -> int:
        brought.append(bring_up(self, *arguments))
        return brought[-1]

    monkeypatch.setattr(compaction.Compaction, "_bring_up", counted)
    table = StateTable("t", TableSpec(Schema.of(k=INT8, v=INT8), (0,), ((1,),)))
    keys = np.arange(1000)
    for epoch in range(1, 200):
        table.begin(epoch)
        some = pa.array(keys if epoch == 1 else np.random.default_rng(epoch).choice(keys, 40, replace=False))
        table.upsert([some, pa.array(np.full(len(some), epoch))])
        table.commit()
    assert later.submitted >= 4 and max(brought) <= 40
    rows = table._rows  # pyright: ignore[reportPrivateUsage]
    assert rows.live == 1000 and rows.limit < 2600
    assert sorted(table.scan()[0][0].to_pylist()) == keys.tolist()


@pytest.mark.parametrize("reserved", [False, True])
def test_an_epoch_undone_during_a_compaction_may_have_been_large(
    reserved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reserve, "SMALL_BYTES", 64 if reserved else 1 << 20)
    for name in ("BESIDE_ROWS", "DEAD_ROWS_MIN", "WRITTEN_SHARE"):
        monkeypatch.setattr(table_module, name, 0)
    later = Later(3, eager=True)
    monkeypatch.setattr(compaction, "WORKER", later)
    table = StateTable("t", TableSpec(Schema.of(k=INT8, v=INT8), (0,), ((1,),)))
    epoch = 0

    def write(epoch: int, keys: range, undone: bool = False) -> None:
        table.begin(epoch)
        table.upsert([pa.array(keys), pa.array([epoch] * len(keys))])
        table.rollback() if undone else table.commit()

    while not later.submitted:
        epoch += 1
        write(epoch, range(20))
    first = epoch
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 1 << 20)
    for undone in (True, False, False, False):
        epoch += 1
        write(epoch, range(15, 3000) if undone else range(18, 20 + epoch), undone)
    assert table._compaction is None  # pyright: ignore[reportPrivateUsage]
    (keys, values), _ = table.scan()
    expected = {**dict.fromkeys(range(18), first), **dict.fromkeys(range(18, 20 + epoch), epoch)}
    assert dict(zip(keys.to_pylist(), values.to_pylist(), strict=True)) == expected
    assert len(table.matches(0, [pa.array([epoch])])[0]) == 2 + epoch


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
    sweep = index_module.kernels_slots.sweep_slots

    def counted(slots: Any, after: Any, start: int, least: int) -> int:
        stop = sweep(slots, after, start, least)
        calls.append(stop - start)
        return stop

    monkeypatch.setattr(index_module.kernels_slots, "sweep_slots", counted)
    for start in range(0, 60_000, 100):
        index.enter(encode_keys([pa.array(np.arange(start, start + 100))], [INT8], 100))
    assert len(index.slots) >> 1 > 60_000 and max(calls) < 1600 + 300


@pytest.mark.parametrize("factor", [1, 100_000])
def test_entries_are_grouped_alike_however_many_an_index_has(factor: int) -> None:
    entries = (np.random.default_rng(1).integers(0, 20, 60) * factor).astype(np.int32)
    ids, first = group_entries(entries)
    seen = list(dict.fromkeys(entries.tolist()))
    assert [seen[i] for i in ids] == entries.tolist()
    assert first.tolist() == [entries.tolist().index(entry) for entry in seen]


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
    assert arrays[0].nbytes == 4 << 20 > arrays[100].nbytes > arrays[199].nbytes > 0
    assert sum(array.nbytes for array in arrays) < 1 << 30


@pytest.mark.parametrize("beside", [False, True])
def test_a_compaction_that_fails_leaves_the_commit_alone(
    beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epoch is durable by then: nobody could undo it any more."""
    monkeypatch.setattr(table_module, "BESIDE_ROWS", 0 if beside else 1 << 20)
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 0)
    monkeypatch.setattr(compaction, "WORKER", Later(1, eager=False))
    attempts: list[int] = []

    def short_of_memory(*arguments: object) -> None:
        attempts.append(len(arguments))
        raise MemoryError

    monkeypatch.setattr(versions, "move_rows", short_of_memory)
    table = StateTable("t", TableSpec(Schema.of(k=INT8, v=INT8), (0,)))
    for epoch in range(1, 100):
        table.begin(epoch)
        table.upsert([pa.array(range(20)), pa.array([epoch] * 20)])
        table.commit()
        assert table.snapshot().scan()[0][1].to_pylist() == [epoch] * 20
        if epoch == 60:
            # Not at each commit again: what fails may be what costs most.
            assert 2 <= len(attempts) <= 8
            monkeypatch.undo()
            monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 0)
    assert table._rows.limit < 200
