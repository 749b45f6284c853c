"""`Storage`: all state tables of a data directory, committed together epoch by epoch, and recovered.

    storage = Storage.open(Path("data"))
    table = storage.table("r16384", spec)       # with its rows of the last committed epoch
    storage.begin()                             # opens epoch storage.epoch + 1
    table.upsert(...)
    storage.commit({"source": b"offset"})       # changelog and offsets with one fsync, then visible

The order in `commit` is what the promises rest on: the changelog is durable (I3) before the epoch is
announced, of all tables at once (I2); the store is written later, from the changelog (I1).
`recovery.py` is its mirror image.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .changelog import Rows, StoredSpec, change_frames, count_frame, encode_meta
from .checkpoint import Base, Checkpointer, Content, Extra, checkpointer_for
from .disk import REAL, Disk, DiskLock
from .errors import SqlError, StartupError
from .evictions import Evictions, whole_size
from .folder import open_folder
from .limits import StorageLimits
from .log import Frame, FrameKind, Log, LogPlace, Position
from .log_place import log_place
from .measures import CommitMeasures
from .precedence import Precedence
from .recovery import Recovered, StoreOpener, cold_tables, load_table, recover, tables_to_warm
from .table import StateTable, TableSpec
from .warming import Warming

RENUMBER_EPOCHS = 1 << 30
"""So often tables that have not been compacted for as long count their epochs anew."""


@dataclass(slots=True)
class _Undo:
    """What `table` and `drop` changed in the open epoch."""

    tables: dict[str, StateTable]
    specs: dict[str, StoredSpec]
    stale: set[str]


class Storage:
    """The tables of one data directory. One process, one thread (the engine's) uses it.

    `epoch`: the last committed epoch, 0 for a new directory.
    `sources`: connector offsets as of that epoch.
    `records`: rows and keys that all epochs up to then have written to the log.
    `stale`: names of tables whose stored shape was not the one asked for; they began empty.
    """

    def __init__(
        self,
        lock: DiskLock,
        log: Log,
        recovered: Recovered,
        limits: StorageLimits,
        clock: Callable[[], float],
        checkpointer: Checkpointer,
    ) -> None:
        self.epoch = log.end.epoch
        self.sources = recovered.sources
        self.records = recovered.records
        self._coming = 0
        """Records of the open epoch."""
        self.stale: set[str] = set()
        self._lock = lock
        self._log = log
        self._recovered = recovered
        self._recovered_end = log.end
        self._limits = limits
        self._clock = clock
        self._tables: dict[str, StateTable] = {}
        self._begun: list[StateTable] = []
        """Tables written in the open epoch; the others have nothing to commit."""
        self._specs = dict(recovered.specs)
        self._durable = dict(recovered.specs)
        self._last_number = recovered.last_number
        self._open = False
        self._undo: _Undo | None = None
        self._segment = -1
        self._stamped: set[str] = set()
        self.measures = CommitMeasures()
        self.precedence = Precedence()
        self._checkpointer = checkpointer
        checkpointer.log = log
        checkpointer.pause_with(self.precedence.give_way)
        self._unsettled = False
        """Whether a checkpoint was begun whose outcome no table has seen."""
        self._checkpoint_time = clock()
        self._written = 0
        self._evictions = Evictions(limits.memory, clock, lambda: checkpointer.process_bytes)
        self._cold = cold_tables(recovered, limits.memory)
        self.warming = Warming(
            tables_to_warm(recovered, limits.memory, limits.waited_for_bytes) - self._cold, clock
        )

    @staticmethod
    def open(
        data: Path,
        log: Path | LogPlace | None = None,
        disk: Disk = REAL,
        *,
        limits: StorageLimits = StorageLimits(),
        open_store: StoreOpener | None = None,
        clock: Callable[[], float] = time.monotonic,
        locked: Callable[[], None] = lambda: None,
    ) -> Storage:
        """Opens or creates the directory; the log lies in `data/log` unless `log` says otherwise.

        `locked` is called once the log is locked, before recovery, which may take long.

        Raises StartupError: the directory is in use, not writable or of a newer format, the log has
        a hole or lost committed epochs.
        """
        try:
            lock = open_folder(data, disk)
            try:
                place = log_place(log or data / "log", disk, limits.segment_bytes)
                changelog = place.open(locked)
                try:
                    recovered = recover(changelog, data / "state", open_store, limits.memory)
                    checkpointer = checkpointer_for(recovered.mirror, changelog.reader, data, limits, clock)
                    return Storage(lock, changelog, recovered, limits, clock, checkpointer)
                except BaseException:
                    changelog.close()
                    raise
            except BaseException:
                lock.release()
                raise
        except OSError as error:
            raise StartupError(f"cannot use the data directory {data}: {error}") from error

    @staticmethod
    def adopt(
        lock: DiskLock,
        log: Log,
        recovered: Recovered,
        tables: dict[str, StateTable],
        checkpointer: Checkpointer,
        limits: StorageLimits,
        clock: Callable[[], float],
    ) -> Storage:
        """The storage of a standby that took over `log`, with the tables it has kept up to its end."""
        storage = Storage(lock, log, recovered, limits, clock, checkpointer)
        storage._tables = tables
        if checkpointer.error is not None:
            # The store is further behind than it should be.
            storage._checkpoint_time = -math.inf
        for table in tables.values():
            table.opener = storage._begin_table
        return storage

    def fenced(self) -> bool:
        """Whether another process has taken over the log. From any thread."""
        return self._log.fenced()

    @property
    def writer(self) -> int:
        """The number of this process among the writers of the log; a later one's is higher."""
        return self._log.writer

    @property
    def checkpointing(self) -> bool:
        """Whether a checkpoint works beside the epochs."""
        return self._checkpointer.running

    @property
    def checkpoint_error(self) -> Exception | None:
        """What ended the last checkpoint, None when it succeeded."""
        return self._checkpointer.error

    def names(self) -> list[str]:
        """Names of all tables there are, opened or only stored, sorted."""
        return sorted(self._specs)

    def table(self, name: str, spec: TableSpec) -> StateTable:
        """The table of that name with its recovered content, created when there is none.

        If what is stored has another schema or key, the table begins empty, its name is in `stale`,
        and the stored rows are forgotten at the next commit. Indexes may differ freely. A table
        created within an epoch goes again with its rollback.
        """
        if name in self._tables:
            table = self._tables[name]
            assert table.spec.schema == spec.schema and table.spec.key == spec.key, name
            return table
        stored = self._specs.get(name)
        if stored is not None and stored.same_shape(spec):
            self._checkpointer.join()
            cold, warming = name in self._cold, self.warming.takes(name)
            table = load_table(name, spec, stored, self._recovered, self.epoch, cold, warming)
            if self._undo is not None:
                # What it was loaded from is let go: it must survive a rollback, even of its drop.
                self._undo.tables[name] = table
        else:
            table = self._create(name, spec, stale=stored is not None)
        table.opener = self._begin_table
        self._tables[name] = table
        return table

    @property
    def tables_bytes(self) -> int:
        """Bytes of the opened tables' rows and indexes in memory."""
        return sum(table.nbytes for table in self._tables.values())

    def take_renewed(self) -> set[str]:
        """Tables whose snapshot became another since the last call, by no epoch of theirs."""
        return self._evictions.take_renewed()

    def mind_memory(self) -> set[str]:
        """Between epochs: what a commit does to keep the budget; the tables whose snapshot it renewed."""
        assert not self._open
        self._mind_memory()
        return self.take_renewed()

    def warm(self, seconds: float) -> None:
        """Between epochs: goes on for so long to bring rows into memory that a start left in the store."""
        assert not self._open
        if not self.warming:
            return
        budget = self._limits.memory
        share = budget.share if budget is not None else None
        self._evictions.renewed |= self.warming.step(self._tables, seconds, share)

    def drop(self, name: str) -> None:
        """Within an epoch: forgets the table, durably at commit. Raises KeyError when there is none."""
        assert self._open
        self._remember()
        del self._specs[name]
        self._tables.pop(name, None)
        self.stale.discard(name)
        self.measures.rows.pop(name, None)

    def begin(self) -> int:
        """Opens the next epoch and returns its number. It begins in a table with the first write to it."""
        assert not self._open
        self._open = True
        epoch = self.epoch + 1
        if epoch % RENUMBER_EPOCHS == 0:
            # Not when a table's epoch begins: by then rows of it may have been looked up.
            for table in self._tables.values():
                if epoch - table.ages_from >= RENUMBER_EPOCHS:
                    table.renumber(epoch)
        return epoch

    def _begin_table(self, table: StateTable) -> None:
        assert self._open, f"{table.name}: no epoch is open"
        table.begin(self.epoch + 1)
        self._begun.append(table)

    def commit(self, sources: Mapping[str, bytes]) -> int:
        """Makes the open epoch durable, then visible. Returns its number.

        `sources` are new offsets; names not given keep theirs, an empty value forgets the name.
        Raises DiskFull or IoError; then the epoch is rolled back and the next one may be tried.
        """
        assert self._open
        epoch = self.epoch + 1
        offsets = self.sources
        if sources:
            offsets = {name: value for name, value in {**offsets, **sources}.items() if value}
        try:
            segment = self._log.ready()
            if segment != self._segment:
                self._segment, self._stamped = segment, set()
            frames = self._frames()
            started = self._clock()
            self._log.append(frames)
            self._log.commit(epoch, encode_meta(offsets, self.records + self._coming))
            self.measures.log.note(self._clock() - started)
        except BaseException:
            self._stamped = set()
            self.rollback()
            raise
        changed = self.measures.rows
        for table in self._begun:
            changed[table.name] = changed.get(table.name, 0) + len(table.commit())
        self._begun.clear()
        self.epoch, self.sources = epoch, offsets
        self.records += self._coming
        self._open, self._undo = False, None
        if self._durable != self._specs:
            self._durable = dict(self._specs)
        written = sum(len(frame.payload) for frame in frames)
        self._written += written
        self.measures.log_bytes += written
        self._mind_memory()
        self._checkpoint_when_due()
        return epoch

    def rollback(self) -> None:
        """Undoes the open epoch in every table; created tables go, dropped ones are back."""
        assert self._open
        self._log.rollback()
        undo = self._undo
        if undo is not None:
            self._tables, self._specs, self.stale = undo.tables, undo.specs, undo.stale
        for table in self._begun:
            table.rollback()
        self._begun.clear()
        self._open, self._undo = False, None

    def checkpoint(self, wait: bool = False) -> None:
        """Brings the store up to the last committed epoch in a background thread.

        Afterwards the log may be compacted. With `wait`, returns when that is done and raises what
        went wrong; without, does nothing while one is running, and a failure is kept in
        `checkpoint_error` and made good by the next.
        """
        checkpointer = self._checkpointer
        if checkpointer.running and not wait:
            return
        self._settle()
        self._forget_overlay()
        self._checkpoint_time, self._written = self._clock(), 0
        try:
            base = self._base() if self._outgrown() else None
        except (SqlError, OSError) as error:
            checkpointer.error = error
            self._evictions.settle(self._tables, None)
        else:
            requests = self._evictions.request(self._tables, self._specs)
            start = checkpointer.run if wait else checkpointer.start
            start(self._log.end, base, Extra(requests, self._sizes()))
            self._unsettled = True
        if wait:
            self._settle()
            if checkpointer.error is not None:
                raise checkpointer.error

    def close(self) -> None:
        """Rolls back an open epoch, checkpoints, closes all files, gives the directory free.

        The log is given free first: a standby need not wait for the checkpoint. A checkpoint that fails is
        left to the next start: the log has everything.
        """
        self.release_log()
        self._checkpointer.abandon()
        self._checkpointer.join()
        self._checkpointer.run(self._log.end, None, Extra(sizes=self._sizes()))
        self._checkpointer.close()
        self._recovered.mirror.close()
        self._lock.release()

    def release_log(self) -> None:
        """Rolls back an open epoch and ends writing; what is left to do is `close`."""
        if self._open:
            self.rollback()
        self._log.close()

    def _settle(self) -> None:
        """Waits for the running checkpoint and lets tables go on from the store it has written."""
        checkpointer = self._checkpointer
        checkpointer.join(self._evictions.relieve)
        if self._unsettled:
            self._unsettled = False
            found = checkpointer.found if checkpointer.error is None else None
            self._evictions.settle(self._tables, found)

    def _mind_memory(self) -> None:
        """Evicts when a checkpoint has made that possible, begins one when tables take too much."""
        evictions, tables = self._evictions, self._tables
        if self._unsettled and (not self._checkpointer.running or evictions.urgent(tables)):
            self._settle()
        if not self._unsettled and evictions.due(tables):
            self.checkpoint()

    def _sizes(self) -> dict[int, tuple[int, int]]:
        """(rows, bytes) of the opened tables, by number."""
        sizes = {
            self._specs[name].number: (len(table), whole_size(table)) for name, table in self._tables.items()
        }
        if self.warming:
            known = self._recovered.mirror.sizes()
            for name in self.warming.names:
                # Of the few rows it has in memory nobody can tell how large it will be.
                if name in self._tables and (number := self._specs[name].number) in known:
                    sizes[number] = (sizes[number][0], known[number][1])
        return sizes

    def _forget_overlay(self) -> None:
        """Lets go of replayed rows that the store has by now."""
        position = self._recovered.mirror.position
        if position is not None and position >= self._recovered_end:
            self._recovered.overlay = None

    def _create(self, name: str, spec: TableSpec, stale: bool) -> StateTable:
        if self._open:
            self._remember()
        if stale:
            self.stale.add(name)
        self._last_number += 1
        self._specs[name] = StoredSpec(self._last_number, spec.schema, spec.key)
        return StateTable(name, spec)

    def _remember(self) -> None:
        if self._undo is None:
            self._undo = _Undo(dict(self._tables), dict(self._specs), set(self.stale))

    def _frames(self) -> list[Frame]:
        """The open epoch as frames: stores that went, stores that are new, what changed."""
        frames: list[Frame] = []
        self._coming = 0
        if self._specs != self._durable:
            frames = self._shape_frames()
        for table in self._begun:
            name, change = table.name, table.change()
            if len(change) and self._tables.get(name) is table:
                if name not in self._stamped:
                    frames.append(self._stamp(name))
                frames += change_frames(change, self._specs[name])
                self._coming += len(change)
                if len(table) >= self._limits.counted_rows_min:
                    frames.append(count_frame(name, len(table)))
        return frames

    def _shape_frames(self) -> list[Frame]:
        frames: list[Frame] = []
        for name, spec in self._durable.items():
            if name not in self._specs or self._specs[name].number != spec.number:
                frames.append(Frame(name, FrameKind.DROPPED, b""))
        for name, spec in self._specs.items():
            if name not in self._durable or self._durable[name].number != spec.number:
                frames.append(self._stamp(name))
        return frames

    def _stamp(self, name: str) -> Frame:
        self._stamped.add(name)
        return Frame(name, FrameKind.SPEC, self._specs[name].encode())

    def _checkpoint_when_due(self) -> None:
        limits = self._limits
        due = self._clock() - self._checkpoint_time >= limits.checkpoint_s
        if due or self._written >= limits.checkpoint_bytes:
            self.checkpoint()

    def _outgrown(self) -> bool:
        """Whether the segments hold enough to be worth replacing by a base."""
        base, segments, count = self._log.sizes()
        return segments >= max(base, self._limits.compact_bytes) or count > self._limits.segments_max

    def _base(self) -> Base:
        """The tables as of the last committed epoch, which the store has too by the time a base is written.

        Those that are whole in memory are read there, others in the store.
        """
        position: Position = self._log.begin_segment()
        tables: dict[str, tuple[StoredSpec, Content]] = {}
        for name, spec in self._durable.items():
            content = _stored(self._recovered, spec)
            table = self._tables.get(name)
            if table is not None and table.complete and self._specs[name].number == spec.number:
                content = _resident(table)
            tables[name] = (spec, content)
        return Base(position, encode_meta(self.sources, self.records), tables)


def _resident(table: StateTable) -> Content:
    snapshot = table.snapshot()
    return lambda: (Rows(*part) for part in snapshot.parts())


def _stored(recovered: Recovered, spec: StoredSpec) -> Content:
    return lambda: recovered.mirror.rows(spec)
