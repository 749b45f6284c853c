"""`Follower`: the tables of a log that another process writes, kept up to its last whole epoch.

    follower = Follower.open(own_data, log_of_the_primary)
    table = follower.table("r16384", spec)      # as with Storage, but only the log changes it
    follower.catch_up()                         # whole epochs only (I2); what changed, None if nothing
    storage = follower.become(lock)             # the same tables, now written by this process

It has a data directory of its own: the store there mirrors the log by checkpoints, so that a restarted
follower reads the tail only. When the log no longer reaches back to where a follower stands, it begins
again at the log's base.

Its lag is measured and never assumed: `Lag` says how far the writer's end mark was ahead when it was last
read, and how long ago this process was last seen to be at that end.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .changelog import StoredSpec, decode_meta, decode_records
from .checkpoint import Checkpointer, Extra, checkpointer_for
from .commit import Storage
from .disk import REAL, Disk, DiskLock
from .errors import StartupError
from .evictions import Evictions, whole_size
from .folder import open_folder
from .limits import StorageLimits
from .log import Log, LogEpoch, LogPlace, LogSource, Position
from .log import LogTruncated as Truncated
from .log_place import log_place
from .log_reader import START, lost
from .mirror import Mirror
from .recovery import (
    Recovered,
    StoreOpener,
    apply_change,
    open_cold,
    open_mirror,
    reading_store,
    replayed,
    restore_if_fits,
    restore_rows,
    rocks_opener,
)
from .replay import STRETCH_BYTES_MAX, NetChange, Stretch, follow
from .table import StateTable, TableSpec
from .watch import Watched, snapshots


@dataclass(frozen=True, slots=True)
class Lag:
    """How far behind. `epochs` and `ms` are None while nothing has been measured."""

    epochs: int | None
    ms: float | None


@dataclass(slots=True)
class Advance:
    """What catching up changed: names of tables, and whether stores came, went or took another shape."""

    tables: set[str] = field(default_factory=set)
    reshaped: bool = False


class Follower:
    """Used by one thread, but for `lag` and `records`. Those, `epoch`, `sources`, `stale`: see `Storage`."""

    def __init__(
        self,
        lock: DiskLock,
        place: LogPlace,
        reader: LogSource,
        recovered: Recovered,
        end: Position,
        limits: StorageLimits,
        clock: Callable[[], float],
        checkpointer: Checkpointer,
    ) -> None:
        self.reader = reader
        self.position = end
        self.sources, self.records = recovered.sources, recovered.records
        self.stale: set[str] = set()
        self._lock = lock
        self._place = place
        self._mirror = recovered.mirror
        self._limits = limits
        self._clock = clock
        self._tables: dict[str, StateTable] = {}
        self._specs = dict(recovered.specs)
        self._last_number = recovered.last_number
        self._held: defaultdict[str, list[tuple[int, NetChange]]] = defaultdict(list)
        """Changes since the mirror's position of tables that nobody asked for yet, with their epochs."""
        for name, change in (recovered.overlay.changes if recovered.overlay else {}).items():
            self._held[name].append((end.epoch, change))
        self._checkpointer = checkpointer
        self._checkpoint_time, self._read = clock(), 0
        self._evictions = Evictions(limits.memory, clock, lambda: checkpointer.process_bytes)
        self._unsettled = False
        """Whether a checkpoint was begun whose outcome no table has seen."""
        self._advance = Advance()
        """What has changed since `catch_up` returned last, also when it was interrupted by an error."""
        self._marked_epoch: int | None = None
        self._current_at: float | None = None

    @staticmethod
    def open(
        data: Path,
        log: Path | LogPlace,
        disk: Disk = REAL,
        *,
        limits: StorageLimits = StorageLimits(),
        open_store: StoreOpener | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Follower:
        """Locks the own directory `data` and brings it close to the end of `log`.

        Raises StartupError: there is no log, the directory is in use, the log is damaged.
        """
        place = log_place(log, disk, limits.segment_bytes)
        reader = place.source()
        identity = reader.identity
        try:
            lock = open_folder(data, disk)
        except OSError as error:
            raise StartupError(f"cannot use the data directory {data}: {error}") from error
        try:
            open_store = open_store or rocks_opener(limits.memory)
            stretch = STRETCH_BYTES_MAX if limits.memory is None else limits.memory.stretch
            with reading_store():
                mirror = open_mirror(identity, data / "state", open_store)
                end = max(mirror.position or START, reader.end_mark() or START)
                recovered = replayed(reader, end, mirror, lambda: open_store(data / "state", True), stretch)
            overlay, mirror = recovered.overlay, recovered.mirror
            end = (overlay.position if overlay is not None else mirror.position) or START
        except OSError as error:
            lock.release()
            raise StartupError(f"cannot use the data directory {data}: {error}") from error
        except BaseException:
            lock.release()
            raise
        checkpointer = checkpointer_for(recovered.mirror, reader, data, limits, clock)
        return Follower(lock, place, reader, recovered, end, limits, clock, checkpointer)

    @property
    def epoch(self) -> int:
        return self.position.epoch

    @property
    def checkpoint_error(self) -> Exception | None:
        """What ended the last checkpoint, None when it succeeded."""
        return self._checkpointer.error

    def names(self) -> list[str]:
        return sorted(self._specs)

    def lag(self) -> Lag:
        """As measured when the end mark was last read. From any thread."""
        marked, current = self._marked_epoch, self._current_at
        epochs = None if marked is None else max(0, marked - self.position.epoch)
        return Lag(epochs, None if current is None else max(0.0, (self._clock() - current) * 1000))

    def watch(self) -> Watched:
        """The figures of this moment. From any thread."""
        measures, mirror = self._checkpointer.measures, self._mirror
        age_s, fetched = self._clock() - measures.succeeded_at, mirror.fetched.value
        about = measures, age_s, fetched, self._limits.memory, mirror.figures()
        return Watched(snapshots(self._tables), *about, evictions=self._evictions.measures)

    def table(self, name: str, spec: TableSpec) -> StateTable:
        """The table of that name, as of `epoch`; changed by `catch_up`.

        A table the log does not have, or has in another shape, is empty and its name is in `stale`. Indexes
        may differ from those asked for earlier; then it is another object.
        """
        found, stored = self._tables.get(name), self._specs.get(name)
        if stored is None or not stored.same_shape(spec):
            self.stale.add(name)
            return StateTable(name, spec)
        self.stale.discard(name)
        if found is not None and found.spec == spec:
            return found
        if found is None:
            table = self._load(name, spec, stored)
        elif found.complete:
            table = StateTable(name, spec)
            table.restore(*found.scan(), self.epoch)
        else:
            table = self._load_cold(name, spec, stored)
        self._tables[name] = table
        _ = self._held.pop(name, None)
        return table

    def _load(self, name: str, spec: TableSpec, stored: StoredSpec) -> StateTable:
        """Stored rows, then what the log said since; no rows if they do not fit in memory."""
        self._settle()
        mirror, table = self._mirror, StateTable(name, spec)
        held = self._held.get(name, [])
        known = mirror.specs.get(name)
        if known is not None and known.number == stored.number:
            budget = self._limits.memory
            taken = sum(table.nbytes for table in self._tables.values())
            room = float("inf") if budget is None else budget.share - taken
            epoch = _epoch(mirror) if held else self.epoch
            if not restore_if_fits(table, mirror.rows(stored), stored, epoch, room):
                return self._load_cold(name, spec, stored)
        else:
            restore_rows(table, [], stored, _epoch(mirror) if held else self.epoch)
        for epoch, change in held:
            if epoch > _epoch(mirror):
                apply_change(table, change, epoch)
        return table

    def _load_cold(self, name: str, spec: TableSpec, stored: StoredSpec) -> StateTable:
        """The table with its rows in the store, which is first brought to where the tables are.

        Raises what keeps the store from that.
        """
        self._settle()
        checkpointer = self._checkpointer
        checkpointer.run(self.position, None, Extra(sizes=self._sizes()))
        if checkpointer.error is not None:
            raise checkpointer.error
        table = StateTable(name, spec)
        open_cold(table, stored, self._mirror, None, self.epoch)
        return table

    def _sizes(self) -> dict[int, tuple[int, int]]:
        """(rows, bytes) of the opened tables, by number."""
        return {self._specs[n].number: (len(t), whole_size(t)) for n, t in self._tables.items()}

    def catch_up(self, until: Position | None = None) -> Advance | None:
        """Applies the epochs that the writer has made durable, or those up to `until`.

        None if there are none. Raises LogDamaged, LogTruncated or FileNotFoundError when the log is
        being cut at this moment: try again.
        """
        asked = self._clock()
        mark = until or self.reader.end_mark()
        if mark is None:
            return None
        self._marked_epoch = mark.epoch
        before, advance = self.position, self._advance
        if mark.epoch > self.epoch:
            try:
                self._follow(self.reader.read(self.position, mark), self._specs, advance)
            except Truncated:
                self._begin_again(mark, advance)
        self._current_at = asked
        self._mind_memory()
        self._checkpoint_when_due()
        advance.tables |= self._evictions.take_renewed() & self._tables.keys()
        if before == self.position and not advance.tables and not advance.reshaped:
            return None
        self._advance = Advance()
        return advance

    def _follow(self, epochs: Iterable[LogEpoch], specs: dict[str, StoredSpec], advance: Advance) -> None:
        for stretch in follow(self._counted(epochs), specs):
            self._apply(stretch, advance)

    def _begin_again(self, mark: Position, advance: Advance) -> None:
        """From the log's base, which the store takes in first: tables read of it what fits in memory.

        Raises what keeps the store from that.
        """
        before = set(self._specs)
        self._settle()
        self._checkpointer.run(mark, None)
        if self._checkpointer.error is not None:
            raise self._checkpointer.error
        mirror = self._mirror
        assert mirror.position is not None
        self._tables.clear()
        self._held.clear()
        self._specs = dict(mirror.specs)
        self._last_number = max([self._last_number, *(spec.number for spec in self._specs.values())])
        self._reach(mirror.position, mirror.offsets)
        self._checkpoint_time, self._read = self._clock(), 0
        advance.reshaped = True
        advance.tables |= before | self._specs.keys()

    def _counted(self, epochs: Iterable[LogEpoch]) -> Iterator[LogEpoch]:
        for epoch in epochs:
            self._read += sum(len(frame.payload) for frame in epoch.frames)
            yield epoch

    def _apply(self, stretch: Stretch, advance: Advance) -> None:
        self._reshape(stretch, advance)
        epoch = stretch.position.epoch
        changes = stretch.changes
        if stretch.base:
            untold = [name for name in self._specs if name not in changes]
            changes = {**changes, **{name: NetChange(self._specs[name]) for name in untold}}
        for name, change in changes.items():
            change.truncated |= stretch.base
            table = self._tables.get(name)
            if table is None:
                self._held[name].append((epoch, change))
            else:
                apply_change(table, change, epoch)
                advance.tables.add(name)
        self._reach(stretch.position, stretch.meta)

    def _reach(self, position: Position, meta: bytes) -> None:
        self.position, self.sources, self.records = position, decode_meta(meta), decode_records(meta)

    def _reshape(self, stretch: Stretch, advance: Advance) -> None:
        """Forgets stores that are gone or of which another incarnation has come."""
        specs, gone = self._specs, set(stretch.dropped)
        kept = {} if stretch.base else {n: s for n, s in specs.items() if s.number not in gone}
        after = kept | stretch.specs
        for name, spec in specs.items():
            if name not in after or after[name].number != spec.number:
                self._tables.pop(name, None)
                self._held.pop(name, None)
                advance.tables.add(name)
                advance.reshaped = True
        advance.reshaped |= after.keys() != specs.keys()
        numbers = [spec.number for spec in after.values()]
        self._last_number = max([self._last_number, *stretch.dropped, *numbers])
        self._specs = after

    def _checkpoint_when_due(self) -> None:
        limits, now = self._limits, self._clock()
        crowded = not self._unsettled and self._evictions.due(self._tables)
        due = now - self._checkpoint_time >= limits.checkpoint_s or self._read >= limits.checkpoint_bytes
        if (crowded or due) and not self._checkpointer.running:
            self._settle()
            for name, held in list(self._held.items()):
                self._held[name] = [one for one in held if one[0] > _epoch(self._mirror)]
            self._checkpoint_time, self._read = now, 0
            requests = self._evictions.request(self._tables, self._specs)
            self._checkpointer.start(self.position, None, Extra(requests, self._sizes()))
            self._unsettled = True

    def _mind_memory(self) -> None:
        """Lets rows go when a checkpoint has made that possible; waits for it if tables take far too much."""
        if self._unsettled and (not self._checkpointer.running or self._evictions.urgent(self._tables)):
            self._settle()

    def _settle(self) -> None:
        """Waits for the running checkpoint and lets tables go on from the store it has written."""
        checkpointer = self._checkpointer
        checkpointer.join(self._evictions.relieve)
        if self._unsettled:
            self._unsettled = False
            self._evictions.settle(self._tables, checkpointer.found if checkpointer.error is None else None)

    def take_over(self, lock: DiskLock) -> tuple[Log, Advance]:
        """Becomes the log's writer and applies everything up to its end. `lock` is that of the log.

        Raises StartupError when the log ends before what this follower has seen of it, and as
        `LogPlace.take_over`.
        """
        log = self._place.take_over(lock, self.position)
        if log.end.epoch < self.epoch:
            log.close()
            raise StartupError(f"{self._place}: {lost(log.end.epoch + 1, self.epoch)}")
        try:
            return log, self.catch_up(log.end) or Advance()
        except BaseException:
            # Nobody else could become the writer.
            log.close()
            raise

    def become(self, log: Log) -> Storage:
        """The storage this follower's tables belong to from now on; the follower is of no more use.

        A checkpoint that is running is abandoned: clients wait for the first commit. Of a base that is in
        the store in part the rest comes first, though: tables that nobody has opened are read there. Raises
        what keeps the store from that.
        """
        self._checkpointer.abandon()
        self._settle()
        if self._mirror.torn:
            self._checkpointer.run(self.position, None)
            if self._checkpointer.error is not None:
                raise self._checkpointer.error
        for name in list(self._held):
            if self._held[name]:
                self.table(name, self._specs[name].table_spec())
        self.reader.close()
        recovered = Recovered(self._mirror, None, self._specs, self.sources, self._last_number, self.records)
        return Storage.adopt(
            self._lock, log, recovered, self._tables, self._checkpointer, self._limits, self._clock
        )

    def close(self) -> None:
        """Brings the store up to what was followed and gives the directory free."""
        self.reader.close()
        self._checkpointer.abandon()
        self._checkpointer.join()
        self._checkpointer.run(self.position, None)
        self._checkpointer.close()
        self._mirror.close()
        self._lock.release()


def _epoch(mirror: Mirror) -> int:
    return 0 if mirror.position is None else mirror.position.epoch
