"""Wiring: sharing, order, late views, removal, names of tables, failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators import functions as functions
from millpond.operators.aggregate import Aggregate, AggregateCall
from millpond.operators.dataflow import Dataflow, ViewFailure, run
from millpond.operators.distinct import Distinct
from millpond.operators.expr import Call, ColumnRef, Expr, Literal
from millpond.operators.filter import Filter
from millpond.operators.fingerprint import fingerprint
from millpond.operators.functions.aggregates import AGGREGATES
from millpond.operators.functions.registry import SCALARS
from millpond.operators.join import Join, JoinKind
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext, Node, OpenContext, Operator
from millpond.operators.project import Project
from millpond.operators.scan import Scan
from millpond.operators.values import Values
from millpond.operators.zset import ZSet
from millpond.storage import types as t
from millpond.storage.errors import DivisionByZero, QueryCanceled, SqlError
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec

SCHEMA = Schema.of(a=t.INT4, b=t.TEXT)
SCAN = Scan("t", SCHEMA)


class Tables:
    def __init__(self) -> None:
        self.tables: dict[str, StateTable] = {}
        self.epoch = 0

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        if suffix not in self.tables:
            self.tables[suffix] = StateTable(suffix, spec)
            self.tables[suffix].begin(self.epoch + 1)
        return self.tables[suffix]

    def begin(self) -> None:
        for table in self.tables.values():
            table.begin(self.epoch + 1)

    def commit(self) -> None:
        self.epoch += 1
        for table in self.tables.values():
            table.commit()

    def rollback(self) -> None:
        for table in self.tables.values():
            table.rollback()


class World:
    """A dataflow, its tables (always within an epoch), and the content of relation t."""

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables = tables or Tables()
        self.dataflow = Dataflow(self.tables)
        self.content: list[tuple[tuple, int]] = []
        self.errors: list = []

    def context(self) -> EpochContext:
        return EpochContext(self.tables.epoch + 1, 0, errors=self.errors)

    def step(self, *rows: tuple, weight: int = 1) -> dict[str, list]:
        delta = [(row, weight) for row in rows]
        outputs = self.dataflow.step(self.context(), {"t": zset(delta)} if delta else {})
        self.content += delta
        self.tables.commit()
        self.tables.begin()
        return {name: listed(output) for name, output in outputs.items()}

    def backfill(self, scan: Scan) -> ZSet:
        assert scan.relation == "t"
        return zset(self.content)

    def add(self, name: str, node: Node, late: bool = True) -> list:
        return listed(self.dataflow.add(name, node, self.backfill if late else None, self.context()))


def zset(rows: list[tuple[tuple, int]], schema: Schema = SCHEMA) -> ZSet:
    columns = [pa.array([r[i] for r, _ in rows], type_.arrow) for i, type_ in enumerate(schema.types)]
    return ZSet(schema, tuple(columns), np.array([w for _, w in rows], np.int64))


def listed(rows: ZSet) -> list:
    values = [column.to_pylist() for column in rows.columns]
    return sorted(zip(*values, rows.weights.tolist(), strict=True), key=repr)


def binary(symbol: str, left: Expr, right: Expr) -> Call:
    names = (left.type.name, right.type.name)
    (function,) = [f for f in SCALARS[symbol] if tuple(a.name for a in f.args) == names]
    return Call(function, (left, right), function.result_type((left.type, right.type)))


A, B = ColumnRef(0, t.INT4), ColumnRef(1, t.TEXT)
COUNT = AggregateCall(AGGREGATES["count"][0], (), t.INT8, "n")
POSITIVE = Filter(SCAN, binary(">", A, Literal(0, t.INT4)))


def counted(node: Node, *groups: Expr) -> Aggregate:
    return Aggregate(node, groups, (COUNT,), tuple(f"g{i}" for i in range(len(groups))))


def test_a_grouped_count_follows_its_table() -> None:
    world = World()
    world.add("v", Materialize(counted(SCAN, A), (0,)))
    assert world.step((1, "x"), (1, "y"), (2, "z")) == {"v": [(1, 2, 1), (2, 1, 1)]}
    assert world.step((1, "x"), weight=-1) == {"v": [(1, 1, 1), (1, 2, -1)]}
    assert world.step((1, "y"), weight=-1) == {"v": [(1, 1, -1)]}
    assert world.step((1, "y")) == {"v": [(1, 1, 1)]}
    columns, _ = world.tables.tables["v"].scan()
    assert sorted(columns[0].to_pylist()) == [1, 2]


def test_what_does_not_change_does_not_come_out() -> None:
    world = World()
    world.add("v", Materialize(counted(SCAN, A)))
    world.step((1, "x"))
    delta = zset([((1, "x"), -1), ((1, "other"), 1)])
    assert world.dataflow.step(world.context(), {"t": delta}) == {}
    assert world.dataflow.step(world.context(), {"unknown": delta}) == {}


def test_a_grand_total_and_values_come_at_the_first_step_only() -> None:
    world = World()
    constant = Values(Schema.of(x=t.INT4), ((Literal(7, t.INT4),),))
    world.add("total", Materialize(counted(SCAN)), late=False)
    world.add("seven", Materialize(constant), late=False)
    assert world.step() == {"total": [(0, 1)], "seven": [(7, 1)]}
    assert world.step() == {}
    assert world.step((1, "x")) == {"total": [(0, -1), (1, 1)]}


def test_an_aborted_first_step_is_taken_again() -> None:
    world = World()
    world.add("total", Materialize(counted(SCAN)), late=False)
    world.tables.commit()
    world.tables.begin()
    world.dataflow.step(world.context(), {})
    world.tables.rollback()
    world.tables.begin()
    assert world.step() == {"total": [(0, 1)]}


def test_views_on_views_change_in_the_same_step() -> None:
    world = World()
    first = Materialize(counted(SCAN, A), (0,))
    world.add("first", first)
    on_first = Scan("first", first.schema, first.key)
    world.add("second", Materialize(counted(on_first, ColumnRef(1, t.INT8))), late=False)
    together = Join(SCAN, on_first, JoinKind.INNER, (A,), (ColumnRef(0, t.INT4),))
    world.dataflow.add("diamond", Materialize(together))
    out = world.step((1, "x"), (1, "y"), (2, "z"))
    assert out["second"] == [(1, 1, 1), (2, 1, 1)]
    assert out["diamond"] == [(1, "x", 1, 2, 1), (1, "y", 1, 2, 1), (2, "z", 2, 1, 1)]
    out = world.step((2, "w"))
    assert out["second"] == [(1, 1, -1), (2, 1, -1), (2, 2, 1)]
    assert out["diamond"] == [(2, "w", 2, 2, 1), (2, "z", 2, 1, -1), (2, "z", 2, 2, 1)]


def test_an_order_of_adding_against_the_dependencies_works_too() -> None:
    tables, first = Tables(), Materialize(counted(SCAN, A), (0,))
    world = World(tables)
    world.add("second", Materialize(Scan("first", first.schema, first.key)), late=False)
    world.add("first", first, late=False)
    assert world.step((1, "x"))["second"] == [(1, 1, 1)]


def test_equal_parts_are_shared_and_outlive_the_view_that_brought_them() -> None:
    world = World()
    shared = counted(POSITIVE, A)
    world.add("one", Materialize(Distinct(shared)))
    before = set(world.tables.tables)
    world.add("two", Materialize(counted(shared, ColumnRef(1, t.INT8))))
    assert len(set(world.tables.tables) - before) == 2  # its own groups, its own rows
    world.step((1, "x"), (1, "y"))
    assert world.dataflow.remove("one") == ["one"]
    assert world.step((2, "z"))["two"] == [(1, 1, 1)]
    dropped = world.dataflow.remove("two")
    assert set(dropped) == set(world.tables.tables) - {"one"}
    assert world.dataflow.views == []


def test_a_view_that_is_an_aggregate_has_one_table() -> None:
    world = World()
    counts = counted(SCAN, A)
    world.add("view", Materialize(counts, counts.key))
    assert {name: table.spec.schema.names for name, table in world.tables.tables.items()} == {
        "view": ("g0", "n")
    }
    turned = Project(counts, (ColumnRef(1, t.INT8), A), ("n", "k"))
    world.add("turned", Materialize(turned, turned.key))
    assert world.tables.tables["turned"].spec == TableSpec(turned.schema, (1,))
    lost = Project(counts, (A,), ("k",))
    world.add("lost", Materialize(lost, lost.key))
    assert len(world.tables.tables) == 4  # the groups, without a count that shows, and the view
    assert world.step((1, "x"), (1, "y")) == {"view": [(1, 2, 1)], "turned": [(2, 1, 1)], "lost": [(1, 1)]}


def test_an_aggregate_whose_result_can_fail_has_its_own_table() -> None:
    world = World()
    total = AggregateCall(next(f for f in AGGREGATES["sum"] if f.args == (t.INT4,)), (A,), t.INT8, "s")
    sums = Aggregate(SCAN, (B,), (total,), ("b",))
    world.add("view", Materialize(sums, sums.key))
    assert len(world.tables.tables) == 2


def test_operators_find_their_tables_when_the_first_view_is_gone() -> None:
    world = World()
    shared = counted(POSITIVE, A)
    other = Materialize(counted(shared, ColumnRef(1, t.INT8)))
    world.add("one", Materialize(shared, (0,)))
    world.add("two", other)
    world.step((1, "x"), (1, "y"), (2, "z"))
    world.dataflow.remove("one")
    again = World(world.tables)
    again.add("two", other, late=False)
    assert again.step((2, "w"))["two"] == [(1, 1, -1), (2, 1, -1), (2, 2, 1)]


def test_a_late_view_starts_with_what_is_there() -> None:
    world = World()
    world.step((1, "x"), (1, "y"), (-1, "z"))
    assert world.add("v", Materialize(counted(POSITIVE, A), (0,))) == [(1, 2, 1)]
    assert world.step((1, "w"))["v"] == [(1, 2, -1), (1, 3, 1)]


def test_a_late_view_on_shared_operators_starts_with_what_they_have_put_out() -> None:
    world = World()
    shared = counted(Distinct(SCAN), A)
    world.add("one", Materialize(shared, (0,)))
    world.step((1, "x"), (1, "y"), (2, "z"))
    view = Materialize(counted(shared, ColumnRef(1, t.INT8)), (0,))
    assert world.add("two", view) == [(1, 1, 1), (2, 1, 1)]
    assert world.add("copy", Materialize(shared, (0,))) == [(1, 2, 1), (2, 1, 1)]
    out = world.step((2, "v"))
    assert out["two"] == [(1, 1, -1), (2, 1, -1), (2, 2, 1)]
    assert out["copy"] == out["one"] == [(2, 1, -1), (2, 2, 1)]


def test_a_failed_addition_leaves_nothing() -> None:
    world = World()
    world.add("one", Materialize(counted(SCAN, A), (0,)))

    def backfill(scan: Scan) -> ZSet:
        raise QueryCanceled("canceling statement due to user request")

    with pytest.raises(QueryCanceled):
        world.dataflow.add("two", Materialize(Distinct(counted(SCAN, A))), backfill, world.context())
    assert world.dataflow.views == ["one"]
    assert world.dataflow.tables("two") == []
    assert set(world.step((1, "x"))) == {"one"}
    world.add("two", Materialize(Distinct(counted(SCAN, A))))
    assert world.step((1, "y"))["two"] == [(1, 1, -1), (1, 2, 1)]


def test_row_errors_name_their_view_and_are_withdrawn_with_the_row() -> None:
    world = World()
    inverse = Project(SCAN, (B, binary("/", Literal(10, t.INT4), A)), ("b", "q"))
    world.add("one", Materialize(inverse))
    world.add("two", Materialize(Distinct(inverse)))
    assert world.step((0, "bad"), (5, "good"))["two"] == [("good", 2, 1)]
    assert [(e.operator, e.code, listed(e.rows)) for e in world.errors] == [
        ("one: Project", DivisionByZero.code, [(0, "bad", 1)]),
        ("two: Project", DivisionByZero.code, [(0, "bad", 1)]),
    ]
    world.errors.clear()
    assert world.step((0, "bad"), weight=-1) == {}
    assert listed(world.errors[0].rows) == [(0, "bad", -1)]


def test_a_late_view_records_the_errors_of_shared_operators_once() -> None:
    world = World()
    inverse = Project(SCAN, (binary("/", Literal(10, t.INT4), A),), ("q",))
    world.add("one", Materialize(inverse))
    world.step((0, "bad"))
    world.errors.clear()
    world.add("two", Materialize(Filter(SCAN, binary(">", binary("/", Literal(1, t.INT4), A), A))))
    assert [e.operator for e in world.errors] == ["two: Filter"]


@dataclass(frozen=True)
class Broken(Node):
    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return inputs[0]

    def open(self, context: OpenContext) -> Operator:
        return _Broken()


class _Broken:
    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise SqlError("no", detail="why")


def test_a_failing_operator_says_which_views_it_stalls() -> None:
    world = World()
    world.add("good", Materialize(counted(SCAN, A)))
    world.dataflow.add("bad", Materialize(Broken(SCAN)))
    with pytest.raises(ViewFailure) as failure:
        world.step((1, "x"))
    assert failure.value.views == {"bad"}
    assert failure.value.cause.detail == "why"
    world.tables.rollback()
    world.tables.begin()
    world.dataflow.remove("bad")
    assert world.step((1, "x")) == {"good": [(1, 1, 1)]}


def test_run_computes_a_repeated_part_once() -> None:
    asked: list[str] = []

    def inputs(scan: Scan) -> ZSet:
        asked.append(scan.relation)
        return zset([((1, "x"), 1)])

    join = Join(POSITIVE, POSITIVE, JoinKind.INNER, (A,), (A,))
    assert listed(run(join, inputs, EpochContext(1, 0))) == [(1, "x", 1, "x", 1)]
    assert asked == ["t"]


def test_a_select_raises_what_a_view_records() -> None:
    inverse = Project(SCAN, (binary("/", Literal(10, t.INT4), A),), ("q",))
    with pytest.raises(DivisionByZero):
        run(inverse, lambda scan: zset([((0, "x"), 1)]), EpochContext(1, 0))


def test_long_work_can_be_cancelled() -> None:
    def cancelled() -> None:
        raise QueryCanceled("canceling statement due to user request")

    context = EpochContext(1, 0, cancelled=cancelled)
    rows: Callable[[Scan], ZSet] = lambda scan: zset([((1, "x"), 1)])  # noqa: E731
    with pytest.raises(QueryCanceled):
        run(Distinct(SCAN), rows, context)


def test_fingerprints_tell_plans_apart_and_survive() -> None:
    plans = [SCAN, POSITIVE, counted(SCAN, A), counted(SCAN, B), counted(SCAN), Distinct(SCAN)]
    prints = [fingerprint(plan) for plan in plans]
    assert len(set(prints)) == len(plans)
    assert fingerprint(counted(SCAN, A)) == prints[2]
    # Stamped: state on disk is found by this name. It changes only with what the plan computes.
    assert fingerprint(SCAN) == "Scan-1913108f4f592bfbe536"
