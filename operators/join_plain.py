"""The join of two whole relations: rows numbered by key, partners found by counting sort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .batch import BoolArray, Int64Array, gather, group_rows
from .join_inner import Output
from .join_outer import Emission
from .join_pairs import Condition, Matching, Pairs, refuse_too_many, rows_taker
from .join_side import Input
from .node import EpochContext
from .zset import ZSet, concat


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """Right rows by number of their key; rows that match nothing have number −1 (left) or come last."""

    left: Int64Array
    order: Int64Array
    offsets: Int64Array

    def counts(self, start: int, count: int) -> tuple[Int64Array, Int64Array]:
        """(where its partners begin in `order`, how many) of each of some left rows."""
        ids = self.left[start : start + count]
        begin = self.offsets[ids]
        return begin, np.where(ids < 0, 0, self.offsets[ids + 1] - begin)

    def probe(self, start: int, count: int) -> Pairs:
        begin, counts = self.counts(start, count)
        refuse_too_many(int(counts.sum()))
        probing = np.repeat(np.arange(count), counts)
        shift = np.repeat(begin - (np.cumsum(counts) - counts), counts)
        return probing, self.order[np.arange(len(probing)) + shift]


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

    def rows(self, left: ZSet, right: ZSet, context: EpochContext) -> ZSet:
        """The whole output."""
        left, right = self.left.prepare(left, context), self.right.prepare(right, context)
        index = index_keys(left, self.left, right, self.right)
        matched_left, matched_right = np.zeros(len(left), np.bool_), np.zeros(len(right), np.bool_)
        parts: list[ZSet] = []
        made = 0
        if self.condition is None and not self.emission.pairs:
            matched_left = index.counts(0, len(left))[1] > 0
        else:
            for probing, partners in self._matching(index, left, right).pairs(len(left), context):
                matched_left[probing] = True
                matched_right[partners] = True
                made += len(probing)
                if self.emission.pairs:
                    refuse_too_many(made)
                    parts.append(self._pairs(left, right, probing, partners))
        parts.extend(self._single(left, self.left, matched_left, False))
        parts.extend(self._single(right, self.right, matched_right, True))
        return concat(self.emission.output.schema, parts)

    def _matching(self, index: KeyIndex, left: ZSet, right: ZSet) -> Matching:
        def weights(probing: Int64Array, partners: Int64Array) -> Int64Array:
            return left.weights[probing] * right.weights[partners]

        return Matching(index.probe, rows_taker(left), rows_taker(right), weights, self.condition, False)

    def _pairs(self, left: ZSet, right: ZSet, probing: Int64Array, partners: Int64Array) -> ZSet:
        own = gather(self.left.plain_rows(left).columns, probing)
        other = gather(self.right.plain_rows(right).columns, partners)
        output: Output = self.emission.output
        return output.rows(own, other, left.weights[probing] * right.weights[partners], False)

    def _single(self, rows: ZSet, side: Input, matched: BoolArray, flipped: bool) -> list[ZSet]:
        if not self.emission.keeps(flipped):
            return []
        return [self.emission.single(side, rows.filter(matched == self.emission.matched), flipped)]
