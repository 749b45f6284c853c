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
from typing import Any, cast

from ..sql.entries import Sequence
from ..storage.candidate import Contender
from ..storage.commit import Storage
from ..storage.disk import DiskLock
from ..storage.errors import AdminShutdown, IoError, ReadOnlyTransaction, SqlError, StartupError
from ..storage.log import LogDamaged, LogTruncated
from ..storage.standby import Advance, Follower, Lag
from .engine import Engine, EngineLimits
from .published import Published
from .recovery import recover
from .sequences import Sequences
from .source import Connectors, SourceReader
from .state import CATALOG, JOBS, State
from .works import BarrierWork, Work

log = logging.getLogger("millpond.standby")

DAMAGED_RETRIES = 200
"""Looks at a log that seems damaged (it may be in the middle of being compacted) before giving up."""

READ_ONLY = "cannot execute {} in a read-only transaction"


class ReadOnlySequences(Sequences):
    """On a standby nothing is drawn."""

    def draw(self, sequence: Sequence, count: int) -> int:
        raise ReadOnlyTransaction(READ_ONLY.format("nextval()"))

    def set_next(self, oid: int, value: int) -> None:
        raise ReadOnlyTransaction(READ_ONLY.format("setval()"))


class StandbyEngine:
    """Follows until it is stopped or takes over; then `promoted` is called with the engine that goes on.

    `claimed` is called before that, as soon as the log is this process's: it makes itself known as the
    primary. `failed` is called when neither following nor taking over is possible any more, `unreadable` when
    that is because of this process's own store.
    """

    def __init__(
        self,
        follower: Follower,
        connectors: Connectors,
        limits: EngineLimits,
        clock_us: Callable[[], int],
        candidate: Contender,
    ) -> None:
        self.limits = limits
        self.listeners: list[Callable[[Published], None]] = []
        self.claimed: Callable[[int], None] = lambda writer: None
        self.promoted: Callable[[Engine], None] = lambda engine: None
        self.failed: Callable[[str], None] = lambda reason: None
        self.unreadable: Callable[[str], None] = lambda reason: None
        self.refusal_hint: Callable[[], str] = lambda: ""
        self._follower = follower
        self._connectors = connectors
        self._clock_us = clock_us
        self._candidate = candidate
        self._waiting: list[tuple[int, Future[Any]]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="standby", daemon=True)
        self._took_over = False
        _ = follower.catch_up()
        self.state = self._wire(None)
        self.published = self.state.publish(follower.epoch, clock_us(), None, ())

    @property
    def standby(self) -> bool:
        return True

    @property
    def records(self) -> int:
        return self._follower.records

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
        mark = self._follower.reader.end_mark(settled=True) if isinstance(work, BarrierWork) else None
        if mark is None:
            work.future.set_exception(self.refusal("this statement"))
            return work.future
        with self._lock:
            # What is published is looked at under the lock, or the last epoch could come in between.
            there = mark.epoch <= self.published.epoch
            if not there:
                self._waiting.append((mark.epoch, work.future))
        if there:
            work.future.set_result(None)
        return work.future

    def refusal(self, what: str) -> ReadOnlyTransaction:
        """The error for a statement that writes."""
        return ReadOnlyTransaction(READ_ONLY.format(what), hint=self.refusal_hint())

    def store_error(self) -> Exception | None:
        """What ended the last checkpoint, None when it succeeded."""
        return self._follower.checkpoint_error

    def source_status(self) -> dict[str, str]:
        return {}

    def sink_status(self) -> dict[str, str]:
        """None: sinks are written by the primary."""
        return {}

    def source_readers(self) -> dict[str, SourceReader]:
        """None: a standby reads no source, its rows and offsets come with the log."""
        return {}

    # The follower's thread.
    def _run(self) -> None:
        damaged = 0
        while not self._stop.is_set():
            try:
                self._follower.reader.await_news()
                self._follow()
                damaged = 0
                lock = self._candidate.try_lock(time.monotonic())
                if lock is not None and self._take_over(lock):
                    return
            except (LogDamaged, LogTruncated, OSError) as error:
                damaged += 1
                if damaged > DAMAGED_RETRIES or self._took_over:
                    self.failed(f"cannot follow the log: {error}")
                    return
            except IoError as error:
                self.unreadable(error.message)
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
        if advance.reshaped or CATALOG in touched or JOBS in touched:
            self.state = self._wire(self.state)
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

    def _wire(self, before: State | None) -> State:
        """The state of the follower's epoch, of which every operator has asked for its tables."""
        # A follower is to its readers what a storage is; nobody writes through this state.
        storage = cast(Storage, self._follower)
        state = recover(storage, self._connectors, self._clock_us(), before, read_only=True)
        state.sequences = ReadOnlySequences({})
        return state

    # Taking over.
    def _take_over(self, lock: DiskLock) -> bool:
        """Whether this process is the primary now. `lock` is the log's."""
        started = time.monotonic()
        try:
            changelog, advance = self._follower.take_over(lock)
            self._took_over = True
            self.claimed(changelog.writer)
            self._show(advance)
            storage = self._follower.become(changelog)
            # Operators are opened anew, over the tables that are there, and see them as they are.
            self.state = recover(storage, self._connectors, self._clock_us(), self.state)
            engine = Engine(self.state, self.limits, self._clock_us)
        except StartupError as error:
            self.failed(str(error))
            return True
        except SqlError as error:
            if self._took_over:
                # The log is this process's and the follower is used up: another must be free to take over.
                self.failed(f"taking over failed: {error.message}")
                return True
            log.warning("taking over failed: %s", error.message)
            return False
        finally:
            self._candidate.done()
        took = (time.monotonic() - started) * 1000
        epoch = engine.state.storage.epoch
        about = {"event": "took_over", "epoch": epoch, "seconds": round(took / 1000, 4)}
        log.warning("took over as primary at epoch %d, in %.0f ms", epoch, took, extra=about)
        self.promoted(engine)
        return True
