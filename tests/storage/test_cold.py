"""An incomplete StateTable against a plain dict: rows come from the store when asked for, and go again."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from millpond.storage import table as table_module
from millpond.storage import table_state
from millpond.storage.budget import MemoryBudget
from millpond.storage.changelog import Rows, StoredSpec
from millpond.storage.cold import ColdRows
from millpond.storage.errors import IoError
from millpond.storage.evictions import Evictions
from millpond.storage.keys import Keys
from millpond.storage.log import Position
from millpond.storage.memory import MemoryStore
from millpond.storage.mirror import Mirror
from millpond.storage.replay import NetChange, Stretch
from millpond.storage.rocks import RocksStore
from millpond.storage.schema import Schema
from millpond.storage.store import Store, StoreBatch
from millpond.storage.table import StateTable, TableSnapshot
from millpond.storage.tablespec import Positions, TableChange, TableSpec
from millpond.storage.types import INT8

from .table_model import SPECS, Model, apply, check, check_commit, content, delete, truncate, upsert


class Checkpoints:
    """A mirror that is brought up to date from a table's changes, some epochs late, as a checkpoint is."""

    def __init__(self, store: Store, spec: TableSpec) -> None:
        self.mirror = Mirror(store, b"log")
        self.spec = StoredSpec(1, spec.schema, spec.key)
        self.indexes = spec.indexes
        self.pending: list[TableChange] = []
        self.marked: int | None = None

    def begin(self, table: StateTable) -> None:
        table.mark()
        self.marked = table.epoch

    def end(self, table: StateTable, bytes_max: int | None) -> None:
        """The store reaches the epoch of `begin`; then rows are let go."""
        assert self.marked is not None
        for change in [change for change in self.pending if change.epoch <= self.marked]:
            rows = [Rows(change.columns, change.weights)] if len(change.weights) else []
            net = NetChange(self.spec, change.truncated, rows, change.deleted, change.deleted_count)
            self._apply(change.epoch, {"t": net})
        self.pending = [change for change in self.pending if change.epoch > self.marked]
        self._apply(self.marked, {})
        self.mirror.index(self.spec, self.indexes)
        self.mirror.note_sizes({1: (len(table), table.nbytes)})
        table.evict(self.mirror.cold(self.spec, self.indexes, self.mirror.snapshot()), bytes_max)
        self.marked = None

    def _apply(self, epoch: int, changes: dict[str, NetChange]) -> None:
        self.mirror.apply(Stretch(Position(0, 0, epoch), b"", False, [], {"t": self.spec}, changes))


def run(spec: TableSpec, store: Store, rng: random.Random, epochs: int) -> int:
    """Random epochs, checkpoints and evictions. Returns how often the table was incomplete."""
    table, model, checkpoints = StateTable("t", spec), Model(spec), Checkpoints(store, spec)
    held: list[tuple[TableSnapshot, Model]] = []
    incomplete = 0
    for epoch in range(1, epochs):
        before = model.copy()
        table.begin(epoch)
        for _ in range(rng.choice([0, 1, 2, 5])):
            rng.choice([upsert, upsert, delete, apply, apply, truncate])(table, model, rng)
            if rng.random() < 0.2:
                check(table, model, rng)
        if rng.random() < 0.25:
            table.rollback()
            model = before.copy()
            if rng.random() < 0.5:
                check(table, model, rng)
            table.begin(epoch)
        change = table.commit()
        check_commit(change, before, model)
        checkpoints.pending.append(change)
        held.append((table.snapshot(), model.copy()))
        if checkpoints.marked is None:
            if rng.random() < 0.4:
                checkpoints.begin(table)
        elif rng.random() < 0.5:
            checkpoints.end(table, rng.choice([None, 0, 0, table.nbytes // 2]))
            held.append((table.snapshot(), model.copy()))
        incomplete += not table.complete
        while len(held) > 5:
            del held[rng.randrange(len(held))]
        for old, then in held:
            if rng.random() < 0.4:
                check(old, then, rng)
        if rng.random() < 0.3:
            check(table, model, rng)
    check(table, model, rng)
    return incomplete


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("seed", range(4))
def test_an_incomplete_table_agrees_with_a_dict(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 12)
    assert run(SPECS[name], MemoryStore(), random.Random(seed), 60) > 10


@pytest.mark.parametrize("name", SPECS)
def test_it_does_over_rocksdb(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 12)
    store = RocksStore(tmp_path / "state")
    assert run(SPECS[name], store, random.Random(11), 40) > 5
    store.close()


def test_a_closed_store_says_so_and_its_folder_is_free(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "state")
    store.write(StoreBatch(keys=[b"a", b"b"], values=[b"1", b"2"]))
    held = store.snapshot()
    store.write(StoreBatch(deletes=[b"a"]))
    assert held.get_many([b"a", b"c"]) == [b"1", None]
    assert held.continuations([b"a"]) == [[b""]]
    assert list(held.values(b"a", b"z", 1)) == [[b"1"], [b"2"]]
    store.close()
    for read in (lambda: held.get_many([b"a"]), lambda: list(held.values(b"a", b"z", 1))):
        with pytest.raises(IoError):
            read()
    RocksStore(tmp_path / "state").close()


def test_the_store_is_hardly_asked_for_keys_that_are_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = TableSpec(Schema.of(k=INT8, v=INT8), (0,), ((1,),))
    table, checkpoints = StateTable("t", spec), Checkpoints(MemoryStore(), spec)
    table.begin(1)
    table.upsert([pa.array(range(1000)), pa.array(range(0, 2000, 2))])
    checkpoints.pending.append(table.commit())
    checkpoints.begin(table)
    checkpoints.end(table, 0)
    asked: list[int] = []
    find, matches = ColdRows.find, ColdRows.matches

    def finding(cold: ColdRows, keys: Keys) -> tuple[Positions, Rows]:
        asked.append(len(keys))
        return find(cold, keys)

    def matching(cold: ColdRows, index: int, keys: Keys) -> tuple[Positions, Rows]:
        asked.append(len(keys))
        return matches(cold, index, keys)

    monkeypatch.setattr(ColdRows, "find", finding)
    monkeypatch.setattr(ColdRows, "matches", matching)
    table.begin(2)
    assert (table.lookup([pa.array(range(1000, 2000))]) < 0).all()
    assert not len(table.matches(0, [pa.array(range(1, 2001, 2))])[0])
    assert sum(asked) < 100
    assert (table.lookup([pa.array(range(1000))]) >= 0).all()
    assert len(table.matches(0, [pa.array(range(0, 2000, 2))])[0]) == 1000
    table.commit()


def test_a_table_opened_cold_has_its_rows() -> None:
    spec = SPECS["keyed"] if "keyed" in SPECS else next(iter(SPECS.values()))
    rng = random.Random(3)
    table, model = StateTable("t", spec), Model(spec)
    checkpoints = Checkpoints(MemoryStore(), spec)
    table.begin(1)
    for _ in range(6):
        upsert(table, model, rng)
    checkpoints.pending.append(table.commit())
    checkpoints.begin(table)
    checkpoints.end(table, None)
    assert table.complete
    mirror = checkpoints.mirror
    (rows, size) = mirror.sizes()[1]
    assert (rows, size) == (len(model.rows), table.nbytes)
    cold = StateTable("t", spec)
    cold.open_cold(mirror.cold(checkpoints.spec, spec.indexes, mirror.snapshot()), rows)
    check(cold.snapshot(), model, rng)
    check(cold, model, rng)
    cold.begin(2)
    before = model.copy()
    for _ in range(4):
        rng.choice([upsert, delete, apply])(cold, model, rng)
    check_commit(cold.commit(), before, model)
    check(cold, model, rng)
    snapshot = cold.snapshot()
    places = snapshot.positions(0, snapshot.limit)
    assert content(spec, (snapshot.take(places), snapshot.weights(places))) == model.content()


def test_keys_that_are_nowhere_do_not_fill_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a key leaves an entry for it; a commit takes those away that have no row."""
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 100)
    spec = TableSpec(Schema.of(id=INT8, n=INT8), key=(0,), indexes=((1,),))
    table, checkpoints = StateTable("t", spec), Checkpoints(MemoryStore(), spec)
    table.begin(1)
    table.upsert([pa.array(range(50)), pa.array(range(50))])
    checkpoints.pending.append(table.commit())
    checkpoints.begin(table)
    checkpoints.end(table, 0)
    assert not table.complete
    for epoch in range(2, 60):
        table.begin(epoch)
        asked = pa.array(range(epoch * 1000, epoch * 1000 + 100), pa.int64())
        assert (table.lookup([asked]) < 0).all() and not len(table.matches(0, [asked])[0])
        table.upsert([pa.array([epoch % 50]), pa.array([epoch])])
        table.commit()
        assert table.nbytes < 50_000
    assert len(table) == 50


@pytest.mark.parametrize("fault", ["find", "matches", "admit"])
def test_a_key_whose_row_could_not_be_fetched_is_asked_for_again(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the row would be nowhere: not in memory, and never looked for."""
    spec = TableSpec(Schema.of(k=INT8, v=INT8), (0,), ((1,),))
    table, checkpoints = StateTable("t", spec), Checkpoints(MemoryStore(), spec)
    table.begin(1)
    table.upsert([pa.array(range(10)), pa.array(range(10))])
    checkpoints.pending.append(table.commit())
    checkpoints.begin(table)
    checkpoints.end(table, 0)

    def failing(*_: object, **__: object) -> None:
        raise IoError("could not read the store")

    monkeypatch.setattr(*(table_state, "admit") if fault == "admit" else (ColdRows, fault), failing)
    for epoch in (2, 3):
        table.begin(epoch)
        if epoch == 2:
            with pytest.raises(IoError):
                _ = table.matches(0, [pa.array([3])]) if fault == "matches" else table.lookup([pa.array([3])])
            table.rollback()
            monkeypatch.undo()
        else:
            assert len(table.matches(0, [pa.array([3])])[0]) == 1 and table.lookup([pa.array([3])])[0] >= 0


def test_what_readers_fetch_does_not_stay_for_ever() -> None:
    spec = TableSpec(Schema.of(k=INT8, v=INT8), (0,))
    table, checkpoints = StateTable("t", spec), Checkpoints(MemoryStore(), spec)
    table.begin(1)
    table.upsert([pa.array(range(10_000)), pa.array(range(10_000))])
    checkpoints.pending.append(table.commit())
    checkpoints.begin(table)
    checkpoints.end(table, 0)
    now = [1.0]
    evictions = Evictions(MemoryBudget(4 << 20), clock=lambda: now[0])
    held = table.snapshot()
    for first in range(0, 10_000, 100):
        now[0] += 1
        keys = pa.array(range(first, first + 100))
        found = table.snapshot().lookup([keys])
        assert table.snapshot().take(found)[1].to_pylist() == keys.to_pylist()
        _ = evictions.due({"t": table})
        assert table.snapshot().fetched_bytes < 300_000
    assert evictions.take_renewed() == {"t"} and table.snapshot() is not held
    assert held.take(held.lookup([pa.array([7])]))[1].to_pylist() == [7]
