"""`Storage`: all state tables of a data directory, committed together epoch by epoch, and recovered.

    storage = Storage.open(Path("data"))
    table = storage.table("r16384", spec)       # with its rows of the last committed epoch
    storage.begin()                             # opens epoch storage.epoch + 1
    table.upsert(...)
    storage.commit({"source": b"offset"})       # changelog and offsets with one fsync, then visible

The order in `commit` is what the promises rest on: the changelog is durable (I3) before the epoch is
announced, of all tables at once (I2); the store is written later, from the changelog (I1), when
`checkpoint_schedule.py` says so. `recovery.py` is its mirror image.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .changelog import change_frames, count_frame, encode_meta
from .checkpoint import Checkpointer, checkpointer_for
from .checkpoint_schedule import CheckpointSchedule
from .disk import REAL, Disk, DiskLock
from .errors import StartupError
from .evictions import Evictions
from .folder import open_folder
from .limits import StorageLimits
from .log import Frame, Log, LogPlace
from .log_place import log_place
from .measures import CommitMeasures
from .precedence import Precedence
from .recovery import (
    Recovered,
    StoreOpener,
    cold_tables,
    load_table,
    reading_store,
    recover,
    tables_to_warm,
)
from .table import StateTable, TableSpec
from .tableset import TableSet
from .warming import Warming
from .watch import Watched, snapshots

log = logging.getLogger("millpond.storage")

RENUMBER_EPOCHS = 1 << 30
"""So often tables that have not been compacted for as long count their epochs anew."""


class Storage:
    """The tables of one data directory. One process, one thread (the engine's) uses it.

    `epoch`: the last committed epoch, 0 for a new directory.
    `sources`: connector offsets as of that epoch.
    `records`: rows and keys that all epochs up to then have written to the log.
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
        self._lock = lock
        self._log = log
        self._recovered = recovered
        self._limits = limits
        self._clock = clock
        self._tables = TableSet(recovered.specs, recovered.last_number)
        self._begun: list[StateTable] = []
        """Tables written in the open epoch; the others have nothing to commit."""
        self._open = False
        self.measures = CommitMeasures()
        self.precedence = Precedence()
        self._checkpointer = checkpointer
        checkpointer.log = log
        checkpointer.pause_with(self.precedence.give_way)
        self._evictions = Evictions(limits.memory, clock, lambda: checkpointer.process_bytes)
        self._cold = cold_tables(recovered, limits.memory)
        self.warming = Warming(
            tables_to_warm(recovered, limits.memory, limits.waited_for_bytes) - self._cold, clock
        )
        self._checkpoints = CheckpointSchedule(
            checkpointer, self._evictions, self.warming, self._tables, log, recovered, limits, clock,
            lambda: encode_meta(self.sources, self.records),
        )  # fmt: skip

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
                    with reading_store():
                        recovered = recover(changelog, data / "state", open_store, limits.memory)
                        checkpointer = checkpointer_for(
                            recovered.mirror, changelog.reader, data, limits, clock
                        )
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
        storage._tables.opened = tables
        if checkpointer.error is not None:
            storage._checkpoints.hasten()
        for table in tables.values():
            table.opener = storage._begin_table
        return storage

    @property
    def stale(self) -> set[str]:
        """Names of tables whose stored shape was not the one asked for; they began empty."""
        return self._tables.stale

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
        return sorted(self._tables.specs)

    def table(self, name: str, spec: TableSpec) -> StateTable:
        """The table of that name with its recovered content, created when there is none.

        If what is stored has another schema or key, the table begins empty, its name is in `stale`,
        and the stored rows are forgotten at the next commit. Indexes may differ freely. A table
        created within an epoch goes again with its rollback. Raises StartupError if the store cannot be read.
        """
        tables = self._tables
        if name in tables.opened:
            table = tables.opened[name]
            assert table.spec.schema == spec.schema and table.spec.key == spec.key, name
            return table
        stored = tables.specs.get(name)
        if stored is not None and stored.same_shape(spec):
            self._checkpointer.join()
            cold, warming = name in self._cold, self.warming.takes(name)
            with reading_store():
                table = load_table(name, spec, stored, self._recovered, self.epoch, cold, warming)
            tables.loaded(name, table)
        else:
            if self._open:
                tables.remember()
            table = tables.create(name, spec)
        table.opener = self._begin_table
        tables.opened[name] = table
        return table

    @property
    def tables_bytes(self) -> int:
        """Bytes of the opened tables' rows and indexes in memory."""
        return sum(table.nbytes for table in self._tables.opened.values())

    def take_renewed(self) -> set[str]:
        """Tables whose snapshot became another since the last call, by no epoch of theirs."""
        return self._evictions.take_renewed()

    def mind_memory(self) -> set[str]:
        """Between epochs: what a commit does to keep the budget; the tables whose snapshot it renewed."""
        assert not self._open
        self._checkpoints.mind_memory()
        return self.take_renewed()

    def warm(self, seconds: float) -> None:
        """Between epochs: goes on for so long to bring rows into memory that a start left in the store."""
        assert not self._open
        if not self.warming:
            return
        budget = self._limits.memory
        share = budget.share if budget is not None else None
        self._evictions.renewed |= self.warming.step(self._tables.opened, seconds, share)

    def drop(self, name: str) -> None:
        """Within an epoch: forgets the table, durably at commit. Raises KeyError when there is none."""
        assert self._open
        self._tables.remember()
        self._tables.drop(name)
        self.measures.rows.pop(name, None)

    def begin(self) -> int:
        """Opens the next epoch and returns its number. It begins in a table with the first write to it."""
        assert not self._open
        self._open = True
        epoch = self.epoch + 1
        if epoch % RENUMBER_EPOCHS == 0:
            # Not when a table's epoch begins: by then rows of it may have been looked up.
            for table in self._tables.opened.values():
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
            frames = self._frames(self._log.ready())
            started = self._clock()
            self._log.append(frames)
            self._log.commit(epoch, encode_meta(offsets, self.records + self._coming))
            self.measures.log.note(self._clock() - started)
        except BaseException:
            self._tables.stamped.clear()
            self.rollback()
            raise
        changed = self.measures.rows
        for table in self._begun:
            count = len(table.commit())
            if self._tables.opened.get(table.name) is table:
                changed[table.name] = changed.get(table.name, 0) + count
        self._begun.clear()
        self.epoch, self.sources = epoch, offsets
        self.records += self._coming
        self._open = False
        self._tables.commit()
        written = sum(len(frame.payload) for frame in frames)
        self._checkpoints.written += written
        self.measures.log_bytes += written
        self._keep_house()
        return epoch

    def _keep_house(self) -> None:
        """What is due after a commit. A failure is no reason to undo it: it is durable and visible."""
        try:
            self._checkpoints.mind_memory()
            self._checkpoints.begin_when_due()
        except Exception:
            log.exception("what comes after a commit failed")

    def rollback(self) -> None:
        """Undoes the open epoch in every table; created tables go, dropped ones are back."""
        assert self._open
        self._log.rollback()
        self._tables.rollback()
        for table in self._begun:
            table.rollback()
        self._begun.clear()
        self._open = False

    def checkpoint(self, wait: bool = False) -> None:
        """Brings the store up to the last committed epoch in a background thread.

        Afterwards the log may be compacted. With `wait`, returns when that is done and raises what
        went wrong; without, does nothing while one is running, and a failure is kept in
        `checkpoint_error` and made good by the next.
        """
        self._checkpoints.begin(wait)

    def close(self) -> None:
        """Rolls back an open epoch, checkpoints, closes all files, gives the directory free.

        The log is given free first: a standby need not wait for the checkpoint. A checkpoint that fails is
        left to the next start: the log has everything.
        """
        self.release_log()
        self._checkpoints.close()
        self._recovered.mirror.close()
        self._lock.release()

    def release_log(self) -> None:
        """Rolls back an open epoch and ends writing; what is left to do is `close`."""
        if self._open:
            self.rollback()
        self._log.close()

    def watch(self) -> Watched:
        """The figures of this moment. From any thread."""
        measures, mirror = self._checkpointer.measures, self._recovered.mirror
        return Watched(
            snapshots(self._tables.opened),
            measures,
            self._clock() - measures.succeeded_at,
            mirror.fetched.value,
            self._limits.memory,
            mirror.figures(),
            self.measures,
            self._evictions.measures,
            self._log_sizes(),
        )

    def _log_sizes(self) -> tuple[int, int, int] | None:
        """None while the log is being cut, and of a log that sees to its size itself."""
        try:
            sizes = self._log.sizes()
        except OSError:
            return None
        return sizes if sizes[2] else None

    def _frames(self, segment: int) -> list[Frame]:
        """The open epoch as frames: tables that went, tables that are new, what changed."""
        tables = self._tables
        frames = tables.begin_frames(segment)
        self._coming = 0
        for table in self._begun:
            name, change = table.name, table.change()
            if len(change) and tables.opened.get(name) is table:
                if name not in tables.stamped:
                    frames.append(tables.stamp(name))
                frames += change_frames(change, tables.specs[name])
                self._coming += len(change)
                if len(table) >= self._limits.counted_rows_min:
                    frames.append(count_frame(name, len(table)))
        return frames
