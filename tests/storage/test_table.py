"""StateTable against a plain dict: every epoch, every snapshot still held, every index."""

from __future__ import annotations

import random
import sys
import threading

import pyarrow as pa
import pytest

from millpond.storage import table as table_module
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSnapshot, TableSpec
from millpond.storage.types import (
    INT8,
    TEXT,
)

from .table_model import SPECS, Model, apply, check, check_commit, delete, ints, truncate, upsert


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("seed", range(3))
def test_random_epochs_agree_with_a_dict(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 12)
    rng = random.Random(seed)
    spec = SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    held: list[tuple[TableSnapshot, Model]] = []
    for epoch in range(1, 50):
        before = model.copy()
        table.begin(epoch)
        for _ in range(rng.choice([0, 1, 2, 5])):
            rng.choice([upsert, upsert, delete, apply, apply, truncate])(table, model, rng)
            if rng.random() < 0.3:
                check(table, model, rng)
        if rng.random() < 0.25:
            table.rollback()
            model = before
            check(table, model, rng)
            table.begin(epoch)
        check_commit(table.commit(), before, model)
        snapshot = table.snapshot()
        assert snapshot.epoch == epoch
        held.append((snapshot, model.copy()))
        if len(held) > 5:
            del held[rng.randrange(len(held))]
        for old, then in held:
            check(old, then, rng)
        check(table, model, rng)


@pytest.mark.parametrize("name", SPECS)
def test_restore_gives_the_same_table(name: str) -> None:
    rng = random.Random(7)
    spec = SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    table.begin(1)
    for _ in range(5):
        upsert(table, model, rng)
    table.commit()
    columns, weights = table.scan()
    restored = StateTable("t", spec)
    half = len(weights) // 2
    restored.restore([c.slice(0, half) for c in columns], weights[:half], 4)
    restored.restore([c.slice(half) for c in columns], weights[half:], 5)
    assert restored.snapshot().epoch == restored.epoch == 5
    check(restored, model, rng)
    check(restored.snapshot(), model, rng)
    restored.begin(6)
    upsert(restored, model, rng)
    restored.commit()
    check(restored, model, rng)


def test_readers_in_another_thread_see_whole_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every epoch moves an amount between two accounts, adds an account, and may be rolled back."""
    spec = TableSpec(Schema.of(k=INT8, v=INT8, g=TEXT), (0,), ((2,),))
    table = StateTable("accounts", spec)
    table.begin(1)
    table.upsert([ints(*range(100)), ints(*([10] * 100)), pa.array(["g"] * 100)])
    table.commit()
    failures: list[str] = []
    done = threading.Event()

    def read() -> None:
        rng = random.Random(3)
        while not done.is_set() and not failures:
            snapshot = table.snapshot()
            for _ in range(rng.choice([1, 5])):
                size = len(snapshot)
                keys = ints(*range(snapshot.epoch + 99))
                (_, values, _), _ = snapshot.scan()
                looked = snapshot.take(snapshot.lookup([keys]))[1]
                matched = snapshot.take(snapshot.matches(0, [pa.array(["g"])])[1])[1]
                for array in (values, looked, matched):
                    if len(array) != size or sum(array.to_pylist()) != 1000:
                        failures.append(f"{snapshot.epoch}: {len(array)} of {size}")

    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 100)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        move_money(table, random.Random(4))
    finally:
        done.set()
        reader.join()
        sys.setswitchinterval(interval)
    assert not failures


def move_money(table: StateTable, rng: random.Random) -> None:
    for epoch in range(2, 700):
        for attempt in range(rng.choice([1, 1, 2])):
            if attempt:
                table.rollback()
            table.begin(epoch)
            accounts = ints(*rng.sample(range(epoch + 98), 2))
            _, amounts, groups = table.take(table.lookup([accounts]))
            first, second = amounts.to_pylist()
            table.upsert([accounts, ints(first - 1, second + 1), groups])
            table.upsert([ints(epoch + 98), ints(0), pa.array(["g"])])
            table.matches(0, [pa.array(["g"])])
        table.commit()
