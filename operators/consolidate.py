"""`consolidate`: a ZSet with every row once and no weight 0."""

from __future__ import annotations

import numpy as np

from .batch import group_rows, sum_by
from .zset import ZSet


def consolidate(zset: ZSet) -> ZSet:
    """The same bag with equal rows merged, in order of first appearance.

    Rows are equal when IS NOT DISTINCT FROM holds for all columns; the first one's spelling is kept
    (1.0 or 1.00).
    """
    length = len(zset)
    if length <= 1:
        return zset if length == 0 or zset.weights[0] != 0 else ZSet.empty(zset.schema)
    ids, first = group_rows(zset.columns, zset.schema.types, length)
    if len(first) == length:
        return zset.filter(zset.weights != 0)
    weights = sum_by(ids, zset.weights, len(first))
    kept = np.flatnonzero(weights)
    return zset.take(first[kept]).with_weights(weights[kept])
