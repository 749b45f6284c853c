"""`TopN`: ORDER BY … LIMIT … OFFSET, of the whole input or of each partition.

The incremental form with a limit (`topn_head.py`) keeps the head of each partition, so that a change far
down the order costs nothing. Without one, or with ties, touched partitions are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..storage.schema import Schema
from .batch import Int64Array
from .node import EpochContext, Node, OpenContext, Operator
from .pieces import collect, reduced
from .recompute import open_recompute
from .sorting import Ranking, SortKey, rank_rows, sort_rows
from .topn_head import open_head
from .zset import ZSet


@dataclass(frozen=True)
class TopN(Node):
    """Per partition the rows ranked offset+1 … offset+limit by `order`.

    `limit` None: no limit. `ties`: also the rows that tie with the last one (WITH TIES). Rows that
    tie in `order` are ranked by all their columns, so the result depends on the input only.
    The plain form returns its rows in order; a ZSet in a dataflow has no order.
    """

    input: Node
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    ties: bool = False

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        if self.limit == 1 and not self.ties:
            return self.partition
        return self.input.key

    @property
    def append_only(self) -> bool:
        return self.sorts_only and self.input.append_only

    @property
    def sorts_only(self) -> bool:
        """Whether all rows come out."""
        return self.limit is None and self.offset == 0

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        rows = inputs[0]
        if self.sorts_only:
            keys = tuple(SortKey(column) for column in self.partition)
            return sort_rows(rows, (*keys, *self.order))
        if self.limit == 0:
            return ZSet.empty(rows.schema)
        return self.head(self._candidates(rows))

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        yield self.plain((collect(self, self._sifted(inputs[0], context)),), context)

    def _sifted(self, pieces: Iterator[ZSet], context: EpochContext) -> Iterator[ZSet]:
        """Rows among which are those that come out; no more are asked for than it takes."""
        if self.limit is None:
            yield from pieces
            return
        last = self.limit + self.offset
        if not self.order and not self.partition and not self.ties:
            yield from _enough(pieces, last)
            return
        first = replace(self, limit=last, offset=0)
        yield from reduced(pieces, lambda rows: first.plain((rows,), context), context)

    def _candidates(self, rows: ZSet) -> ZSet:
        """Without the rows that cannot come out, whatever order ties are given."""
        if self.limit is None or len(rows) <= self.limit + self.offset or not self.order:
            return rows
        ranking = rank_rows(rows, self.partition, self.order, False)
        before = _weight_before(rows, ranking)
        ahead = before[ranking.peer_start] - before[ranking.partition_start]
        return rows.take(ranking.order[ahead < self.limit + self.offset])

    def head(self, rows: ZSet) -> ZSet:
        """The rows that come out, in order, with the weight that does."""
        ranking = rank_rows(rows, self.partition, self.order, True)
        before = _weight_before(rows, ranking)
        base = before[ranking.partition_start]
        start, end = before[:-1] - base, before[1:] - base
        shown = end - np.maximum(start, self.offset)
        if self.limit is not None:
            last = self.limit + self.offset
            inside = before[ranking.peer_start] - base < last if self.ties else None
            stop = np.minimum(end, last)
            stop = stop if inside is None else np.where(inside, end, stop)
            shown = stop - np.maximum(start, self.offset)
        kept = np.flatnonzero(shown > 0)
        return rows.take(ranking.order[kept]).with_weights(shown[kept])

    def open(self, context: OpenContext) -> Operator:
        if self.sorts_only:
            return _Pass()
        if self.limit == 0:
            return _Nothing(self.schema)
        if self.limit is None or self.ties:
            return open_recompute(
                self, self.input, self.partition, lambda rows, epoch: self.plain((rows,), epoch), context
            )
        return open_head(self.input, self.partition, self.order, self.offset, self.limit, context)


def _enough(pieces: Iterator[ZSet], count: int) -> Iterator[ZSet]:
    """Pieces until there are `count` rows: without an order any rows do."""
    while count > 0 and (piece := next(pieces, None)) is not None:
        yield piece
        count -= int(piece.weights.sum())


def _weight_before(rows: ZSet, ranking: Ranking) -> Int64Array:
    """Summed weight before each sorted row; one more entry than rows."""
    return np.concatenate([[0], np.cumsum(rows.weights[ranking.order])])


@dataclass(slots=True)
class _Pass:
    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return deltas[0]


@dataclass(slots=True)
class _Nothing:
    schema: Schema

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return ZSet.empty(self.schema)
