"""`TopN` with a limit at work: the head of each partition is kept, the rest only stored.

Derivation: with `need` = offset + limit, a partition's output depends on its first `need` rows. A table
keeps a *head*: the first rows of the partition in its total order, at least `need` of them unless it is
all there is. A row that comes matters if it sorts before the end of the head; a row that goes, if it is
in it. When deletions leave the head short of `need` while there are more rows, it is taken again from
the stored rows of that partition, with as many rows to spare as deletions can then use up: a refill
of n rows is paid for by the deletions since the last one (as the top-k view of Yi et al. 2003,
"Efficient maintenance of materialized top-k views", section 3, does with a varying k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.looks import looks
from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from .batch import Int64Array, gather, group_rows, sum_by
from .consolidate import consolidate, consolidate_alike
from .functions.exact_sums import from_decimal
from .node import EpochContext, Node, OpenContext
from .sorting import SortKey, sort_keys
from .zset import ZSet, concat

SPARE_MIN = 8
"""Rows a head is given at least beyond `need` when it is filled. More where they pay: `need` again, or in
a big partition a quarter of the root of its size (an epoch sorts the head, a refill sorts the partition)."""

SIFTED_ROWS_MIN = 64
"""Rows of a delta from which on those that cannot matter are left out before the rest is sorted."""

Numbered = tuple[ZSet, Int64Array]
"""Rows and the number of the partition of each."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Old heads and a delta in one: in sorted order each row's partition, and weight before and after."""

    rows: ZSet
    order: Int64Array
    ids: Int64Array
    old: Int64Array
    new: Int64Array

    def rows_of(self, weights: Int64Array) -> ZSet:
        """Rows with these weights (in sorted order), without those of weight 0."""
        kept = np.flatnonzero(weights)
        return self.rows.take(self.order[kept]).with_weights(weights[kept])

    def head(self) -> Numbered:
        """The heads after."""
        kept = np.flatnonzero(self.new)
        return self.rows.take(self.order[kept]).with_weights(self.new[kept]), self.ids[kept]


@dataclass(slots=True)
class TopHead:
    """The running top-N: beside all rows, each partition's first ones are kept in order."""

    schema: Schema
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    offset: int
    need: int
    """Rows of a partition that its output depends on: offset + limit."""
    rows: StateTable
    head: StateTable
    sizes: StateTable
    exact: bool
    """Whether deltas have each row once, as `Node.exact` says."""

    def spare(self, total: Int64Array) -> Int64Array:
        """Rows beyond `need` that the head of a partition of `total` rows is given."""
        return np.maximum(max(self.need, SPARE_MIN), np.sqrt(np.maximum(total, 0)).astype(np.int64) // 4)

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        delta = deltas[0] if self.exact else self._consolidated(deltas[0])
        if not len(delta):
            return ZSet.empty(self.schema)
        columns = [delta.columns[i] for i in self.partition]
        ids, first = group_rows(columns, [self.schema.types[i] for i in self.partition], len(delta))
        keys, count = gather(columns, first), len(first)
        old = self._content(self.head, keys, count)
        before, after = self._resize(keys, sum_by(ids, delta.weights, count))
        self.rows.apply(delta.columns, delta.weights, exact=self.exact)
        whole = sum_by(old[1], old[0].weights, count) == before
        near = self._near(old, (delta, ids), whole)
        if not len(near[1]):
            return ZSet.empty(self.schema)
        merged = self._merged(old, near, whole)
        size = sum_by(merged.ids, merged.new, count)
        if (size > self.need + 2 * self.spare(after)).any() or ((size < self.need) & (size < after)).any():
            return self._refitted(old, merged.head(), keys, after)
        change = merged.rows_of(merged.new - merged.old)
        if len(change):
            self.head.apply(change.columns, change.weights)
        return merged.rows_of(self._shown(merged.new, merged.ids) - self._shown(merged.old, merged.ids))

    def _shown(self, weights: Int64Array, ids: Int64Array) -> Int64Array:
        """How much of each row comes out, of rows sorted by partition and order."""
        if not len(weights):
            return weights
        before = np.cumsum(weights) - weights
        start = before - before[np.searchsorted(ids, ids, "left")]
        end = np.minimum(start + weights, self.need)
        return np.maximum(end - np.maximum(start, self.offset), 0)

    def _refitted(self, old: Numbered, head: Numbered, keys: list[pa.Array], total: Int64Array) -> ZSet:
        """The step of heads that must be filled up or cut."""
        new = self._refit(head, keys, total)
        change = self._consolidated(concat(self.schema, (old[0].negate(), new[0])))
        self.head.apply(change.columns, change.weights)
        shown = [self._visible(old).negate(), self._visible(new)]
        return self._consolidated(concat(self.schema, shown))

    def _consolidated(self, delta: ZSet) -> ZSet:
        """Rows that have a key differ also by what they look like."""
        return consolidate(delta) if self.rows.spec.bag else consolidate_alike(delta)

    def _visible(self, head: Numbered) -> ZSet:
        """The rows of a head that come out."""
        rows, ids = head
        order = sort_keys(rows, ids, self.order, True).sort_order()
        shown = self._shown(rows.weights[order], ids[order])
        kept = np.flatnonzero(shown)
        return rows.take(order[kept]).with_weights(shown[kept])

    def _content(self, table: StateTable, keys: list[pa.Array], count: int) -> Numbered:
        """The stored rows of some partitions."""
        ids, positions = table.matches(0, keys, True, count)
        return ZSet(self.schema, tuple(table.take(positions)), table.weights(positions)), ids

    def _resize(self, keys: list[pa.Array], change: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Notes the new sizes of partitions; returns the old and the new ones."""
        count = len(change)
        positions = self.sizes.lookup(keys, count)
        (sizes,) = self.sizes.take(positions, (len(keys),))
        before = np.array(sizes.fill_null(0), np.int64)
        after = before + change
        kept = np.flatnonzero(after)
        if len(kept):
            self.sizes.upsert([*gather(keys, kept), pa.array(after[kept])])
        gone = positions[(after == 0) & (positions >= 0)]
        if len(gone):
            self.sizes.delete(gone)
        return before, after

    def _near(self, old: Numbered, delta: Numbered, whole: np.ndarray) -> Numbered:
        """The delta without rows whose first value alone says that they sort behind the head's end."""
        if len(delta[1]) <= SIFTED_ROWS_MIN or not self.order:
            return delta
        leading = self.order[0]
        held, given = (ranks(rows.columns[leading.column], leading) for rows in (old[0], delta[0]))
        if held is None or given is None:
            return delta
        end = np.full(len(whole), _lowest(given.dtype), given.dtype)
        np.maximum.at(end, old[1], held)
        kept = np.flatnonzero((given <= end[delta[1]]) | whole[delta[1]])
        return delta[0].take(kept), delta[1][kept]

    def _merged(self, old: Numbered, delta: Numbered, whole: np.ndarray) -> Merged:
        """The head with the delta taken in, up to where it ended before (all of it where `whole`)."""
        rows = concat(self.schema, (old[0], delta[0]))
        ids, held = np.concatenate([old[1], delta[1]]), len(old[1])
        order = sort_keys(rows, ids, self.order, True).sort_order()
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        end = np.full(len(whole), -1, np.int64)
        np.maximum.at(end, old[1], places[:held])
        end[whole] = len(order)
        # Of equal rows the first stands for all: a row of the head, if one of them is.
        columns, types = rows.columns, self.schema.types
        if not self.rows.spec.bag:
            columns, types = looks(columns, types)
        same, first = group_rows(columns, types, len(rows))
        before, after = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        before[:held] = old[0].weights
        after[first] = np.maximum(sum_by(same, rows.weights, len(first)), 0)
        after[places > end[ids]] = 0
        return Merged(rows, order, ids[order], before[order], after[order])

    def _refit(self, head: Numbered, keys: list[pa.Array], total: Int64Array) -> Numbered:
        """The head with short partitions filled up from the stored rows and long ones cut."""
        size = sum_by(head[1], head[0].weights, len(total))
        short = np.flatnonzero((size < self.need) & (size < total))
        if len(short):
            rows, ids = self._content(self.rows, gather(keys, short), len(short))
            others = ~np.isin(head[1], short)
            rows = concat(self.schema, (head[0].filter(others), rows))
            head = (rows, np.concatenate([head[1][others], short[ids]]))
        return self._cut(head, self.need + self.spare(total))

    def _cut(self, head: Numbered, keep: Int64Array) -> Numbered:
        """The first `keep` rows of each partition (a row with its whole weight)."""
        rows, ids = head
        order = sort_keys(rows, ids, self.order, True).sort_order()
        weights, sorted_ids = rows.weights[order], ids[order]
        before = np.cumsum(weights) - weights
        starts = np.searchsorted(sorted_ids, sorted_ids, "left")
        kept = order[before - before[starts] < keep[sorted_ids]]
        return rows.take(kept), ids[kept]


def ranks(column: pa.Array, key: SortKey) -> np.ndarray | None:
    """Numbers that ascend as the values do in the order of `key`; None if there are none at hand."""
    if column.null_count:
        return None
    if pa.types.is_decimal128(column.type):
        low, high = from_decimal(column)
        found = np.ascontiguousarray(low).view(np.int64)
        if (high != found >> 63).any():
            return None
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        found = column.to_numpy()
        if found.dtype.kind == "f" and np.isnan(found).any():
            return None
    else:
        return None
    if not key.descending:
        return found
    return -found if found.dtype.kind == "f" else ~found


def _lowest(dtype: np.dtype) -> float | int:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def open_head(
    input_: Node,
    partition: tuple[int, ...],
    order: tuple[SortKey, ...],
    offset: int,
    limit: int,
    context: OpenContext,
) -> TopHead:
    """The heads of the partitions of `input_`."""
    schema = input_.schema
    spec = TableSpec(schema, input_.key, (partition,))
    sizes = Schema((*schema.select(partition).columns, Column("rows", INT8, False)))
    return TopHead(
        schema,
        partition,
        order,
        offset,
        offset + limit,
        context.table("rows", spec),
        context.table("head", spec),
        context.table("sizes", TableSpec(sizes, tuple(range(len(partition))))),
        input_.exact,
    )
