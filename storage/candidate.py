"""`Candidate`: when a standby may try to become the writer of a log.

Two signs. The log's lock is free: the writer ended, or let go of it for a planned hand-over; one of the
standbys that try gets it. Or the writer holds it and its beats stay out for a lease: it is stopped, or hangs.
Then one standby, the one with TAKEOVER, puts a lock of its own in place.

Time is this process's monotonic clock, and counts only while this process itself was awake: whoever was
stopped begins to watch anew. All this is about not taking over needlessly; that a needless takeover harms
nothing is the fence's business (`fence.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from .disk import Disk, DiskLock
from .presence import read_primary

TRY_S = 0.02
"""Between two looks at the lock."""

ASLEEP_SHARE = 0.5
"""A pause between two looks longer than this share of the lease means that we were stopped ourselves."""


class Contender(Protocol):
    """Tells a standby when it is its turn."""

    def try_lock(self, now_s: float) -> DiskLock | None:
        """The lock of the log if it is this process's turn; call `done` when the takeover has ended."""
        ...

    def done(self) -> None:
        """The takeover succeeded or was given up."""
        ...


class Candidate:
    """Asked again and again by one standby."""

    def __init__(self, folder: Path, disk: Disk, lease_s: float) -> None:
        self._folder = folder
        self._disk = disk
        self._lease_s = lease_s
        self._seen: tuple[int, int] | None = None
        self._seen_at = 0.0
        self._looked_at: float | None = None
        self._guard: DiskLock | None = None
        self._tried_at: float | None = None

    def try_lock(self, now_s: float) -> DiskLock | None:
        """The lock of the log if it is this process's turn; call `done` when the takeover has ended."""
        if self._tried_at is not None and 0 <= now_s - self._tried_at < TRY_S:
            return None
        self._tried_at = now_s
        lock = self._disk.lock(self._folder / "LOCK")
        if lock is not None or not self._silent(now_s):
            return lock
        guard = self._disk.lock(self._folder / "TAKEOVER")
        if guard is None:
            return None
        if not self._silent(now_s):
            # Another standby took over while we waited our turn.
            guard.release()
            return None
        self._guard = guard
        try:
            return self._disk.seize(self._folder / "LOCK")
        except OSError:
            self.done()
            raise

    def done(self) -> None:
        """The takeover succeeded or was given up."""
        if self._guard is not None:
            self._guard.release()
            self._guard = None

    def _silent(self, now_s: float) -> bool:
        """Whether the writer's beats have stayed out for a lease, seen by us awake."""
        asleep = self._looked_at is None or now_s - self._looked_at > self._lease_s * ASLEEP_SHARE
        self._looked_at = now_s
        beat = read_primary(self._folder, self._disk)
        seen = None if beat is None else (beat.writer, beat.beat)
        if asleep or seen is None or seen != self._seen:
            self._seen, self._seen_at = seen, now_s
            return False
        return now_s - self._seen_at >= self._lease_s
