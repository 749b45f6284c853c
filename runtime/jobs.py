"""`Jobs`: views that are filled over several epochs, one after the other.

    begin(epoch, work, definition)   a CREATE MATERIALIZED VIEW over much data: its OID and name are taken
    refill(epoch, view)              a view that the epoch puts into the catalogue without rows
    take_up(epoch), feed(epoch)      before all else in an epoch: the first job's next chunk
    follow(epoch, carries)           at its end: what else it changed, and the chunk of an epoch of clients;
                                     after the last chunk the view is there
    settle(committed)                the epoch ended
    fail(job, error)                 cancelled or failed: nothing of it stays

A new view is in no catalogue before it is complete; then it is, all at once. What definitions must leave
alone meanwhile (its name, its inputs, its operators) is in `State.pending`. How far a job has come is
committed with what its operators did, so after a crash it goes on; what a client waits for ends with an
orderly stop, because the client is then told so.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..operators.dataflow import ViewFailure
from ..planner.define import Definition
from ..sql.entries import MaterializedView
from ..sql.statements import Drop, Statement
from ..storage.errors import InternalError, QueryCanceled, SqlError
from .fill import Fill
from .job import Job, JobFailure, check_ready, listed, plan_of, reads, too_much, write_job
from .pace import Pace, Switching
from .published import FILLING
from .state import Pending, State

if TYPE_CHECKING:
    from .epoch import Epoch
    from .works import DefineWork

log = logging.getLogger("millpond.jobs")


class Jobs:
    """The engine's jobs; its thread calls everything but `cancel` and `list`."""

    def __init__(self, state: State, wake: Callable[[], None]) -> None:
        self._state = state
        self._wake = wake
        self._queue: deque[Job] = deque(state.left_jobs)
        self._new: list[Job] = []
        self._dropped: list[Job] = []
        self._forgotten: list[int] = []
        """Numbers of jobs that ended without their views: the next epoch forgets what is stored of them."""
        self._pace = Pace(busy=lambda: state.storage.checkpointing)
        self._switching = Switching()
        for job in self._queue:
            self._hold(job)
        self._switching.shorten(bool(self._queue))

    def __bool__(self) -> bool:
        return bool(self._queue or self._forgotten)

    @property
    def ready(self) -> bool:
        """Whether an epoch is to begin that brings the first job on, or ends one."""
        if not self._queue or self._forgotten:
            return bool(self._forgotten)
        if any(job.wants_end for job in self._queue):
            return True
        first = self._queue[0].fill
        return self._pace.rest() <= 0 and (first is None or not first.opened or first.ready)

    @property
    def rest(self) -> float:
        """Seconds for which `ready` says no because clients may come; 0 if that is not the reason."""
        return self._pace.rest() if self._queue else 0.0

    def due(self, works: int, solo: bool) -> bool:
        """Whether the epoch that begins with so many works is to feed a chunk."""
        due = bool(self._queue) and not solo and self._pace.due(bool(works))
        if works:
            self.note_work()
        return due

    def note_work(self) -> None:
        """Clients are writing, or have just been answered: chunks give way to them."""
        self._pace.worked()

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
        job = Job(view, work.statement.text, reads(definition.catalog, view))
        job.replaces = tuple(entry.oid for entry in definition.dropped)
        job.definition = definition
        if not work.background:
            job.future, job.cancelled = work.future, work.read.context.cancelled
        epoch.reserve(definition)
        self._add(job)
        return job

    def refill(self, epoch: Epoch, view: MaterializedView) -> Job:
        """Leaves the rows of a view that the epoch puts into the catalogue to a job."""
        job = Job(view, f'CREATE MATERIALIZED VIEW "{view.name}" AS {view.query}', reads(epoch.catalog, view))
        self._state.stalled[view.id] = FILLING
        self._add(job)
        return job

    def _add(self, job: Job) -> None:
        write_job(self._state, job)
        job.stored = True
        self._hold(job)
        self._new.append(job)

    def _hold(self, job: Job) -> None:
        """What a job needs is kept for it."""
        job.held = Pending(job.view, frozenset(job.needs))
        if job.fill is not None:
            job.held.operators |= job.fill.dataflow.stateful
        self._state.pending[job.view.id] = job.held

    def take_up(self, epoch: Epoch) -> None:
        """At the very beginning of an epoch: a job of an earlier process sees all changes from here on.

        What is left of jobs that failed goes first: the epoch may begin another one of the same view.
        """
        for number in self._forgotten:
            epoch.forget_view(number)
        if self._queue and (fill := self._queue[0].fill) is not None and not fill.opened:
            fill.open(epoch.offsets_before, self._wake)

    def feed(self, epoch: Epoch) -> None:
        """The first job's next chunk, before any change of the epoch. Raises JobFailure, ViewFailure."""
        self._check_cancelled()
        if self._queue:
            with _failing(self._queue[0]):
                fill = self._at_work(self._queue[0], epoch)
                fill.feed(epoch.context, self._pace.seconds)
                self._pace.fed()

    def _check_cancelled(self) -> None:
        for job in self._queue:
            try:
                job.check_cancelled()
            except SqlError as error:
                raise JobFailure(job, error) from error

    def _at_work(self, job: Job, epoch: Epoch) -> Fill:
        return job.fill or self._begin(job, epoch)

    def _begin(self, job: Job, epoch: Epoch) -> Fill:
        state = self._state
        check_ready(job, state, epoch.catalog)
        epoch.drop_abandoned()
        epoch.forget_errors(job.number)
        epoch.forget_job(job.number)
        write_job(state, job)
        job.stored = job.begun = True
        job.fill = Fill(job.view.id, job.number, plan_of(job, epoch.catalog), state)
        job.fill.open(epoch.offsets_before, self._wake)
        if job.held is not None:
            job.held.operators |= job.fill.dataflow.stateful
        return job.fill

    def follow(self, epoch: Epoch, carries: bool = False) -> None:
        """The epoch's changes: works and sources are done and stepped. With `carries` a chunk as well.

        Raises JobFailure, ViewFailure.
        """
        if carries:
            self._check_cancelled()
        if self._queue and self._queue[0].number not in epoch.forgotten:
            with _failing(self._queue[0]):
                self._follow(self._queue[0], epoch, carries)

    def _follow(self, job: Job, epoch: Epoch, carries: bool) -> None:
        fill = self._at_work(job, epoch) if carries else job.fill
        if fill is None:
            return
        epoch.changed = True
        complete = fill.follow(epoch.context, epoch.changes, self._pace.seconds if carries else None)
        for name, at in fill.moved().items():
            epoch.move(name, at)
        if carries:
            self._pace.fed()
        if complete:
            check_ready(job, self._state, epoch.catalog)
            job.complete = True
            epoch.complete(job, fill)
            epoch.forget_job(job.number)

    def settle(self, committed: bool) -> None:
        """The epoch ended. Answers who waits for a job that it completed."""
        new, self._new = self._new, []
        dropped, self._dropped = self._dropped, []
        if committed:
            self._forgotten.clear()
            for job in dropped:
                self._end(job, QueryCanceled("the materialized view was dropped while it was being filled"))
            self._queue += new
            self._switching.shorten(bool(self._queue))
        else:
            for job in new:
                self._release(job)
            for job in dropped:
                if job.held is not None:
                    self._state.pending[job.view.id] = job.held
        if self._queue and (job := self._queue[0]).fill is not None:
            self._settle(job, job.fill, committed)

    def _settle(self, job: Job, fill: Fill, committed: bool) -> None:
        begun, job.begun = job.begun, False
        complete, job.complete = job.complete, False
        if begun and not committed:
            fill.close()
            job.fill = None
            if job.held is not None:
                job.held.operators.clear()
            return
        fill.settle(committed)
        if complete and committed:
            self._state.dataflow.adopt(job.view.id, fill.dataflow)
            self._remove(job)
            about = {"event": "view_filled", "relation": job.view.name, "rows": fill.progress[0]}
            log.info('materialized view "%s" is filled', job.view.name, extra=about)
            job.end(None)

    def fail(self, job: Job, error: SqlError) -> None:
        """Takes a job out that has failed; what is stored of it goes with the next epoch that commits."""
        self._forgotten.append(job.number)
        self._end(job, error)

    def _end(self, job: Job, error: SqlError) -> None:
        state = self._state
        if job.fill is not None:
            there = set(state.storage.names())
            state.abandoned.extend(name for name in job.fill.tables if name in there)
        replaced = state.pending[job.view.id] is not job.held
        self._remove(job)
        if not replaced and listed(job, state.catalog):
            state.stalled[job.view.id] = f"filling it ended: {error.message}"
        job.end(error)

    def drop(self, epoch: Epoch, statement: Statement, search_path: tuple[str, ...]) -> bool:
        """Ends the job whose new view DROP MATERIALIZED VIEW names, if it does."""
        if not self._queue or not isinstance(statement, Drop) or statement.kind != "materialized view":
            return False
        parts = statement.names[0].parts
        if len(statement.names) > 1 or epoch.catalog.find(parts, search_path) is not None:
            return False
        name = epoch.catalog.creation_schema(parts, search_path), parts[-1]
        for job in self._queue:
            if (job.view.schema_name, job.view.name) == name:
                self._dropped.append(job)
                epoch.forget_view(job.number)
                return True
        return False

    def forsake(self, epoch: Epoch, view: MaterializedView) -> None:
        """A listed view is dropped or replaced: its job ends with the epoch."""
        for job in self._queue:
            if job.view.oid == view.oid and job not in self._dropped:
                self._dropped.append(job)
                epoch.forget_view(job.number)

    def answer_after(self, jobs: list[Job], future: Future[Any], result: Any) -> None:
        """Answers once all of these jobs have ended, however."""
        left = list(jobs)

        def ended(job: Job) -> None:
            left.remove(job)
            if not left and not future.done():
                future.set_result(result)

        for job in jobs:
            job.at_end.append(lambda job=job: ended(job))

    def failed(self, failure: ViewFailure) -> Job | None:
        """The job whose operators failed, if it was one's."""
        return next((job for job in self._queue if job.view.id in failure.views), None)

    def forget_waited_for(self) -> bool:
        """Has the next epoch forget the jobs that clients wait for, of views that are in no catalogue.

        Whether there is something to forget.
        """
        self._forgotten += [job.number for job in self._queue if job.future is not None]
        return bool(self._forgotten)

    def close(self, error: SqlError) -> None:
        """The engine stops: clients are told, all else goes on at the next start."""
        for job in self.list():
            if job.fill is not None:
                job.fill.close()
            job.end(error)
        self._queue.clear()
        self._switching.shorten(False)

    def _remove(self, job: Job) -> None:
        if job.fill is not None:
            job.fill.close()
        self._queue.remove(job)
        self._switching.shorten(bool(self._queue))
        self._release(job)

    def _release(self, job: Job) -> None:
        if self._state.pending.get(job.view.id) is job.held:
            del self._state.pending[job.view.id]


class _failing:
    """What fails in here is the job's failure, unless it is that of an operator."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        match error:
            case ViewFailure() | JobFailure():
                return
            case SqlError():
                raise JobFailure(self._job, error) from error
            case Exception():
                # Ours, but others need not wait for it: without the job the next epoch goes well.
                log.error("filling a view failed", exc_info=error)
                raise JobFailure(self._job, InternalError(f"internal error: {error}")) from error
            case _:
                return


def needs_job(epoch: Epoch, definition: Definition) -> bool:
    """Whether the definition makes one new view and nothing else, over too much for one epoch."""
    if len(definition.created) != 1 or definition.reshaped or definition.rows is not None:
        return False
    view = definition.created[0]
    if not isinstance(view, MaterializedView) or epoch.catalog.by_oid(view.oid) is not None:
        return False
    return too_much(epoch.state, view, definition.catalog)
