"""`Fill`: a new view brought up to date with its inputs, a chunk at a time, while all else goes on.

The new operators are wired in a dataflow of their own. In an epoch they are stepped

* with a chunk: some rows of one input that they have not seen, as they are at that moment;
* with the epoch's own changes to each input, of rows they have seen.

A chunk comes before all changes of its epoch (`feed`), so that works can still join it, or together with
them at the end (`follow`): then both are one step, and clients whose epoch it is wait for less. So after
every epoch they have seen, of each input, *some of its current rows*, and nothing else: never a row that is
gone, never a row going that did not come, never two rows of a key. This is what a state table insists on,
and it is why changes need no queue. Once every row has been seen their state is that of the query over the
current inputs (I5: an operator's state depends on the sum of its input only). Which rows have been seen is
told in `fill_inputs.py`; it is committed with each epoch, together with what the operators did, so a fill
goes on after a crash. The idea is that of watermark-based snapshots (Andreakis and Papapanagiotou, DBLog,
2019, section 3).

Bounds: one chunk, READ_AHEAD_BATCHES of a source, the keys of a table with 8 bytes each for their order,
and the keys of rows written meanwhile and not seen yet.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

from ..operators.dataflow import Dataflow
from ..operators.node import EpochContext, Node, walk
from ..operators.recurse import Recurse
from ..operators.scan import Scan
from ..operators.window import Window
from ..operators.zset import ZSet, concat
from ..sql.entries import Source
from ..storage.table import StateTable, TableSpec
from .fill_inputs import Input, Progress, TableInput
from .fill_sources import NothingInput, SourceInput
from .source import Connectors
from .state import State

CHUNK_ROWS_FIRST = 1_000
CHUNK_ROWS_MIN = 200
"""With fewer, what a chunk costs beside its rows would be most of it."""
CHUNK_ROWS_MAX = 1_000_000
COMPUTED_WHOLE = (Window, Recurse)
"""Nodes that compute a touched partition anew: a chunk costs what all rows before it cost, so chunks double
(the whole is then about twice the work of one epoch's) however long they take."""


class Fill:
    """The operators of a view on their way. Used by the engine's thread."""

    def __init__(self, view: str, number: int, plan: Node, state: State, resumed: bool = False) -> None:
        """`view` is the relation's id, `number` its OID. Within an epoch, unless it is `resumed`: then its
        tables are there (see `missing`)."""
        self.view = view
        self.plan = plan
        self._state = state
        self._number = number
        self._tables = _Tables(state, view, resumed)
        self.dataflow = Dataflow(self._tables)
        self.dataflow.add(view, plan)
        self._inputs: dict[str, Input] = {}
        self._fed = sum(at.get("rows", 0) for at in stored_progress(state, number).values()) if resumed else 0
        self._written: dict[str, Progress] = {}
        self._rows = CHUNK_ROWS_FIRST
        self._doubles = any(isinstance(node, COMPUTED_WHOLE) for node in walk(plan))

    @property
    def missing(self) -> bool:
        """Whether some of the tables that should be there are not."""
        return self._tables.missing

    @property
    def tables(self) -> list[str]:
        """Names of all tables it made."""
        return list(self._tables.made)

    @property
    def rows(self) -> StateTable:
        """The view's own rows."""
        return self._tables.made[self.view]

    @property
    def opened(self) -> bool:
        return bool(self._inputs)

    @property
    def ready(self) -> bool:
        return any(one.ready for one in self._inputs.values()) or all(
            one.ending for one in self._inputs.values()
        )

    @property
    def progress(self) -> tuple[int, int | None]:
        """(rows fed, rows to feed if known)"""
        inputs = list(self._inputs.values())
        if not inputs:
            return self._fed, None
        totals = [one.total for one in inputs]
        known = None if None in totals else sum(total or 0 for total in totals)
        return sum(one.fed for one in inputs), known

    def open(self, offsets: Mapping[str, bytes], wake: Callable[[], None]) -> None:
        """Begins to read the inputs, from where an earlier process was. `offsets` are the sources' as of
        the epoch before."""
        progress = stored_progress(self._state, self._number)
        for relation, scan in sorted(scans(self.plan).items()):
            self._inputs[relation] = _input(
                scan, self._state, offsets.get(relation), wake, progress.get(relation)
            )
        self._written = {name: at for name, at in progress.items() if name in self._inputs}

    def feed(self, context: EpochContext, seconds: float) -> None:
        """One chunk, before anything else changes in the epoch; it should take so long.

        Raises ViewFailure, or what reading a source raised.
        """
        self._step(context, {}, seconds)

    def follow(
        self, context: EpochContext, changes: Mapping[str, Sequence[ZSet]], seconds: float | None = None
    ) -> bool:
        """The epoch's changes of all relations; with `seconds` a chunk, too, which should take so long.

        Whether the view is then complete. Raises ViewFailure, or what reading a source raised.
        """
        deltas: dict[str, list[ZSet]] = {}
        for relation, one in self._inputs.items():
            parts = [part for delta in changes.get(relation, ()) if len(part := one.passed_on(delta))]
            if parts:
                deltas[relation] = parts
        self._step(context, deltas, seconds)
        return all(one.ending for one in self._inputs.values())

    def _step(self, context: EpochContext, deltas: dict[str, list[ZSet]], seconds: float | None) -> None:
        """Steps the operators with what changed in rows they have seen, and with a chunk if it has time."""
        started = time.thread_time()
        relation = next((name for name, one in self._inputs.items() if one.ready), None)
        fed = 0
        if seconds is not None and relation is not None:
            chunk = self._inputs[relation].chunk(self._rows)
            fed = len(chunk)
            if fed:
                deltas.setdefault(relation, []).append(chunk)
        if deltas:
            self.dataflow.step(context, {of: concat(parts[0].schema, parts) for of, parts in deltas.items()})
        if seconds is not None:
            stepped = sum(len(part) for parts in deltas.values() for part in parts)
            self._adapt(fed, (time.thread_time() - started) * fed / max(stepped, 1), seconds)

    def moved(self) -> dict[str, bytes]:
        """By `progress_name`, where inputs that the open epoch brought on are to go on after a restart."""
        now = {name: one.progress for name, one in self._inputs.items()}
        moved = {name: at for name, at in now.items() if self._written.get(name) != at}
        self._written = now
        return {progress_name(self._number, name): json.dumps(at).encode() for name, at in moved.items()}

    def settle(self, committed: bool) -> None:
        for one in self._inputs.values():
            one.settle(committed)
        if not committed:
            # What was written of this epoch is undone with it.
            self._written.clear()

    def close(self) -> None:
        for one in self._inputs.values():
            one.close()

    def _adapt(self, rows: int, took: float, wanted: float) -> None:
        """The size of the next chunk."""
        if rows < self._rows // 2 or not took:
            return
        factor = 2.0 if self._doubles else min(max(wanted / took, 1 / 8), 1.5)
        self._rows = min(max(int(self._rows * factor), CHUNK_ROWS_MIN), CHUNK_ROWS_MAX)


def scans(plan: Node) -> dict[str, Scan]:
    """What a plan reads, by relation id."""
    return {scan.relation: scan for scan in walk(plan) if isinstance(scan, Scan)}


def progress_name(number: int, relation: str) -> str:
    """Among the offsets, the name for how far the view of that OID has come with a relation."""
    return f"filling/{number}/{relation}"


def stored_progress(state: State, number: int) -> dict[str, Progress]:
    """How far each input of the view of that OID was, as committed."""
    prefix = progress_name(number, "")
    stored = [(name, at) for name, at in state.offsets.items() if name.startswith(prefix)]
    return {name.removeprefix(prefix): json.loads(at) for name, at in stored}


def resumable(state: State, plan: Node, progress: Mapping[str, Progress]) -> bool:
    """Whether what is written of the inputs means something still: a connector that may give its records
    in another order cannot skip those it gave."""
    for relation in scans(plan):
        at = progress.get(relation)
        if at is None:
            return False
        entry = state.catalog.by_id(relation)
        if isinstance(entry, Source) and at.get("rows") and not at.get("done"):
            connector = state.connectors.find(entry.options["connector"])
            if not getattr(connector, "stable_replay", False):
                return False
    return True


class _Tables:
    """The OpenContext of a fill. What a running operator has under a name is not touched: a double that
    goes at the end (or, should that operator have gone by then, stays until the next restart fills anew).
    What nobody has, and is left of something else, goes.
    """

    def __init__(self, state: State, view: str, resumed: bool) -> None:
        self._state = state
        self._view = view
        self._resumed = resumed
        self._names = set(state.storage.names())
        self._running = {table for name in state.dataflow.views for table in state.dataflow.tables(name)}
        self.made: dict[str, StateTable] = {}
        self.missing = False

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        storage, double = self._state.storage, f"filling/{self._view}/{suffix}"
        name = double if suffix in self._running or (self._resumed and double in self._names) else suffix
        if self._resumed:
            stale = set(storage.stale)
            table = storage.table(name, spec)
            self.missing |= name not in self._names or storage.stale != stale
        else:
            if name in self._names:
                storage.drop(name)
            table = storage.table(name, spec)
        self.made[name] = table
        return table


def _input(
    scan: Scan, state: State, offset: bytes | None, wake: Callable[[], None], progress: Progress | None
) -> Input:
    table = state.tables.get(scan.relation)
    if table is not None:
        return TableInput(table, scan.schema_, wake, progress)
    entry = state.catalog.by_id(scan.relation)
    assert isinstance(entry, Source), scan.relation
    return _source_input(entry, state.connectors, offset, wake, progress)


def _source_input(
    entry: Source,
    connectors: Connectors,
    offset: bytes | None,
    wake: Callable[[], None],
    progress: Progress | None,
) -> Input:
    if progress is not None and progress.get("until"):
        offset = bytes.fromhex(progress["until"])
    elif progress is not None and progress.get("nothing"):
        offset = None
    return (
        NothingInput(entry.schema)
        if offset is None
        else SourceInput(entry, offset, connectors, wake, progress)
    )
