"""The join of two whole relations: rows numbered by key, partners found by counting sort."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from . import pieces
from .batch import BoolArray, Int64Array, gather, group_rows
from .join_inner import Output
from .join_outer import Emission
from .join_pairs import Condition, Grouped, Matching, rows_taker
from .join_side import Input
from .node import EpochContext, Node
from .pieces import coalesced, collect, peek
from .zset import ZSet


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """Right rows by number of their key; rows that match nothing have number −1 (left) or come last."""

    left: Int64Array
    order: Int64Array
    offsets: Int64Array

    @property
    def counts(self) -> Int64Array:
        """The number of partners of each left row."""
        return np.where(self.left < 0, 0, self.offsets[self.left + 1] - self.offsets[self.left])

    def candidates(self) -> Grouped:
        return Grouped(self.offsets[self.left], self.counts, self.order)


def index_keys(left: ZSet, left_side: Input, right: ZSet, right_side: Input) -> KeyIndex:
    """Numbers the join keys of both sides alike (equal numbers: equal keys)."""
    pairs = zip(left_side.key_values(left), right_side.key_values(right), strict=True)
    columns = [pa.concat_arrays([a, b]) for a, b in pairs]
    split = len(left)
    ids, first = group_rows(columns, left_side.key_types, split + len(right))
    numbers = len(first)
    left_ids = np.where(left_side.never_matching(left), -1, ids[:split])
    right_ids = np.where(right_side.never_matching(right), numbers, ids[split:])
    order = np.argsort(right_ids.astype(np.int32), kind="stable")
    counts = np.bincount(right_ids, minlength=numbers + 1)
    return KeyIndex(left_ids, order, np.concatenate([[0], np.cumsum(counts)]))


@dataclass(frozen=True, slots=True)
class PlainJoin:
    """Two inputs, and what comes out of them."""

    left: Input
    right: Input
    condition: Condition | None
    emission: Emission

    def pieces(
        self, left: Iterator[ZSet], right: Iterator[ZSet], nodes: Sequence[Node], context: EpochContext
    ) -> Iterator[ZSet]:
        """The output. One side is held, the left one if only the right one comes in pieces."""
        left, several_left = peek(left)
        right, several_right = peek(right)
        flipped = several_right and not several_left
        held, flowing = (left, right) if flipped else (right, left)
        held_side, flowing_side = (self.left, self.right) if flipped else (self.right, self.left)
        rows = held_side.prepare(collect(nodes[0 if flipped else 1], held), context)
        matched = np.zeros(len(rows), np.bool_)
        for piece in coalesced(flowing, max(pieces.PIECE_ROWS, len(rows))):
            some = flowing_side.prepare(piece, context)
            reached = np.zeros(len(some), np.bool_)
            if flipped:
                yield from self._matches(rows, some, matched, reached, context)
            else:
                yield from self._matches(some, rows, reached, matched, context)
            yield from self._single(some, flowing_side, reached, not flipped)
        yield from self._single(rows, held_side, matched, flipped)

    def _matches(
        self,
        left: ZSet,
        right: ZSet,
        left_matched: BoolArray,
        right_matched: BoolArray,
        context: EpochContext,
    ) -> Iterator[ZSet]:
        """The pairs of some rows that come out; the rows that have partners are marked."""
        index = index_keys(left, self.left, right, self.right)
        if self.condition is None and not self.emission.pairs:
            left_matched |= index.counts > 0
            return
        for probing, partners in self._matching(index, left, right).pairs(context):
            if self.emission.left:
                left_matched[probing] = True
            if self.emission.right:
                right_matched[partners] = True
            if self.emission.pairs:
                yield self._pairs(left, right, probing, partners)

    def _matching(self, index: KeyIndex, left: ZSet, right: ZSet) -> Matching:
        def weights(probing: Int64Array, partners: Int64Array) -> Int64Array:
            return left.weights[probing] * right.weights[partners]

        return Matching(
            index.candidates(), rows_taker(left), rows_taker(right), weights, self.condition, False
        )

    def _pairs(self, left: ZSet, right: ZSet, probing: Int64Array, partners: Int64Array) -> ZSet:
        own = gather(self.left.plain_rows(left).columns, probing)
        other = gather(self.right.plain_rows(right).columns, partners)
        output: Output = self.emission.output
        return output.rows(own, other, left.weights[probing] * right.weights[partners], False)

    def _single(self, rows: ZSet, side: Input, matched: BoolArray, left: bool) -> Iterator[ZSet]:
        """The rows of a side that come out alone."""
        if self.emission.keeps(not left):
            yield self.emission.single(side, rows.filter(matched == self.emission.matched), not left)
