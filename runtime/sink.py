"""Sinks: what changes in a relation goes out, each change once, whatever is killed when.

The changes of a sink are appended to its outbox, a state table, in the epoch that makes them: they are
committed with it or not at all. A thread for each sink takes committed rows from there and hands them to
the connector's writer, which makes them and the number of the last of them visible in one atomic step (a
Kafka transaction, the renaming of a file). Rows that are out are deleted from the outbox by a later epoch.

Why each change goes out once: a change not yet in the target is in the outbox, for rows leave it only
after the writer's step, so nothing is lost. Before the writer of a restarted server writes, it makes sure
that no earlier writer can finish anything, and then asks the target for the last number: rows up to that are
passed over, however little the deletion from the outbox had got. So nothing is repeated. Numbers are
epoch · 2³² + position, so they grow for ever without a counter of their own.

`CREATE SINK … INTO table` needs none of this: its changes are applied within the epoch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.zset import ZSet
from ..sql.entries import Sink
from ..storage.errors import FeatureNotSupported
from ..storage.schema import Column, Schema
from ..storage.snapshot import TableSnapshot
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8
from .source import Connectors, failure_text, log_stall

log = logging.getLogger("millpond.sink")

EPOCH_BITS = 32
"""Numbers of one epoch's changes; an epoch never has as many rows."""
RETRY_S = 1.0
IDLE_TRIM_S = 0.5
"""So long after the last rows went out, the outbox is emptied by an epoch of its own."""
BATCH_ROWS_MAX = 50_000
"""Rows written in one atomic step; a larger epoch goes out in several."""

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """Changes in their order. `numbers` grow; those of one epoch share `number >> EPOCH_BITS`.

    Within an epoch rows that go (negative weights) come before those that come.
    """

    rows: ZSet
    numbers: I64

    @property
    def last(self) -> int:
        return int(self.numbers[-1])


class SinkWriter(Protocol):
    """A connector at work on one sink, in one thread. Raises SqlError; it is then closed and made anew."""

    def progress(self) -> int:
        """The number of the last change that is out, 0 for none; earlier writers can do nothing any more."""
        ...

    def write(self, batch: SinkBatch) -> None:
        """Makes the changes and `batch.last` visible and durable, all or nothing."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class WritingConnector(Protocol):
    """A connector that has sinks."""

    def check_sink(self, sink: Sink) -> None:
        """Raises SqlError for a bad or unknown option."""
        ...

    def open_sink(self, sink: Sink) -> SinkWriter: ...


def outbox_name(sink: Sink) -> str:
    return f"{sink.id}/outbox"


def outbox_spec(sink: Sink) -> TableSpec:
    """Number, weight, and the row."""
    columns = [Column(f"c{i}", column.type, True) for i, column in enumerate(sink.schema)]
    return TableSpec(
        Schema((Column("number", INT8, False), Column("weight", INT8, False), *columns)), key=(0,)
    )


def append_to_outbox(outbox: StateTable, epoch: int, delta: ZSet, taken: int) -> int:
    """Adds an epoch's changes behind the `taken` ones it has already; how many it has now."""
    order = np.argsort(delta.weights >= 0, kind="stable")
    delta = delta.take(order)
    numbers = (epoch << EPOCH_BITS) + taken + np.arange(len(delta))
    _ = outbox.upsert([pa.array(numbers), pa.array(delta.weights), *delta.columns])
    return taken + len(delta)


def trim_outbox(outbox: StateTable, sent: int) -> bool:
    """Deletes what is out; whether there was anything."""
    if not len(outbox):
        return False
    numbers = outbox.scan([0])[0][0].to_numpy()
    gone = numbers[numbers <= sent]
    if len(gone):
        outbox.delete(outbox.lookup([pa.array(gone)]))
    return bool(len(gone))


def unsent(snapshot: TableSnapshot, schema: Schema, sent: int, rows_max: int) -> SinkBatch | None:
    """The first changes behind `sent`: whole epochs, unless the first alone has more than `rows_max`."""
    if not len(snapshot):
        return None
    columns, _ = snapshot.scan()
    numbers = columns[0].to_numpy()
    waiting = np.flatnonzero(numbers > sent)
    if not len(waiting):
        return None
    order = waiting[np.argsort(numbers[waiting], kind="stable")]
    if len(order) > rows_max:
        epochs = numbers[order] >> EPOCH_BITS
        whole = int(np.searchsorted(epochs, epochs[rows_max]))
        order = order[: whole or rows_max]
    indices = pa.array(order)
    weights = columns[1].take(indices).to_numpy()
    rows = ZSet(schema, tuple(column.take(indices) for column in columns[2:]), weights)
    return SinkBatch(rows, numbers[order])


def open_writer(sink: Sink, connectors: Connectors) -> SinkWriter:
    """The connector of a sink, at work."""
    connector = connectors.find(sink.options.get("connector", ""))
    if not isinstance(connector, WritingConnector):
        raise FeatureNotSupported(f'connector "{connector.name}" has no sinks')
    return connector.open_sink(sink)


class SinkRunner:
    """Sends one sink's outbox in a thread of its own.

    `outbox` gives the committed outbox, `open_writer` makes a writer, `trim` asks for the deletion of rows
    up to `sent`.
    """

    def __init__(
        self,
        sink: Sink,
        open_writer: Callable[[], SinkWriter],
        outbox: Callable[[], TableSnapshot | None],
        trim: Callable[[int], None],
    ) -> None:
        self.sink = sink
        self.sent = 0
        self.failure = ""
        """Why the sink is stalled, empty when it is not."""
        self._open_writer = open_writer
        self._outbox = outbox
        self._trim = trim
        self._writer: SinkWriter | None = None
        self._event = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"sink-{sink.name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._event.set()

    def close(self) -> None:
        self._stopping = True
        self._event.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        trimmed = 0
        while not self._stopping:
            self._event.clear()
            try:
                if not self._send() and not self._event.wait(IDLE_TRIM_S) and trimmed != self.sent:
                    trimmed = self.sent
                    self._trim(self.sent)
                self._note("")
            except Exception as error:  # whatever a connector raises stalls this sink only
                self._note(failure_text(error))
                self._close_writer()
                self._event.wait(RETRY_S)
        self._close_writer()

    def _note(self, failure: str) -> None:
        self.failure, before = failure, self.failure
        log_stall(log, "sink", self.sink.name, before, failure)

    def _send(self) -> bool:
        """Writes what waits, at most one batch; whether there was any."""
        if self._writer is None:
            self._writer = self._open_writer()
            self.sent = self._writer.progress()
        snapshot = self._outbox()
        if snapshot is None:
            return False
        batch = unsent(snapshot, self.sink.schema, self.sent, BATCH_ROWS_MAX)
        if batch is None:
            return False
        self._writer.write(batch)
        self.sent = batch.last
        return True

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except Exception as error:  # whatever it is: this thread must go on
                self.failure = failure_text(error)
