"""Work that views share, and work that nobody asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from millpond.operators import aggregate, evaluate_core, filter, project, shared_values
from millpond.operators.batch import group_rows
from millpond.operators.evaluate import passing
from millpond.operators.expr import Call, ColumnRef, Literal
from millpond.operators.grouping import grouping
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext
from millpond.operators.project import Project
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.storage import types as t
from millpond.storage.keycode import encode_keys

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


def test_an_expression_of_several_views_is_computed_once_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = Counter[str]()

    def called(expr: Call, *rest: Any) -> pa.Array:
        computed[expr.function.name] += 1
        return call(expr, *rest)

    call = evaluate_core._called
    monkeypatch.setattr(evaluate_core, "_called", called)
    world = World()
    for number, other in enumerate((A, B, Literal(5, t.INT4))):
        rows = Project(SCAN, (other, binary("+", A, Literal(77, t.INT4))), ("other", "next"))
        world.add(f"view{number}", Materialize(rows))
    world.step((1, "x"), (2, "y"))  # Which expressions are equal is known after the first epoch.
    computed.clear()
    outputs = world.step((1, "x"), (-1, "y"))
    assert computed == {"+": 1}
    assert outputs["view1"] == [("x", 78, 1), ("y", 76, 1)]
    computed.clear()
    assert world.step((5, "z"), (6, "z"))["view1"] == [("z", 82, 1), ("z", 83, 1)]
    assert computed == {"+": 1}


def test_values_are_not_mixed_up_when_expressions_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_values, "KNOWN_MAX", 4)
    rows, context = zset([((1, "x"), 1), ((2, "y"), 1)]), EpochContext(1, 0, errors=[])
    for added in range(40):
        exprs = [binary("+", A, Literal(added, t.INT4)) for _ in range(4)]
        for expr in exprs:
            assert evaluate_core.evaluate(expr, rows.columns, 2, context).to_pylist() == [
                1 + added,
                2 + added,
            ]
    assert context.computed


def test_a_query_keeps_no_values() -> None:
    context = EpochContext(1, 0)
    rows = zset([((1, "x"), 1), ((2, "y"), 1)])
    for _ in range(3):
        passing(binary(">", A, Literal(1, t.INT4)), rows, context, "Filter")
    assert not context.computed and not context.chosen and not context.groupings


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_a_filter_lets_through_are_grouped_as_by_themselves(seed: int) -> None:
    random = Random(seed)
    names = ["a", "bb", "", None]
    drawn = [
        ((random.choice([1, 2, 3, None]), random.choice(names)), 1) for _ in range(random.choice([2, 9, 60]))
    ]
    rows, context = zset(drawn), EpochContext(1, 0, errors=[])
    columns, types = (0, 1) if random.random() < 0.5 else (1,), rows.schema.types
    types = tuple(types[i] for i in columns)
    if random.random() < 0.7:
        first = grouping([rows.columns[i] for i in columns], types, len(rows), context)
        _ = encode_keys(first.keys, types, first.count)
    chosen = passing(binary(">", A, Literal(1, t.INT4)), rows, context, "Filter")
    if not len(chosen):
        return
    keys = [chosen.columns[i] for i in columns]
    found = grouping(keys, types, len(chosen), context)
    ids, alone = group_rows(keys, types, len(chosen))
    assert found.count == len(alone)
    assert len(set(zip(ids.tolist(), found.ids.tolist(), strict=True))) == found.count
    for column, key in zip(keys, found.keys, strict=True):
        assert pa.array(key).take(pa.array(found.ids)).to_pylist() == column.to_pylist()
    bytes_of = encode_keys(found.keys, types, found.count).to_bytes_list()
    assert bytes_of == encode_keys(list(found.keys), types, found.count).to_bytes_list()
