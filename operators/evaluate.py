"""Computes expressions over a batch: `evaluate`, `predicate_mask`, `evaluate_rows`.

The evaluators are in `evaluate_core.py` and, for those that evaluate a branch only on the rows that
need it (CASE, COALESCE, AND, OR), in `evaluate_conditional.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ..storage.errors import SqlError
from . import evaluate_conditional, functions
from .evaluate_core import evaluate, predicate_mask, truth
from .expr import Expr
from .grouping import note_chosen
from .node import EpochContext, RowError
from .shared_values import SHARED_ROWS_MAX, keep, shared_name
from .zset import ZSet

__all__ = [
    "evaluate",
    "evaluate_conditional",
    "evaluate_rows",
    "functions",
    "passing",
    "predicate_mask",
    "truth",
]


def evaluate_rows(
    exprs: Sequence[Expr], zset: ZSet, context: EpochContext, operator: str
) -> tuple[list[pa.Array], ZSet]:
    """All of `exprs` on the rows of `zset`, and the rows they could be computed on.

    With `context.errors` set, a row on which any expression fails is recorded there under
    `operator`, with the message the row has by itself (so that its retraction finds the same
    record), and is left out; otherwise the error is raised.
    """
    while True:
        try:
            done = [evaluate(expr, zset.columns, len(zset), context) for expr in exprs]
        except SqlError as error:
            if context.errors is None:
                raise
            zset = _record_failures(exprs, zset, context, operator, error)
        else:
            return done, zset


def passing(predicate: Expr, zset: ZSet, context: EpochContext, operator: str) -> ZSet:
    """The rows of `zset` for which `predicate` is true; rows on which it fails as in `evaluate_rows`."""
    while True:
        try:
            return _chosen(predicate, zset, context)
        except SqlError as error:
            if context.errors is None:
                raise
            zset = _record_failures((predicate,), zset, context, operator, error)


def _chosen(predicate: Expr, zset: ZSet, context: EpochContext) -> ZSet:
    """`passing`; of few rows it is noted where in `zset` they are."""
    length, columns = len(zset), zset.columns
    name = shared_name(predicate, columns, length, context)
    found = None if name is None else context.computed.get((name,))
    if found is None:
        mask = predicate_mask(predicate, columns, length, context)
        if length < 2 or length > SHARED_ROWS_MAX or context.errors is None:
            return zset.filter(mask)
        places = None if np.count_nonzero(mask) == length else mask.nonzero()[0]
        found = (places,) if name is None else keep(context, (name,), columns, places)
    positions = found[0]
    if positions is None:
        return zset
    rows = zset.take(positions)
    note_chosen(columns, rows.columns, positions, context)
    return rows


def _record_failures(
    exprs: Sequence[Expr], zset: ZSet, context: EpochContext, operator: str, error: SqlError
) -> ZSet:
    """Records every row that `error` is about and returns the other rows."""
    assert context.errors is not None
    suspects = error.rows if error.rows is not None else np.arange(len(zset))
    good = np.ones(len(zset), np.bool_)
    for position in suspects.tolist():
        row = zset.take(np.array([position]))
        found = _failure(exprs, row, context)
        if found is not None:
            context.errors.append(RowError(operator, found.code, found.message, row))
            good[position] = False
    if good.all():
        raise error  # it fails on the batch but on no row: not the rows' fault
    return zset.filter(good)


def _failure(exprs: Sequence[Expr], row: ZSet, context: EpochContext) -> SqlError | None:
    try:
        for expr in exprs:
            evaluate(expr, row.columns, 1, context)
    except SqlError as error:
        return error
    return None
