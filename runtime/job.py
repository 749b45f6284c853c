"""`Job`: one view to be filled, what it reads, and the rows by which it outlives the process.

Two kinds. A *new* view is in no catalogue before it is complete. A *listed* one is in the catalogue but has
no rows yet: it was made in a transaction block or over a view that was replaced, or its stored state was
lost. It answers 55000 until it is complete (`FILLING` in `State.stalled`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import pyarrow as pa

from ..operators.fingerprint import fingerprint
from ..operators.node import Node, walk
from ..planner.build import view_plan
from ..planner.define import Definition
from ..sql.catalog import Catalog
from ..sql.catalog_rows import CatalogRow, entry_of, to_row
from ..sql.entries import Entry, MaterializedView, Relation, Sink, Source, Table, View
from ..storage.errors import (
    DuplicateTable,
    ObjectInUse,
    QueryCanceled,
    SerializationFailure,
    SqlError,
)
from .fill import Fill, resumable, stored_progress
from .published import FILLING, not_ready
from .state import JOBS, Pending, State


class JobFailure(SqlError):
    """A job cannot go on; the epoch has to be undone and run again without it."""

    def __init__(self, job: Job, cause: SqlError) -> None:
        super().__init__(cause.message)
        self.job = job
        self.cause = cause


@dataclass(eq=False, slots=True)
class Job:
    """One view to be filled."""

    view: MaterializedView
    text: str
    """The statement, as `millpond.jobs` shows it."""
    needs: dict[int, Entry]
    """What the view reads, however indirectly, as it was when the job began."""
    replaces: tuple[int, ...] = ()
    """OIDs of what goes when the view is complete."""
    definition: Definition | None = None
    """What the client that waits is told at the end."""
    future: Future[Any] | None = None
    """Of a client that waits; its end is the end of the job."""
    cancelled: Callable[[], None] | None = None
    """Raises if that client wants an end."""
    stored: bool = False
    """Whether its row is in the table JOBS."""
    fill: Fill | None = None
    begun: bool = False
    """Whether `fill` was made in the open epoch."""
    complete: bool = False
    """Whether the open epoch completes it."""
    asked_to_end: threading.Event = field(default_factory=threading.Event)
    held: Pending | None = None
    """What is kept for it in `State.pending`."""
    at_end: list[Callable[[], None]] = field(default_factory=list)
    """Called when it is complete, or will never be."""

    @property
    def number(self) -> int:
        """The view's OID, by which CANCEL JOBS knows it."""
        return self.view.oid

    def check_cancelled(self) -> None:
        """Raises QueryCanceled when its client, or someone by CANCEL JOBS, wants an end."""
        if self.asked_to_end.is_set():
            raise QueryCanceled("canceling the job due to user request")
        if self.cancelled is not None:
            self.cancelled()

    @property
    def wants_end(self) -> bool:
        try:
            self.check_cancelled()
        except SqlError:
            return True
        return False

    def end(self, error: SqlError | None) -> None:
        """Tells those who wait."""
        if self.future is not None and not self.future.done():
            if error is None:
                self.future.set_result((self.definition, 0))
            else:
                self.future.set_exception(error)
        for call in self.at_end:
            call()


def listed(job: Job, catalog: Catalog) -> bool:
    """Whether the view is in the catalogue, without rows."""
    return catalog.by_oid(job.view.oid) is not None


def check_ready(job: Job, state: State, catalog: Catalog) -> None:
    """Raises SerializationFailure if something that the view reads is not what it was, ObjectNotReady if it
    is stalled."""
    for oid, before in job.needs.items():
        now = catalog.by_oid(oid)
        if now is not None and isinstance(now, MaterializedView) and now.id in state.stalled:
            raise not_ready(now, state.stalled[now.id])
        if now is not before and (now is None or _meaning(now) != _meaning(before)):
            raise SerializationFailure(
                f'"{before.name}" was changed while materialized view "{job.view.name}" was filled: try again'
            )


def _meaning(entry: Entry) -> object:
    assert isinstance(entry, Relation)
    query = entry.query if isinstance(entry, View | MaterializedView) else ""
    return type(entry), entry.schema_name, entry.name, entry.schema, entry.key, query


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


def too_much(state: State, view: MaterializedView, catalog: Catalog) -> bool:
    """Whether the view is to be filled by a job: it reads too much for one epoch, or a view that is being
    filled, or a view being filled has some of its operators, which cannot be shared before they are complete.
    """
    rows = 0
    for entry in reads(catalog, view).values():
        if state.stalled.get(entry.id) == FILLING:
            return True
        if isinstance(entry, Source) and not entry.stored:
            rows += state.one_epoch_rows_max + 1 if entry.id in state.offsets else 0
        elif isinstance(entry, Table | MaterializedView | Source):
            rows += len(state.tables[entry.id]) if entry.id in state.tables else 0
        elif not isinstance(entry, View):
            return False
    return rows > state.one_epoch_rows_max or shares_pending(state, view, catalog)


def shares_pending(state: State, view: MaterializedView, catalog: Catalog) -> bool:
    """Whether an operator of the view is also one of a view being filled."""
    held = {name for pending in state.pending.values() for name in pending.operators}
    return bool(held) and any(fingerprint(node) in held for node in walk(view_plan(view, catalog)))


def feeds_sink(catalog: Catalog, entry: Entry) -> bool:
    """Whether a sink hangs on the view: it must see each change, so the view is filled in one epoch."""
    return any(isinstance(above, Sink) for above in catalog.dependents_closure([entry.oid]))


def refuse_pending(state: State, definition: Definition) -> None:
    """Raises DuplicateTable or ObjectInUse if the definition meets a view being filled, or what it reads.

    Raises ObjectNotReady if a new view or sink would read a stalled one.
    """
    going = {entry.oid for entry in definition.dropped}
    for pending in state.pending.values():
        if pending.view.oid in going:
            continue
        for entry in definition.created:
            if (entry.schema_name, entry.name) == (pending.view.schema_name, pending.view.name):
                raise DuplicateTable(f'relation "{entry.name}" already exists')
            if isinstance(entry, MaterializedView) and shares_pending(state, entry, definition.catalog):
                raise _in_use(entry, pending)
        for entry in (*definition.dropped, *(old for old, _ in definition.reshaped)):
            if entry.oid in pending.needs:
                raise _in_use(entry, pending)
    for entry in definition.created:
        for read in _read_by(definition.catalog, entry):
            if read.id in state.stalled and isinstance(read, MaterializedView) and read.oid not in going:
                raise not_ready(read, state.stalled[read.id])


def _read_by(catalog: Catalog, entry: Entry) -> Iterator[Entry]:
    if isinstance(entry, MaterializedView):
        yield from reads(catalog, entry).values()
    elif isinstance(entry, Sink):
        yield from (read for oid in entry.dependencies if (read := catalog.by_oid(oid)) is not None)


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


# What outlives the process.
def write_job(state: State, job: Job) -> None:
    """Within an epoch: what is needed to go on, or to begin again, after the end of the process."""
    values = (job.number, job.text, json.dumps(astuple(to_row(job.view))), json.dumps(job.replaces))
    types = state.tables[JOBS].spec.schema.types
    state.tables[JOBS].upsert([pa.array([v], t.arrow) for v, t in zip(values, types, strict=True)])


def delete_job(state: State, number: int) -> None:
    """Within an epoch. What it has brought on is forgotten by `Epoch.forget_job`."""
    table = state.tables[JOBS]
    found = table.lookup([pa.array([number], pa.int64())])
    table.delete(found[found >= 0])


def stored_jobs(state: State) -> list[Job]:
    """The jobs of an earlier process, first the one that had begun. What they read is as it is now: nobody
    could change it while they were there."""
    columns, _ = state.tables[JOBS].scan()
    jobs: list[Job] = []
    for _, text, row, replaces in sorted(zip(*(column.to_pylist() for column in columns), strict=True)):
        view = entry_of(CatalogRow(*json.loads(row)))
        assert isinstance(view, MaterializedView)
        current = state.catalog.by_oid(view.oid)
        view = current if isinstance(current, MaterializedView) else view
        job = Job(view, text, reads(state.catalog, view), tuple(json.loads(replaces)), stored=True)
        jobs.append(job)
    return sorted(jobs, key=lambda job: not stored_progress(state, job.number))


def resume(job: Job, state: State) -> None:
    """Takes up the operators of a job of an earlier process, if it got so far; else it begins anew."""
    progress = stored_progress(state, job.number)
    if not progress:
        return
    try:
        plan = plan_of(job, state.catalog)
        if not resumable(state, plan, progress):
            return
        fill = Fill(job.view.id, job.number, plan, state, resumed=True)
    except SqlError:
        return  # the job meets the same error when its turn comes, and ends with it
    if not fill.missing:
        job.fill = fill


def plan_of(job: Job, catalog: Catalog) -> Node:
    return view_plan(job.view, catalog.without(*job.replaces))
