"""`Endpoints`: the sources and sinks at work, which come and go with their definitions.

A source is read ahead of the engine in a thread of its own (`source.py`); what it has ready goes into the
next epoch, and is taken away once that is committed. A sink's outbox is sent in a thread of its own too
(`sink.py`); rows that are out leave the outbox by a work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from functools import partial

from ..planner.define import Definition
from ..sql.entries import Sink, Source, Table
from ..storage.errors import SqlError
from .epoch import Epoch
from .outboxes import Outboxes
from .published import Published
from .relations import has_connector, open_reader
from .sink import SinkRunner, open_writer, outbox_name
from .sinks import trim_sink
from .source import ReadAhead, SourceReader, log_stall
from .state import State
from .works import CallWork, Work

log = logging.getLogger("millpond.engine")


class Endpoints:
    """Used by the engine's thread; `source_status`, `sink_status` and `source_readers` by any.

    `rows_max` bounds the rows of sources in an epoch. `wake` is called when a source has a batch, from its
    thread; `submit` and `published` are called from the sinks' threads.
    """

    def __init__(
        self,
        state: State,
        outboxes: Outboxes,
        rows_max: int,
        wake: Callable[[], None],
        submit: Callable[[Work], object],
        published: Callable[[], Published],
    ) -> None:
        self.sources: dict[str, ReadAhead] = {}
        """By relation id."""
        self.sinks: dict[str, SinkRunner] = {}
        """By their own id."""
        self._state = state
        self._outboxes = outboxes
        self._rows_max = rows_max
        self._wake = wake
        self._submit = submit
        self._published = published

    def open(self) -> None:
        """Sets all to work that the catalogue has."""
        for entry in self._state.catalog.of(Source, Table):
            self._open_source(entry)
        for entry in self._state.catalog.of(Sink):
            self._open_sink(entry)

    def close(self) -> None:
        for source in self.sources.values():
            source.close()
        for sink in self.sinks.values():
            sink.close()

    def source_status(self) -> dict[str, str]:
        """Why each stalled source is stalled, by relation id."""
        return {name: s.failure for name, s in list(self.sources.items()) if s.failure}

    def sink_status(self) -> dict[str, str]:
        """Why each stalled sink is stalled, by its id."""
        return {name: s.failure for name, s in list(self.sinks.items()) if s.failure}

    def source_readers(self) -> dict[str, SourceReader]:
        """The readers at work, by relation id."""
        return {name: source.reader for name, source in list(self.sources.items())}

    @property
    def ready(self) -> bool:
        """Whether a source has a batch that need not wait for an outbox."""
        return any(
            source.peek() is not None and not self._outboxes.holds(source.entry.oid)
            for source in self.sources.values()
        )

    def deliver(self, epoch: Epoch) -> list[ReadAhead]:
        """Gives an epoch the next batches of all sources, up to its bound of rows; whose those are."""
        taken: list[ReadAhead] = []
        rows = 0
        for source in self.sources.values():
            batch = source.peek()
            if batch is None or rows >= self._rows_max or self._outboxes.holds(source.entry.oid):
                continue
            entry = epoch.catalog.by_oid(source.entry.oid)
            if isinstance(entry, Source | Table):
                epoch.deliver(entry, batch)
                rows += len(batch)
                taken.append(source)
        return taken

    def wake_sinks(self, touched: Container[str]) -> None:
        """Tells sinks whose outbox is among the tables that changed."""
        for sink in self.sinks.values():
            if outbox_name(sink.sink) in touched:
                sink.wake()

    def follow(self, definition: Definition) -> None:
        """Sources and sinks that came are set to work, those that went are closed."""
        for entry in definition.dropped:
            gone = self.sources.pop(entry.id, None) or self.sinks.pop(entry.id, None)
            if gone is not None:
                gone.close()
        for entry in definition.reset:
            source = self.sources.pop(entry.id, None)
            if source is not None:
                source.close()
            self._open_source(entry)
        for entry in definition.created:
            if entry.id not in self.sources:
                self._open_source(entry)
            self._open_sink(entry)

    def _open_source(self, entry: object) -> None:
        if not has_connector(entry):
            return
        assert isinstance(entry, Source | Table)
        try:
            reader = open_reader(entry, self._state.connectors)
        except SqlError as error:
            self._state.stalled[entry.id] = error.message
            log_stall(log, "source", entry.name, "", error.message)
            return
        offset = self._state.offsets.get(entry.id)
        self.sources[entry.id] = ReadAhead(entry, reader, offset, self._rows_max, self._wake)

    def _open_sink(self, entry: object) -> None:
        if not isinstance(entry, Sink) or entry.into_oid or entry.id in self.sinks:
            return
        name = outbox_name(entry)
        self.sinks[entry.id] = SinkRunner(
            entry,
            partial(open_writer, entry, self._state.connectors),
            lambda: self._published().tables.get(name),
            lambda sent: self._sent(entry, sent),
        )

    def _sent(self, sink: Sink, sent: int) -> None:
        """Called by a sink's thread: what is out leaves the outbox."""
        self._state.sent[sink.id] = sent
        self._submit(CallWork(function=lambda epoch: trim_sink(epoch, sink)))
