"""`StandbyEngine`: stands where an `Engine` stands, over the tables of a `Follower`.

It publishes every state the log gives it, whole, so that readers find what they find on the primary. Its
catalogue is the primary's; for each view it knows the plan, and the view's operators name the tables they
need with the indexes they need: these are kept warm. No operator is ever stepped here. When its turn comes,
it takes over the log, wires the operators up over the tables that are there, and an `Engine` goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

from ..operators.dataflow import Dataflow
from ..operators.node import EpochContext, Node
from ..planner.build import view_plan
from ..sql.catalog import Catalog
from ..sql.entries import Entry, MaterializedView, Sequence, Source, Table
from ..sql.system import SYSTEM_RELATIONS
from ..storage.candidate import Candidate
from ..storage.commit import Storage
from ..storage.disk import DiskLock
from ..storage.errors import AdminShutdown, ReadOnlyTransaction, SqlError, StartupError
from ..storage.log import LogDamaged, LogTruncated
from ..storage.standby import Advance, Follower, Lag
from ..storage.table import TableSpec
from .engine import Engine, EngineLimits
from .published import Published
from .recovery import (
    SYSTEM_TABLES,
    left_over,
    recover_view,
    stalled_below,
    stored_catalog,
    stored_sequences,
)
from .sequences import Sequences
from .source import Connectors, SourceReader
from .state import CATALOG, SEQUENCES, State, highest_row_id, table_spec
from .works import BarrierWork, Work

log = logging.getLogger("millpond.standby")

POLL_S = 0.005
"""Between two looks at the log's end mark."""

TRY_S = 0.02
"""Between two looks at the log's lock."""

DAMAGED_RETRIES = 200
"""Looks at a log that seems damaged (it may be in the middle of being compacted) before giving up."""

READ_ONLY = "cannot execute {} in a read-only transaction"

Plans = dict[int, tuple[tuple[Entry, ...], Node]]
"""By a view's OID: its entry with all that it depends on, and the plan made from them."""


class ReadOnlySequences(Sequences):
    """On a standby nothing is drawn."""

    def draw(self, sequence: Sequence, count: int) -> int:
        raise ReadOnlyTransaction(READ_ONLY.format("nextval()"))

    def set_next(self, oid: int, value: int) -> None:
        raise ReadOnlyTransaction(READ_ONLY.format("setval()"))


class StandbyEngine:
    """Follows until it is stopped or takes over; then `promoted` is called with the engine that goes on.

    `claimed` is called before that, as soon as the log is this process's: it makes itself known as the
    primary. `failed` is called when neither following nor taking over is possible any more.
    """

    def __init__(
        self,
        follower: Follower,
        connectors: Connectors,
        limits: EngineLimits,
        clock_us: Callable[[], int],
        candidate: Candidate,
    ) -> None:
        self.limits = limits
        self.listeners: list[Callable[[Published], None]] = []
        self.claimed: Callable[[int], None] = lambda writer: None
        self.promoted: Callable[[Engine], None] = lambda engine: None
        self.failed: Callable[[str], None] = lambda reason: None
        self.refusal_hint: Callable[[], str] = lambda: ""
        self._follower = follower
        self._connectors = connectors
        self._clock_us = clock_us
        self._candidate = candidate
        self._plans: Plans = {}
        self._waiting: list[tuple[int, Future[Any]]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="standby", daemon=True)
        self._took_over = False
        _ = follower.catch_up()
        self.state = self._wire(Catalog.initial(SYSTEM_RELATIONS))
        self.published = self.state.publish(follower.epoch, clock_us(), None, ())

    @property
    def standby(self) -> bool:
        return True

    def lag(self) -> Lag:
        return self._follower.lag()

    def start(self) -> None:
        self._thread.start()

    def hand_over(self) -> None:
        """A standby has nothing to hand over."""

    def stop(self) -> None:
        """Ends following; the store is brought up to it."""
        self._stop.set()
        self._thread.join()
        for _, future in self._waiting:
            future.set_exception(AdminShutdown("terminating connection due to administrator command"))
        if not self._took_over:
            self._follower.close()

    def submit(self, work: Work) -> Future[Any]:
        """Refuses to write. A barrier waits for what the primary had committed when it was asked."""
        mark = self._follower.reader.end_mark() if isinstance(work, BarrierWork) else None
        if mark is None:
            work.future.set_exception(self.refusal("this statement"))
        elif mark.epoch <= self.published.epoch:
            work.future.set_result(None)
        else:
            with self._lock:
                self._waiting.append((mark.epoch, work.future))
        return work.future

    def refusal(self, what: str) -> ReadOnlyTransaction:
        """The error for a statement that writes."""
        return ReadOnlyTransaction(READ_ONLY.format(what), hint=self.refusal_hint())

    def source_status(self) -> dict[str, str]:
        return {}

    def source_readers(self) -> dict[str, SourceReader]:
        """None: a standby reads no source, its rows and offsets come with the log."""
        return {}

    # The follower's thread.
    def _run(self) -> None:
        tried, damaged = 0.0, 0
        while not self._stop.wait(POLL_S):
            try:
                self._follow()
                damaged = 0
                now = time.monotonic()
                if now - tried >= TRY_S:
                    tried = now
                    lock = self._candidate.try_lock(now)
                    if lock is not None and self._take_over(lock):
                        return
            except (LogDamaged, LogTruncated, OSError) as error:
                damaged += 1
                if damaged > DAMAGED_RETRIES:
                    self.failed(f"cannot follow the log: {error}")
                    return
            except Exception as error:
                log.exception("following the log failed")
                self.failed(f"cannot follow the log: {error}")
                return

    def _follow(self) -> None:
        advance = self._follower.catch_up()
        if advance is not None:
            self._show(advance)

    def _show(self, advance: Advance) -> None:
        """Publishes the state the follower has reached."""
        follower, touched = self._follower, advance.tables
        if advance.reshaped or CATALOG in touched:
            self.state = self._wire(self.state.catalog)
            before = None
        else:
            before = self.published
            self.state.offsets = dict(follower.sources)
        self.published = self.state.publish(follower.epoch, self._clock_us(), before, touched)
        for listener in self.listeners:
            listener(self.published)
        with self._lock:
            done = [one for one in self._waiting if one[0] <= follower.epoch]
            self._waiting = [one for one in self._waiting if one[0] > follower.epoch]
        for _, future in done:
            future.set_result(None)

    def _wire(self, before: Catalog) -> State:
        """The state of the follower's epoch: catalogue, tables, and views with all their tables."""
        follower = self._follower
        # A follower is to its readers what a storage is; nobody writes through this state.
        state = State(cast(Storage, follower), self._connectors, before, cast(Dataflow, None))
        state.dataflow = Dataflow(state)
        for name, spec in SYSTEM_TABLES.items():
            state.tables[name] = follower.table(name, spec)
        initial = Catalog.initial(SYSTEM_RELATIONS)
        # A catalogue of its own version: plans are kept by it.
        state.catalog = replace(stored_catalog(state.tables[CATALOG], initial), version=before.version + 1)
        state.offsets = dict(follower.sources)
        state.sequences = ReadOnlySequences({})
        for relation in state.catalog.of(Table, Source):
            if isinstance(relation, Table) or (isinstance(relation, Source) and relation.stored):
                state.tables[relation.id] = follower.table(relation.id, table_spec(relation))
        known, self._plans = self._plans, {}
        for view in state.catalog.of(MaterializedView):
            assert isinstance(view, MaterializedView)
            self._open_view(state, view, known)
        return state

    def _open_view(self, state: State, view: MaterializedView, known: Plans) -> None:
        """Opens the operators of a view, which asks the follower for their tables."""
        below = stalled_below(state, view)
        if below is not None:
            self._stall(state, view, f'it reads "{below.name}", which is stalled: {state.stalled[below.id]}')
            return
        stale = set(self._follower.stale)
        try:
            plan = self._plans[view.oid] = _plan(state.catalog, view, known)
            state.dataflow.add(view.id, plan[1], None, EpochContext(self._follower.epoch, 0, errors=[]))
        except SqlError as error:
            self._stall(state, view, error.message)
            return
        if self._follower.stale - stale:
            _ = state.dataflow.remove(view.id)
            self._stall(state, view, "the primary does not keep it up to date")

    def _stall(self, state: State, view: MaterializedView, reason: str) -> None:
        state.stalled[view.id] = reason
        if view.id in state.storage.names():
            state.tables[view.id] = state.storage.table(view.id, TableSpec(view.schema, view.key))

    # Taking over.
    def _take_over(self, lock: DiskLock) -> bool:
        """Whether this process is the primary now. `lock` is the log's."""
        started = time.monotonic()
        try:
            changelog, advance = self._follower.take_over(lock)
            self._took_over = True
            self.claimed(changelog.writer)
            self._show(advance)
            engine = self._engine(self._follower.become(changelog))
        except StartupError as error:
            self.failed(str(error))
            return True
        except SqlError as error:
            log.warning("taking over failed: %s", error.message)
            return False
        finally:
            self._candidate.done()
        took = (time.monotonic() - started) * 1000
        log.warning("took over as primary at epoch %d, in %.0f ms", engine.state.storage.epoch, took)
        self.promoted(engine)
        return True

    def _engine(self, storage: Storage) -> Engine:
        """An engine over the same tables. Operators are opened anew, to see the tables as they are."""
        state = self.state
        state.storage = storage
        for name, spec in SYSTEM_TABLES.items():
            state.tables[name] = storage.table(name, spec)
        state.sequences = stored_sequences(state.tables[SEQUENCES])
        for table in state.catalog.of(Table):
            assert isinstance(table, Table)
            if table.has_row_id:
                state.row_ids[table.id] = highest_row_id(state.tables[table.id])
        stalled, state.stalled = state.stalled, {}
        state.dataflow = Dataflow(state)
        context = EpochContext(storage.epoch, 0, errors=[])
        for view in state.catalog.of(MaterializedView):
            assert isinstance(view, MaterializedView)
            if view.id in stalled:
                recover_view(state, view, self._clock_us())
            else:
                state.dataflow.add(view.id, self._plans[view.oid][1], None, context)
        state.abandoned.extend(left_over(state))
        return Engine(state, self.limits, self._clock_us)


def _plan(catalog: Catalog, view: MaterializedView, known: Plans) -> tuple[tuple[Entry, ...], Node]:
    """Planning takes milliseconds: only done again when the view, or what it depends on, has changed."""
    entries = _closure(catalog, view)
    before = known.get(view.oid)
    return before if before is not None and before[0] == entries else (entries, view_plan(view, catalog))


def _closure(catalog: Catalog, view: MaterializedView) -> tuple[Entry, ...]:
    """The view and everything it depends on, by OID."""
    found: dict[int, Entry] = {}
    waiting = [view.oid]
    while waiting:
        oid = waiting.pop()
        entry = catalog.by_oid(oid)
        if entry is not None and oid not in found:
            found[oid] = entry
            waiting.extend(entry.dependencies)
    return tuple(found[oid] for oid in sorted(found))
