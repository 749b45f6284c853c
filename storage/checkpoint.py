"""Checkpoints: the store follows the log, and the log is cut to what is still needed.

A checkpoint reads the log behind the mirror's position like any other follower and needs nothing of
the tables, so it runs in a thread beside the engine; a longer piece of an embedded log is turned into files
for the store by another process (`stretch_process.py`). Once the store has all epochs up to E, recovery
needs none of the segments up to E; but the log alone must be able to rebuild the store (I1). So they go
only when a *base*, all live rows as of E, has taken their place, and that is written when the segments
have outgrown the last base: each byte is then rewritten about once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from .changelog import Rows, StoredSpec, rows_frames
from .cold import ColdRows
from .collector import no_collections
from .errors import ConnectionFailure
from .evictions import ColdRequest
from .limits import PROCESS_FROM_BYTES, StorageLimits
from .log import Frame, FrameKind, Log, LogSource, LogTruncated, Position
from .log_files import disk_error
from .log_reader import START
from .measures import CheckpointMeasures
from .mirror import Mirror
from .replay import STRETCH_BYTES_MAX, follow
from .stretch_process import ProcessLost, StretchProcess, process_for

log = logging.getLogger("millpond.checkpoint")

MEANWHILE_S = 0.5

Content = Callable[[], Iterable[Rows]]
"""Gives the rows of one table as of one epoch."""


@dataclass(frozen=True, slots=True)
class Base:
    """What a base is made of: the tables there are at the end of a segment, and their rows."""

    position: Position
    meta: bytes
    tables: dict[str, tuple[StoredSpec, Content]]

    def frames(self) -> Iterator[Frame]:
        for name, (spec, content) in self.tables.items():
            yield Frame(name, FrameKind.SPEC, spec.encode())
            for rows in content():
                if len(rows):
                    yield from rows_frames(name, rows.columns, rows.weights, spec)


@dataclass(frozen=True, slots=True)
class Extra:
    """What else a checkpoint does: `requests` by table name, and noting how large tables are, by number."""

    requests: Mapping[str, ColdRequest] = field(default_factory=dict)
    sizes: Mapping[int, tuple[int, int]] = field(default_factory=dict)


NOTHING = Extra()


class Abandoned(Exception):
    """A checkpoint was not wanted any more; the next one does its work."""


class Checkpointer:
    """Runs one checkpoint at a time, in a thread of its own or in the caller's.

    `error` is what ended the last one, None when it succeeded. A failed checkpoint has moved the
    store to some earlier position or not at all; the next one goes on from there.
    """

    def __init__(
        self,
        mirror: Mirror,
        reader: LogSource,
        log: Log | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[], None] = lambda: None,
        process: StretchProcess | None = None,
    ) -> None:
        """`log`, to write bases to, can be given later; a standby has none. `pause`: see `pause_with`.

        `process` does most of the work of those that `start` begins, where it can. `close` closes it.
        """
        self._mirror = mirror
        mirror.pause = self._pause
        self.pause_with(pause)
        self._reader = reader
        self.log = log
        self._process = process
        self.process_from = PROCESS_FROM_BYTES
        self._clock = clock
        self.measures = CheckpointMeasures(succeeded_at=clock())
        self._thread: threading.Thread | None = None
        self._abandoned = False
        self.error: Exception | None = None
        self.stretch_bytes = STRETCH_BYTES_MAX
        """Changelog that is applied, and held in memory, at a time."""
        self.found: dict[str, ColdRows] | None = None
        """What was requested of the last one that succeeded, to be taken by whoever requested it."""

    def pause_with(self, pause: Callable[[], None]) -> None:
        """`pause` is called between small steps of checkpoints from now on."""
        self._give_way = pause

    def _pause(self) -> None:
        if self._abandoned:
            raise Abandoned("it was abandoned")
        self._give_way()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, end: Position, base: Base | None, extra: Extra = NOTHING) -> None:
        """Begins a checkpoint up to `end` in the background. None may be running."""
        assert not self.running
        self._abandoned = False
        arguments = (end, base, extra, self._process)
        self._thread = threading.Thread(target=self._run, args=arguments, name="checkpoint", daemon=True)
        self._thread.start()

    def abandon(self) -> None:
        """Ends a running checkpoint as soon as possible: `join` will not take long. It counts as failed."""
        if self.running:
            self._abandoned = True
            if self._process is not None:
                self._process.kill()

    def join(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Waits for the running checkpoint; `meanwhile` is called now and then."""
        if self._thread is not None:
            while self._thread.is_alive():
                self._thread.join(MEANWHILE_S)
                meanwhile()
            self._thread = None

    @property
    def process_bytes(self) -> int:
        """Memory of the other process. From any thread."""
        return 0 if self._process is None else self._process.nbytes

    def close(self) -> None:
        """None may be running any more."""
        if self._process is not None:
            self._process.close()

    def run(self, end: Position, base: Base | None, extra: Extra = NOTHING) -> None:
        """A checkpoint in the caller's thread; the outcome is in `error` and `found`.

        The caller waits for it, so the process, which comes after everybody else, has no part in it.
        """
        self._abandoned = False
        self._run(end, base, extra, None)

    def _run(self, end: Position, base: Base | None, extra: Extra, process: StretchProcess | None) -> None:
        self.found = None
        started = self._clock()
        try:
            with no_collections():
                behind = self._catch_up(end, process)
            if behind or extra.requests:
                self._add(extra)
                self._mirror.flush()
            self.found = self._find(extra.requests)
            if base is not None:
                assert self.log is not None
                self.log.write_base(base.position, base.meta, self._paced(base.frames()))
            self.error = None
        except ConnectionError as error:
            self.error = ConnectionFailure(f"could not read what a checkpoint is to have: {error}")
        except OSError as error:
            self.error = disk_error(error, "write a checkpoint")
        except Exception as error:
            # Whatever it was: the engine must hear of it, and the thread has nobody else to tell.
            self.error = error
        self._measure(started)

    def _paced(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        """The frames of a base, with a pause after each."""
        for frame in frames:
            yield frame
            self._pause()

    def _measure(self, started: float) -> None:
        measures, now = self.measures, self._clock()
        if self.error is None:
            measures.time.note(now - started)
            measures.succeeded_at = now
        elif isinstance(self.error, Abandoned):
            log.info("a checkpoint was abandoned", extra={"event": "checkpoint_abandoned"})
        else:
            measures.failures += 1
            log.error("a checkpoint failed: %s", self.error, extra={"event": "checkpoint_failed"})

    def _add(self, extra: Extra) -> None:
        """What the store is to have beside the log's rows."""
        for request in extra.requests.values():
            if request.indexed:
                self._mirror.index(request.stored, request.spec.indexes)
        if self._mirror.position is not None:
            self._mirror.note_sizes(extra.sizes)

    def _find(self, requests: Mapping[str, ColdRequest]) -> dict[str, ColdRows]:
        if not requests:
            return {}
        mirror, snapshot = self._mirror, self._mirror.snapshot()
        return {name: mirror.cold(r.stored, r.spec.indexes, snapshot) for name, r in requests.items()}

    def _catch_up(self, end: Position, process: StretchProcess | None) -> bool:
        """Whether there was anything to catch up with."""
        mirror = self._mirror
        if mirror.position is not None and mirror.position >= end:
            return False
        try:
            self._apply(mirror.position, end, process)
        except LogTruncated:
            # Another process cut the log to its own store; ours goes on from the base.
            self._apply(None, end, process)
        return True

    def _apply(self, after: Position | None, end: Position, process: StretchProcess | None) -> None:
        mirror = self._mirror
        if process is not None and mirror.takes_files and self._is_long(after, end):
            try:
                # Closed at once if something fails: what the process would still say is of no use any more.
                with closing(process.stretches(after, end, self._specs(after), mirror.indexes)) as stretches:
                    for stretch, file in stretches:
                        mirror.take_in(stretch, file)
                        after = stretch.position
                        self._pause()
                return
            except ProcessLost as error:
                self._pause()
                log.warning(
                    "a checkpoint goes on without its process: %s",
                    error,
                    extra={"event": "checkpoint_process_lost"},
                )
        epochs = self._reader.read(after, end)
        for stretch in follow(epochs, self._specs(after), self.stretch_bytes, self._pause):
            mirror.apply(stretch)

    def _specs(self, after: Position | None) -> Mapping[str, StoredSpec]:
        return {} if after is None else self._mirror.specs

    def _is_long(self, after: Position | None, end: Position) -> bool:
        """Whether there may be much in between."""
        start = after or START
        if end.segment > max(start.segment, 1):
            return True
        return end.offset - start.offset >= self.process_from


def checkpointer_for(
    mirror: Mirror, reader: LogSource, data: Path, limits: StorageLimits, clock: Callable[[], float]
) -> Checkpointer:
    """What brings the store of a data directory up to a log."""
    process = process_for(reader, data, limits.memory)
    checkpointer = Checkpointer(mirror, reader.apart(), clock=clock, process=process)
    checkpointer.process_from = limits.process_from_bytes
    if limits.memory is not None:
        checkpointer.stretch_bytes = limits.memory.stretch
    return checkpointer
