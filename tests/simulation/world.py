"""One seeded run of the storage over a disk that fails, checked against a model after every recovery.

The model keeps the content of every epoch whose commit was tried. After a recovery:

* I2  all tables and the source offsets are those of one epoch;
* I3  it is the last acknowledged epoch, or the one whose commit was cut off by the crash;
* I1  the store is not ahead of the log;
* I6  the store rebuilt from the log alone gives the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from millpond.storage.budget import MemoryBudget
from millpond.storage.commit import Storage
from millpond.storage.errors import SqlError
from millpond.storage.limits import StorageLimits
from millpond.storage.log_files import FileLog
from millpond.storage.log_reader import LogReader
from millpond.storage.memory import MemoryStore
from millpond.storage.replay import follow
from millpond.storage.schema import Schema
from millpond.storage.store import StoreBatch, StoreUnreadable
from millpond.storage.tablespec import TableSpec
from millpond.storage.types import FLOAT8, INT8, TEXT

from .fake_disk import Crash, FakeDisk

DATA = Path("/data")
LOG = DATA / "log"
KEYED = TableSpec(Schema.of(id=INT8, name=TEXT), (0,))
BAG = TableSpec(Schema.of(word=TEXT, value=FLOAT8), None)
SINGLE = TableSpec(Schema.of(total=INT8), ())
SPECS = {"keyed": KEYED, "bag": BAG, "single": SINGLE, "other": KEYED}

Content = dict[str, dict[tuple, int]]
"""Per table: row → weight."""

TINY = StorageLimits(
    segment_bytes=6000,
    checkpoint_bytes=1 << 40,
    checkpoint_s=1e9,
    compact_bytes=4000,
    segments_max=6,
    waited_for_bytes=0,
    counted_rows_min=3,
)


class NoMemory(MemoryBudget):
    """Nothing fits: after a start all tables are in the store only."""

    @property
    def share(self) -> int:
        return 0

    def goals(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return dict.fromkeys(sizes, 0)


class FragileStore(MemoryStore):
    """A memory store whose writes and flushes are moments at which the machine can stop."""

    def __init__(self, disk: FakeDisk, batches: list[StoreBatch]) -> None:
        super().__init__(batches)
        self._disk = disk

    def write(self, batch: StoreBatch) -> None:
        self._disk.step()
        super().write(batch)

    def flush(self) -> None:
        self._disk.step()
        super().flush()

    def close(self) -> None:
        pass


class World:
    """A data directory that lives through crashes."""

    def __init__(self, seed: int, faults: bool = True) -> None:
        self.random = Random(seed)
        self.disk = FakeDisk(self.random)
        self.faults = faults
        self.batches: list[StoreBatch] = []
        self.store: FragileStore | None = None
        self.acknowledged = 0
        self.history: dict[int, tuple[Content, dict[str, bytes]]] = {0: ({}, {})}
        self.doubts: list[tuple[Content, dict[str, bytes]]] = []
        """Contents of the next epoch that were cut off by a crash or could not be fenced off yet."""
        self.crashes = self.incomplete = self.warmed = 0

    def open_store(self, folder: Path, fresh: bool) -> FragileStore:
        if fresh:
            self.batches.clear()
        elif self.random.random() < 0.03:
            raise StoreUnreadable("made up")
        self.store = FragileStore(self.disk, self.batches)
        return self.store

    def open(self) -> Storage:
        limits = replace(TINY, memory=self.random.choice((None, NoMemory(0), *[MemoryBudget(1 << 40)] * 2)))
        # The clock stands still, so that no checkpoint is begun but by `act`.
        return Storage.open(
            DATA, disk=self.disk, limits=limits, open_store=self.open_store, clock=lambda: 0.0
        )

    def live(self, epochs: int) -> None:
        """One life: recovery, then commits until it ends by crash or in peace."""
        self.disk.crash_after = self.random.choice(
            (None, self.random.randrange(12), self.random.randrange(150))
        )
        try:
            storage = self.open()
            self.check(storage)
            for _ in range(self.random.randrange(1, epochs)):
                self.act(storage)
            self.weather(calm=True)
            if self.random.random() < 0.5:
                storage.close()
                self.crashes -= 1
            raise Crash
        except Crash:
            self.crashes += 1
        self.crash()

    def act(self, storage: Storage) -> None:
        """One epoch, one failing epoch, or one checkpoint."""
        self.weather(calm=not self.faults)
        if self.random.random() < 0.2:
            tables = storage._tables.opened
            evicted = self.random.sample(sorted(tables), self.random.randrange(len(tables) + 1))
            storage._evictions._goals = {name: self.random.choice((0, 500)) for name in evicted}
            try:
                storage.checkpoint(wait=True)
            except SqlError:
                assert self.faults
            return
        state = {name: dict(rows) for name, rows in self.history[self.acknowledged][0].items()}
        if storage.warming and self.random.random() < 0.5:
            storage.warming._rows = self.random.randrange(1, 4)
            storage.warm(1.0)
            self.warmed += 1
        self.incomplete += any(not table.complete for table in storage._tables.opened.values())
        storage.begin()
        offsets = dict(self.history[self.acknowledged][1])
        self.write(storage, state)
        if self.random.random() < 0.1:
            storage.rollback()
            return
        offset = {self.random.choice("pq"): self.random.randbytes(3)}
        offsets.update(offset)
        epoch = self.acknowledged + 1
        self.doubts.append((state, offsets))
        try:
            assert storage.commit(offset) == epoch
        except SqlError:
            assert self.faults
            assert isinstance(storage._log, FileLog)
            if storage._log._file is not None:
                # The failed epoch is fenced off: the next segment's header is durable.
                self.doubts = []
            self.compare(storage, self.acknowledged)
            return
        self.acknowledged, self.doubts = epoch, []
        self.history[epoch] = state, offsets

    def weather(self, calm: bool) -> None:
        """Whether the disk refuses for the time being."""
        disk, random = self.disk, self.random
        disk.write_failure = disk.sync_failure = 0.0
        disk.space = None
        if calm or random.random() < 0.8:
            return
        kind = random.randrange(3)
        if kind == 0:
            disk.write_failure = 0.5
        elif kind == 1:
            disk.sync_failure = 0.5
        else:
            disk.space = sum(len(inode.cached) for inode in disk.names_cached.values()) + random.randrange(
                400
            )

    def write(self, storage: Storage, state: Content) -> None:
        """Random changes to random tables, to the storage and to the model."""
        for name in self.random.sample(sorted(SPECS), self.random.randrange(1, 4)):
            if name in state and self.random.random() < 0.05:
                storage.table(name, SPECS[name])
                storage.drop(name)
                del state[name]
                if self.random.random() < 0.5:
                    continue
            table, rows = storage.table(name, SPECS[name]), state.setdefault(name, {})
            if self.random.random() < 0.05:
                table.truncate()
                rows.clear()
            for _ in range(self.random.randrange(1, 4)):
                self.change(SPECS[name], table, rows)

    def change(self, spec: TableSpec, table, rows: dict[tuple, int]) -> None:
        random = self.random
        if rows and random.random() < 0.35:
            row = random.choice(sorted(rows))
            keys = [pa.array([row[i]], spec.schema[i].type.arrow) for i in spec.key_columns]
            table.delete(table.lookup(keys))
            del rows[row]
            return
        if spec is KEYED:
            row, weight = (random.randrange(12), "x" * random.choice((1, 30, 700))), 1
        elif spec is SINGLE:
            row, weight = (random.randrange(1000),), 1
        else:
            row, weight = (random.choice("abc"), float(random.randrange(3))), random.randrange(1, 5)
        columns = [pa.array([v], t.arrow) for v, t in zip(row, spec.schema.types, strict=True)]
        table.upsert(columns, np.array([weight]) if spec is BAG else None)
        for old in [old for old in rows if all(old[i] == row[i] for i in spec.key_columns)]:
            del rows[old]
        rows[row] = weight

    def crash(self) -> None:
        """The process is gone; with it, half the time, the power."""
        power = self.random.random() < 0.5
        self.disk = self.disk.after_crash(power)
        if self.store is not None:
            # RocksDB's memtable goes with the process; it may have been flushed any time before.
            kept = self.random.randint(self.store.flushed, len(self.batches))
            self.batches = self.batches[:kept]
            self.store = None

    def check(self, storage: Storage) -> None:
        """The invariants, right after recovery."""
        mirror = storage._recovered.mirror
        for position in (mirror.position, mirror.ahead):
            assert position is None or position.epoch <= storage.epoch, "I1"
        content = self.content_of_log()
        if storage.epoch == self.acknowledged + 1:
            candidates = [one for one in self.doubts if one == (content, storage.sources)]
            assert candidates, "I3: an epoch nobody tried to commit"
            self.history[storage.epoch] = candidates[0]
        else:
            assert storage.epoch == self.acknowledged, f"I3: {storage.epoch} for {self.acknowledged}"
        self.acknowledged, self.doubts = storage.epoch, []
        assert content == self.history[storage.epoch][0], "I6"
        if self.random.random() < 0.8:
            self.compare(storage, storage.epoch)

    def compare(self, storage: Storage, epoch: int) -> None:
        content, offsets = self.history[epoch]
        assert storage.sources == offsets, "I2: offsets"
        assert storage.names() == sorted(content), "I2: tables"
        for name, expected in content.items():
            columns, weights = storage.table(name, SPECS[name]).scan()
            assert as_rows(columns, weights) == expected, f"I2: {name} at epoch {epoch}"

    def content_of_log(self) -> Content:
        """What the log alone says."""
        crash_after, self.disk.crash_after = self.disk.crash_after, None
        found: Content = {}
        size = self.random.choice((1, 1000, 1 << 30))
        known: dict[str, int] = {}
        for stretch in follow(LogReader(LOG, self.disk).read(None), {}, size):
            for name in [n for n, number in known.items() if number in stretch.dropped]:
                del known[name], found[name]
            for name, spec in stretch.specs.items():
                if known.get(name) != spec.number:
                    known[name], found[name] = spec.number, {}
            for name, change in stretch.changes.items():
                apply_plainly(SPECS[name], found[name], change)
        self.disk.crash_after = crash_after
        return found


def apply_plainly(spec: TableSpec, rows: dict[tuple, int], change) -> None:
    if change.truncated:
        rows.clear()
    gone = list(zip(*(c.to_pylist() for c in change.deleted), strict=True)) or [()] * change.deleted_count
    for key in gone:
        for old in [old for old in rows if tuple(old[i] for i in spec.key_columns) == key]:
            del rows[old]
    for batch in change.rows:
        for row, weight in as_rows(batch.columns, batch.weights).items():
            for old in [old for old in rows if all(old[i] == row[i] for i in spec.key_columns)]:
                del rows[old]
            rows[row] = weight


def as_rows(columns, weights) -> dict[tuple, int]:
    rows = list(zip(*(c.to_pylist() for c in columns), strict=True))
    result = dict(zip(rows, weights.tolist(), strict=True))
    assert len(result) == len(weights), "a row twice"
    return result
