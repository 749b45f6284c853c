"""`SortKey`, ORDER BY over whole columns, and the ranks of rows within partitions.

The order is that of the canonical key bytes (`keycode.py`), so NULL, NaN, numeric text and
intervals sort as PostgreSQL sorts them (strings by code point: the C collation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.keycode import encode_keys, encode_sort_keys
from ..storage.keys import Keys, group_ids
from ..storage.types import INT8
from .batch import Int64Array, group_rows
from .zset import ZSet


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY item: position of the column, and where its NULLs go.

    PostgreSQL's default is NULLS LAST ascending and NULLS FIRST descending; whoever builds the key
    resolves that default.
    """

    column: int
    descending: bool = False
    nulls_first: bool = False


def sort_keys(rows: ZSet, ids: Int64Array | None, order: Sequence[SortKey], total: bool) -> Keys:
    """Key bytes that order rows by partition number, then `order`, then (`total`) all columns."""
    items = list(order)
    if total:
        named = {key.column for key in order}
        items += [SortKey(i) for i in range(len(rows.columns)) if i not in named]
    columns = [rows.columns[key.column] for key in items]
    types = [rows.schema.types[key.column] for key in items]
    descending = [key.descending for key in items]
    nulls_first = [key.nulls_first for key in items]
    if ids is not None:
        columns, types = [pa.array(ids), *columns], [INT8, *types]
        descending, nulls_first = [False, *descending], [False, *nulls_first]
    return encode_sort_keys(columns, types, descending, nulls_first, len(rows))


def sort_rows(rows: ZSet, order: Sequence[SortKey]) -> ZSet:
    """The rows in order; rows that tie stay in the order they are in."""
    if len(rows) <= 1 or not order:
        return rows
    return rows.take(sort_keys(rows, None, order, False).sort_order())


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows sorted by partition and order, and of each sorted row:

    the first and the past-the-end row of its partition and of its peers (rows that tie with it).
    """

    order: Int64Array
    partition_start: Int64Array
    partition_end: Int64Array
    peer_start: Int64Array
    peer_end: Int64Array


def rank_rows(rows: ZSet, partition: Sequence[int], order: Sequence[SortKey], total: bool) -> Ranking:
    """Sorts rows by partition, then `order`, then (`total`) all their columns."""
    length = len(rows)
    ids = None
    if partition:
        columns, types = [rows.columns[i] for i in partition], [rows.schema.types[i] for i in partition]
        ids, _ = group_rows(columns, types, length)
    if length <= 1:
        positions = np.arange(length)
    else:
        positions = sort_keys(rows, ids, order, total).sort_order()
    sorted_ids = np.zeros(length, np.int64) if ids is None else ids[positions]
    starts = _run_heads(sorted_ids)
    peers = _peer_heads(rows, positions, order) | starts if order else starts
    return Ranking(positions, *_runs(starts), *_runs(peers))


def _peer_heads(rows: ZSet, positions: Int64Array, order: Sequence[SortKey]) -> np.ndarray:
    """Where, in sorted order, the values of the order columns change."""
    columns = [rows.columns[key.column] for key in order]
    types = [rows.schema.types[key.column] for key in order]
    if len(positions) <= 1:
        return np.ones(len(positions), np.bool_)
    ids, _ = group_ids(encode_keys(columns, types))
    return _run_heads(ids[positions])


def _run_heads(values: Int64Array) -> np.ndarray:
    """Where a value differs from the one before it."""
    heads = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=heads[1:])
    return heads


def _runs(heads: np.ndarray) -> tuple[Int64Array, Int64Array]:
    """(start, end) of the run that each row is in."""
    starts = np.flatnonzero(heads)
    ends = np.append(starts[1:], len(heads))
    run = np.cumsum(heads) - 1
    return starts[run], ends[run]
