"""`millpond check`: verifies a data directory at rest, and changes nothing in it.

Every frame of the log is read, so every checksum is verified. Then the store is compared with the log:
what the log alone says of each table must be what the store says together with the epochs behind its
position.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from .changelog import Rows, StoredSpec
from .disk import REAL, Disk
from .errors import StartupError
from .folder import DATA_FORMAT, read_format
from .log import LogDamaged, LogEpoch, LogTruncated, Position
from .log_format import NewerFormat
from .log_reader import LogReader, base_path, lost, segment_path
from .memory import MemoryStore
from .mirror import Mirror
from .recovery import StoreOpener
from .replay import follow
from .rocks import RocksStore
from .rowcode import RowCode
from .store import Store, StoreFailure, StoreUnreadable


def check(
    data: Path, log: Path | None = None, disk: Disk = REAL, open_store: StoreOpener = RocksStore
) -> list[str]:
    """What is wrong with the directory, one finding a line; empty when all is well.

    The server must not be running. Reads all state into memory.
    """
    if unfit := _check_format(data, disk):
        return unfit
    lock = disk.lock(data / "LOCK")
    if lock is None:
        return [f"{data} is in use by another process"]
    try:
        return _check_content(log or data / "log", data / "state", disk, open_store)
    except (LogDamaged, LogTruncated, NewerFormat, StartupError) as problem:
        return [str(problem)]
    finally:
        lock.release()


def _check_format(data: Path, disk: Disk) -> list[str]:
    version = read_format(data, disk)
    if version is None:
        return [f"{data} has no FORMAT: it is no data directory"]
    return [f"{data} has format {version}, newer than {DATA_FORMAT}"] if version > DATA_FORMAT else []


def _check_content(log: Path, state: Path, disk: Disk, open_store: StoreOpener) -> list[str]:
    reader = LogReader(log, disk)
    end = Position(0, 0, 0)

    def watched(epochs: Iterable[LogEpoch]) -> Iterable[LogEpoch]:
        nonlocal end
        for epoch in epochs:
            end = epoch.position
            yield epoch

    truth = Mirror(MemoryStore(), b"")
    for stretch in follow(watched(reader.read(None)), {}):
        truth.apply(stretch)
    findings = _check_end(reader, end)
    if open_store is RocksStore and not state.exists():
        return findings  # Opening would make one; recovery does.
    try:
        store = open_store(state, False)
    except StoreUnreadable as problem:
        return [
            *findings,
            f"the store in {state} cannot be opened ({problem}); it will be rebuilt from the log",
        ]
    try:
        return findings + _check_store(store, truth, reader, state)
    except StoreFailure as problem:
        return [
            *findings,
            f"the store in {state} is damaged ({problem.message}): remove it, it is made anew from the log",
        ]
    finally:
        store.close()


def _check_end(reader: LogReader, end: Position) -> list[str]:
    mark = reader.end_mark()
    if mark is None or mark.epoch <= end.epoch:
        return []
    return [f"the log ends at epoch {end.epoch}: {lost(end.epoch + 1, mark.epoch)}"]


def _check_store(store: Store, truth: Mirror, reader: LogReader, state: Path) -> list[str]:
    """Compares table by table, over a copy in memory brought up to the log's end."""
    identity = _identity(reader)
    if identity is None or not Mirror.valid(store, identity):
        return []  # Nothing or another log's: recovery begins it anew.
    mirror = Mirror(store, identity)
    ahead = max(p for p in (mirror.position, mirror.ahead) if p is not None)
    if truth.position is None or ahead.epoch > truth.position.epoch:
        return [f"the store in {state} has epoch {ahead.epoch}, which the log has not"]
    copy = MemoryStore()
    copy.copy_from(store)
    replica = Mirror(copy, identity)
    try:
        for stretch in follow(reader.read(mirror.position), replica.specs):
            replica.apply(stretch)
    except LogTruncated:
        return []  # Older than the log reaches back: recovery rebuilds it.
    return _differences(replica, truth)


def _identity(reader: LogReader) -> bytes | None:
    """The identity in the newest file of the log."""
    inventory = reader.inventory()
    if inventory.segments:
        return reader.header(segment_path(reader.folder, inventory.segments[-1])).identity
    if inventory.bases:
        return reader.header(base_path(reader.folder, inventory.bases[-1])).identity
    return None


def _differences(replica: Mirror, truth: Mirror) -> list[str]:
    findings: list[str] = []
    if replica.offsets != truth.offsets:
        findings.append("source offsets differ between store and log")
    for name in sorted(replica.specs.keys() | truth.specs.keys()):
        if name not in replica.specs or name not in truth.specs:
            findings.append(f"table {name!r} is in the {'log' if name in truth.specs else 'store'} only")
            continue
        stored = _encoded(replica.load(replica.specs[name]), replica.specs[name])
        logged = _encoded(truth.load(truth.specs[name]), truth.specs[name])
        if stored != logged:
            count = len(stored ^ logged)
            findings.append(f"table {name!r}: {count} row versions differ between store and log")
    return findings


def _encoded(batches: list[Rows], spec: StoredSpec) -> set[bytes]:
    code = RowCode([*spec.arrow, pa.int64()])
    rows: set[bytes] = set()
    for batch in batches:
        rows.update(code.encode([*batch.columns, pa.array(batch.weights)], len(batch)).to_list())
    return rows
