"""Aggregates over frames.

A frame of m rows is the union of at most log2 m blocks of 2^k consecutive rows, one a bit of m. Block
states come from merging neighbours (doubling), so n frames of any shape take O(n log n) merges and no
inverse: it serves sums and extremes alike. This is the disjoint form of the sparse table (Bender and
Farach-Colton 2000, "The LCA problem revisited", section 3). Aggregates over an ordered list get the rows
of every frame written out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ..storage.types import Type
from .batch import BoolArray, Int64Array, gather, poll
from .functions.aggregates import AggregateFunction
from .node import EpochContext
from .window_frames import Range

LIST_ROWS_MAX = 1 << 20
"""Frame rows written out at once, in rows."""


def aggregate_frames(
    function: AggregateFunction,
    types: tuple[Type, ...],
    args: Sequence[pa.Array],
    passes: BoolArray | None,
    frames: Range,
    context: EpochContext,
) -> pa.Array:
    """The aggregate of each row's frame; `passes` says which rows its FILTER lets in."""
    if function.kind == "linear" or function.monotone:
        return _by_blocks(function, types, args, passes, frames, context)
    return _by_lists(function, types, args, passes, frames, context)


def _by_blocks(
    function: AggregateFunction,
    types: tuple[Type, ...],
    args: Sequence[pa.Array],
    passes: BoolArray | None,
    frames: Range,
    context: EpochContext,
) -> pa.Array:
    cursor, length = frames[0].copy(), frames[1] - frames[0]
    count = len(length)
    weights = np.ones(count, np.int64) if passes is None else passes.astype(np.int64)
    blocks = function.partial(args, weights, np.arange(count), count, types)
    nothing = [column.slice(0, 0) for column in args]
    none = np.empty(0, np.int64)
    state = function.partial(nothing, none, none, count, types)
    size = 1
    while size <= int(length.max(initial=0)):
        poll(context)
        using = np.flatnonzero(length & size)
        if len(using):
            part = function.merge(gather(state, using), gather(blocks, cursor[using]), types)
            state = [_replaced(a, using, b) for a, b in zip(state, part, strict=True)]
            cursor[using] += size
        whole = count - size
        if whole > 0:
            near = [column.slice(0, whole) for column in blocks]
            merged = function.merge(near, [column.slice(size, whole) for column in blocks], types)
            blocks = [pa.concat_arrays([a, b.slice(whole)]) for a, b in zip(merged, blocks, strict=True)]
        size *= 2
    return function.finish(state, types)


def _replaced(array: pa.Array, positions: Int64Array, values: pa.Array) -> pa.Array:
    if len(positions) == len(array):
        return values
    indices = np.arange(len(array))
    indices[positions] = len(array) + np.arange(len(positions))
    return pa.concat_arrays([array, values]).take(pa.array(indices))


def _by_lists(
    function: AggregateFunction,
    types: tuple[Type, ...],
    args: Sequence[pa.Array],
    passes: BoolArray | None,
    frames: Range,
    context: EpochContext,
) -> pa.Array:
    keep = np.ones(len(frames[0]), np.bool_) if passes is None else passes.copy()
    if function.skips_null and args:
        keep &= args[function.value_argument].is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(keep)
    before = np.concatenate([[0], np.cumsum(keep)])
    start, end = before[frames[0]], before[frames[1]]
    total = np.cumsum(end - start)
    parts, first = list[pa.Array](), 0
    while first < len(start):
        poll(context)
        done = int(total[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(total, done + LIST_ROWS_MAX, "right")))
        parts.append(_some_lists(function, types, args, rows, (start[first:last], end[first:last])))
        first = last
    return pa.concat_arrays(parts) if parts else function.whole(args, start, np.zeros(1, np.int64), types)


def _some_lists(
    function: AggregateFunction,
    types: tuple[Type, ...],
    args: Sequence[pa.Array],
    rows: Int64Array,
    frames: Range,
) -> pa.Array:
    """The function over the written-out rows of some frames (positions in `rows`)."""
    counts = frames[1] - frames[0]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = np.arange(offsets[-1]) + np.repeat(frames[0] - offsets[:-1], counts)
    return function.whole(gather(args, rows[places]), np.ones(len(places), np.int64), offsets, types)
