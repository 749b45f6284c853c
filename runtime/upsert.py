"""Records of a connector into a table: the last record of each key wins.

ON CONFLICT of the table decides about a key that is there already: overwrite (the default) or ignore.
A delete of a key that is not there does nothing (a tombstone may come twice).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..sql.entries import Source, Table
from ..storage.keycode import encode_keys, group_ids
from .source import SourceBatch
from .state import State
from .writes import Columns, take_all


def upsert_changes(
    table: Table | Source, batch: SourceBatch, state: State
) -> tuple[Columns, npt.NDArray[np.int64]]:
    """The delta (rows and weights) that `batch` makes of the table."""
    columns = batch.columns
    ignores = False
    if isinstance(table, Table):
        columns = _with_row_ids(table, columns, state)
        ignores = table.on_conflict == "ignore"
    assert table.key is not None
    keys = [columns[i] for i in table.key]
    ids, first = group_ids(encode_keys(keys, [table.schema[i].type for i in table.key]))
    deletes = batch.deletes if batch.deletes is not None else np.zeros(len(ids), np.bool_)
    chosen = _chosen(ids, len(first), first if ignores else None)
    deletes = deletes[chosen]
    columns = take_all(columns, chosen)
    stored = state.tables[table.id]
    existing = stored.lookup([columns[i] for i in table.key])
    if ignores:
        comes = np.flatnonzero((existing < 0) & ~deletes)
        goes = existing[(existing >= 0) & deletes]
    else:
        comes = np.flatnonzero(~deletes)
        goes = existing[existing >= 0]
    removed, inserted = stored.take(goes), take_all(columns, comes)
    weights = np.concatenate([np.full(len(goes), -1, np.int64), np.ones(len(comes), np.int64)])
    return [pa.concat_arrays([a, b]) for a, b in zip(removed, inserted, strict=True)], weights


def _chosen(
    ids: npt.NDArray[np.int64], groups: int, first: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.int64]:
    """One record of each key: the last, or the first where later ones are to be ignored."""
    if first is not None:
        return first
    last = np.empty(groups, np.int64)
    last[ids] = np.arange(len(ids))
    return last


def _with_row_ids(table: Table, columns: Columns, state: State) -> Columns:
    if not table.has_row_id:
        return columns
    count = len(columns[0])
    first = state.draw_row_ids(table, count)
    return [*columns[: len(table.schema) - 1], pa.array(np.arange(first, first + count))]
