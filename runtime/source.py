"""What a connector delivers to the engine, and the thread that reads ahead of it.

A source is replayable and deterministic: the rows between two offsets are the same whenever they
are read. So the content of a source relation is *the rows up to its committed offset*, nothing of
it is stored, and an offset committed with the epoch makes it exactly-once (I6).
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.zset import ZSet
from ..sql.entries import Entry
from ..storage.errors import SqlError
from ..storage.schema import Schema

log = logging.getLogger("millpond.source")

READ_AHEAD_BATCHES = 2
POLL_INTERVAL_S = 0.02


@dataclass(slots=True)
class SourceError:
    """A record that could not be decoded (I9): where it stood, why, and its raw text."""

    code: str
    message: str
    position: str
    raw: str


@dataclass(slots=True)
class SourceBatch:
    """Decoded records and the offset after them.

    `columns` are of the relation's schema. `deletes`, where true, says the row's key goes (only its
    key columns count); None when there is none. Several records of one key apply in their order. Of a
    source that is not stored, such a row goes itself, as it came.
    """

    columns: list[pa.Array]
    offset: bytes
    deletes: npt.NDArray[np.bool_] | None = None
    errors: list[SourceError] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def delta(self, schema: Schema) -> ZSet:
        """What the records do to a source that is not stored."""
        rows = ZSet.inserts(schema, self.columns)
        return rows if self.deletes is None else rows.with_weights(np.where(self.deletes, -1, 1))


class SourceReader(Protocol):
    """A connector at work on one relation. Used by one thread at a time."""

    def poll(self, offset: bytes | None, rows_max: int) -> SourceBatch | None:
        """What follows `offset` (None: the beginning), at most `rows_max` rows; None when nothing is there.

        Raises SqlError when the source cannot be read: it is then stalled, and asked again later.
        """
        ...

    def replay(self, until: bytes) -> Iterator[SourceBatch]:
        """All records from the beginning up to `until`, again."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Resettable(Protocol):
    """A reader that can go on although records it should have read are gone."""

    def reset(self, offset: bytes) -> bytes:
        """The offset from which `poll` then goes on, with the first records there are."""
        ...


@runtime_checkable
class Mirroring(Protocol):
    """A reader that shows others how far its source is."""

    def acknowledge(self, offset: bytes) -> None:
        """`offset` is committed. Called by the reading thread, between polls."""
        ...


class Connector(Protocol):
    """One kind of source, found by `connector = '<name>'` in WITH.

    One with an attribute `stable_replay` that is True gives the records up to an offset in the same order
    each time: the fill of a view over it goes on after a crash.
    """

    name: str

    def columns(self, options: Mapping[str, str]) -> Schema | None:
        """The columns the source has of its own, None when the statement must declare them."""
        ...

    def open(self, schema: Schema, options: Mapping[str, str]) -> SourceReader:
        """A reader for the relation's columns. Raises SqlError on a bad or unknown option, with a hint."""
        ...


class Connectors(Protocol):
    """All connectors there are; the server's registry."""

    def find(self, name: str) -> Connector:
        """Raises InvalidParameterValue with the names there are."""
        ...


class ReadAhead:
    """Reads one source in a thread of its own, a few batches ahead of the engine (I7).

    The engine looks at the next batch with `peek` and takes it away with `pop` only after the epoch
    that used it was committed: an epoch that failed sees the same batch again.
    """

    def __init__(
        self,
        entry: Entry,
        reader: SourceReader,
        offset: bytes | None,
        rows_max: int,
        wake: Callable[[], None],
    ) -> None:
        self.entry = entry
        self.reader = reader
        self.failure: str = ""
        """Why the source is stalled, empty when it is not."""
        self._offset = offset
        self._rows_max = rows_max
        self._wake = wake
        self._batches: queue.Queue[SourceBatch] = queue.Queue(READ_AHEAD_BATCHES)
        self._head: SourceBatch | None = None
        self._committed: bytes | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"source-{entry.name}", daemon=True)
        self._thread.start()

    def peek(self) -> SourceBatch | None:
        """The next batch, or None when none is ready."""
        if self._head is None:
            try:
                self._head = self._batches.get_nowait()
            except queue.Empty:
                return None
        return self._head

    def pop(self) -> None:
        """The batch last seen is committed."""
        if self._head is not None:
            self._committed = self._head.offset
        self._head = None

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        self.reader.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            batch = self._poll()
            if batch is None:
                self._stop.wait(POLL_INTERVAL_S)
                continue
            self._offset = batch.offset
            while not self._stop.is_set():
                try:
                    self._batches.put(batch, timeout=0.2)
                    self._wake()
                    break
                except queue.Full:
                    continue

    def _poll(self) -> SourceBatch | None:
        try:
            if self._committed is not None and isinstance(self.reader, Mirroring):
                self.reader.acknowledge(self._committed)
            batch = self.reader.poll(self._offset, self._rows_max)
        except Exception as error:  # whatever a connector raises stalls this source only
            self._note(failure_text(error))
            self._stop.wait(1.0)
            return None
        self._note("")
        return batch

    def _note(self, failure: str) -> None:
        self.failure, before = failure, self.failure
        log_stall(log, "source", self.entry.name, before, failure)


def log_stall(log: logging.Logger, kind: str, name: str, before: str, failure: str) -> None:
    """One line when a source, sink or view stalls, stalls for another reason, or goes on."""
    if failure == before:
        return
    if failure:
        about = {"event": f"{kind}_stalled", "relation": name, "reason": failure}
        log.warning("%s %s is stalled: %s", kind, name, failure, extra=about)
    else:
        log.info("%s %s goes on", kind, name, extra={"event": f"{kind}_resumed", "relation": name})


def failure_text(error: Exception) -> str:
    """An error as the reason of a stall, with what helps against it."""
    if isinstance(error, SqlError):
        return f"{error.message}. {error.hint}" if error.hint else error.message
    return str(error) or type(error).__name__
