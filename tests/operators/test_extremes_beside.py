"""min and max of values on their way into their table: in one step rows may come and go again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators.aggregate import Aggregate, AggregateCall
from millpond.operators.aggregate_feed import GroupValues
from millpond.operators.dataflow import Dataflow, ViewFailure
from millpond.operators.expr import ColumnRef
from millpond.operators.functions.aggregates import AGGREGATES
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.storage import together
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec
from millpond.storage.types import INT8

SCHEMA = Schema.of(k=INT8, v=INT8)


def call(name: str, distinct: bool = False) -> AggregateCall:
    function = next(f for f in AGGREGATES[name] if len(f.args) == 1)
    return AggregateCall(function, (ColumnRef(1, INT8),), INT8, name + str(distinct), distinct)


VIEW = Materialize(
    Aggregate(
        Scan("r", SCHEMA), (ColumnRef(0, INT8),), (call("min"), call("max"), call("count", True)), ("k",)
    ),
    (0,),
)


class World:
    """The view `v` in an open epoch."""

    def __init__(self) -> None:
        self.tables: list[StateTable] = []
        self.epoch = 0
        self.dataflow = Dataflow(self)
        self.dataflow.add("v", VIEW)

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        self.tables.append(StateTable(suffix, spec))
        self.tables[-1].begin(1)
        return self.tables[-1]

    def step(self, *rows: tuple[int, int | None, int]) -> None:
        columns = [pa.array([row[i] for row in rows], pa.int64()) for i in (0, 1)]
        delta = ZSet(SCHEMA, tuple(columns), np.array([row[2] for row in rows], np.int64))
        self.dataflow.step(EpochContext(self.epoch + 1, 0, errors=[]), {"r": delta})

    def end(self, commit: bool = True) -> None:
        for table in self.tables:
            if commit:
                table.commit()
            else:
                table.rollback()
        self.epoch += commit
        for table in self.tables:
            table.begin(self.epoch + 1)

    def rows(self) -> dict[int, tuple[int | None, ...]]:
        (view,) = [table for table in self.tables if table.name == "v"]
        columns, _ = view.scan()
        return {row[0]: row[1:4] for row in zip(*(c.to_pylist() for c in columns), strict=True)}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(together, "ROWS_MIN", 0)
    monkeypatch.setattr(together, "PROCESSORS", 2)
    world = World()
    world.step((1, 5, 1), (1, 7, 2), (2, 3, 1), (3, None, 1))
    world.end()
    assert world.rows() == {1: (5, 7, 2), 2: (3, 3, 1), 3: (None, None, 0)}
    return world


def test_what_cancels_leaves_no_trace(world: World) -> None:
    world.step((1, 9, 1), (1, 9, -1), (1, 1, -1), (1, 1, 1), (4, 8, 1), (4, 8, -1), (4, 2, 1))
    world.end()
    assert world.rows() == {1: (5, 7, 2), 2: (3, 3, 1), 3: (None, None, 0), 4: (2, 2, 1)}


def test_an_extreme_that_goes_gives_way_to_the_next(world: World) -> None:
    world.step((1, 7, -1), (1, 5, -1), (2, 3, -1), (2, 4, 1), (3, 6, 1))
    world.end()
    assert world.rows() == {1: (7, 7, 1), 2: (4, 4, 1), 3: (6, 6, 1)}
    world.step((1, 7, -1), (3, 6, -1))
    world.end()
    assert world.rows() == {2: (4, 4, 1), 3: (None, None, 0)}


def test_a_value_that_was_never_there_is_the_views_failure(world: World) -> None:
    with pytest.raises(ViewFailure, match="goes more often than it came"):
        world.step((1, 6, -1))
    world.end(commit=False)
    world.step((1, 6, 1))
    world.end()
    assert world.rows()[1] == (5, 7, 3)


def test_a_failure_beside_waits_for_the_values(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    real = GroupValues._take_in

    def slow(self: GroupValues, rows: object, groups: object) -> object:
        result = real(self, rows, groups)  # pyright: ignore[reportArgumentType]
        ended.append(1)
        return result

    monkeypatch.setattr(GroupValues, "_take_in", slow)
    with monkeypatch.context() as patch:
        patch.setattr("millpond.operators.aggregate_feed.DistinctValues.apply", lambda *_: 1 / 0)
        with pytest.raises(ViewFailure, match="division by zero"):
            world.step((1, 8, 1))
    assert ended == [1]
    world.end(commit=False)
    assert world.rows()[1] == (5, 7, 2)
