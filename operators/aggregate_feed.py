"""`Feed`: what an aggregate call gets to see of a delta, shared by the calls with the same arguments.

min(v) and max(v) need the same bag of values, count(DISTINCT w) and sum(DISTINCT w) the same distinct
ones: it is kept once, and brought up to date once an epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.table import NumberedKeys, StateTable, TableSpec
from ..storage.together import beside, together, worthwhile
from ..storage.types import Type
from .aggregate_calls import AggregateCall, Groups, Rows, without_nulls
from .batch import Int64Array, truth
from .node import OpenContext


@dataclass(frozen=True, slots=True)
class Slots:
    """Where a call finds its columns among those computed for the whole node."""

    args: tuple[int, ...]
    filter: int | None
    order: tuple[int, ...] = ()

    def rows(self, columns: Sequence[pa.Array], weights: Int64Array, ids: Int64Array) -> Rows:
        """The rows that pass the call's filter."""
        rows = Rows([columns[i] for i in (*self.args, *self.order)], weights, ids)
        if self.filter is None:
            return rows
        return rows.take(np.flatnonzero(truth(columns[self.filter])))


class Kept(Protocol):
    """A table behind a feed."""

    @property
    def table(self) -> StateTable: ...

    def apply(self, rows: Rows, groups: Groups) -> Rows:
        """Takes in the rows of a delta; returns what the calls are to see."""
        ...


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows at `slots`, by way of a table if the calls need one."""

    slots: Slots
    kept: Kept | None
    as_they_come: bool = False
    """Whether its calls find out from any rows what has become of a group, also from those that cancel."""

    def rows(self, columns: Sequence[pa.Array], weights: Int64Array, ids: Int64Array, groups: Groups) -> Rows:
        rows = self.slots.rows(columns, weights, ids)
        return rows if self.kept is None else self.kept.apply(rows, groups)


def feed_all(
    feeds: Sequence[Feed], columns: Sequence[pa.Array], weights: Int64Array, groups: Groups
) -> list[Rows]:
    """The `rows` of each feed. Tables in memory take in a large delta side by side."""
    works = [partial(feed.rows, columns, weights, groups.ids, groups) for feed in feeds]
    kept = [feed.kept.table for feed in feeds if feed.kept is not None]
    if not worthwhile(len(weights)) or not all(table.complete for table in kept):
        return [work() for work in works]
    for table in kept:
        table.open_epoch()  # In this order, so that what an epoch writes is always the same.
    begun: dict[int, Rows] = {}
    for number, feed in enumerate(feeds):
        if feed.as_they_come and isinstance(feed.kept, GroupValues):
            begun[number] = feed.kept.begin(feed.slots.rows(columns, weights, groups.ids), groups)
    done = iter(together([work for i, work in enumerate(works) if i not in begun], len(weights)))
    return [begun[i] if i in begun else next(done) for i in range(len(feeds))]


def settle_all(feeds: Sequence[Feed]) -> None:
    """Returns when all tables have taken in what they were given. Raises what went wrong there first."""
    failed: Exception | None = None
    for feed in feeds:
        if isinstance(feed.kept, GroupValues):
            try:
                feed.kept.settle()
            except Exception as error:
                failed = failed or error
    if failed is not None:
        raise failed


@dataclass(slots=True)
class GroupValues:
    """The bag of values of each group: group columns, then value columns.

    It may take in a delta (`begin`) while others go on with the same; who needs the values waits (`settle`).
    """

    table: StateTable
    width: int
    """Number of group columns."""
    call: AggregateCall
    """One of those fed: they agree about NULLs."""
    storing: Future[Rows] | None = None
    """A delta on its way into the table."""

    def apply(self, rows: Rows, groups: Groups) -> Rows:
        """Takes in a delta. Returns it consolidated, without the NULLs that the calls skip."""
        return self._take_in(without_nulls(self.call, rows), groups)

    def begin(self, rows: Rows, groups: Groups) -> Rows:
        """Begins to take in a delta, beside the caller. Returns it without the NULLs that the calls skip."""
        rows = without_nulls(self.call, rows)
        self.storing = beside(partial(self._take_in, rows, groups), len(rows.weights))
        return rows

    def settle(self) -> None:
        """Returns when nothing is on its way any longer. Raises what went wrong."""
        storing, self.storing = self.storing, None
        if storing is not None:
            _ = storing.result()

    def _take_in(self, rows: Rows, groups: Groups) -> Rows:
        keys = None
        if rows.ids is groups.ids:  # So every group has a value.
            keys = NumberedKeys(groups.keys, groups.count, groups.ids)
        found = self.table.integrate([*groups.keys_of(rows), *rows.columns], rows.weights, keys)
        return _chosen(rows, found.places, found.net)

    def of(self, keys: Sequence[pa.Array], count: int) -> Rows:
        """All values of the groups with these keys, numbered 0 … count−1."""
        self.settle()
        ids, positions = self.table.matches(0, keys, True, count)
        columns = range(self.width, len(self.table.spec.schema))
        return Rows(self.table.take(positions, columns), self.table.weights(positions), ids)


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """How often each value of a group is there: group columns, then value columns."""

    table: StateTable

    def apply(self, rows: Rows, groups: Groups) -> Rows:
        """+1 for each value that comes to be in its group, −1 for each that ceases."""
        found = self.table.integrate([*groups.keys_of(rows), *rows.columns], rows.weights)
        return _chosen(rows, found.places, found.came_and_went)


def _chosen(rows: Rows, places: Int64Array, weights: Int64Array) -> Rows:
    """The rows at `places`, with other weights, unless they are 0."""
    if len(places) == len(rows.weights) and weights.all():
        return replace(rows, weights=weights)
    kept = np.flatnonzero(weights)
    return replace(rows.take(places[kept]), weights=weights[kept])


def open_distinct(context: OpenContext, name: str, keys: Schema, types: Sequence[Type]) -> DistinctValues:
    """The distinct values of a call; `name` is that of their table."""
    return DistinctValues(context.table(name, TableSpec(_value_schema(keys, types), None)))


def open_values(
    context: OpenContext, name: str, keys: Schema, types: Sequence[Type], call: AggregateCall
) -> GroupValues:
    """The values of a call, found by their group; `name` is that of their table."""
    spec = TableSpec(_value_schema(keys, types), None, (tuple(range(len(keys))),))
    return GroupValues(context.table(name, spec), len(keys), call)


def _value_schema(keys: Schema, columns: Sequence[Type]) -> Schema:
    """Group columns followed by value columns."""
    values = tuple(Column(f"value{i}", type_) for i, type_ in enumerate(columns))
    return Schema(keys.columns + values)
