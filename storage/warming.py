"""`Warming`: bringing rows into memory behind a server that has begun to answer.

A start reads small tables whole. Of large ones it leaves the rows in the store: such a table is incomplete
(`absent.py`), so it answers at once, and more slowly. Then, between epochs, its rows are admitted in the
order of the store, a few at a time, until it is complete.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .replay import NetChange
from .versions import GrowingRows

if TYPE_CHECKING:
    from .table import StateTable

log = logging.getLogger("millpond.warming")

PART_ROWS_MIN, PART_ROWS_MAX = 64, 1 << 13
"""Rows admitted at a time; between these as many as the time allows."""

LOOK_S = 0.25
"""Least time between two looks at what is in memory: readers are shown it, and whether it is too much."""

ROOM = 0.95
"""Of what tables may take: beyond, no more rows are brought into memory."""


class Warming:
    """The tables of a storage that are being warmed. Used by its thread."""

    def __init__(self, names: Set[str], clock: Callable[[], float] = time.monotonic) -> None:
        """`names` are to be opened without their rows."""
        self._names = set(names)
        self._opened: dict[str, None] = {}
        self._clock = clock
        self._looked = 0.0
        self._rows = PART_ROWS_MIN
        self._tables = self._warmed = 0
        self._seconds = 0.0

    def __bool__(self) -> bool:
        """Whether there is a table to be warmed."""
        return bool(self._opened)

    @property
    def names(self) -> list[str]:
        return list(self._opened)

    def takes(self, name: str) -> bool:
        """Whether the table that is being opened leaves its rows to `step`. True once."""
        if name not in self._names:
            return False
        self._names.remove(name)
        self._opened[name] = None
        return True

    def step(self, tables: Mapping[str, StateTable], seconds: float, share: int | None) -> set[str]:
        """Goes on for about `seconds`; returns the tables whose snapshot is another one now.

        `share`: bytes that `tables` may take together.
        """
        name = next(iter(self._opened))
        table = tables.get(name)
        if table is not None and table.warming:
            started, before = self._clock(), table.resident
            table.warm(self._rows)
            self._pace(self._clock() - started, seconds)
            self._warmed += table.resident - before
        if table is None or not table.warming:
            del self._opened[name]
            self._tables += 1
            if not self._opened:
                self._report("tables are complete: %d, of which %d rows were read in %.1f s")
        if table is None or (table.warming and not self._due()):
            return set()
        if share is not None and self._opened and sum(t.nbytes for t in tables.values()) > share * ROOM:
            self._opened.clear()
            self._report("memory is full, tables stay incomplete: %d complete, %d rows read in %.1f s")
        table.renew()
        return {name}

    def _pace(self, took: float, wanted: float) -> None:
        """How many rows the next part has: towards what takes as long as is wanted."""
        self._seconds += took
        fitting = int(self._rows * wanted / max(took, 1e-6))
        self._rows = min(max(fitting, self._rows // 2, PART_ROWS_MIN), self._rows * 2, PART_ROWS_MAX)

    def _due(self) -> bool:
        now = self._clock()
        if now - self._looked < LOOK_S:
            return False
        self._looked = now
        return True

    def _report(self, text: str) -> None:
        about = {"event": "warm", "tables": self._tables, "rows": self._warmed, "seconds": self._seconds}
        log.info(text, self._tables, self._warmed, self._seconds, extra=about)


def overwrite(rows: GrowingRows, change: NetChange, epoch: int) -> None:
    """The last word on keys of which `rows`, empty so far, know nothing: as they are in `epoch`.

    Keys that went become rows without life, so that the store is not asked about them.
    """
    mark = epoch - rows.base
    for part in change.rows:
        _enter(rows, part.columns, part.weights)
    if change.deleted_count:
        count = change.deleted_count
        columns = [pa.nulls(count, column.type.arrow) for column in rows.spec.schema]
        for place, keys in zip(rows.spec.key_columns, change.deleted, strict=False):
            columns[place] = keys
        start = _enter(rows, columns, np.ones(count, np.int64))
        rows.end(np.arange(start, start + count), mark)


def _enter(rows: GrowingRows, columns: list[pa.Array], weights: np.ndarray) -> int:
    start = rows.append(columns, weights, len(weights))
    ended = rows.replace(start, rows.enter(columns, len(weights)), 0)
    assert ended is not None and not (ended >= 0).any(), "a key has two last words"
    rows.forget_undo()
    return start
