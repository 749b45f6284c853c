"""`Engine`: the one thread that runs epochs.

An epoch takes the works that wait (`work_queue.py`) and the batches that sources have ready
(`endpoints.py`). Whatever fails in an epoch undoes it; works of an undone epoch are run again without the
view that was the reason, or answered with the error (I2, I9).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from ..operators.dataflow import ViewFailure
from ..storage.errors import AdminShutdown, InternalError, SqlError
from ..storage.fence import Fenced
from ..storage.standby import Lag
from .endpoints import Endpoints
from .epoch import Epoch, HalfWritten
from .job import Job, JobFailure
from .jobs import Jobs
from .measures import EpochMeasures
from .outboxes import OUTBOX_ROWS_MAX, Outboxes
from .published import Published
from .row_writes import Answer
from .running import run_works
from .source import ReadAhead, SourceReader
from .stall import stall_views
from .state import State
from .warmer import Warmer
from .work_queue import WorkQueue
from .works import CallWork, Work, WriteWork

log = logging.getLogger("millpond.engine")

SOURCE_POLL_S = 0.05
FAILURE_REST_S = 0.5


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """Bounds of an epoch (I7)."""

    epoch_interval_ms: int = 0
    epoch_rows_max: int = 100_000
    sink_outbox_rows_max: int = OUTBOX_ROWS_MAX


class Engine:
    """Runs epochs over a recovered `State`. `published` may be read by any thread at any time."""

    def __init__(self, state: State, limits: EngineLimits, clock_us: Callable[[], int]) -> None:
        self.state = state
        self.limits = limits
        self._clock_us = clock_us
        self._time_us = 0
        self.measures = EpochMeasures()
        self._crowded = False
        """Whether memory is to be looked at though nothing is written."""
        self._rest_until = 0.0
        """After an epoch that failed with no client to tell, sources and jobs wait a little."""
        queue = self._queue = WorkQueue()
        self._outboxes = Outboxes(limits.sink_outbox_rows_max)
        self._endpoints = Endpoints(
            state, self._outboxes, limits.epoch_rows_max, queue.wake, queue.submit, lambda: self.published
        )
        self.jobs = Jobs(state, queue.wake)
        self._warmer = Warmer(state.storage)
        self.listeners: list[Callable[[Published], None]] = []
        self.on_fenced: Callable[[], None] = lambda: None
        """Called once another process turns out to have taken over the log; nothing more is committed."""
        self.published: Published = state.publish(state.storage.epoch, self._now(), None, ())
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._endpoints.open()
        self._thread.start()

    def hand_over(self) -> None:
        """Finishes what is running, refuses what waits, and lets go of the log: a standby may have it."""
        self._queue.close()
        if self._thread.ident is not None:
            self._thread.join()
        self.state.storage.release_log()
        ending = AdminShutdown("terminating connection due to administrator command")
        self.jobs.close(ending)
        for work in (*self._queue.clear(), *self._outboxes.give_up()):
            if not work.future.done():
                work.future.set_exception(ending)

    def stop(self) -> None:
        """`hand_over`, then checkpoints and closes the storage."""
        self.hand_over()
        self._endpoints.close()
        self.state.storage.close()

    def submit(self, work: Work) -> Future[Any]:
        """Queues a work; its future is done when the epoch that ran it is durable and published."""
        return self._queue.submit(work)

    def mind_memory(self) -> None:
        """Has tables give way to what else takes memory, also when nothing is written. Any thread."""
        self._crowded = True
        self._queue.wake()

    @property
    def queued(self) -> int:
        """Works that wait for the next epoch."""
        return len(self._queue)

    @property
    def standby(self) -> bool:
        """False: this engine commits epochs of its own (see `standby.StandbyEngine`)."""
        return False

    @property
    def records(self) -> int:
        """That are in the log (`Storage.records`). From any thread."""
        return self.state.storage.records

    def lag(self) -> Lag:
        """None behind: this is where the epochs come from."""
        return Lag(0, 0.0)

    def store_error(self) -> Exception | None:
        """What ended the last checkpoint, None when it succeeded."""
        return self.state.storage.checkpoint_error

    def source_status(self) -> dict[str, str]:
        """Why each stalled source is stalled, by relation id."""
        return self._endpoints.source_status()

    def sink_status(self) -> dict[str, str]:
        """Why each stalled sink is stalled, by its id."""
        return self._endpoints.sink_status()

    def source_readers(self) -> dict[str, SourceReader]:
        """The readers at work, by relation id."""
        return self._endpoints.source_readers()

    # The engine's thread.
    def _run(self) -> None:
        while True:
            works = self._wait()
            if works is None:
                self._forget_waited_for()
                return
            started = time.monotonic()
            if works:
                self.state.storage.precedence.begin()
            self._run_works(works)
            self._queue.answered(len(works))
            if works:
                self.state.storage.precedence.end()
                self.jobs.note_work()
            self._between_epochs(bool(works))
            rest = self.limits.epoch_interval_ms / 1000 - (time.monotonic() - started)
            if rest > 0:
                time.sleep(rest)

    def _wait(self) -> list[Work] | None:
        """The works of the next epoch, possibly none when a source has records; None to stop."""
        works = self._queue.next(self._returning, self._rest)
        return works and self._outboxes.admit(works)

    def _returning(self) -> Sequence[Work]:
        """Works that need not wait for a sink's outbox any longer."""
        return self._outboxes.look(self.published, list(self._endpoints.sinks.values()))

    def _rest(self) -> float:
        """Seconds until there is something to do without works, 0 if there is."""
        if self._crowded or self._more_to_do():
            return 0.0
        rest = self._warmer.rest()
        if rest > 0 and (self._endpoints.sources or self.jobs or self._outboxes):
            return min(rest, self.jobs.rest or SOURCE_POLL_S)
        return rest

    def _between_epochs(self, busy: bool) -> None:
        """Goes on with bringing rows into memory, or lets some go, and shows readers what is there."""
        renewed = self._warmer.step(busy)
        if self._crowded:
            self._crowded = False
            try:
                renewed = {*renewed, *self.state.storage.mind_memory()}
            except Exception:
                # Nobody asked for it, and the next epoch needs this thread.
                log.exception("tables could not give way")
        if renewed:
            last = self.published
            self.published = self.state.publish(last.epoch, last.time_us, last, renewed)

    def _more_to_do(self) -> bool:
        return time.monotonic() >= self._rest_until and (self._endpoints.ready or self.jobs.ready)

    def _run_works(self, works: list[Work]) -> None:
        """Runs the works in an epoch; when a view makes it fail, again without that view."""
        works = _begun(works)
        while True:
            try:
                self._epoch(works)
                return
            except JobFailure as failure:
                self._end_job(failure.job, failure.cause)
            except ViewFailure as failure:
                log.error("an operator failed", exc_info=failure)
                job = self.jobs.failed(failure)
                if job is not None:
                    self._end_job(job, failure.cause)
                elif not stall_views(self.state, failure):
                    self._refuse(works, failure.cause)
                    return
            except Fenced as error:
                log.warning("another process has taken over the log", extra={"event": "fenced"})
                self._refuse(works, error)
                self.on_fenced()
                return
            except HalfWritten as failure:
                self._refuse(works, failure.cause)
                return
            except SqlError as error:
                self._refuse(works, error)
                return
            except Exception as error:
                log.exception("an epoch failed")
                self._refuse(works, InternalError(f"internal error: {error}"))
                return

    def _end_job(self, job: Job, error: SqlError) -> None:
        about = {"event": "fill_ended", "relation": job.view.name, "reason": error.message}
        log.warning('filling materialized view "%s" ended: %s', job.view.name, error.message, extra=about)
        self.jobs.fail(job, error)

    def _forget_waited_for(self) -> None:
        """An orderly end: clients will be told that their views are not made, so they do not go on later."""
        if self.jobs.forget_waited_for():
            self._run_works([CallWork(function=lambda epoch: None)])

    def _epoch(self, works: list[Work]) -> None:
        if not works and not self._more_to_do():
            return
        started = time.monotonic()
        epoch = Epoch(self.state, self._now(), self.jobs)
        answers: list[Answer] = []
        delivered: list[ReadAhead] = []
        solo = any(work.solo for work in works)
        try:
            self.jobs.take_up(epoch)
            carries = self.jobs.due(len(works), any(w.solo and not isinstance(w, WriteWork) for w in works))
            if carries and not works:
                self.jobs.feed(epoch)
                self._join(works)
                carries = False
            answers += run_works(works, epoch)
            if not solo:
                delivered = self._endpoints.deliver(epoch)
            epoch.step()
            self.jobs.follow(epoch, carries)
            if epoch.changed:
                epoch.commit()
            else:
                epoch.abandon()
        except BaseException:
            self.measures.failed += 1
            epoch.abandon()
            self.jobs.settle(committed=False)
            raise
        for source in delivered:
            source.pop()
        if epoch.changed:
            self._publish(epoch)
        self.jobs.settle(committed=True)
        if epoch.changed:
            self.measures.committed(epoch, time.monotonic() - started)
        self._answer(answers, epoch)

    def _join(self, works: list[Work]) -> None:
        """Works that came while a chunk was fed share the epoch, and its fsync, with it."""
        came = self._queue.more()
        if came:
            self.jobs.note_work()
            works += _begun(self._outboxes.admit(came))

    def _publish(self, epoch: Epoch) -> None:
        state = self.state
        # What was evicted is published too, or the published snapshots would keep it in memory.
        touched = {*epoch.touched, *state.storage.take_renewed()}
        self.published = state.publish(state.storage.epoch, epoch.context.now_us, self.published, touched)
        for listener in self.listeners:
            listener(self.published)
        self._endpoints.wake_sinks(epoch.touched)

    def _answer(self, answers: Sequence[Answer], epoch: Epoch) -> None:
        for definition in epoch.definitions:
            self._endpoints.follow(definition)
        for work, result, error in answers:
            if error is not None:
                work.future.set_exception(error)
            elif isinstance(result, Job):
                if result.future is None:
                    work.future.set_result((result.definition, 0))
            elif epoch.filling and not getattr(work, "background", False):
                self.jobs.answer_after(epoch.filling, work.future, result)
            else:
                work.future.set_result(result)

    def _refuse(self, works: list[Work], error: BaseException) -> None:
        if not works:
            log.error("an epoch failed: %s", error)
            self._rest_until = time.monotonic() + FAILURE_REST_S
        for work in works:
            if not work.future.done():
                work.future.set_exception(error)

    def _now(self) -> int:
        """µs since 1970, never going back: a clock set back does not turn time around."""
        self._time_us = max(self._clock_us(), self._time_us + 1)
        return self._time_us


def _begun(works: Sequence[Work]) -> list[Work]:
    """Those that were not cancelled while they waited; they cannot be any more."""
    return [work for work in works if work.future.set_running_or_notify_cancel()]
