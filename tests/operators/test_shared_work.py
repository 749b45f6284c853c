"""Work that views share, and work that nobody asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from millpond.operators import aggregate, filter, project
from millpond.operators.expr import ColumnRef, Literal
from millpond.operators.materialize import Materialize
from millpond.operators.project import Project
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.storage import types as t

from .test_dataflow import POSITIVE, SCAN, A, B, World, binary, counted, listed, zset

COUNTS = counted(SCAN, A)


def test_equal_parts_of_two_views_run_once_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Counter[str]()
    for name, kind in (
        ("filter", filter._Filter),
        ("project", project._Project),
        ("groups", aggregate._Aggregate),
    ):
        monkeypatch.setattr(kind, "step", _noting(steps, name, kind.step))
    world = World()
    shared = Project(POSITIVE, (A, B, binary("+", A, Literal(1, t.INT4))), ("a", "b", "next"))
    groups = counted(shared, A)
    for view, column in (("one", 0), ("two", 1), ("three", 0)):
        names = groups.schema.names[column]
        world.add(
            view, Materialize(Project(groups, (ColumnRef(column, groups.schema.types[column]),), (names,)))
        )
    steps.clear()
    assert set(world.step((1, "x"), (-1, "y"))) == {"one", "two", "three"}
    assert steps == {"filter": 1, "project": 1 + 2, "groups": 1}


def _noting(steps: Counter[str], name: str, step: Callable[..., ZSet]) -> Callable[..., ZSet]:
    def noted(*arguments: Any) -> ZSet:
        steps[name] += 1
        return step(*arguments)

    return noted


def test_the_change_of_a_view_that_nothing_reads_is_made_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Counter[str]()
    delta = aggregate._Aggregate._delta
    monkeypatch.setattr(aggregate._Aggregate, "_delta", _noting(made, "delta", delta))
    world = World()
    world.add("view", Materialize(COUNTS, COUNTS.key))
    made.clear()
    outputs = world.dataflow.step(world.context(), {"t": zset([((1, "x"), 1), ((2, "x"), 1)])})
    assert not made and list(outputs.touched) == ["view"]
    assert listed(outputs["view"]) == [(1, 1, 1), (2, 1, 1)] == listed(outputs["view"])
    assert made == {"delta": 1}


def test_the_change_of_a_view_that_is_read_is_made_at_once() -> None:
    world = World()
    view = Materialize(COUNTS, COUNTS.key)
    world.add("view", view)
    world.add("copy", Materialize(Scan("view", view.schema, view.key), (0,)), late=False)
    assert world.step((1, "x"))["copy"] == [(1, 1, 1)]
    world.dataflow.remove("copy")
    assert world.step((1, "x")) == {"view": [(1, 1, -1), (1, 2, 1)]}
