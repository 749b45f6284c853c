"""`Fill`: a new view brought up to date with its inputs, a chunk in each epoch, while all else goes on.

The new operators are wired in a dataflow of their own. In each epoch they are stepped with

* a chunk: some rows of one input that they have not seen, as they are in this epoch;
* of the epoch's own changes to each input, those to rows they have seen.

So after every epoch they have seen, of each input, *some of its current rows*, and nothing else: never a
row that is gone, never a row going that did not come, never two rows of a key. This is what a state
table insists on, and it is why changes need no queue. Once every row has been seen their state is that of
the query over the current inputs (I5: an operator's state depends on the sum of its input only).

Whether a row has been seen is decided by its key (of a bag: the row) and `base`, the table's snapshot of
the epoch before the first. Chunks go through the positions of `base` in order. A row has been seen if its key
is not in `base` (its changes were always passed on) or stands before the frontier. A chunk takes the keys
of the next positions and reads the *current* rows of these keys, so what happened to them meanwhile is
in it. The idea is that of watermark-based snapshots (Andreakis and Papapanagiotou, DBLog, 2019, section 3),
with the order of a snapshot in place of that of a key. A source only grows: what was committed before the
first epoch is read again in chunks, and what comes later is passed on at once.

Bounds: one chunk, READ_AHEAD_BATCHES of a source, and the snapshot, whose rows are mostly the table's own.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ..operators.dataflow import Dataflow
from ..operators.node import EpochContext, Node, walk
from ..operators.recurse import Recurse
from ..operators.scan import Scan
from ..operators.window import Window
from ..operators.zset import ZSet, concat
from ..sql.entries import Source
from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from .relations import open_reader
from .source import READ_AHEAD_BATCHES, Connectors
from .state import State

CHUNK_S = 0.02
"""How long a chunk should keep the engine from everything else; its commit takes about as long again."""
CHUNK_ROWS_FIRST = 10_000
CHUNK_ROWS_MIN = 1_000
CHUNK_ROWS_MAX = 1_000_000
COMPUTED_WHOLE = (Window, Recurse)
"""Nodes that compute a touched partition anew: a chunk costs what all rows before it cost, so chunks double
(the whole is then about twice the work of one epoch's) however long they take."""


class Input(Protocol):
    """One relation that the view reads, on its way into the new operators."""

    @property
    def done(self) -> bool:
        """Whether committed epochs fed all of it."""
        ...

    @property
    def ending(self) -> bool:
        """Whether with the open epoch all of it is fed."""
        ...

    @property
    def fed(self) -> int:
        """Rows fed."""
        ...

    @property
    def total(self) -> int | None:
        """Rows to feed; None when nobody knows."""
        ...

    @property
    def ready(self) -> bool:
        """Whether `chunk` has something."""
        ...

    def passed_on(self, delta: ZSet) -> ZSet:
        """Of a change of this epoch, what belongs to rows that were fed."""
        ...

    def chunk(self, rows: int) -> ZSet:
        """About so many rows that were not fed; the last chunk may have none."""
        ...

    def settle(self, committed: bool) -> None:
        """The epoch ended: what its chunk held is fed, or is to be fed again."""
        ...

    def close(self) -> None: ...


class TableInput:
    """A table or a view. `table` has the current rows, `base` is its snapshot of the epoch before."""

    def __init__(self, table: StateTable, schema: Schema) -> None:
        """`schema`: the relation's, the first columns of the table."""
        self._table = table
        self._schema = schema
        self._base = table.snapshot()
        self._frontier = self._next = 0
        self.fed, self.total = 0, len(self._base)
        self.done = False
        self._rows = 0

    @property
    def ready(self) -> bool:
        return not self.done

    @property
    def ending(self) -> bool:
        return self._next >= self._base.limit

    def passed_on(self, delta: ZSet) -> ZSet:
        if self.done:
            return delta
        keys = [delta.columns[i] for i in self._table.spec.key_columns]
        return delta.filter(self._base.lookup(keys, len(delta)) < self._frontier)

    def chunk(self, rows: int) -> ZSet:
        key, base = self._table.spec.key_columns, self._base
        self._next = min(self._frontier + rows, base.limit)
        positions = base.positions(self._frontier, self._next)
        self._rows = len(positions)
        if not len(positions):
            return ZSet.empty(self._schema)
        now = self._table.lookup(base.take(positions, key), len(positions))
        now = now[now >= 0]
        columns = self._table.take(now, range(len(self._schema)))
        return ZSet(self._schema, tuple(columns), self._table.weights(now))

    def settle(self, committed: bool) -> None:
        if committed:
            self._frontier = self._next
            self.fed += self._rows
            self.done = self.ending
        self._next, self._rows = self._frontier, 0

    def close(self) -> None:
        pass


class SourceInput:
    """What a source delivered up to the offset `until`, read again by a thread a few batches ahead."""

    total = None

    def __init__(self, entry: Source, until: bytes, connectors: Connectors, wake: Callable[[], None]) -> None:
        self._entry, self._until, self._connectors, self._wake = entry, until, connectors, wake
        self._batches: queue.Queue[ZSet | Exception | None] = queue.Queue(READ_AHEAD_BATCHES)
        self._head: ZSet | None = None
        self._taken = self._rows = self.fed = 0
        self.done = self.ending = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"fill-{entry.name}", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        return not self.done and (self._head is not None or not self._batches.empty())

    def passed_on(self, delta: ZSet) -> ZSet:
        return delta

    def chunk(self, rows: int) -> ZSet:
        if self._head is None:
            item = self._batches.get_nowait()
            if isinstance(item, Exception):
                raise item
            if item is None:
                self.ending = True
                return ZSet.empty(self._entry.schema)
            self._head, self._taken = item, 0
        part = self._head.slice(self._taken, rows)
        self._rows = len(part)
        return part

    def settle(self, committed: bool) -> None:
        if self.ending and not committed:
            self.ending = self.done
            self._batches.put(None)
        elif committed:
            self.done = self.ending
            self._taken += self._rows
            self.fed += self._rows
            if self._head is not None and self._taken >= len(self._head):
                self._head = None
        self._rows = 0

    def close(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        try:
            for batch in self._replayed():
                self._put(batch)
            self._put(None)
        except Exception as error:  # whatever a connector raises ends this fill only
            self._put(error)

    def _replayed(self) -> Iterable[ZSet]:
        reader = open_reader(self._entry, self._connectors)
        try:
            for batch in reader.replay(self._until):
                if self._stop.is_set():
                    return
                if len(batch):
                    yield batch.delta(self._entry.schema)
        finally:
            reader.close()

    def _put(self, item: ZSet | Exception | None) -> None:
        while not self._stop.is_set():
            try:
                self._batches.put(item, timeout=0.2)
                self._wake()
                return
            except queue.Full:
                continue


class Fill:
    """The operators of the view `name` on their way. Made and fed within epochs, by the engine's thread."""

    def __init__(
        self, name: str, plan: Node, state: State, offsets: Mapping[str, bytes], wake: Callable[[], None]
    ) -> None:
        """`offsets` are the sources' as of the epoch before."""
        self.name = name
        self.plan = plan
        self._tables = _Tables(state, name)
        self.dataflow = Dataflow(self._tables)
        self.dataflow.add(name, plan)
        self._inputs = {
            scan.relation: _input(scan, state, offsets, wake) for scan in walk(plan) if isinstance(scan, Scan)
        }
        self._rows = CHUNK_ROWS_FIRST
        self._doubles = any(isinstance(node, COMPUTED_WHOLE) for node in walk(plan))

    @property
    def tables(self) -> list[str]:
        """Names of all tables it made."""
        return list(self._tables.made)

    @property
    def rows(self) -> StateTable:
        """The view's own rows."""
        return self._tables.made[self.name]

    @property
    def ready(self) -> bool:
        return any(one.ready for one in self._inputs.values())

    @property
    def progress(self) -> tuple[int, int | None]:
        """(rows fed, rows to feed if known)"""
        totals = [one.total for one in self._inputs.values()]
        known = None if None in totals else sum(total or 0 for total in totals)
        return sum(one.fed for one in self._inputs.values()), known

    def feed(self, context: EpochContext, changes: Mapping[str, Sequence[ZSet]]) -> bool:
        """One epoch's part, given the epoch's changes of all relations. Whether the view is then complete.

        Raises ViewFailure, or what reading a source raised.
        """
        started = time.perf_counter()
        deltas = {
            relation: [one.passed_on(delta) for delta in changes.get(relation, ())]
            for relation, one in self._inputs.items()
        }
        rows = 0
        relation = next((name for name, one in self._inputs.items() if one.ready), None)
        if relation is not None:
            chunk = self._inputs[relation].chunk(self._rows)
            deltas[relation].append(chunk)
            rows = len(chunk)
        self.dataflow.step(
            context, {name: concat(parts[0].schema, parts) for name, parts in deltas.items() if parts}
        )
        self._adapt(rows, time.perf_counter() - started)
        return all(one.ending for one in self._inputs.values())

    def settle(self, committed: bool) -> None:
        for one in self._inputs.values():
            one.settle(committed)

    def close(self) -> None:
        for one in self._inputs.values():
            one.close()

    def _adapt(self, rows: int, seconds: float) -> None:
        """The size of the next chunk."""
        if rows < self._rows // 2:
            return
        factor = 2.0 if self._doubles else min(max(CHUNK_S / seconds, 1 / 8), 2.0)
        self._rows = min(max(int(self._rows * factor), CHUNK_ROWS_MIN), CHUNK_ROWS_MAX)


class _Tables:
    """The OpenContext of a fill. What a running operator has under a name is not touched: a double that
    goes at the end (or, should that operator have gone by then, stays until the next restart fills anew).
    """

    def __init__(self, state: State, view: str) -> None:
        self._state = state
        self._view = view
        self._running = {table for name in state.dataflow.views for table in state.dataflow.tables(name)}
        self.made: dict[str, StateTable] = {}

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        name = f"filling/{self._view}/{suffix}" if suffix in self._running else suffix
        table = self.made[name] = self._state.storage.table(name, spec)
        return table


def _input(scan: Scan, state: State, offsets: Mapping[str, bytes], wake: Callable[[], None]) -> Input:
    table = state.tables.get(scan.relation)
    if table is not None:
        return TableInput(table, scan.schema_)
    entry = state.catalog.by_id(scan.relation)
    assert isinstance(entry, Source), scan.relation
    until = offsets.get(scan.relation)
    return _Nothing(entry.schema) if until is None else SourceInput(entry, until, state.connectors, wake)


class _Nothing:
    """A source that has delivered nothing so far."""

    fed, total, done, ending, ready = 0, 0, True, True, False

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def passed_on(self, delta: ZSet) -> ZSet:
        return delta

    def chunk(self, rows: int) -> ZSet:
        return ZSet.empty(self._schema)

    def settle(self, committed: bool) -> None: ...

    def close(self) -> None: ...
