"""`CheckpointSchedule`: when a storage's checkpoints begin, what they are to do, and what comes of them.

A checkpoint begins when the last one is old, when much was written since, or when tables take too much
memory. It brings the store up to the log, writes a new base if the segments have outgrown the last one, and
tells where rows of the tables are to be found in the store. Between epochs, once it is done, tables go on
from there (`evictions.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from .changelog import Rows, StoredSpec
from .checkpoint import Base, Checkpointer, Content, Extra
from .errors import SqlError
from .evictions import Evictions, whole_size
from .limits import StorageLimits
from .log import Log, Position
from .recovery import Recovered
from .table import StateTable
from .tableset import TableSet
from .warming import Warming


@dataclass(slots=True)
class CheckpointSchedule:
    """Used by the storage's thread, between epochs.

    `meta` gives the offsets and records of the last committed epoch, as a commit frame has them
    (`changelog.encode_meta`). `written`: bytes of changelog since the last checkpoint began.
    """

    checkpointer: Checkpointer
    evictions: Evictions
    warming: Warming
    tables: TableSet
    log: Log
    recovered: Recovered
    limits: StorageLimits
    clock: Callable[[], float]
    meta: Callable[[], bytes]
    written: int = 0
    _begun_at: float = field(init=False)
    _recovered_end: Position = field(init=False)
    _unsettled: bool = False
    """Whether a checkpoint was begun whose outcome no table has seen."""

    def __post_init__(self) -> None:
        self._begun_at = self.clock()
        self._recovered_end = self.log.end

    def hasten(self) -> None:
        """The next commit begins a checkpoint: the store is further behind than it should be."""
        self._begun_at = -math.inf

    def begin_when_due(self) -> None:
        """After a commit."""
        limits = self.limits
        due = self.clock() - self._begun_at >= limits.checkpoint_s
        if due or self.written >= limits.checkpoint_bytes:
            self.begin()

    def begin(self, wait: bool = False) -> None:
        """Begins one in the background, unless one is running.

        With `wait`, returns when that is done and raises what went wrong; otherwise a failure is kept in
        `checkpointer.error` and made good by the next.
        """
        checkpointer = self.checkpointer
        if checkpointer.running and not wait:
            return
        self.settle()
        self._forget_overlay()
        self._begun_at, self.written = self.clock(), 0
        try:
            base = self._base() if self._outgrown() else None
        except (SqlError, OSError) as error:
            checkpointer.error = error
            self.evictions.settle(self.tables.opened, None)
        else:
            requests = self.evictions.request(self.tables.opened, self.tables.specs)
            start = checkpointer.run if wait else checkpointer.start
            start(self.log.end, base, Extra(requests, self._sizes()))
            self._unsettled = True
        if wait:
            self.settle()
            if checkpointer.error is not None:
                raise checkpointer.error

    def settle(self) -> None:
        """Waits for the running checkpoint and lets tables go on from the store it has written."""
        checkpointer = self.checkpointer
        checkpointer.join(self.evictions.relieve)
        if self._unsettled:
            self._unsettled = False
            found = checkpointer.found if checkpointer.error is None else None
            self.evictions.settle(self.tables.opened, found)

    def mind_memory(self) -> None:
        """Evicts when a checkpoint has made that possible, begins one when tables take too much."""
        evictions, tables = self.evictions, self.tables.opened
        if self._unsettled and (not self.checkpointer.running or evictions.urgent(tables)):
            self.settle()
        if not self._unsettled and evictions.due(tables):
            self.begin()

    def close(self) -> None:
        """The last checkpoint, once the log is not written any more; a running one is abandoned for it."""
        self.checkpointer.abandon()
        self.checkpointer.join()
        self.checkpointer.run(self.log.end, None, Extra(sizes=self._sizes()))
        self.checkpointer.close()

    def _sizes(self) -> dict[int, tuple[int, int]]:
        """(rows, bytes) of the opened tables, by number."""
        specs, tables = self.tables.specs, self.tables.opened
        sizes = {specs[name].number: (len(table), whole_size(table)) for name, table in tables.items()}
        if self.warming:
            known = self.recovered.mirror.sizes()
            for name in self.warming.names:
                # Of the few rows it has in memory nobody can tell how large it will be.
                if name in tables and (number := specs[name].number) in known:
                    sizes[number] = (sizes[number][0], known[number][1])
        return sizes

    def _forget_overlay(self) -> None:
        """Lets go of replayed rows that the store has by now."""
        position = self.recovered.mirror.position
        if position is not None and position >= self._recovered_end:
            self.recovered.overlay = None

    def _outgrown(self) -> bool:
        """Whether the segments hold enough to be worth replacing by a base."""
        base, segments, count = self.log.sizes()
        return segments >= max(base, self.limits.compact_bytes) or count > self.limits.segments_max

    def _base(self) -> Base:
        """The tables as of the last committed epoch, which the store has too by the time a base is written.

        Those that are whole in memory are read there, others in the store.
        """
        position: Position = self.log.begin_segment()
        opened, specs = self.tables.opened, self.tables.specs
        tables: dict[str, tuple[StoredSpec, Content]] = {}
        for name, spec in self.tables.durable.items():
            content = _stored(self.recovered, spec)
            table = opened.get(name)
            if table is not None and table.complete and specs[name].number == spec.number:
                content = _resident(table)
            tables[name] = (spec, content)
        return Base(position, self.meta(), tables)


def _resident(table: StateTable) -> Content:
    snapshot = table.snapshot()
    return lambda: (Rows(*part) for part in snapshot.parts())


def _stored(recovered: Recovered, spec: StoredSpec) -> Content:
    return lambda: recovered.mirror.rows(spec)
