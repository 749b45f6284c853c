"""`Jobs`: views that are filled over several epochs, one after the other.

    begin(epoch, work, definition)   a CREATE MATERIALIZED VIEW over much data: its OID and name are taken
    advance(epoch)                   in every epoch: the first job's next chunk; at its end the view is there
    settle(committed)                the epoch ended
    end(job, error)                  cancelled or failed: nothing of it stays

A view is in no catalogue before it is complete; then it is, all at once. What definitions must leave
alone meanwhile (its name, its inputs, its operators) is in `State.pending`. A job in the background is
kept in the table JOBS until it ends, and begins again after a restart; one that a client waits for ends
with the process.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ..operators.dataflow import ViewFailure
from ..operators.fingerprint import fingerprint
from ..operators.node import walk
from ..planner.build import view_plan
from ..planner.define import Definition
from ..sql.catalog import Catalog
from ..sql.entries import Entry, MaterializedView, Relation, Source, Table, View
from ..sql.statements import Drop, Statement
from ..storage.errors import (
    DuplicateTable,
    ObjectInUse,
    ObjectNotReady,
    QueryCanceled,
    SerializationFailure,
    SqlError,
)
from .fill import Fill
from .state import JOBS, Pending, State

if TYPE_CHECKING:
    from .epoch import Epoch
    from .works import DefineWork


class JobFailure(SqlError):
    """A job cannot go on; the epoch has to be undone and run again without it."""

    def __init__(self, job: Job, cause: SqlError) -> None:
        super().__init__(cause.message)
        self.job = job
        self.cause = cause


@dataclass(eq=False, slots=True)
class Job:
    """One view to be filled. `work` is answered at the end, unless it is done in the background."""

    view: MaterializedView
    definition: Definition
    needs: dict[int, Entry]
    """What the view reads, however indirectly, as it was when the statement was bound."""
    work: DefineWork
    fill: Fill | None = None
    begun: bool = False
    """Whether `fill` was made in the open epoch."""
    complete: bool = False
    """Whether the open epoch completes it."""
    asked_to_end: threading.Event = field(default_factory=threading.Event)

    @property
    def number(self) -> int:
        """The view's OID, by which CANCEL JOBS knows it."""
        return self.view.oid

    def check_cancelled(self) -> None:
        """Raises QueryCanceled when its client, or someone by CANCEL JOBS, wants an end."""
        if self.asked_to_end.is_set():
            raise QueryCanceled("canceling the job due to user request")
        waiting = self.work.read.context.cancelled
        if not self.work.background and waiting is not None:
            waiting()


class Jobs:
    """The engine's jobs; its thread calls everything but `cancel` and `list`."""

    def __init__(self, state: State, wake: Callable[[], None]) -> None:
        self._state = state
        self._wake = wake
        self._queue: deque[Job] = deque()
        self._new: list[Job] = []

    def __bool__(self) -> bool:
        return bool(self._queue)

    @property
    def ready(self) -> bool:
        """Whether an epoch would bring the first job on, or end one."""
        if not self._queue:
            return False
        first = self._queue[0]
        return first.fill is None or first.fill.ready or any(map(_wants_end, self._queue))

    def list(self) -> list[Job]:
        """Running first, then those that wait for their turn."""
        return list(self._queue)

    def cancel(self, number: int) -> bool:
        """Asks a job to end; whether there is such a job."""
        found = [job for job in self.list() if job.number == number]
        for job in found:
            job.asked_to_end.set()
        self._wake()
        return bool(found)

    def begin(self, epoch: Epoch, work: DefineWork, definition: Definition) -> Job:
        """Takes name and OID of the view. The job is in the queue once the epoch is committed."""
        view = definition.created[0]
        assert isinstance(view, MaterializedView)
        needs = reads(definition.catalog, view)
        job = Job(view, definition, needs, work)
        epoch.reserve(definition)
        if work.background:
            write_job(self._state, job)
        self._state.pending[view.id] = Pending(view, frozenset(needs))
        self._new.append(job)
        return job

    def advance(self, epoch: Epoch) -> None:
        """The first job's part of the epoch, whose works and sources are done and stepped.

        Raises JobFailure, ViewFailure.
        """
        for job in self._queue:
            try:
                job.check_cancelled()
            except SqlError as error:
                raise JobFailure(job, error) from error
        if self._queue:
            epoch.changed = True
            job = self._queue[0]
            try:
                self._advance(job, epoch)
            except ViewFailure:
                raise
            except SqlError as error:
                raise JobFailure(job, error) from error

    def _advance(self, job: Job, epoch: Epoch) -> None:
        state = self._state
        if job.fill is None:
            check_unchanged(job, epoch.catalog)
            plan = view_plan(job.view, job.definition.catalog)
            job.begun = True
            job.fill = Fill(job.view.id, plan, state, epoch.offsets_before, self._wake)
            state.pending[job.view.id].operators |= job.fill.dataflow.stateful
        if job.fill.feed(epoch.context, epoch.changes):
            check_unchanged(job, epoch.catalog)
            job.complete = True
            epoch.complete(job.view, job.definition, job.fill)
            if job.work.background:
                forget_job(state, job.number)

    def settle(self, committed: bool) -> None:
        """The epoch ended. Answers the work of a job that it completed."""
        new, self._new = self._new, []
        if committed:
            self._queue += new
        else:
            for job in new:
                del self._state.pending[job.view.id]
        if self._queue and (job := self._queue[0]).fill is not None:
            self._settle(job, job.fill, committed)

    def _settle(self, job: Job, fill: Fill, committed: bool) -> None:
        begun, job.begun = job.begun, False
        complete, job.complete = job.complete, False
        if begun and not committed:
            fill.close()
            job.fill = None
            self._state.pending[job.view.id].operators.clear()
            return
        fill.settle(committed)
        if complete and committed:
            self._state.dataflow.adopt(job.view.id, fill.dataflow)
            self._remove(job)
            if not job.work.background:
                job.work.future.set_result((job.definition, 0))

    def end(self, job: Job, error: SqlError) -> None:
        """Takes a job out that has failed; its tables go with the next epoch that commits."""
        if job.fill is not None:
            there = set(self._state.storage.names())
            self._state.abandoned.extend(name for name in job.fill.tables if name in there)
        self._remove(job)
        if not job.work.background:
            job.work.future.set_exception(error)

    def drop(self, epoch: Epoch, statement: Statement, search_path: tuple[str, ...]) -> bool:
        """Ends the job whose view DROP MATERIALIZED VIEW names, if it does."""
        if not self._queue or not isinstance(statement, Drop) or statement.kind != "materialized view":
            return False
        parts = statement.names[0].parts
        if len(statement.names) > 1 or epoch.catalog.find(parts, search_path) is not None:
            return False
        name = epoch.catalog.creation_schema(parts, search_path), parts[-1]
        for job in self._queue:
            if (job.view.schema_name, job.view.name) == name:
                self.end(job, QueryCanceled("the materialized view was dropped while it was being filled"))
                epoch.forget_view(job.number)
                return True
        return False

    def failed(self, failure: ViewFailure) -> Job | None:
        """The job whose operators failed, if it was one's."""
        return next((job for job in self._queue if job.view.id in failure.views), None)

    def close(self, error: SqlError) -> None:
        """The engine stops: clients are told, background jobs begin again at the next start."""
        for job in self.list():
            if job.fill is not None:
                job.fill.close()
            if not job.work.background:
                job.work.future.set_exception(error)
        self._queue.clear()

    def _remove(self, job: Job) -> None:
        if job.fill is not None:
            job.fill.close()
        self._queue.remove(job)
        del self._state.pending[job.view.id]


def _wants_end(job: Job) -> bool:
    try:
        job.check_cancelled()
    except SqlError:
        return True
    return False


def needs_job(epoch: Epoch, definition: Definition) -> bool:
    """Whether the definition makes one view, over too much for one epoch.

    Also if a view being filled has some of its operators: they cannot be shared before they are complete.
    """
    if len(definition.created) != 1 or definition.reshaped or definition.rows is not None:
        return False
    view = definition.created[0]
    if not isinstance(view, MaterializedView):
        return False
    rows = 0
    for entry in reads(definition.catalog, view).values():
        if isinstance(entry, Source):
            rows += epoch.state.one_epoch_rows_max + 1 if entry.id in epoch.state.offsets else 0
        elif isinstance(entry, Table | MaterializedView):
            rows += len(epoch.state.tables[entry.id])
        elif not isinstance(entry, View):
            return False
    return rows > epoch.state.one_epoch_rows_max or shares_pending(epoch.state, view, definition.catalog)


def shares_pending(state: State, view: MaterializedView, catalog: Catalog) -> bool:
    """Whether an operator of the view is also one of a view being filled."""
    held = {name for pending in state.pending.values() for name in pending.operators}
    return bool(held) and any(fingerprint(node) in held for node in walk(view_plan(view, catalog)))


def reads(catalog: Catalog, view: MaterializedView | View) -> dict[int, Entry]:
    """The relations that a view reads, by OID; through plain views, not through materialized ones."""
    found: dict[int, Entry] = {}
    for oid in view.dependencies:
        entry = catalog.by_oid(oid)
        if isinstance(entry, Relation):
            found[oid] = entry
        if isinstance(entry, View):
            found |= reads(catalog, entry)
    return found


def check_unchanged(job: Job, catalog: Catalog) -> None:
    """Raises SerializationFailure if something that the view reads is not what it was."""
    for oid, before in job.needs.items():
        now = catalog.by_oid(oid)
        if now is before:
            continue
        if now is None or _meaning(now) != _meaning(before):
            raise SerializationFailure(
                f'"{before.name}" was changed while materialized view "{job.view.name}" was filled: try again'
            )


def _meaning(entry: Entry) -> object:
    assert isinstance(entry, Relation)
    query = entry.query if isinstance(entry, View | MaterializedView) else ""
    return type(entry), entry.schema_name, entry.name, entry.schema, entry.key, query


def refuse_pending(state: State, definition: Definition) -> None:
    """Raises DuplicateTable or ObjectInUse if the definition meets a view being filled, or what it reads.

    Raises ObjectNotReady if a new view would read a stalled one.
    """
    for pending in state.pending.values():
        for entry in definition.created:
            if (entry.schema_name, entry.name) == (pending.view.schema_name, pending.view.name):
                raise DuplicateTable(f'relation "{entry.name}" already exists')
            if isinstance(entry, MaterializedView) and shares_pending(state, entry, definition.catalog):
                raise _in_use(entry, pending)
        for entry in (*definition.dropped, *(old for old, _ in definition.reshaped)):
            if entry.oid in pending.needs:
                raise _in_use(entry, pending)
    for entry in definition.created:
        for read in reads(definition.catalog, entry).values() if isinstance(entry, MaterializedView) else ():
            if read.id in state.stalled and isinstance(read, MaterializedView):
                raise ObjectNotReady(f'"{read.name}" is stalled: {state.stalled[read.id]}')


def _in_use(entry: Entry, pending: Pending) -> ObjectInUse:
    view = pending.view
    return ObjectInUse(
        f'"{entry.name}" is in use: materialized view "{view.name}" is being filled',
        hint=f"Wait for it, or end it by CANCEL JOBS {view.oid}.",
    )


def reserved(catalog: Catalog, definition: Definition) -> Catalog:
    """The catalogue with the OIDs that a definition took, which nobody will get again."""
    next_oid = max(catalog.next_oid, definition.catalog.next_oid)
    return replace(catalog, next_oid=next_oid, version=catalog.version + 1)


def write_job(state: State, job: Job) -> None:
    """Keeps a background job: what must be run again if it does not come to its end."""
    values = (job.number, job.work.statement.text, json.dumps(job.work.search_path))
    types = state.tables[JOBS].spec.schema.types
    state.tables[JOBS].upsert([pa.array([v], t.arrow) for v, t in zip(values, types, strict=True)])


def forget_job(state: State, number: int) -> None:
    table = state.tables[JOBS]
    found = table.lookup([pa.array([number], pa.int64())])
    table.delete(found[found >= 0])
