"""`Engine`: the one thread that runs epochs, and the door through which works reach it.

An idle engine begins an epoch as soon as something arrives; a busy one takes everything that waits
into the next (group commit). A work that needs to see all before it finished (`solo`) begins an epoch
of its own. Whatever fails in an epoch undoes it; works of an undone epoch are run again without the
view that was the reason, or answered with the error (I2, I9).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..operators.dataflow import ViewFailure
from ..planner.define import Definition
from ..sql.entries import Sink, Source, Table
from ..storage.errors import AdminShutdown, InternalError, SqlError
from ..storage.fence import Fenced
from ..storage.standby import Lag
from .epoch import Epoch
from .gathering import Gathering
from .job import Job, JobFailure
from .jobs import Jobs
from .measures import EpochMeasures
from .outboxes import OUTBOX_ROWS_MAX, Outboxes
from .published import Published
from .relations import has_connector, open_reader
from .row_writes import Answer, HalfWritten
from .running import run_works
from .sink import SinkRunner, open_writer, outbox_name
from .sinks import trim_sink
from .source import ReadAhead, SourceReader, log_stall
from .state import State
from .warmer import FOREVER_S, Warmer
from .works import CallWork, Work

log = logging.getLogger("millpond.engine")

WORKS_PER_EPOCH_MAX = 4096
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
        self._works: deque[Work] = deque()
        self._gathering = Gathering()
        self.measures = EpochMeasures()
        self._condition = threading.Condition()
        self._stopping = False
        self._crowded = False
        """Whether memory is to be looked at though nothing is written."""
        self._rest_until = 0.0
        """After an epoch that failed with no client to tell, sources and jobs wait a little."""
        self._sources: dict[str, ReadAhead] = {}
        self._sinks: dict[str, SinkRunner] = {}
        self._outboxes = Outboxes(limits.sink_outbox_rows_max)
        self.jobs = Jobs(state, self._wake)
        self._warmer = Warmer(state.storage)
        self.listeners: list[Callable[[Published], None]] = []
        self.on_fenced: Callable[[], None] = lambda: None
        """Called once another process turns out to have taken over the log; nothing more is committed."""
        self.published: Published = state.publish(state.storage.epoch, self._now(), None, ())
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        for entry in self.state.catalog.of(Source, Table):
            self._open_source(entry)
        for entry in self.state.catalog.of(Sink):
            self._open_sink(entry)
        self._thread.start()

    def hand_over(self) -> None:
        """Finishes what is running, refuses what waits, and lets go of the log: a standby may have it."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        if self._thread.ident is not None:
            self._thread.join()
        self.state.storage.release_log()
        ending = AdminShutdown("terminating connection due to administrator command")
        self.jobs.close(ending)
        for work in (*self._works, *self._outboxes.give_up()):
            if not work.future.done():
                work.future.set_exception(ending)
        self._works.clear()

    def stop(self) -> None:
        """`hand_over`, then checkpoints and closes the storage."""
        self.hand_over()
        for source in self._sources.values():
            source.close()
        for sink in self._sinks.values():
            sink.close()
        self.state.storage.close()

    def submit(self, work: Work) -> Future[Any]:
        """Queues a work; its future is done when the epoch that ran it is durable and published."""
        with self._condition:
            if self._stopping:
                work.future.set_exception(AdminShutdown("the server is shutting down"))
            else:
                self._works.append(work)
                if len(self._works) >= self._gathering.wanted:
                    self._condition.notify()
        return work.future

    def mind_memory(self) -> None:
        """Has tables give way to what else takes memory, also when nothing is written. Any thread."""
        with self._condition:
            self._crowded = True
            self._condition.notify()

    @property
    def queued(self) -> int:
        """Works that wait for the next epoch."""
        return len(self._works)

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
        return {name: s.failure for name, s in list(self._sources.items()) if s.failure}

    def sink_status(self) -> dict[str, str]:
        """Why each stalled sink is stalled, by its id."""
        return {name: s.failure for name, s in list(self._sinks.items()) if s.failure}

    def source_readers(self) -> dict[str, SourceReader]:
        """The readers at work, by relation id."""
        return {name: source.reader for name, source in list(self._sources.items())}

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
            self._gathering.answered(len(works))
            if works:
                self.state.storage.precedence.end()
                self.jobs.note_work()
            self._between_epochs(bool(works))
            rest = self.limits.epoch_interval_ms / 1000 - (time.monotonic() - started)
            if rest > 0:
                time.sleep(rest)

    def _wait(self) -> list[Work] | None:
        """The works of the next epoch, possibly none when a source has records; None to stop."""
        with self._condition:
            self._gathering.wait(self._condition, self._works)
            while not (self._recall() or self._stopping or self._crowded or self._more_to_do()):
                rest = self._warmer.rest()
                if rest <= 0:
                    break
                if self._sources or self.jobs or self._outboxes:
                    rest = min(rest, self.jobs.rest or SOURCE_POLL_S)
                self._condition.wait(rest if rest < FOREVER_S else None)
            if self._stopping:
                return None
            return self._outboxes.admit(self._take([]))

    def _recall(self) -> bool:
        """Whether works are there, those included that need not wait for a sink's outbox any longer."""
        self._works.extendleft(reversed(self._outboxes.look(self.published, list(self._sinks.values()))))
        return bool(self._works)

    def _take(self, works: list[Work]) -> list[Work]:
        """Moves what waits, and may be in the same epoch, to `works`; the condition is held."""
        while self._works and len(works) < WORKS_PER_EPOCH_MAX:
            if self._works[0].solo and works:
                break
            works.append(self._works.popleft())
            if works[-1].solo:
                break
        return works

    def _between_epochs(self, busy: bool) -> None:
        """Goes on with bringing rows into memory, or lets some go, and shows readers what is there."""
        renewed = self._warmer.step(busy)
        if self._crowded:
            self._crowded = False
            renewed = {*renewed, *self.state.storage.mind_memory()}
        if renewed:
            last = self.published
            self.published = self.state.publish(last.epoch, last.time_us, last, renewed)

    def _more_to_do(self) -> bool:
        return time.monotonic() >= self._rest_until and (self._source_ready() or self.jobs.ready)

    def _source_ready(self) -> bool:
        return any(
            source.peek() is not None and not self._outboxes.holds(source.entry.oid)
            for source in self._sources.values()
        )

    def _run_works(self, works: list[Work]) -> None:
        """Runs the works in an epoch; when a view makes it fail, again without that view."""
        works = [work for work in works if work.future.set_running_or_notify_cancel()]
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
                elif not self._stall(failure):
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
        self.jobs.end(job, error)
        self._works.append(CallWork(function=lambda epoch: epoch.forget_view(job.number)))

    def _forget_waited_for(self) -> None:
        """An orderly end: clients will be told that their views are not made, so they do not go on later."""
        numbers = [job.number for job in self.jobs.waited_for()]
        if numbers:
            self._run_works([CallWork(function=lambda epoch: [epoch.forget_view(n) for n in numbers])])

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
            carries = self.jobs.due(len(works), solo)
            if carries and not works:
                self.jobs.feed(epoch)
                self._join(works)
                carries = False
            answers += run_works(works, epoch)
            if not solo:
                delivered = self._deliver(epoch)
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
        with self._condition:
            if self._works and not self._works[0].solo:
                self.jobs.note_work()
                known = len(works)
                self._take(works)
                came = self._outboxes.admit(works[known:])
                works[known:] = [work for work in came if work.future.set_running_or_notify_cancel()]

    def _deliver(self, epoch: Epoch) -> list[ReadAhead]:
        """Takes the next batches of all sources, up to the epoch's bound of rows."""
        taken: list[ReadAhead] = []
        rows = 0
        for source in self._sources.values():
            batch = source.peek()
            if batch is None or rows >= self.limits.epoch_rows_max or self._outboxes.holds(source.entry.oid):
                continue
            entry = epoch.catalog.by_oid(source.entry.oid)
            if isinstance(entry, Source | Table):
                epoch.deliver(entry, batch)
                rows += len(batch)
                taken.append(source)
        return taken

    def _publish(self, epoch: Epoch) -> None:
        state = self.state
        # What was evicted is published too, or the published snapshots would keep it in memory.
        touched = {*epoch.touched, *state.storage.take_renewed()}
        self.published = state.publish(state.storage.epoch, epoch.context.now_us, self.published, touched)
        for listener in self.listeners:
            listener(self.published)
        for sink in self._sinks.values():
            if outbox_name(sink.sink) in epoch.touched:
                sink.wake()

    def _answer(self, answers: Sequence[Answer], epoch: Epoch) -> None:
        for definition in epoch.definitions:
            self._follow_definition(definition)
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

    def _stall(self, failure: ViewFailure) -> bool:
        """Takes failing views, and the views that read them, out of the dataflow (I9, I10).

        They say why they are behind. Their rows go, so that none is found after a restart.
        """
        state = self.state
        known = [entry for name in failure.views if (entry := state.catalog.by_id(name)) is not None]
        names = ", ".join(sorted(entry.name for entry in known))
        behind = f'it reads "{names}", which is stalled: {failure.cause.message}'
        above = state.catalog.dependents_closure([entry.oid for entry in known])
        for entry, reason in [*((e, behind) for e in above), *((e, failure.cause.message) for e in known)]:
            if entry.id in state.dataflow.views:
                log_stall(log, "view", entry.name, "", reason)
                state.stalled[entry.id] = reason
                state.abandoned.extend(state.dataflow.remove(entry.id))
                state.tables.pop(entry.id, None)
        return bool(known)

    def _follow_definition(self, definition: Definition) -> None:
        """Sources that came begin to be read, those that went are closed."""
        for entry in definition.dropped:
            source = self._sources.pop(entry.id, None) or self._sinks.pop(entry.id, None)
            if source is not None:
                source.close()
        for entry in definition.reset:
            source = self._sources.pop(entry.id, None)
            if source is not None:
                source.close()
            self._open_source(entry)
        for entry in definition.created:
            if entry.id not in self._sources:
                self._open_source(entry)
            self._open_sink(entry)

    def _open_source(self, entry: object) -> None:
        if not has_connector(entry):
            return
        assert isinstance(entry, Source | Table)
        try:
            reader = open_reader(entry, self.state.connectors)
        except SqlError as error:
            self.state.stalled[entry.id] = error.message
            log_stall(log, "source", entry.name, "", error.message)
            return
        offset = self.state.offsets.get(entry.id)
        self._sources[entry.id] = ReadAhead(entry, reader, offset, self.limits.epoch_rows_max, self._wake)

    def _open_sink(self, entry: object) -> None:
        if not isinstance(entry, Sink) or entry.into_oid or entry.id in self._sinks:
            return
        name = outbox_name(entry)
        self._sinks[entry.id] = SinkRunner(
            entry,
            partial(open_writer, entry, self.state.connectors),
            lambda: self.published.tables.get(name),
            lambda sent: self._sent(entry, sent),
        )

    def _sent(self, sink: Sink, sent: int) -> None:
        """Called by a sink's thread: what is out leaves the outbox."""
        self.state.sent[sink.id] = sent
        self.submit(CallWork(function=lambda epoch: trim_sink(epoch, sink)))

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify()

    def _now(self) -> int:
        """µs since 1970, never going back: a clock set back does not turn time around."""
        self._time_us = max(self._clock_us(), self._time_us + 1)
        return self._time_us
