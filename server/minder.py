"""`Minder`: looks after sessions that do nothing, and after memory that they hold by that.

A session that is idle for longer than its settings allow is ended, as in PostgreSQL. Whoever does not read a
result, is idle in a transaction or has a cursor open holds rows as they were, in memory. What that takes is
measured with everything else the process takes beside its tables, and tables give way (`storage/budget.py`).
Where that is not enough, the session that has rested longest is ended: the server goes on for the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from ..runtime.engine import Engine
from ..storage.budget import resident_bytes
from ..storage.errors import (
    IdleInTransactionTimeout,
    IdleSessionTimeout,
    OutOfMemory,
    SqlError,
    TransactionTimeout,
)
from .client import Client
from .database import Database
from .listener import Listener

log = logging.getLogger("millpond.sessions")

LOOK_S = 0.25
"""Between two looks."""

CROWDED = 0.95
"""Of the budget: from here on tables are asked to give way though nothing is written."""

SHORT = 1.08
"""Of the budget: what the process may not take for long."""

PATIENCE_S = 2.0
"""How long it may: tables give way, and freed memory is given back, within this time."""

HOLDS_S = 5.0
"""A session that has rested for less is not ended for memory."""


class Minder:
    """`look` is called by the event loop every LOOK_S."""

    def __init__(
        self,
        database: Database,
        listener: Listener,
        bytes_max: int,
        clock: Callable[[], float] = time.monotonic,
        resident: Callable[[], int] = resident_bytes,
    ) -> None:
        """`bytes_max`: what the process may take."""
        self._database = database
        self._listener = listener
        self._bytes_max = bytes_max
        self._clock = clock
        self._resident = resident
        self._short_since: float | None = None
        self.ended: dict[str, int] = {}
        """Sessions ended, by SQLSTATE."""

    def look(self) -> None:
        now = self._clock()
        for client in list(self._database.clients.values()):
            error = overdue(client, now, self._database.clock_us())
            if error is not None:
                self._end(client.pid, error)
        self._mind_memory(now, self._resident())

    def _mind_memory(self, now: float, resident: int) -> None:
        if resident < self._bytes_max * CROWDED:
            self._short_since = None
            return
        engine = self._database.engine
        if isinstance(engine, Engine):
            engine.mind_memory()
        if resident < self._bytes_max * SHORT:
            self._short_since = None
            return
        self._short_since = self._short_since or now
        if now - self._short_since < PATIENCE_S:
            return
        found = min(self.holders(), key=lambda holder: holder[1], default=None)
        if found is not None and now - found[1] > HOLDS_S:
            # What it held is given back before another is looked for.
            self._short_since = now
            self._end(found[0], short_of_memory(now - found[1]))

    def holders(self) -> Iterator[tuple[int, float]]:
        """Sessions that hold rows and do nothing: (number, since when)."""
        yield from self._listener.unread()
        published = self._database.engine.published
        for client in list(self._database.clients.values()):
            transaction = client.transaction
            old = transaction is not None and transaction.published is not published
            if not client.busy and (old or client.cursors):
                yield client.pid, client.resting_since

    def _end(self, pid: int, error: SqlError) -> None:
        log.warning("session %d is ended: %s", pid, error.message, extra={"event": "session_ended"})
        self.ended[error.code] = self.ended.get(error.code, 0) + 1
        self._listener.terminate(pid, error)


def overdue(client: Client, now: float, now_us: int) -> SqlError | None:
    """Why a session must end, if it must. `now` by the monotonic clock in s, `now_us` since 1970."""
    limits = client.settings.idle_limits()
    began_us = client.transaction_time_us
    if limits.transaction and began_us and now_us - began_us > limits.transaction * 1e6:
        return TransactionTimeout("terminating connection due to transaction timeout")
    if client.busy:
        return None
    limit = limits.idle_in_transaction if client.in_block else limits.idle
    if not limit or now - client.resting_since <= limit:
        return None
    if client.in_block:
        return IdleInTransactionTimeout("terminating connection due to idle-in-transaction timeout")
    return IdleSessionTimeout("terminating connection due to idle-session timeout")


def short_of_memory(seconds: float) -> OutOfMemory:
    """The error of a session that is ended for what it holds."""
    return OutOfMemory(
        f"terminating connection: memory is short, and this session holds rows as of {seconds:.0f} s ago",
        hint="Read results to their end, end transactions and close cursors sooner, or raise --memory.",
    )
