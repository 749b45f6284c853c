"""The window functions that are not aggregates, as the binder finds them, and their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..storage.errors import SqlError
from ..storage.types import FLOAT8, INT4, INT8, Type
from .batch import Int64Array
from .sorting import Ranking
from .window_frames import Range


class InvalidArgumentForNtile(SqlError, code="22014"): ...


class InvalidArgumentForNthValue(SqlError, code="22016"): ...


_ANY, _ALIKE = Type("anyelement"), Type("anycompatible")
TypeRule = Callable[[tuple[Type, ...]], Type]
Kernel = Callable[[Sequence[pa.Array], Ranking, Range], pa.Array]
"""(argument columns, ranking, frames), all in sorted order → result in sorted order."""


def _first(args: tuple[Type, ...]) -> Type:
    return args[0]


@dataclass(frozen=True)
class WindowFunction:
    """One overload. `anyelement` in `args` is any type, the same at each place; `anycompatible` one that all
    such arguments can become.

    `framed`: looks at its frame (first_value …); the others look at the whole partition.
    """

    name: str
    args: tuple[Type, ...]
    result: Type | TypeRule
    kernel: Kernel = field(compare=False, repr=False)
    framed: bool = False

    def result_type(self, args: tuple[Type, ...]) -> Type:
        return self.result if isinstance(self.result, Type) else self.result(args)


WINDOW_FUNCTIONS: dict[str, list[WindowFunction]] = {}


def _register(
    name: str, args: Sequence[Type], result: Type | TypeRule, framed: bool = False
) -> Callable[[Kernel], Kernel]:
    def register(kernel: Kernel) -> Kernel:
        WINDOW_FUNCTIONS.setdefault(name, []).append(
            WindowFunction(name, tuple(args), result, kernel, framed)
        )
        return kernel

    return register


def _positions(ranking: Ranking) -> Int64Array:
    return np.arange(len(ranking.order))


def _rank(ranking: Ranking) -> Int64Array:
    return ranking.peer_start - ranking.partition_start + 1


def _size(ranking: Ranking) -> Int64Array:
    return ranking.partition_end - ranking.partition_start


@_register("row_number", (), INT8)
def _row_number(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The number of the row in its partition, from 1."""
    return pa.array(_positions(ranking) - ranking.partition_start + 1)


@_register("rank", (), INT8)
def _rank_function(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The number of the first of the row's peers."""
    return pa.array(_rank(ranking))


@_register("dense_rank", (), INT8)
def _dense_rank(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The number of the row's group of peers, from 1."""
    group = np.cumsum(_positions(ranking) == ranking.peer_start)
    return pa.array(group - group[ranking.partition_start] + 1)


@_register("percent_rank", (), FLOAT8)
def _percent_rank(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """(rank − 1) / (rows of the partition − 1), 0 when it has one row."""
    return pa.array((_rank(ranking) - 1) / np.maximum(_size(ranking) - 1, 1))


@_register("cume_dist", (), FLOAT8)
def _cume_dist(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The share of the partition's rows up to the row's last peer."""
    return pa.array((ranking.peer_end - ranking.partition_start) / _size(ranking))


@_register("ntile", (INT4,), INT4)
def _ntile(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The bucket of the row when the partition is cut into so many.

    The number of buckets is that of the partition's first row, as in PostgreSQL.
    """
    given = args[0].take(pa.array(ranking.partition_start))
    missing = given.is_null().to_numpy(zero_copy_only=False)
    buckets = given.fill_null(1).to_numpy().astype(np.int64)
    if (buckets <= 0).any():
        raise InvalidArgumentForNtile("argument of ntile must be greater than zero")
    index, size = _positions(ranking) - ranking.partition_start, _size(ranking)
    small, larger = size // buckets, size % buckets
    edge = larger * (small + 1)
    late = larger + (index - edge) // np.maximum(small, 1)
    bucket = np.where(index < edge, index // (small + 1), late)
    return pa.array((bucket + 1).astype(np.int32), mask=missing if missing.any() else None)


def _shift(direction: int) -> Kernel:
    def kernel(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
        """The value some rows away, the default (NULL unless given) outside the partition."""
        steps, unknown = np.ones(len(ranking.order), np.int64), None
        if len(args) > 1:
            unknown = args[1].is_null().to_numpy(zero_copy_only=False)
            steps = args[1].fill_null(0).to_numpy().astype(np.int64)
        target = _positions(ranking) + direction * steps
        inside = (target >= ranking.partition_start) & (target < ranking.partition_end)
        default = args[2] if len(args) > 2 else pa.nulls(len(target), args[0].type)
        choice = np.where(inside, target, len(target) + _positions(ranking))
        indices = pa.array(choice, mask=unknown if unknown is not None and unknown.any() else None)
        return pa.concat_arrays([args[0], default]).take(indices)

    return kernel


for _name, _direction in (("lag", -1), ("lead", 1)):
    for _args in ((_ANY,), (_ANY, INT4), (_ALIKE, INT4, _ALIKE)):
        _register(_name, _args, _first)(_shift(_direction))


def _take(values: pa.Array, positions: Int64Array, inside: np.ndarray) -> pa.Array:
    return values.take(pa.array(positions, mask=None if inside.all() else ~inside))


@_register("first_value", (_ANY,), _first, True)
def _first_value(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The value at the first row of the frame."""
    return _take(args[0], frames[0], frames[1] > frames[0])


@_register("last_value", (_ANY,), _first, True)
def _last_value(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The value at the last row of the frame."""
    return _take(args[0], frames[1] - 1, frames[1] > frames[0])


@_register("nth_value", (_ANY, INT4), _first, True)
def _nth_value(args: Sequence[pa.Array], ranking: Ranking, frames: Range) -> pa.Array:
    """The value at that row of the frame, from 1; NULL when it has fewer."""
    known = args[1].is_valid().to_numpy(zero_copy_only=False)
    number = args[1].fill_null(1).to_numpy().astype(np.int64)
    if (number <= 0).any():
        raise InvalidArgumentForNthValue("argument of nth_value must be greater than zero")
    target = frames[0] + number - 1
    return _take(args[0], target, (target < frames[1]) & known)
