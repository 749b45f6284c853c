"""Records of a connector into a table: the last record of each key wins.

ON CONFLICT of the table decides about a key that is there already: overwrite (the default) or ignore.
A delete of a key that is not there does nothing (a tombstone may come twice).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..sql.entries import Source, Table
from ..storage.apply import group_entries
from ..storage.index import Entries
from .source import SourceBatch
from .state import State
from .writes import Columns, take_all


def upsert_records(
    table: Table | Source, batch: SourceBatch, state: State
) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Writes `batch` to the table; returns the delta (rows and weights) that it makes of it.

    The index is searched once: what tells equal keys apart also finds their rows, and enters new ones.
    """
    columns = batch.columns
    ignores = False
    if isinstance(table, Table):
        columns = _with_row_ids(table, columns, state)
        ignores = table.on_conflict == "ignore"
    assert table.key is not None
    stored = state.tables[table.id]
    entries, existing = stored.enter([columns[i] for i in table.key], len(batch))
    chosen = _chosen(entries, ignores)
    deletes = np.zeros(len(entries), np.bool_) if batch.deletes is None else batch.deletes
    if chosen is not None:
        columns = take_all(columns, chosen)
        entries, existing, deletes = entries[chosen], existing[chosen], deletes[chosen]
    there = existing >= 0
    comes = np.flatnonzero(~deletes & ~there if ignores else ~deletes)
    removed = stored.take(existing[there & deletes if ignores else there])
    inserted = columns if len(comes) == len(entries) else take_all(columns, comes)
    if len(comes):
        stored.upsert_entered(inserted, None, entries[comes])
    stored.delete(existing[there & deletes])
    delta = [pa.concat_arrays([a, b]) for a, b in zip(removed, inserted, strict=True)]
    return delta, _signs(len(removed[0]), len(comes))


def _chosen(entries: Entries, first: bool) -> npt.NDArray[np.int64] | None:
    """One record of each key: the last, or the first where later ones are to be ignored; None: all."""
    ids, firsts = group_entries(entries)
    if len(firsts) == len(ids):
        return None
    if first:
        return firsts
    last = np.empty(len(firsts), np.int64)
    last[ids] = np.arange(len(ids))
    return last


def _signs(removed: int, inserted: int) -> npt.NDArray[np.int64]:
    weights = np.ones(removed + inserted, np.int64)
    weights[:removed] = -1
    return weights


def _with_row_ids(table: Table, columns: Columns, state: State) -> Columns:
    if not table.has_row_id:
        return columns
    count = len(columns[0])
    first = state.draw_row_ids(table, count)
    return [*columns[: len(table.schema) - 1], pa.array(np.arange(first, first + count))]
