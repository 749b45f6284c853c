"""`GroupTable`: where the row of a group has its key, its count, the states of its calls and their results.

An aggregate has a row a group: the key, count(*), and the state of each call. One that is a view by itself
keeps these in the view's own table, behind the view's columns: a group is found once, and neither its key
nor a result that is its own state (a count, a least value) is kept twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from .aggregate_calls import AggregateCall, Measure
from .batch import Int64Array
from .node import OpenContext

States = list[list[pa.Array]]


@dataclass(frozen=True, slots=True)
class Old:
    """What some groups had: their counts, the states of the calls, and their results if they are kept."""

    counts: Int64Array
    states: States
    results: list[pa.Array] | None


Part = tuple[str, int, int]
"""("key", group column, 0), ("count", 0, 0), ("state", call, accumulator) or ("result", call, 0)."""

COUNT: Part = ("count", 0, 0)


class GroupTable:
    """The table, and the place of every part in it."""

    def __init__(self, table: StateTable, parts: Sequence[Part], same: dict[Part, Part]) -> None:
        """`parts` are the table's columns; `same` says which other parts equal one of them."""
        self.table = table
        self.parts = parts
        self._read = [i for i, part in enumerate(parts) if part[0] != "key"]
        self._places: dict[Part, int] = {parts[place]: i for i, place in enumerate(self._read)}
        self._places |= {part: self._places[other] for part, other in same.items()}

    def column(self, part: Part) -> int:
        """The table's column that has a part."""
        return self._read[self._places[part]]

    def old(self, positions: Int64Array, measures: Sequence[Measure]) -> Old:
        """The rows at `positions`."""
        columns, places = self.table.take(positions, self._read), self._places
        counts = columns[places[COUNT]].to_numpy() if len(positions) else np.zeros(0, np.int64)
        states = [
            [columns[places["state", number, i]] for i in range(len(measure.accumulators))]
            for number, measure in enumerate(measures)
        ]
        return Old(counts, states, None)

    def rows(
        self, keys: Sequence[pa.Array], counts: pa.Array, states: States, results: Sequence[pa.Array]
    ) -> list[pa.Array]:
        """The rows of groups, as the table has them."""
        columns: list[pa.Array] = []
        for kind, number, accumulator in self.parts:
            if kind == "key":
                columns.append(keys[number])
            elif kind == "count":
                columns.append(counts)
            else:
                columns.append(results[number] if kind == "result" else states[number][accumulator])
        return columns


def open_groups(context: OpenContext, suffix: str, keys: Schema, measures: Sequence[Measure]) -> GroupTable:
    """A table of groups that nobody else reads."""
    parts: list[Part] = [("key", i, 0) for i in range(len(keys))] + [COUNT, *_states(measures)]
    columns = (*keys.columns, *(_hidden(part, measures) for part in parts[len(keys) :]))
    table = context.table(suffix, TableSpec(Schema(columns), tuple(range(len(keys)))))
    return GroupTable(table, parts, {})


def open_shown_groups(
    context: OpenContext,
    suffix: str,
    shown: Sequence[Part],
    schema: Schema,
    key: tuple[int, ...],
    calls: Sequence[AggregateCall],
    measures: Sequence[Measure],
) -> GroupTable:
    """A table that begins with the columns of `schema`, which are the parts `shown`."""
    same = _same(calls, measures)
    hidden = [part for part in (COUNT, *_states(measures)) if same.get(part, part) not in shown]
    same = {part: other for part, other in same.items() if part not in hidden}
    columns = (*schema.columns, *(_hidden(part, measures) for part in hidden))
    table = context.table(suffix, TableSpec(Schema(columns), key))
    return GroupTable(table, [*shown, *hidden], same)


def _same(calls: Sequence[AggregateCall], measures: Sequence[Measure]) -> dict[Part, Part]:
    """Parts that are a call's result as well."""
    same: dict[Part, Part] = {}
    for number, (call, measure) in enumerate(zip(calls, measures, strict=True)):
        result: Part = ("result", number, 0)
        if measure.result_at is not None:
            same["state", number, measure.result_at] = result
        if call.counts_rows:
            same[COUNT] = result
    return same


def _states(measures: Sequence[Measure]) -> list[Part]:
    return [("state", n, i) for n, measure in enumerate(measures) for i in range(len(measure.accumulators))]


def _hidden(part: Part, measures: Sequence[Measure]) -> Column:
    kind, number, accumulator = part
    if kind == "count":
        return Column("rows", INT8, False)
    return Column(f"state{number}_{accumulator}", measures[number].accumulators[accumulator])
