"""`Window`: window functions over partitions.

Derivation: a function of each partition, computed again for the touched ones (`recompute.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.types import Type
from .aggregate_calls import guarded
from .batch import truth
from .consolidate import consolidate
from .evaluate import evaluate_rows
from .expr import Expr
from .functions.aggregates import AggregateFunction
from .node import EpochContext, Node, OpenContext, Operator
from .recompute import open_recompute
from .sorting import SortKey, rank_rows
from .window_aggregate import aggregate_frames
from .window_frames import DEFAULT_FRAME, Bound, BoundKind, Frame, FrameUnit, Range, Sorted, frame_range
from .window_functions import WindowFunction
from .zset import ZSet

__all__ = ["DEFAULT_FRAME", "Bound", "BoundKind", "Frame", "FrameUnit", "Window", "WindowCall"]


@dataclass(frozen=True)
class WindowCall:
    """One call: a window function or an aggregate, its arguments and filter over the input row."""

    function: WindowFunction | AggregateFunction
    args: tuple[Expr, ...]
    type: Type
    name: str
    frame: Frame = DEFAULT_FRAME
    filter: Expr | None = None

    @property
    def column(self) -> Column:
        return Column(self.name, self.type)

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """What it needs of each input row: the arguments, then the filter if there is one."""
        args = tuple(guarded(arg, self.filter) for arg in self.args)
        return args if self.filter is None else (*args, self.filter)


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
        exprs = [expr for call in self.calls for expr in call.exprs]
        columns, rows = evaluate_rows(exprs, _single(inputs[0]), context, "Window")
        width = len(rows.columns)
        schema = Schema(rows.schema.columns + tuple(Column("", expr.type) for expr in exprs))
        wide = ZSet(schema, (*rows.columns, *columns), rows.weights)
        ranking = rank_rows(rows, self.partition, self.order, True)
        wide = wide.take(ranking.order)
        place, results = width, list[pa.Array]()
        work = Sorted(ZSet(rows.schema, wide.columns[:width], wide.weights), ranking, self.order, context)
        for call in self.calls:
            stop = place + len(call.exprs)
            results.append(_call(call, wide.columns[place:stop], work))
            place = stop
        return ZSet(self.schema, (*wide.columns[:width], *results), wide.weights)

    def open(self, context: OpenContext) -> Operator:
        def compute(rows: ZSet, epoch: EpochContext) -> ZSet:
            return consolidate(self.plain((rows,), epoch))

        return open_recompute(self, self.input, self.partition, compute, context)


def _single(rows: ZSet) -> ZSet:
    """Each row as often as its weight says, with weight 1."""
    if (rows.weights == 1).all():
        return rows
    repeated = rows.take(np.repeat(np.arange(len(rows)), np.maximum(rows.weights, 0)))
    return repeated.with_weights(np.ones(len(repeated), np.int64))


def _call(call: WindowCall, columns: Sequence[pa.Array], rows: Sorted) -> pa.Array:
    """The result of one call for each sorted row; `columns` are those of `call.exprs`."""
    if isinstance(call.function, WindowFunction):
        frames: Range = (rows.ranking.partition_start, rows.ranking.partition_end)
        if call.function.framed:
            frames = frame_range(call.frame, rows)
        return call.function.kernel(columns, rows.ranking, frames)
    passes = None if call.filter is None else truth(columns[-1])
    args = columns if call.filter is None else columns[:-1]
    types = tuple(arg.type for arg in call.args)
    frames = frame_range(call.frame, rows)
    return aggregate_frames(call.function, types, args, passes, frames, rows.context)
