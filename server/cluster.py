"""This process among the others on its log: it makes itself known, and notices when it was replaced.

A thread writes its beat (`presence.py`) every quarter of a second. On the primary the same thread looks at
the fence, so that a process that was stopped learns on waking up that another has taken over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..storage.presence import BEAT_S, Presence, PrimaryBeat, ReplicaBeat
from ..storage.standby import Lag

SILENT_S = 2.0
"""A standby whose last beat is older is shown as silent, its lag as unknown."""


class Cluster:
    """The processes on one log, seen from one of them. `address` may be set later."""

    def __init__(self, presence: Presence, name: str, address: str) -> None:
        self.presence = presence
        self.name = name
        self.address = address
        self.epoch: Callable[[], int] = lambda: 0
        self.lag: Callable[[], Lag] = lambda: Lag(None, None)
        self.records: Callable[[], int] = lambda: 0
        """That were in the log up to `epoch`."""
        self.fenced: Callable[[], bool] = lambda: False
        self.on_fenced: Callable[[], None] = lambda: None
        self.on_beat: Callable[[], None] = lambda: None
        self._writer: int | None = None
        self._beat = 0
        self._looked_at = time.monotonic()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def start(self, writer: int | None) -> None:
        """Begins to beat: as the primary if `writer` is its number, as a standby if None."""
        self._writer = writer
        self.beat()
        self._thread.start()

    def become_primary(self, writer: int) -> None:
        """This process is the writer from now on."""
        with self._lock:
            if self._writer is None:
                self.presence.withdraw_replica(self.name)
            self._writer = writer
        self.beat()

    def rename(self, name: str) -> None:
        """Goes on under another name."""
        with self._lock:
            if self._writer is None and name != self.name:
                self.presence.withdraw_replica(self.name)
            self.name = name

    def stop(self) -> None:
        """Ends beating; a standby is no longer shown."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._writer is None:
            self.presence.withdraw_replica(self.name)

    def beat(self) -> None:
        with self._lock:
            self._beat += 1
            now_us, writer = time.time_ns() // 1000, self._writer
            if writer is not None:
                head = (self.name, self.address, writer)
                beat = PrimaryBeat(*head, self.epoch(), self._beat, now_us, self.records())
                self.presence.announce_primary(beat)
            else:
                lag = self.lag()
                head = (self.name, self.address, self.epoch())
                replica = ReplicaBeat(*head, lag.epochs, lag.ms, now_us, self.lag_records(lag))
                self.presence.announce_replica(replica)

    def lag_records(self, lag: Lag) -> int | None:
        """How many records of the log this process is behind what its primary last said; None if unknown."""
        if not lag.epochs:
            return lag.epochs
        primary = self.presence.read_primary()
        return max(0, primary.records - self.records()) if primary is not None and primary.records else None

    def slept(self, seconds: float) -> bool:
        """Whether the fence was not looked at for so long: this process may have been stopped."""
        return time.monotonic() - self._looked_at > seconds

    def look(self) -> bool:
        """Whether another process has taken over from this primary; it is then told."""
        if self._writer is None:
            return False
        if self.fenced():
            self._stop.set()
            self.on_fenced()
            return True
        self._looked_at = time.monotonic()
        return False

    def primary_address(self) -> str:
        """Where the primary says it listens, empty when nobody does."""
        beat = self.presence.read_primary()
        return "" if beat is None else beat.address

    def replicas(self) -> list[ReplicaBeat]:
        """The standbys heard of lately; this one as it is now."""
        if self._writer is None and not self._stop.is_set():
            self.beat()
        return self.presence.read_replicas(time.time_ns() // 1000)

    def rows(self) -> list[tuple[object, ...]]:
        """(name, address, role, state, epoch, lag in epochs, records and ms, last beat µs) of every process.

        Lags are as the standby measured them at its last beat. Of a silent one they are unknown, not small.
        """
        now_us = time.time_ns() // 1000
        found: list[tuple[object, ...]] = []
        primary = self.presence.read_primary()
        if primary is not None:
            state = "silent" if now_us - primary.time_us > SILENT_S * 1e6 else "running"
            head = (primary.name, primary.address, "primary", state)
            found.append((*head, primary.epoch, None, None, None, primary.time_us))
        for beat in self.replicas():
            state = "starting" if beat.lag_ms is None else "running"
            if now_us - beat.time_us > SILENT_S * 1e6:
                state = "silent"
            lag = (None, None, None)
            if state == "running":
                lag = (beat.lag_epochs, beat.lag_records, beat.lag_ms)
            found.append((beat.name, beat.address, "standby", state, beat.epoch, *lag, beat.time_us))
        return found

    def fresher(self, than_ms: float) -> str:
        """The address of a process that is less behind, the primary before others; empty if none is known."""
        now_us = time.time_ns() // 1000
        primary = self.presence.read_primary()
        if primary is not None and now_us - primary.time_us < SILENT_S * 1e6:
            return primary.address
        best = [b for b in self.replicas() if b.name != self.name and b.lag_ms is not None]
        best = [b for b in best if (b.lag_ms or 0) + (now_us - b.time_us) / 1000 < than_ms]
        return min(best, key=lambda b: b.lag_ms or 0).address if best else ""

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            if not self.look():
                self.beat()
                self.on_beat()
