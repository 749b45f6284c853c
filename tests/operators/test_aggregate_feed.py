"""What the calls of an aggregate keep is kept once for those with the same arguments."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from millpond.operators.aggregate import Aggregate, AggregateCall
from millpond.operators.aggregate_feed import Feed, GroupValues, Slots, settle_all
from millpond.operators.aggregate_plan import plan_calls
from millpond.operators.expr import ColumnRef, IsNull
from millpond.operators.functions.aggregates import AGGREGATES
from millpond.operators.scan import Scan
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec
from millpond.storage.types import INT8


class Tables:
    """An `OpenContext` that notes what it is asked for."""

    def __init__(self) -> None:
        self.made: dict[str, TableSpec] = {}

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        assert suffix not in self.made
        self.made[suffix] = spec
        return StateTable(suffix, spec)


def call(name: str, column: int, distinct: bool = False, only_null: bool = False) -> AggregateCall:
    function = next(f for f in AGGREGATES[name] if len(f.args) == 1)
    condition = IsNull(ColumnRef(0, INT8)) if only_null else None
    return AggregateCall(function, (ColumnRef(column, INT8),), INT8, name, distinct, condition)


def tables(*calls: AggregateCall, append_only: bool = False) -> list[str]:
    scan = Scan("r", Schema.of(k=INT8, v=INT8, w=INT8), None, append_only)
    opened = Tables()
    Aggregate(scan, (ColumnRef(0, INT8),), calls, ("k",)).open(opened)
    return sorted(opened.made)


def test_extremes_of_the_same_values_share_them() -> None:
    assert tables(call("min", 1), call("max", 1)) == ["groups", "values0"]
    assert tables(call("min", 1), call("max", 2)) == ["groups", "values0", "values1"]
    assert tables(call("min", 1), call("max", 1, only_null=True)) == ["groups", "values0", "values1"]
    assert tables(call("min", 1), call("max", 1), append_only=True) == ["groups"]


def test_distinct_values_are_kept_once() -> None:
    assert tables(call("count", 1, distinct=True), call("sum", 1, distinct=True)) == ["distinct0", "groups"]
    assert tables(call("count", 1, distinct=True), call("count", 1)) == ["distinct0", "groups"]


def test_only_calls_that_can_take_any_rows_are_given_them() -> None:
    def as_they_come(*calls: AggregateCall) -> list[bool]:
        scan = Scan("r", Schema.of(k=INT8, v=INT8, w=INT8))
        node = Aggregate(scan, (ColumnRef(0, INT8),), calls, ("k",))
        planned = plan_calls(node.groups, node.calls, node.group_schema, scan.schema, False, Tables())
        return [feed.as_they_come for feed in planned.feeds]

    assert as_they_come(call("min", 1), call("max", 1), call("count", 1)) == [True, False]
    assert as_they_come(call("min", 1), call("array_agg", 1)) == [True, False]
    assert as_they_come(call("count", 1, distinct=True)) == [False]


def test_all_are_waited_for_when_one_has_failed() -> None:
    spec = TableSpec(Schema.of(k=INT8, v=INT8), None, ((0,),))
    values = [GroupValues(StateTable(name, spec), 1, call("min", 1)) for name in ("a", "b")]
    for kept in values:
        kept.storing = Future()
    first, second = values
    assert first.storing is not None and second.storing is not None
    first.storing.set_exception(ValueError("first"))
    second.storing.set_exception(ValueError("second"))
    feeds = [Feed(Slots((1,), None), kept, True) for kept in values]
    with pytest.raises(ValueError, match="first"):
        settle_all(feeds)
    settle_all(feeds)
