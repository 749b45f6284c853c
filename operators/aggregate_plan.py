"""`Plan`: the calls of an aggregate at work, and the expressions and feeds they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..storage.schema import Schema
from ..storage.types import Type
from .aggregate_calls import AggregateCall, Measure
from .aggregate_feed import Feed, GroupValues, Slots, open_distinct, open_values
from .aggregate_linear import open_linear
from .aggregate_ordered import open_ordered
from .expr import ColumnRef, Expr
from .node import OpenContext


@dataclass(slots=True)
class Plan:
    """What to compute of each input row, which of it the feeds show, and which call has which feed."""

    exprs: list[Expr]
    feeds: list[Feed]
    measures: list[tuple[Measure, int]]


@dataclass(slots=True)
class _Planner:
    """Makes a `Plan`. `context` None: of the plain form, without tables."""

    keys: Schema
    input: Schema
    append_only: bool
    context: OpenContext | None
    exprs: list[Expr]
    feeds: dict[tuple[object, ...], int] = field(default_factory=dict)
    made: list[Feed] = field(default_factory=list)

    def slot(self, expr: Expr) -> int:
        if expr not in self.exprs:
            self.exprs.append(expr)
        return self.exprs.index(expr)

    def measure(self, number: int, call: AggregateCall) -> tuple[Measure, int]:
        function = call.function
        order = () if function.kind == "linear" or function.monotone else call.order
        order_types = tuple(self.input[key.column].type for key in order)
        slots = Slots(
            tuple(self.slot(arg) for arg in call.guarded_args),
            None if call.filter is None else self.slot(call.filter),
            tuple(self.slot(ColumnRef(key.column, self.input[key.column].type)) for key in order),
        )
        feed = self.feed(number, call, slots, (*call.types, *order_types))
        if function.kind == "linear":
            return open_linear(call), feed
        kept = self.made[feed].kept
        return open_ordered(call, order_types, kept if isinstance(kept, GroupValues) else None), feed

    def feed(self, number: int, call: AggregateCall, slots: Slots, types: Sequence[Type]) -> int:
        """The number of the feed that `call`, the one of that number, shares with others like it."""
        function, kept = call.function, None
        table = self.table(call)
        nulls = (function.skips_null, function.value_argument) if table == "values" else ()
        name = (table, slots, *nulls)
        any_rows = table == "values" and function.improve is not None and function.renew is not None
        if name in self.feeds:
            made = self.made[self.feeds[name]]
            self.made[self.feeds[name]] = replace(made, as_they_come=made.as_they_come and any_rows)
        else:
            self.feeds[name] = len(self.made)
            if self.context is not None and table == "distinct":
                kept = open_distinct(self.context, f"distinct{number}", self.keys, types)
            elif self.context is not None and table == "values":
                kept = open_values(self.context, f"values{number}", self.keys, types, call)
            self.made.append(Feed(slots, kept, any_rows))
        return self.feeds[name]

    def table(self, call: AggregateCall) -> str:
        """What is kept for a call; extremes of rows that only come need nothing."""
        if call.function.kind == "linear":
            return "distinct" if call.distinct else ""
        return "" if call.function.monotone and self.append_only else "values"


def plan_calls(
    groups: Sequence[Expr],
    calls: Sequence[AggregateCall],
    keys: Schema,
    input_: Schema,
    append_only: bool,
    context: OpenContext | None,
) -> Plan:
    """The plan of an aggregate by `groups`, whose schema is `keys`; see `_Planner`."""
    planner = _Planner(keys, input_, append_only, context, list(groups))
    measures = [planner.measure(number, call) for number, call in enumerate(calls)]
    return Plan(planner.exprs, planner.made, measures)
