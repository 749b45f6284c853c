"""`FusedWriter`: the rows of groups, all there already, written and entered by one compiled call.

This is what an epoch of few rows is made of: each view has some groups that get other counts and sums. What
becomes of a column is a step (`storage/kernels_groups.py`), with the addresses of the column's arrays, which
are looked up again when one has been replaced by a larger one. What does not fit is left to `GroupWriter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np
import pyarrow as pa

from ..storage import kernels_groups
from ..storage.columns import GrowingColumn, GrowingFixed, GrowingText
from ..storage.index import Entries
from ..storage.kernels_groups import COPY, COUNT, FIXED, STEP, SUM, TEXT
from ..storage.table import StateTable
from ..storage.versions import GrowingRows
from .aggregate_calls import Rows
from .batch import Int64Array

FEW_GROUPS = 4096
"""Of more groups the keys are written in the order they came: their old rows lie anywhere in memory."""

INT64 = pa.int64()
Step = tuple[int, int, int]
"""What it does, the column, and (SUM) which of the data, (COPY) the other column."""


class FusedWriter:
    """Writes some columns of a table.

    `data`: of the calls the feeds whose first arguments they are of, and whether these are added up.
    """

    def __init__(self, table: StateTable, steps: Sequence[Step], data: Sequence[tuple[int, bool]]) -> None:
        self._table = table
        self._steps = steps
        self._data = data
        self._seen: list[Any] = []
        self._plan = np.empty((0, STEP), np.int64)
        self._room = 0

    def write(
        self,
        weights: Int64Array,
        ids: Int64Array,
        positions: Int64Array,
        entries: Entries,
        fed: Sequence[Rows],
    ) -> tuple[GrowingRows, int] | None:
        """(the rows, the first new one); None, and nothing has changed, if it cannot be done this way.

        The groups with `entries` have the rows at `positions`, all of them.
        """
        if len(positions) > FEW_GROUPS:
            return None
        data = np.empty(len(self._data), np.int64)
        for number, (feed, summed) in enumerate(self._data):
            rows = fed[feed]
            if rows.ids is not ids or any(column.null_count for column in rows.columns):
                return None
            if summed:
                [array] = rows.columns
                if array.type != INT64:
                    return None
                data[number] = array.buffers()[1].address + 8 * array.offset
        rows, now = self._table.opened()
        start = rows.limit
        self._look(rows)
        primary, died = rows.primary, rows.died
        if start + len(positions) > min(self._room, len(primary.link), len(died)):
            return None
        done = kernels_groups.write_groups(
            self._plan, data, weights, ids, positions, start, entries, now, primary.head, primary.link, died
        )
        if not done:
            return None
        self._table.note_entered(entries, positions)
        return rows, start

    def _look(self, rows: GrowingRows) -> None:
        """Finds the addresses of the columns, unless they are those of the last time."""
        arrays: list[Any] = []
        for _, place, _ in self._steps:
            column: Any = rows.columns[place]
            if type(column) is GrowingText:
                arrays += (column.offsets, column.data, column.valid)
            else:
                arrays += (column.values, column.valid)
        if len(arrays) == len(self._seen) and all(map(is_, arrays, self._seen)):
            return
        self._seen = arrays
        self._plan = np.array([self._addresses(rows, step) for step in self._steps], np.int64)
        self._room = min(_room(rows.columns[place]) for _, place, _ in self._steps)

    def _addresses(self, rows: GrowingRows, step: Step) -> tuple[int, ...]:
        kind, place, other = step
        column = rows.columns[place]
        if isinstance(column, GrowingText):
            offsets, data = column.offsets.ctypes.data, column.data.ctypes.data
            return kind, offsets, _address(column.valid), data, len(column.data)
        assert isinstance(column, GrowingFixed)
        if kind == FIXED:
            other = column.values.itemsize
        elif kind == COPY:
            source = rows.columns[other]
            assert isinstance(source, GrowingFixed)
            other = source.values.ctypes.data
        return kind, column.values.ctypes.data, _address(column.valid), other, 0


def _address(valid: np.ndarray | None) -> int:
    return 0 if valid is None else valid.ctypes.data


def _room(column: GrowingColumn) -> int:
    """How many rows its arrays have room for."""
    assert isinstance(column, GrowingFixed | GrowingText)
    rows = len(column.offsets) - 1 if isinstance(column, GrowingText) else len(column.values)
    return rows if column.valid is None else min(rows, len(column.valid))


def kept_step(column: GrowingColumn, place: int) -> Step | None:
    """The step of a column whose values stay; None if it is of another kind."""
    if isinstance(column, GrowingText):
        return TEXT, place, 0
    return (FIXED, place, 0) if isinstance(column, GrowingFixed) else None


def call_steps(
    states: Sequence[int], adds: Sequence[str], shown: int | None, result: int | None, data: int
) -> list[Step]:
    """The steps of a call: of its accumulators ("count" or "sum"), and of its result, a copy of `shown`."""
    kinds = {"count": COUNT, "sum": SUM}
    steps = [(kinds[kind], place, data) for kind, place in zip(adds, states, strict=True)]
    return steps if result is None or shown is None else [*steps, (COPY, result, states[shown])]
