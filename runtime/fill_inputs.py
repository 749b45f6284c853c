"""`Input`: one relation that a view being filled reads, on its way into the new operators.

A table's rows go in the order of an *ordinal*, a number that follows from the key alone (`ordinals`): so
"seen up to here" can be written down, and means the same after a restart. A row has been seen

* if its ordinal is below the frontier, or
* if its ordinal is above the highest one that the table had at the beginning: such rows, e.g. those
  of a growing id, are passed on as they come.

A chunk takes the keys of the next ordinals and reads the rows these keys have *now*. The keys come from a
snapshot, ordered once by a thread beside the engine, and from `_Late`: keys written since, not yet seen.
So after every epoch the operators have seen some of the table's current rows and nothing else.

Sources are in `fill_sources.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.zset import ZSet
from ..storage.keycode import encode_keys
from ..storage.keys import Keys
from ..storage.schema import Schema
from ..storage.snapshot import TableSnapshot
from ..storage.table import StateTable

ORDER_ROWS = 1 << 15
"""Keys whose ordinals are found at a time: bounds how long that keeps the interpreter."""
LATE_ROWS_MIN = 50_000
"""Late keys beyond which those that are gone again are sorted out."""
HIGHEST = (1 << 64) - 1

Progress = dict[str, Any]
"""How far an input is, as JSON has it."""
Ordinals = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]


class Input(Protocol):
    """Used by the engine's thread only."""

    fed: int
    """Rows fed."""
    done: bool
    """Whether committed epochs fed all of it."""

    @property
    def ending(self) -> bool:
        """Whether with the open epoch all of it is fed."""
        ...

    @property
    def total(self) -> int | None:
        """Rows to feed; None when nobody knows."""
        ...

    @property
    def ready(self) -> bool:
        """Whether `chunk` has something."""
        ...

    @property
    def progress(self) -> Progress:
        """Where it is to go on after a restart, if the open epoch commits."""
        ...

    def chunk(self, rows: int) -> ZSet:
        """About so many rows that were not fed, before anything else changes in the epoch; maybe none."""
        ...

    def passed_on(self, delta: ZSet) -> ZSet:
        """Of a change of this epoch, what belongs to rows that were fed, the epoch's chunk included."""
        ...

    def settle(self, committed: bool) -> None:
        """The epoch ended: what its chunk held is fed, or is to be fed again."""
        ...

    def close(self) -> None: ...


def ordinals(keys: Keys) -> Ordinals:
    """A number for each key: the value itself for one of 8 bytes, so that they ascend as it does; else the
    hash that the store keeps, too. Few keys share one."""
    if keys.width == 9:
        words = np.ascontiguousarray(keys.data.reshape(-1, 9)[:, 1:])
        return words.view(">u8").ravel().astype(np.uint64)
    return keys.hash()


class _Order(threading.Thread):
    """The keys of a snapshot in the order of their ordinals, from `start` up to `stop` (both included).

    The snapshot is let go once they are read: of its rows only the keys are kept.
    """

    def __init__(self, table: StateTable, start: int, stop: int, wake: Callable[[], None]) -> None:
        super().__init__(name="fill-order", daemon=True)
        self._base: TableSnapshot | None = table.snapshot()
        self._complete = table.complete
        self._bounds, self._wake = (start, stop), wake
        self._stop = threading.Event()
        self._types = [table.spec.schema.types[i].arrow for i in table.spec.key_columns]
        self._keys: list[pa.Array] = [pa.array([], type_) for type_ in self._types]
        self.ordinals: Ordinals = np.empty(0, np.uint64)
        self.error: Exception | None = None
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            self._find()
        except Exception as error:
            self.error = error
        self._base = None
        self.ended.set()
        self._wake()

    def close(self) -> None:
        self._stop.set()

    def __len__(self) -> int:
        return len(self.ordinals)

    def keys(self, first: int, last: int) -> list[pa.Array]:
        """The key columns from number `first` up to `last`."""
        parts = [column.slice(first, last - first) for column in self._keys]
        return [
            part if part.type == type_ else part.cast(type_)
            for part, type_ in zip(parts, self._types, strict=True)
        ]

    def _find(self) -> None:
        assert self._base is not None
        spec, (start, stop) = self._base.spec, self._bounds
        columns: list[list[pa.Array]] = []
        found: list[Ordinals] = []
        for part, count in self._parts(self._base):
            if self._stop.is_set():
                return
            numbers = ordinals(encode_keys(part, spec.key_types, count))
            kept = np.flatnonzero((numbers >= np.uint64(start)) & (numbers <= np.uint64(stop)))
            taken = pa.array(kept)
            columns.append([_large(column.take(taken)) for column in part])
            found.append(numbers[kept])
        if found:
            self._sort([pa.concat_arrays(list(parts)) for parts in zip(*columns, strict=True)], found)

    def _parts(self, base: TableSnapshot) -> Iterator[tuple[list[pa.Array], int]]:
        key = base.spec.key_columns
        if not self._complete:
            for columns, weights in base.parts():
                yield [columns[i] for i in key], len(weights)
            return
        positions = base.positions(0, base.limit)
        for first in range(0, len(positions), ORDER_ROWS):
            part = positions[first : first + ORDER_ROWS]
            yield base.take(part, key), len(part)

    def _sort(self, columns: list[pa.Array], parts: list[Ordinals]) -> None:
        numbers = np.concatenate(parts)
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers, kind="stable")
            taken = pa.array(order)
            columns, numbers = [column.take(taken) for column in columns], numbers[order]
        self._keys, self.ordinals = columns, numbers


def _large(column: pa.Array) -> pa.Array:
    """Texts of all keys together may be more than 2 GiB."""
    if pa.types.is_string(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary(column.type) else column


class TableInput:
    """A table or a view: the rows it has in the epoch before, and what comes later."""

    def __init__(
        self, table: StateTable, schema: Schema, wake: Callable[[], None], progress: Progress | None = None
    ) -> None:
        """`schema`: the relation's, the first columns of the table. `progress`: of an earlier process."""
        self._table = table
        self._schema = schema
        at: Progress = progress or {}
        self.fed: int = at.get("rows", 0)
        self.done: bool = at.get("done", False)
        self._before = self.fed
        self._frontier: int = at.get("frontier", 0)
        self._top: int | None = at.get("top")
        self._next: int | None = None
        """The frontier if the open epoch commits; None while no chunk was taken."""
        self._from = self._to = self._rows = 0
        self._late = _Late(table)
        self._order: _Order | None = None
        if not self.done:
            stop = HIGHEST if self._top is None else self._top
            self._order = _Order(table, self._frontier, stop, wake)
            self._order.start()

    @property
    def total(self) -> int:
        if self._order is not None and self._order.ended.is_set():
            return self._before + len(self._order)
        return max(len(self._table), self.fed)

    @property
    def ready(self) -> bool:
        return not self.done and self._order is not None and self._order.ended.is_set()

    @property
    def ending(self) -> bool:
        return self.done or (self._next is not None and self._next > HIGHEST)

    @property
    def progress(self) -> Progress:
        if self.ending:
            return {"done": True, "rows": self.fed + self._rows}
        frontier = self._frontier if self._next is None else self._next
        return {"frontier": frontier, "top": self._top, "rows": self.fed + self._rows}

    def chunk(self, rows: int) -> ZSet:
        order = self._order
        assert order is not None
        if order.error is not None:
            raise order.error
        found = order.ordinals
        if self._top is None:
            highest = int(found[-1]) if len(found) else 0
            self._top = max(highest, self._late.highest())
        stop = min(self._from + rows, len(found))
        if stop < len(found) and stop > self._from and found[stop] == found[stop - 1]:
            stop = int(np.searchsorted(found, found[stop], side="right"))
        self._next = int(found[stop]) if stop < len(found) else HIGHEST + 1
        self._to, self._rows = stop, stop - self._from
        positions = self._current(order.keys(self._from, stop), self._next)
        columns = self._table.take(positions, range(len(self._schema)))
        return ZSet(self._schema, tuple(columns), self._table.weights(positions))

    def _current(self, keys: list[pa.Array], frontier: int) -> Positions:
        """Positions of the rows that the keys of the chunk have now."""
        now = self._table.lookup(keys, self._rows) if self._rows else np.empty(0, np.int64)
        late = self._late.below(frontier)
        now = np.unique(np.concatenate([now, late])) if len(late) else now
        return now[now >= 0]

    def passed_on(self, delta: ZSet) -> ZSet:
        if self.ending or not len(delta):
            return delta
        spec = self._table.spec
        columns = [delta.columns[i] for i in spec.key_columns]
        found = ordinals(encode_keys(columns, spec.key_types, len(delta)))
        frontier = self._frontier if self._next is None else self._next
        seen = found < np.uint64(frontier)
        if self._top is not None:
            seen |= found > np.uint64(self._top)
        self._late.add(columns, found, np.flatnonzero(~seen & (delta.weights > 0)))
        return delta.filter(seen)

    def settle(self, committed: bool) -> None:
        if committed and self._next is not None:
            self.done = self.ending
            self._frontier, self._from = self._next, self._to
            self.fed += self._rows
            self._late.forget(self._frontier)
            if self.done:
                self._order = None
        self._next, self._rows = None, 0

    def close(self) -> None:
        if self._order is not None:
            self._order.close()


class _Late:
    """Keys of rows that came or changed since the snapshot, and that no chunk has taken. At most about as
    many as the table has rows: those that are gone again are sorted out."""

    def __init__(self, table: StateTable) -> None:
        self._table = table
        self._columns: list[list[pa.Array]] = []
        self._ordinals: list[Ordinals] = []
        self._bound = LATE_ROWS_MIN
        self._lowest = HIGHEST + 1
        """No ordinal is lower: chunks that do not come so far have nothing to do with these keys."""

    def __len__(self) -> int:
        return sum(map(len, self._ordinals))

    def add(self, columns: Sequence[pa.Array], found: Ordinals, rows: Positions) -> None:
        """Those at `rows` of the keys `columns`, whose ordinals are `found`."""
        if len(rows):
            taken = pa.array(rows)
            self._columns.append([column.take(taken) for column in columns])
            self._ordinals.append(found[rows])
            self._lowest = min(self._lowest, int(self._ordinals[-1].min()))
            if len(self) > self._bound:
                self._sort_out()
                self._bound = max(2 * len(self), LATE_ROWS_MIN)

    def highest(self) -> int:
        """The highest ordinal, 0 if there is none."""
        return max((int(part.max()) for part in self._ordinals), default=0)

    def below(self, frontier: int) -> Positions:
        """Positions of their rows with an ordinal below the frontier, −1 where there is none any more."""
        if frontier <= self._lowest:
            return np.empty(0, np.int64)
        columns, numbers = self._joined()
        return self._table.lookup(columns, len(numbers))[_below(numbers, frontier)]

    def forget(self, frontier: int) -> None:
        """Keys below the frontier are seen."""
        if frontier > self._lowest:
            columns, numbers = self._joined()
            self._keep(columns, numbers, np.flatnonzero(~_below(numbers, frontier)))

    def _sort_out(self) -> None:
        """Each key once, and only if the table has a row of it."""
        columns, numbers = self._joined()
        positions, first = np.unique(self._table.lookup(columns, len(numbers)), return_index=True)
        self._keep(columns, numbers, first[positions >= 0])

    def _joined(self) -> tuple[list[pa.Array], Ordinals]:
        columns = [pa.concat_arrays(list(parts)) for parts in zip(*self._columns, strict=True)]
        numbers = np.concatenate(self._ordinals)
        self._columns, self._ordinals = [columns], [numbers]
        return columns, numbers

    def _keep(self, columns: Sequence[pa.Array], numbers: Ordinals, rows: Positions) -> None:
        self._columns, self._ordinals, self._lowest = [], [], HIGHEST + 1
        if len(rows):
            taken = pa.array(rows)
            self._columns, self._ordinals = [[column.take(taken) for column in columns]], [numbers[rows]]
            self._lowest = int(self._ordinals[0].min())


def _below(numbers: Ordinals, frontier: int) -> npt.NDArray[np.bool_]:
    return np.ones(len(numbers), np.bool_) if frontier > HIGHEST else numbers < np.uint64(frontier)
