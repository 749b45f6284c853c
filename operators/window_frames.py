"""Which rows of its partition each row's call sees: frames as ranges of sorted positions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa

from ..storage.errors import FeatureNotSupported, InvalidParameterValue, NullNotAllowed
from ..storage.keycode import encode_sort_keys
from ..storage.types import INT2, INT8, Type
from .batch import BoolArray, Int64Array
from .evaluate import evaluate
from .expr import Call, Cast, ColumnRef, Expr, Literal
from .functions.registry import SCALARS, ScalarFunction
from .node import EpochContext
from .sorting import Ranking, SortKey
from .zset import ZSet


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


DEFAULT_FRAME = Frame()

Range = tuple[Int64Array, Int64Array]
"""First and past-the-end sorted position of each row's frame; never end < start."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Partitions at work: rows in sorted order (each with weight 1) and their ranking."""

    rows: ZSet
    ranking: Ranking
    order: tuple[SortKey, ...]
    context: EpochContext


def frame_range(frame: Frame, rows: Sorted) -> Range:
    """The frame of each sorted row."""
    ranking = rows.ranking
    start = _edge(frame.unit, frame.start, rows, False)
    end = _edge(frame.unit, frame.end, rows, True)
    start = np.clip(start, ranking.partition_start, ranking.partition_end)
    end = np.clip(end, ranking.partition_start, ranking.partition_end)
    return start, np.maximum(start, end)


def _edge(unit: FrameUnit, bound: Bound, rows: Sorted, is_end: bool) -> Int64Array:
    """The position of one end, not yet clipped to the partition."""
    ranking = rows.ranking
    if bound.kind is BoundKind.UNBOUNDED_PRECEDING:
        return ranking.partition_start
    if bound.kind is BoundKind.UNBOUNDED_FOLLOWING:
        return ranking.partition_end
    if bound.kind is BoundKind.CURRENT_ROW:
        if unit is FrameUnit.ROWS:
            return np.arange(len(ranking.order)) + is_end
        return ranking.peer_end if is_end else ranking.peer_start
    following = bound.kind is BoundKind.FOLLOWING
    if unit is FrameUnit.RANGE:
        return _value_edge(bound, rows, is_end, following)
    steps = _count(bound, is_end) * (1 if following else -1)
    if unit is FrameUnit.ROWS:
        return np.arange(len(ranking.order)) + steps + is_end
    return _group_edge(ranking, steps, is_end)


def _count(bound: Bound, is_end: bool) -> int:
    """The constant number of rows or groups."""
    place = "ending" if is_end else "starting"
    assert isinstance(bound.offset, Literal)
    value = bound.offset.value
    if value is None:
        raise NullNotAllowed(f"frame {place} offset must not be null")
    assert isinstance(value, int)
    if value < 0:
        raise InvalidParameterValue(f"frame {place} offset must not be negative")
    return min(value, 1 << 60)


def _group_edge(ranking: Ranking, steps: int, is_end: bool) -> Int64Array:
    """The edge `steps` peer groups away."""
    positions = np.arange(len(ranking.order))
    heads = positions == ranking.peer_start
    group = np.cumsum(heads) - 1
    starts = np.append(positions[heads], len(positions))
    target = group + steps
    inside = np.clip(target + is_end, 0, len(starts) - 1)
    return np.where(target + is_end < 0, 0, starts[inside])


def _value_edge(bound: Bound, rows: Sorted, is_end: bool, following: bool) -> Int64Array:
    """The edge at a distance in the value of the only order column; NULLs are peers of NULLs only."""
    (key,) = rows.order
    type_ = rows.rows.schema.types[key.column]
    symbol = "+" if following != key.descending else "-"
    column, targets, type_ = _shifted(ColumnRef(key.column, type_), symbol, bound, rows)
    positions = _search(column, targets, type_, key, rows.ranking, is_end)
    if column.null_count:
        null: BoolArray = column.is_null().to_numpy(zero_copy_only=False)
        peers = rows.ranking.peer_end if is_end else rows.ranking.peer_start
        positions = np.where(null, peers, positions)
    return positions


def _shifted(column: ColumnRef, symbol: str, bound: Bound, rows: Sorted) -> tuple[pa.Array, pa.Array, Type]:
    """(order column, the same plus or minus the offset, their type)."""
    assert bound.offset is not None
    left, offset = _wide(column), _wide(bound.offset)
    function = _arithmetic(symbol, left.type, offset.type)
    type_ = function.result_type((left.type, offset.type))
    moved = Call(function, (left, offset), type_)
    same = left if left.type == type_ else Cast(left, type_)
    columns, length = rows.rows.columns, len(rows.rows)
    return (
        evaluate(same, columns, length, rows.context),
        evaluate(moved, columns, length, rows.context),
        type_,
    )


def _wide(expr: Expr) -> Expr:
    """Small integers as int8, so that a distance does not overflow."""
    return Cast(expr, INT8) if expr.type.name in ("int2", "int4") else expr


def _arithmetic(symbol: str, left: Type, right: Type) -> ScalarFunction:
    for function in SCALARS.get(symbol, []):
        if tuple(arg.name for arg in function.args) == (left.name, right.name):
            return function
    raise FeatureNotSupported(
        f"RANGE with offset PRECEDING/FOLLOWING is not supported for column type {left.bare()}"
        f" and offset type {right.bare()}"
    )


def _search(
    column: pa.Array, targets: pa.Array, type_: Type, key: SortKey, ranking: Ranking, is_end: bool
) -> Int64Array:
    """How many sorted rows come before each target within or before its row's partition.

    A row equal to the target counts for an end and not for a start.
    """
    length = len(column)
    partition = np.cumsum(ranking.partition_start == np.arange(length))
    is_row = np.repeat([True, False], length)
    tag = pa.array((is_row != is_end).astype(np.int16))
    columns = [pa.array(np.tile(partition, 2)), pa.concat_arrays([column, targets]), tag]
    descending, nulls_first = (False, key.descending, False), (False, key.nulls_first, False)
    keys = encode_sort_keys(columns, (INT8, type_, INT2), descending, nulls_first, 2 * length)
    order = keys.sort_order()
    before = np.cumsum(is_row[order])
    places = np.empty(2 * length, np.int64)
    places[order] = before
    return places[length:]
