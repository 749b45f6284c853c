"""`SourceInput`: a source that a view being filled reads; see `fill_inputs.py`.

A source only grows: what was committed before the first epoch is read again in chunks, and what comes later
is passed on at once. How far it got is a number of records, which says something after a restart only if
the connector gives them in the same order each time (`stable_replay`).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable

from ..operators.zset import ZSet
from ..sql.entries import Source
from ..storage.schema import Schema
from .fill_inputs import Progress
from .relations import open_reader
from .source import READ_AHEAD_BATCHES, Connectors


class SourceInput:
    """What a source delivered up to the offset `until`, read again by a thread a few batches ahead."""

    total = None

    def __init__(
        self,
        entry: Source,
        until: bytes,
        connectors: Connectors,
        wake: Callable[[], None],
        progress: Progress | None = None,
    ) -> None:
        """`progress`: where an earlier process was, with the same `until`."""
        self._entry, self._until, self._connectors, self._wake = entry, until, connectors, wake
        self._batches: queue.Queue[ZSet | Exception | None] = queue.Queue(READ_AHEAD_BATCHES)
        self._head: ZSet | None = None
        self._taken = self._rows = 0
        self.fed: int = (progress or {}).get("rows", 0)
        self.done: bool = (progress or {}).get("done", False)
        self.ending = self.done
        self._skip = self.fed
        self._stop = threading.Event()
        if not self.done:
            thread = threading.Thread(target=self._run, name=f"fill-{entry.name}", daemon=True)
            thread.start()

    @property
    def ready(self) -> bool:
        return not self.done and (self._head is not None or not self._batches.empty())

    @property
    def progress(self) -> Progress:
        return {"until": self._until.hex(), "rows": self.fed + self._rows, "done": self.ending}

    def passed_on(self, delta: ZSet) -> ZSet:
        return delta

    def chunk(self, rows: int) -> ZSet:
        if self._head is None:
            item = self._batches.get_nowait()
            if isinstance(item, Exception):
                raise item
            if item is None:
                self.ending = True
                return ZSet.empty(self._entry.schema)
            self._head, self._taken = item, 0
        part = self._head.slice(self._taken, rows)
        self._rows = len(part)
        return part

    def settle(self, committed: bool) -> None:
        if self.ending and not self.done and not committed:
            self.ending = False
            self._batches.put(None)
        elif committed:
            self.done = self.ending
            self._taken += self._rows
            self.fed += self._rows
            if self._head is not None and self._taken >= len(self._head):
                self._head = None
        self._rows = 0

    def close(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        try:
            for batch in self._replayed():
                self._put(batch)
            self._put(None)
        except Exception as error:  # whatever a connector raises ends this fill only
            self._put(error)

    def _replayed(self) -> Iterable[ZSet]:
        reader = open_reader(self._entry, self._connectors)
        try:
            for batch in reader.replay(self._until):
                if self._stop.is_set():
                    return
                skipped = min(self._skip, len(batch))
                self._skip -= skipped
                if len(batch) > skipped:
                    rows = batch.delta(self._entry.schema)
                    yield rows.slice(skipped, len(batch) - skipped)
        finally:
            reader.close()

    def _put(self, item: ZSet | Exception | None) -> None:
        while not self._stop.is_set():
            try:
                self._batches.put(item, timeout=0.2)
                self._wake()
                return
            except queue.Full:
                continue


class NothingInput:
    """A source that had delivered nothing at the beginning."""

    fed, total, done, ending, ready = 0, 0, True, True, False

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @property
    def progress(self) -> Progress:
        return {"nothing": True}

    def passed_on(self, delta: ZSet) -> ZSet:
        return delta

    def chunk(self, rows: int) -> ZSet:
        return ZSet.empty(self._schema)

    def settle(self, committed: bool) -> None: ...

    def close(self) -> None: ...
