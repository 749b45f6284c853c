"""From a data directory to a running `State`: catalogue, tables, views, sources.

The catalogue is rows of a system table. Views are bound again from their SQL; their operators find
their state by name. A view whose stored state no longer has the shape its plan wants is filled anew
from its inputs, by a job (`jobs.py`) if these are large; one that no longer binds is stalled with the reason.
Jobs that had not ended go on where they were.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from ..operators.dataflow import Dataflow
from ..operators.node import EpochContext
from ..sql.catalog import Catalog
from ..sql.catalog_rows import CatalogRow, from_rows
from ..sql.entries import Entry, MaterializedView, Sink, Source, Table, View
from ..sql.system import SYSTEM_RELATIONS
from ..storage.commit import Storage
from ..storage.errors import SqlError
from ..storage.table import StateTable
from .epoch import Epoch
from .job import Job, feeds_sink, reads, resume, stored_jobs, too_much
from .published import FILLING
from .sequences import Sequences
from .sinks import add_sink
from .source import Connectors, log_stall
from .state import (
    CATALOG,
    CATALOG_SPEC,
    ERRORS,
    ERRORS_SPEC,
    JOBS,
    JOBS_SPEC,
    ONE_EPOCH_ROWS_MAX,
    SEQUENCES,
    SEQUENCES_SPEC,
    State,
    first_free_row_id,
    table_spec,
)
from .views import add_view

log = logging.getLogger("millpond.recovery")

SYSTEM_TABLES = {
    CATALOG: CATALOG_SPEC, ERRORS: ERRORS_SPEC, SEQUENCES: SEQUENCES_SPEC, JOBS: JOBS_SPEC,
}  # fmt: skip


def recover(
    storage: Storage,
    connectors: Connectors,
    time_us: int,
    before: State | None = None,
    read_only: bool = False,
    one_epoch_rows_max: int = ONE_EPOCH_ROWS_MAX,
) -> State:
    """The state of the last committed epoch, ready to run.

    `before`: an earlier state of the same database, whose plans serve again where they are right.
    `read_only`: nothing can be filled anew (on a standby); views that would have to be are stalled.
    """
    initial = Catalog.initial(SYSTEM_RELATIONS)
    state = State(storage, connectors, initial, None)  # pyright: ignore[reportArgumentType]
    state.dataflow = Dataflow(state)
    state.one_epoch_rows_max = one_epoch_rows_max
    for name, spec in SYSTEM_TABLES.items():
        state.tables[name] = storage.table(name, spec)
    state.catalog = _catalog(state.tables[CATALOG], initial)
    if before is not None:
        # Statements prepared on an earlier catalogue know by the version that it is another one.
        state.catalog = replace(state.catalog, version=before.catalog.version + 1)
        state.plans = before.plans
    state.offsets = dict(storage.sources)
    state.sequences = _sequences(state.tables[SEQUENCES])
    _open_tables(state, read_only)
    state.left_jobs = stored_jobs(state)
    for job in state.left_jobs:
        if state.catalog.by_oid(job.number) is not None:
            state.stalled[job.view.id] = FILLING
    for view in state.catalog.of(MaterializedView):
        assert isinstance(view, MaterializedView)
        if view.id not in state.stalled:
            _recover_view(state, view, time_us, read_only)
    for sink in state.catalog.of(Sink):
        assert isinstance(sink, Sink)
        recover_sink(state, sink, time_us)
    if not read_only:
        for job in state.left_jobs:
            resume(job, state)
    state.abandoned.extend(_left_over(state))
    return state


def _open_tables(state: State, read_only: bool) -> None:
    """Tables, and sources with rows of their own."""
    for source in state.catalog.of(Source):
        if isinstance(source, Source) and source.stored:
            state.tables[source.id] = state.storage.table(source.id, table_spec(source))
    for table in state.catalog.of(Table):
        assert isinstance(table, Table)
        state.tables[table.id] = stored = state.storage.table(table.id, table_spec(table))
        if table.has_row_id and not read_only:
            state.row_ids[table.id] = first_free_row_id(stored)


def recover_sink(state: State, sink: Sink, time_us: int) -> None:
    """Puts a sink to work over its stored state. One that was cut off from its inputs stays stalled: what
    changed meanwhile is known to nobody."""
    known = set(state.storage.names())
    try:
        add_sink(state, sink, EpochContext(state.storage.epoch, time_us, errors=[]), None)
    except SqlError as error:
        state.stalled[sink.id] = error.message
        return
    if set(state.dataflow.tables(sink.id)) - known:
        state.abandoned.extend(state.dataflow.remove(sink.id))
        state.stalled[sink.id] = "it has missed changes of its inputs: drop and create it again"


def _left_over(state: State) -> list[str]:
    """Tables nothing uses: of views that could not be taken up, or were being filled when all ended.

    They miss the changes from now on, so nothing may find them later.
    """
    used = set(state.tables).union(*(state.dataflow.tables(view) for view in state.dataflow.views))
    used = used.union(*(job.fill.tables for job in state.left_jobs if job.fill is not None))
    return [name for name in state.storage.names() if name not in used]


def _catalog(table: StateTable, initial: Catalog) -> Catalog:
    """The catalogue in the system's table, `initial` while nothing was ever created."""
    columns, _ = table.scan()
    rows = [CatalogRow(*row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
    return from_rows(rows, SYSTEM_RELATIONS) if rows else initial


def _sequences(table: StateTable) -> Sequences:
    """The counters as of the last commit."""
    columns, _ = table.scan()
    return Sequences(dict(zip(columns[0].to_pylist(), columns[1].to_pylist(), strict=True)))


def _recover_view(state: State, view: MaterializedView, time_us: int, read_only: bool) -> None:
    """Puts a view to work over its stored state; has it filled anew, or stalls it, if that cannot be."""
    below = _stalled_below(state, view)
    if below is not None and state.stalled[below.id] == FILLING:
        _refill(state, view, time_us, read_only)
        return
    if below is not None:
        _stall(state, view, f'it reads "{below.name}", which is stalled: {state.stalled[below.id]}')
        return
    context = EpochContext(state.storage.epoch, time_us, errors=[])
    stale_before, known = set(state.storage.stale), set(state.storage.names())
    try:
        add_view(state, view, context, None)
    except SqlError as error:
        _stall(state, view, error.message)
        return
    missing = set(state.dataflow.tables(view.id)) - known
    if not missing and not state.storage.stale - stale_before:
        return
    _refill(state, view, time_us, read_only, state.dataflow.remove(view.id))


def _stalled_below(state: State, view: MaterializedView | View) -> Entry | None:
    """A stalled view that `view` reads, itself or through plain views."""
    for oid in sorted(view.dependencies):
        entry = state.catalog.by_oid(oid)
        if isinstance(entry, View):
            entry = _stalled_below(state, entry)
        if entry is not None and entry.id in state.stalled:
            return entry
    return None


def _refill(
    state: State, view: MaterializedView, time_us: int, read_only: bool, tables: Sequence[str] = ()
) -> None:
    """The view's state is missing or of another shape than its plan: compute it from the inputs.

    It is missing when the view was stalled, or when the plan has changed with the program. `tables` are what
    there is of it. A job does it if it takes long; but a sink must see what changes from now on.
    """
    if read_only:
        _stall(state, view, "the primary does not keep it up to date")
        return
    about = {"event": "view_recomputed", "relation": view.name}
    log.warning("view %s is computed anew: its stored state is not that of its plan", view.name, extra=about)
    if feeds_sink(state.catalog, view) or not too_much(state, view, state.catalog):
        _refill_now(state, view, time_us, tables)
        return
    state.tables.pop(view.id, None)
    state.stalled[view.id] = FILLING
    text = f'CREATE MATERIALIZED VIEW "{view.name}" AS {view.query}'
    state.left_jobs.append(Job(view, text, reads(state.catalog, view)))


def _refill_now(state: State, view: MaterializedView, time_us: int, tables: Sequence[str]) -> None:
    epoch = Epoch(state, time_us)
    try:
        for name in tables:
            state.storage.drop(name)
        epoch.forget_errors(view.oid)
        add_view(state, view, epoch.context, lambda scan: state.content(scan, epoch.read_context()))
        epoch.changed = True
        epoch.commit()
    except SqlError as error:
        epoch.abandon()
        _stall(state, view, error.message)


def _stall(state: State, view: MaterializedView, reason: str) -> None:
    log_stall(log, "view", view.name, "", reason)
    state.stalled[view.id] = reason
