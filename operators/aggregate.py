"""`Aggregate`: GROUP BY with aggregate functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..storage.schema import Column, Schema
from ..storage.types import Type
from .expr import Expr
from .node import EpochContext, Node, OpenContext, Operator
from .shape import computed_columns
from .sorting import SortKey
from .zset import ZSet

if TYPE_CHECKING:
    from .functions.aggregates import AggregateFunction


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


@dataclass(frozen=True)
class Aggregate(Node):
    """One row per group: the values of `groups`, then of `calls`; `names` are those of the groups.

    Without groups exactly one row, also over no input at all. NULL is a group like another.
    """

    input: Node
    groups: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        groups = computed_columns(self.groups, self.names, self.input.schema)
        return Schema(groups + tuple(call.column for call in self.calls))

    @property
    def key(self) -> tuple[int, ...] | None:
        return tuple(range(len(self.groups)))

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
