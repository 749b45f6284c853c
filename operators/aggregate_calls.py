"""`AggregateCall`, `Measure`: a call at work, and the rows and groups it works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..storage.columns import GrowingColumn
from ..storage.schema import Column
from ..storage.types import INT8, Type
from .batch import NO_POSITIONS, Int64Array, gather, group_rows, sum_by
from .expr import Case, ColumnRef, Expr, Literal
from .functions.aggregates import AggregateFunction
from .sorting import SortKey


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate: `function(DISTINCT args ORDER BY order) FILTER (WHERE filter)`.

    `args` and `filter` are over the input row, `order` names columns of the input row. `type` is the
    result type for these argument types.
    """

    function: AggregateFunction
    args: tuple[Expr, ...]
    type: Type
    name: str
    distinct: bool = False
    filter: Expr | None = None
    order: tuple[SortKey, ...] = ()

    @property
    def column(self) -> Column:
        return Column(self.name, self.type, self.function.name != "count")

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the arguments."""
        return tuple(arg.type for arg in self.args)

    @property
    def counts_rows(self) -> bool:
        """Whether it is count(*)."""
        return self.function.name == "count" and not self.args and not self.distinct and self.filter is None

    @property
    def guarded_args(self) -> tuple[Expr, ...]:
        """The arguments, computed only on rows that pass the filter."""
        return tuple(guarded(arg, self.filter) for arg in self.args)


def guarded(arg: Expr, condition: Expr | None) -> Expr:
    """`arg`, computed only on rows where `condition` is true, so that it cannot fail on others."""
    if condition is None or isinstance(arg, ColumnRef | Literal):
        return arg
    return Case((condition,), (arg,), Literal(None, arg.type), arg.type)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows given to a call: argument columns (then order columns), weights, and group numbers."""

    columns: list[pa.Array]
    weights: Int64Array
    ids: Int64Array

    def take(self, positions: Int64Array) -> Rows:
        return Rows(gather(self.columns, positions), self.weights[positions], self.ids[positions])

    def consolidated(self, types: Sequence[Type]) -> Rows:
        """Equal rows of one group merged, rows of weight 0 left out. `types` are those of `columns`."""
        if len(self.weights) == 1 and self.weights[0]:
            return self
        numbered = [pa.array(self.ids), *self.columns]
        ids, first = group_rows(numbered, (INT8, *types), len(self.weights))
        weights = sum_by(ids, self.weights, len(first))
        kept = np.flatnonzero(weights)
        return replace(self.take(first[kept]), weights=weights[kept])


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups a delta touches. The first `known` of them have a row in the operator's table."""

    keys: list[pa.Array]
    count: int
    known: int
    ids: Int64Array = field(default_factory=lambda: NO_POSITIONS)
    """The group of each row of the delta."""
    row_keys: Sequence[pa.Array] = ()
    """The key of each row of the delta."""

    def keys_of(self, rows: Rows) -> Sequence[pa.Array]:
        """The group's key for each of some rows of the delta."""
        return self.row_keys if rows.ids is self.ids else gather(self.keys, rows.ids)


class Measure(Protocol):
    """A call at work: `accumulators` is its part of the group's row."""

    call: AggregateCall
    types: tuple[Type, ...]
    accumulators: tuple[Type, ...]

    @property
    def result_at(self) -> int | None:
        """The accumulator that is the result itself, if one is."""
        ...

    @property
    def total(self) -> bool:
        """Whether `finish` cannot fail."""
        ...

    def update(self, rows: Rows, groups: Groups, old: list[pa.Array]) -> list[pa.Array]:
        """The new state of every group; `old` has the `known` groups' old state.

        `rows` are what the call's feed shows it.
        """
        ...

    @property
    def writes(self) -> bool:
        """Whether there is `write`."""
        ...

    def write(
        self, rows: Rows, groups: Groups, positions: Int64Array, start: int, states: Sequence[GrowingColumn]
    ) -> int | None:
        """`update` in place: from the rows at `positions` of `states`, −1: none, to those from `start` on.

        Returns the least of their first accumulators (1 if the state is the result itself), or None if
        `update` must do it.
        """
        ...

    def finish(self, state: Sequence[pa.Array]) -> pa.Array:
        """The call's result for each state."""
        ...

    def whole(self, rows: Rows, groups: int) -> pa.Array:
        """The results over all rows there are."""
        ...


def without_nulls(call: AggregateCall, rows: Rows) -> Rows:
    """The rows whose value is not NULL, if the function skips NULLs."""
    if not call.function.skips_null or not rows.columns:
        return rows
    value = rows.columns[call.function.value_argument]
    if not value.null_count:
        return rows
    return rows.take(np.flatnonzero(value.is_valid().to_numpy(zero_copy_only=False)))
