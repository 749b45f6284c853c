"""A join may store its right rows while what it found goes on: it has ended when the step has, however."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators.dataflow import Dataflow, ViewFailure
from millpond.operators.expr import ColumnRef
from millpond.operators.join import Join, JoinKind
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.storage import together
from millpond.storage import types as t
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec

SCHEMA = Schema.of(a=t.INT8, b=t.INT8)
LEFT, RIGHT = Scan("l", SCHEMA), Scan("r", SCHEMA)
KEY = (ColumnRef(0, t.INT8),)
JOINED = Materialize(Join(LEFT, RIGHT, JoinKind.INNER, KEY, KEY))


class World:
    """The view `v` in an open epoch."""

    def __init__(self) -> None:
        self.tables: dict[str, StateTable] = {}
        self.epoch = 0
        self.dataflow = Dataflow(self)
        self.dataflow.add("v", JOINED)

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        table = self.tables.setdefault(suffix, StateTable(suffix, spec))
        table.begin(1)
        return table

    def end(self, commit: bool) -> None:
        for table in self.tables.values():
            if commit:
                table.commit()
            else:
                table.rollback()
        self.epoch += commit
        for table in self.tables.values():
            table.begin(self.epoch + 1)

    def step(self, **deltas: ZSet) -> ZSet | None:
        return self.dataflow.step(EpochContext(self.epoch + 1, 0, errors=[]), deltas).get("v")

    @property
    def right(self) -> StateTable:
        return next(table for name, table in self.tables.items() if name.endswith("/right"))


def rows(count: int, weight: int = 1, start: int = 0) -> ZSet:
    column = pa.array(np.arange(start, start + count))
    return ZSet(SCHEMA, (column, column), np.full(count, weight, np.int64))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Storing takes a while, and is always beside."""
    monkeypatch.setattr(together, "ROWS_MIN", 0)
    monkeypatch.setattr(together, "PROCESSORS", 2)
    real = StateTable.apply

    def apply(
        self: StateTable, columns: Sequence[pa.Array], weights: np.ndarray, exact: bool = False
    ) -> object:
        if self.name.endswith("/right"):
            time.sleep(0.1)
            assert threading.current_thread() is not threading.main_thread()
        return real(self, columns, weights, exact)

    monkeypatch.setattr(StateTable, "apply", apply)
    world = World()
    assert world.step(l=rows(50)) is None
    world.end(commit=True)
    return world


def test_it_is_stored_when_the_step_is_over(world: World) -> None:
    found = world.step(r=rows(50))
    assert found is not None and len(found) == 50
    assert len(world.right) == 50
    world.end(commit=True)
    found = world.step(l=rows(50, -1), r=rows(20))
    assert len(world.right) == 50 and int(world.right.scan()[1].sum()) == 70
    assert found is not None and int(found.weights.sum()) == -50


def test_a_failure_behind_the_join_waits_for_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("millpond.operators.materialize._Materialize.step", lambda *_: 1 / 0)
        with pytest.raises(ViewFailure):
            world.step(r=rows(50))
        assert len(world.right) == 50
    world.end(commit=False)
    assert len(world.right) == 0
    found = world.step(r=rows(30))
    assert found is not None and len(found) == 30


def test_what_fails_in_it_is_the_views_failure(world: World) -> None:
    with pytest.raises(ViewFailure, match="goes more often than it came") as failure:
        world.step(r=rows(50, -1, start=1000))
    assert failure.value.views == frozenset({"v"})
    world.end(commit=False)
    found = world.step(r=rows(30))
    assert found is not None and len(found) == 30
