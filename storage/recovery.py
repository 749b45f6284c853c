"""Recovery: from a log and a store, whatever a crash left of them, to the last committed epoch.

1. The log finds its own end (`log_end.py`); what is behind it does not exist.
2. The store says how far it mirrors this log. If it cannot be read, mirrors another log, or is older than the
   log reaches back, it is emptied and rebuilt from the log's base.
3. Epochs behind the store's position are netted. All but the last stretch are applied to the store; the
   last stays in memory as `overlay`, so that a server with little to replay writes nothing at start.
4. A table asked for gets its stored rows, then the overlay's word on them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .budget import SMALL_TABLE_BYTES, MemoryBudget
from .changelog import Rows, StoredSpec, decode_meta, decode_records
from .errors import StartupError
from .log import Log, LogDamaged, LogSource, LogTruncated, Position
from .log_reader import lost
from .mirror import Mirror
from .replay import STRETCH_BYTES_MAX, NetChange, Stretch, follow
from .rocks import RocksStore
from .store import Store, StoreFailure, StoreUnreadable
from .table import StateTable
from .tablespec import TableSpec

_log = logging.getLogger("millpond.recovery")

StoreOpener = Callable[[Path, bool], Store]
"""Opens the store in a folder; with True empties it first. Raises StoreUnreadable."""

LOAD_BYTES_MAX = 1 << 30
"""Bytes of rows given to a table at once: an Arrow string column ends at 2 GiB."""

TRY_BYTES = 16 << 20
"""The same where a table may turn out not to fit in memory."""


@dataclass(slots=True)
class Recovered:
    """What there is: tables by name, connector offsets, and the rows' sources.

    `records`: how many the log has got up to there.
    `last_number`: tables created from now on take higher ones; the store may still hold rows of a
    table up to there that the overlay drops.
    """

    mirror: Mirror
    overlay: Stretch | None
    specs: dict[str, StoredSpec]
    sources: dict[str, bytes]
    last_number: int
    records: int


def rocks_opener(budget: MemoryBudget | None) -> StoreOpener:
    """Opens RocksDB with as much memory as the budget has for it."""
    if budget is None:
        return RocksStore
    return partial(RocksStore, cache_bytes=budget.store_cache, buffer_bytes=budget.store_buffer)


def recover(
    log: Log, folder: Path, open_store: StoreOpener | None = None, budget: MemoryBudget | None = None
) -> Recovered:
    """Opens the store in `folder` and reads the log behind it.

    Raises StartupError when the log lost epochs that the store, or the log itself, once had.
    """
    opener = open_store or rocks_opener(budget)
    mirror = open_mirror(log.identity, folder, opener, new_log=log.end.epoch == 0)
    ahead = max((p for p in (mirror.position, mirror.ahead) if p is not None), default=None)
    if ahead is not None and ahead.epoch > log.end.epoch:
        mirror.close()
        raise StartupError(
            f"the log ends at epoch {log.end.epoch}, the store in {folder} has epoch {ahead.epoch} of it: "
            + lost(log.end.epoch + 1, ahead.epoch)
        )
    stretch = STRETCH_BYTES_MAX if budget is None else budget.stretch
    return replayed(log.reader, log.end, mirror, lambda: opener(folder, True), stretch)


def open_mirror(identity: bytes, folder: Path, open_store: StoreOpener, *, new_log: bool = False) -> Mirror:
    """The store in `folder` as a mirror of that log, emptied if it is none.

    Raises StartupError when the log is new and the store holds rows of another: they are all there is.
    """
    try:
        store = open_store(folder, False)
    except StoreUnreadable:
        store = open_store(folder, True)
    try:
        if new_log and Mirror.of_another_log(store, identity):
            raise StartupError(
                f"the log is empty, but the store in {folder} has rows of a log that is not here: say where "
                "it is with --log, or remove the store to begin anew"
            )
        if Mirror.valid(store, identity):
            return Mirror(store, identity)
    except StartupError:
        store.close()
        raise
    except StoreFailure as error:
        about = {"event": "store_unreadable", "reason": error.message}
        _log.warning("the store in %s is made anew: %s", folder, error.message, extra=about)
    store.close()
    return Mirror(open_store(folder, True), identity)


def replayed(
    reader: LogSource,
    end: Position,
    mirror: Mirror,
    empty_store: Callable[[], Store],
    stretch_bytes: int = STRETCH_BYTES_MAX,
) -> Recovered:
    """Brings the mirror close to `end`; the rest, at most `stretch_bytes` of log, is in the overlay.

    Raises StartupError when the log is damaged; the mirror is then closed.
    """
    try:
        overlay = _replay(reader, end, mirror, stretch_bytes)
    except LogTruncated:
        identity = mirror.identity
        mirror.close()
        mirror = Mirror(empty_store(), identity)
        overlay = _replay(reader, end, mirror, stretch_bytes)
    specs, numbers = dict(mirror.specs), {spec.number for spec in mirror.specs.values()}
    if overlay is not None:
        gone = set(overlay.dropped)
        numbers |= gone | {spec.number for spec in overlay.specs.values()}
        specs = {name: spec for name, spec in specs.items() if spec.number not in gone} | overlay.specs
    meta = mirror.offsets if overlay is None else overlay.meta
    sources = decode_meta(meta) if meta else {}
    return Recovered(mirror, overlay, specs, sources, max(numbers, default=0), decode_records(meta))


def _replay(reader: LogSource, end: Position, mirror: Mirror, stretch_bytes: int) -> Stretch | None:
    """Applies all stretches behind the mirror but the last, which is returned."""
    last: Stretch | None = None
    try:
        for stretch in follow(reader.read(mirror.position, end), mirror.specs, stretch_bytes):
            if last is not None:
                mirror.apply(last)
            last = stretch
    except LogDamaged as problem:
        mirror.close()
        raise StartupError(str(problem)) from problem
    return last


@contextmanager
def reading_store() -> Generator[None]:
    """At a start: a store that cannot be read is a reason not to start, and easy to help."""
    try:
        yield
    except StoreFailure as error:
        raise StartupError(
            f"{error.message}: remove state/ in the data directory, it is made anew from the log"
        ) from error


def cold_tables(recovered: Recovered, budget: MemoryBudget | None) -> frozenset[str]:
    """The tables that are to stay in the store, because with them the others would not fit in memory."""
    if budget is None:
        return frozenset()
    sizes = recovered.mirror.sizes()
    known = {n: sizes[s.number][1] for n, s in recovered.mirror.specs.items() if s.number in sizes}
    return frozenset(budget.goals(known)) if sum(known.values()) > budget.share else frozenset()


def tables_to_warm(
    recovered: Recovered, budget: MemoryBudget | None, waited_for_bytes: int
) -> frozenset[str]:
    """The tables that are opened without their rows because reading them takes long: the largest ones.

    The smallest, that take at most `waited_for_bytes` together, are not among them; nor are those of which it
    is not known how many rows they have.
    """
    if budget is None:
        return frozenset()
    mirror, left = recovered.mirror, waited_for_bytes
    sizes = mirror.sizes()
    changes = {} if recovered.overlay is None else recovered.overlay.changes
    found: set[str] = set()
    for name, stored in sorted(mirror.specs.items(), key=lambda item: sizes.get(item[1].number, (0, 0))[1]):
        size = sizes.get(stored.number, (0, 0))[1]
        left -= size
        change = changes.get(name)
        counted = mirror.noted_count(stored) if change is None else change.count
        emptied = change is not None and change.truncated
        if (
            left < 0
            and size > min(SMALL_TABLE_BYTES, waited_for_bytes)
            and counted is not None
            and not emptied
        ):
            found.add(name)
    return frozenset(found)


def load_table(
    name: str,
    spec: TableSpec,
    stored: StoredSpec,
    recovered: Recovered,
    epoch: int,
    cold: bool = False,
    warming: bool = False,
) -> StateTable:
    """The table with its recovered rows, as of `epoch`, since which nobody wrote to it.

    With `cold` its rows stay in the store until they are asked for, with `warming` until `StateTable.warm`.
    """
    table = StateTable(name, spec)
    change = recovered.overlay and recovered.overlay.changes.pop(name, None)
    if (cold or warming) and (change is None or not change.truncated):
        open_cold(table, stored, recovered.mirror, change, epoch, warming and not cold)
        return table
    rows: list[Rows] = []
    if change is None or not change.truncated:
        rows = recovered.mirror.load(stored)
    if change is not None and not rows:
        rows, change = change.rows, None
    restore_rows(table, rows, stored, epoch - (change is not None))
    if change is not None:
        apply_change(table, change, epoch)
    return table


def open_cold(
    table: StateTable,
    stored: StoredSpec,
    mirror: Mirror,
    change: NetChange | None,
    epoch: int,
    warming: bool = False,
) -> None:
    """The table as of `epoch`, its rows in the store and not read; `change` is what the store lacks."""
    indexes = table.spec.indexes
    if not warming:
        mirror.index(stored, indexes)
    rows_there = mirror.cold(stored, indexes, mirror.snapshot())
    if change is None or rows_there.epoch >= epoch:
        table.open_cold(rows_there, mirror.count(stored), warming)
    elif change.count is not None:
        table.open_cold(rows_there, 0, warming)
        table.replay(change, change.count, epoch)
    else:
        table.open_cold(rows_there, mirror.count(stored), warming)
        apply_change(table, change, epoch)


def restore_rows(table: StateTable, rows: Sequence[Rows], stored: StoredSpec, epoch: int) -> None:
    """Bulk load, in as few calls as Arrow arrays allow."""
    for part in _bounded(rows or [Rows.concat([], stored)]):
        whole = Rows.concat(part, stored)
        table.restore(whole.columns, whole.weights, epoch)


def restore_if_fits(
    table: StateTable, rows: Iterable[Rows], stored: StoredSpec, epoch: int, bytes_max: float
) -> bool:
    """As `restore_rows`; False as soon as the table takes more, and is then of no more use."""
    restore_rows(table, [], stored, epoch)
    for part in _bounded(rows, TRY_BYTES):
        whole = Rows.concat(part, stored)
        table.restore(whole.columns, whole.weights, epoch)
        if table.nbytes > bytes_max:
            return False
    return True


def _bounded(rows: Iterable[Rows], bytes_max: int = LOAD_BYTES_MAX) -> Iterator[list[Rows]]:
    part: list[Rows] = []
    size = 0
    for batch in rows:
        if part and size + batch.nbytes > bytes_max:
            yield part
            part, size = [], 0
        part.append(batch)
        size += batch.nbytes
    if part:
        yield part


def apply_change(table: StateTable, change: NetChange, epoch: int) -> None:
    """What the changelog says of the table, as its epoch `epoch`."""
    table.begin(epoch)
    if change.truncated:
        table.truncate()
    if change.deleted_count:
        # A store written ahead of its position may lack some of these already.
        positions = table.lookup(change.deleted, change.deleted_count)
        table.delete(positions[positions >= 0])
    for rows in change.rows:
        table.upsert(rows.columns, rows.weights)
    table.commit()
