"""`Window`: window functions over partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ..storage.schema import Column, Schema
from ..storage.types import Type
from .expr import Expr
from .node import EpochContext, Node, OpenContext, Operator
from .sorting import SortKey
from .window_functions import WindowFunction
from .zset import ZSet

if TYPE_CHECKING:
    from .functions.aggregates import AggregateFunction


class FrameUnit(Enum):
    ROWS = "rows"
    RANGE = "range"
    GROUPS = "groups"


class BoundKind(Enum):
    UNBOUNDED_PRECEDING = "unbounded preceding"
    PRECEDING = "preceding"
    CURRENT_ROW = "current row"
    FOLLOWING = "following"
    UNBOUNDED_FOLLOWING = "unbounded following"


@dataclass(frozen=True)
class Bound:
    """An end of a frame. `offset` goes with PRECEDING and FOLLOWING: a constant (rows or peer groups
    as int8; for RANGE what is added to or taken from the order column)."""

    kind: BoundKind
    offset: Expr | None = None


@dataclass(frozen=True)
class Frame:
    """Which rows of the partition a row's call sees; the default is SQL's."""

    unit: FrameUnit = FrameUnit.RANGE
    start: Bound = Bound(BoundKind.UNBOUNDED_PRECEDING)
    end: Bound = Bound(BoundKind.CURRENT_ROW)


@dataclass(frozen=True)
class WindowCall:
    """One call: a window function or an aggregate, its arguments and filter over the input row."""

    function: WindowFunction | AggregateFunction
    args: tuple[Expr, ...]
    type: Type
    name: str
    frame: Frame = Frame()
    filter: Expr | None = None

    @property
    def column(self) -> Column:
        return Column(self.name, self.type)


@dataclass(frozen=True)
class Window(Node):
    """Each input row, then the values of `calls` over its partition in `order`.

    All calls share partition and order (one Window node per distinct OVER clause). Rows that tie in
    `order` are told apart by all their columns where a function must (row_number, lag …).
    """

    input: Node
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[WindowCall, ...]

    @property
    def schema(self) -> Schema:
        return Schema(self.input.schema.columns + tuple(call.column for call in self.calls))

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.input.key

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
