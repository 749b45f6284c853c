"""`consolidate`: a ZSet with every row once and no weight 0."""

from __future__ import annotations

import numpy as np

from ..storage.looks import looks
from .batch import Int64Array, group_rows, sum_by
from .zset import ZSet


def consolidate(zset: ZSet) -> ZSet:
    """The same bag with equal rows merged, in order of first appearance.

    Rows are equal when IS NOT DISTINCT FROM holds for all columns; the first one's spelling is kept
    (1.0 or 1.00).
    """
    return _merged(zset, *group_rows(zset.columns, zset.schema.types, len(zset)))


def consolidate_alike(zset: ZSet) -> ZSet:
    """The same, but rows are merged only when they look the same, too.

    So an update from 1.0 to 1.00 stays one: for who puts rows in the place of others, by a key.
    """
    return _merged(zset, *group_rows(*looks(zset.columns, zset.schema.types), len(zset)))


def _merged(zset: ZSet, ids: Int64Array, first: Int64Array) -> ZSet:
    length = len(zset)
    if length <= 1:
        return zset if length == 0 or zset.weights[0] != 0 else ZSet.empty(zset.schema)
    if len(first) == length:
        return zset.filter(zset.weights != 0)
    weights = sum_by(ids, zset.weights, len(first))
    kept = np.flatnonzero(weights)
    return zset.take(first[kept]).with_weights(weights[kept])
