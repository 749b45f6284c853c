"""`Mirror`: the tables' rows in a `Store`, as the changelog up to a position has them (I1).

What the store says of itself lies under table number 0: the format stamp, the identity of the log it
mirrors, `position` (everything up to there is in the store), `ahead` (nothing behind it is), the connector
offsets at `position`, the spec of each table, which indexes it has of which tables (those of tables that
did not fit in memory), and how large each table was.

A stretch too large for one batch is written in several, of which the first raises `ahead` and only
the last `position`. A crash between them leaves later operations applied early. Replaying from
`position` sets that right, because operations say what is; a log that ends before `ahead` has lost epochs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from .changelog import CHANGELOG_FORMAT, Rows, StoredSpec
from .cold import ColdRows
from .keycode import encode_keys
from .keys import HASH_NAME, VNODES
from .log import Position
from .measures import SharedCount
from .replay import NetChange, Stretch
from .rowcode import ROW_FORMAT
from .store import Store, StoreBatch, StoreSnapshot, TakesFiles
from .storedrows import (
    StoredCode,
    entries_by_key,
    index_range,
    indexed_by_key,
    row_entries,
    store_keys,
    store_order,
    table_range,
)

BATCH_ROWS = 1 << 7
"""Keys in one write batch. Writing one keeps the interpreter to itself: for 0.1 ms, mostly."""

ENCODE_ROWS = 1 << 11
"""Rows turned into the store's keys and values at a time."""

SORT_ROWS = 1 << 16
"""Rows brought into the order of their keys at a time: RocksDB takes ascending keys three times as fast."""

LOAD_ROWS = 1 << 16
"""Rows decoded at a time."""

_META = bytes(4)
_FORMAT, _IDENTITY, _POSITION, _AHEAD = (
    _META + name for name in (b"format", b"identity", b"position", b"ahead")
)
_OFFSETS = _META + b"offsets"
_SPEC = _META + b"spec:"
_INDEX = _META + b"index:"
_SIZES = _META + b"sizes"
_ROWS = ((1).to_bytes(4, "big"), b"\xff" * 5)

STAMP = json.dumps(
    {"rows": ROW_FORMAT, "changelog": CHANGELOG_FORMAT, "hash": HASH_NAME, "vnodes": VNODES}
).encode()


class Mirror:
    """Applies stretches of a log to a store, and reads tables back.

    `position` None: the store mirrors nothing yet.
    """

    def __init__(self, store: Store, identity: bytes) -> None:
        self._store = store
        self.identity = identity
        self.fetched = SharedCount()
        """Rows that incomplete tables have read."""
        self.pause: Callable[[], None] = lambda: None
        """Called between two batches: whoever applies may let others go first."""
        self.torn = False
        """Whether a base is in the store in part only: its tables are as of no epoch then."""
        position, ahead = store.get(_POSITION), store.get(_AHEAD)
        self.position = None if position is None else Position.decode(position)
        self.ahead = None if ahead is None else Position.decode(ahead)
        self.offsets = store.get(_OFFSETS) or b""
        self.specs: dict[str, StoredSpec] = {}
        for key, value in store.items(_SPEC, _SPEC[:-1] + b";"):
            self.specs[key[len(_SPEC) :].decode()] = StoredSpec.decode(value)
        self._indexes: dict[int, list[tuple[int, ...]]] = {}
        """By number of a table the columns of each index that the store has of it."""
        for key, value in store.items(_INDEX, _INDEX[:-1] + b";"):
            number = int.from_bytes(key[len(_INDEX) :], "big")
            self._indexes[number] = [tuple(places) for places in json.loads(value)]

    @staticmethod
    def valid(store: Store, identity: bytes) -> bool:
        """Whether the store mirrors this log, whole, in a format we read."""
        if store.get(_FORMAT) != STAMP or store.get(_IDENTITY) != identity:
            return False
        return store.get(_POSITION) is not None

    @staticmethod
    def of_another_log(store: Store, identity: bytes) -> bool:
        """Whether the store holds epochs of a log that is not this one."""
        stored = store.get(_IDENTITY)
        return stored is not None and stored != identity and store.get(_POSITION) is not None

    def apply(self, stretch: Stretch) -> None:
        """Brings the store to the end of the stretch, not yet durably. Raises OSError."""
        self.torn = stretch.base
        self._store.write(self._opening(stretch))
        for change in stretch.changes.values():
            self._apply_change(change)
        self._close_stretch(stretch)

    def _close_stretch(self, stretch: Stretch) -> None:
        self._store.write(self._closing(stretch))
        if stretch.base:
            self.specs.clear()
        self.specs = _specs_after(self.specs, stretch)
        self.position = self.ahead = stretch.position
        self.offsets = stretch.meta
        self.torn = False

    def take_in(self, stretch: Stretch, file: Path | None) -> None:
        """As `apply`, of a stretch whose rows are in a file (`stretch_files.py`), if there are any."""
        assert isinstance(self._store, TakesFiles)
        opening = self._opening(stretch)
        self.torn = stretch.base
        self._store.write(opening)
        if file is not None:
            if opening.ranges:
                # What was emptied lies where the file's keys do: taking it in would write that out, and wait.
                self._store.flush()
            self._store.ingest(file)
        self._close_stretch(stretch)

    @property
    def takes_files(self) -> bool:
        """Whether `take_in` can do for all tables what `apply` does."""
        specs = {spec.number: spec for spec in self.specs.values()}
        return isinstance(self._store, TakesFiles) and all(
            indexed_by_key(specs[number], indexes)
            for number, indexes in self._indexes.items()
            if number in specs
        )

    @property
    def indexes(self) -> dict[int, list[tuple[int, ...]]]:
        """By number of a table the columns of each index that the store has of it."""
        return dict(self._indexes)

    def flush(self) -> None:
        """Makes what was applied durable. Raises OSError."""
        self._store.flush()

    def load(self, spec: StoredSpec) -> list[Rows]:
        """All stored rows of a table, in batches."""
        return list(self.rows(spec))

    def rows(self, spec: StoredSpec) -> Iterator[Rows]:
        """What `load` gives, one batch after the other."""
        code = StoredCode(spec)
        for values in self._store.values(*table_range(spec.number), LOAD_ROWS):
            yield code.decode(values)

    def snapshot(self) -> StoreSnapshot:
        """The store as of `position`, for `cold`. Not while a stretch is being applied."""
        return self._store.snapshot()

    def cold(self, spec: StoredSpec, indexes: Sequence[tuple[int, ...]], snapshot: StoreSnapshot) -> ColdRows:
        """A table's rows in a snapshot taken at `position`, with those of these indexes that it has."""
        assert self.position is not None
        known = self._indexes.get(spec.number, [])
        places = [known.index(columns) if columns in known else None for columns in indexes]
        return ColdRows(self.position.epoch, spec, places, snapshot, self.fetched)

    def index(self, spec: StoredSpec, indexes: Sequence[tuple[int, ...]]) -> None:
        """Makes the store have these indexes of a table from now on. Raises OSError."""
        known = self._indexes.get(spec.number, [])
        missing = [places for places in indexes if places not in known]
        if not missing:
            return
        wanted = [*known, *missing]
        self._store.write(StoreBatch(ranges=[index_range(spec.number)]))
        code = StoredCode(spec)
        for values in self._store.values(*table_range(spec.number), ENCODE_ROWS):
            entries = row_entries(spec, wanted, code.decode(values))
            self._write(entries, [b""] * len(entries))
        batch = StoreBatch()
        batch.put(_INDEX + spec.number.to_bytes(4, "big"), json.dumps(wanted).encode())
        self._store.write(batch)
        self._indexes[spec.number] = wanted

    def note_sizes(self, sizes: Mapping[int, tuple[int, int]]) -> None:
        """Remembers (rows, bytes in memory) of tables, by number, as of `position`. Raises OSError.

        Those of tables that are not given stay as they were, and so does the epoch they are of.
        """
        assert self.position is not None
        epoch, known = self.position.epoch, {spec.number for spec in self.specs.values()}
        noted = {n: size for n, size in self._noted().items() if n in known}
        noted |= {n: (rows, size, epoch) for n, (rows, size) in sizes.items() if n in known}
        batch = StoreBatch()
        batch.put(_SIZES, json.dumps({"tables": {str(n): size for n, size in noted.items()}}).encode())
        self._store.write(batch)

    def sizes(self) -> dict[int, tuple[int, int]]:
        """What `note_sizes` was told last of each table, of whichever epoch."""
        return {number: (rows, size) for number, (rows, size, _) in self._noted().items()}

    def _noted(self) -> dict[int, tuple[int, int, int]]:
        """(rows, bytes, epoch) by the number of the table."""
        text = self._store.get(_SIZES)
        tables = json.loads(text).get("tables", {}) if text else {}
        return {int(number): (rows, size, epoch) for number, (rows, size, epoch) in tables.items()}

    def count(self, spec: StoredSpec) -> int:
        """The rows of a table that the store has: as noted, else counted."""
        noted = self.noted_count(spec)
        if noted is not None:
            return noted
        return sum(len(values) for values in self._store.values(*table_range(spec.number), LOAD_ROWS))

    def noted_count(self, spec: StoredSpec) -> int | None:
        """The rows of a table as noted at `position`; None if they were not, or the store is ahead of it."""
        if self.position is None or self.ahead != self.position:
            return None
        rows, _, epoch = self._noted().get(spec.number, (0, 0, -1))
        return rows if epoch == self.position.epoch else None

    def figures(self) -> Mapping[str, int]:
        """Bytes that the store takes (`Store.figures`). From any thread."""
        return self._store.figures()

    def close(self) -> None:
        self._store.close()

    def _opening(self, stretch: Stretch) -> StoreBatch:
        """What comes before the rows: whole ranges go, and the store owns up to what it is about to do."""
        batch = StoreBatch()
        if stretch.base:
            batch.ranges.append(_ROWS)
            batch.deletes = [_POSITION, *(_SPEC + name.encode() for name in self.specs)]
        emptied = [*stretch.dropped, *(c.spec.number for c in stretch.changes.values() if c.truncated)]
        for number in emptied:
            batch.ranges.append(table_range(number))
            if number in self._indexes:
                batch.ranges.append(index_range(number))
        batch.put(_FORMAT, STAMP)
        batch.put(_IDENTITY, self.identity)
        batch.put(_AHEAD, stretch.position.encode())
        return batch

    def _closing(self, stretch: Stretch) -> StoreBatch:
        after = _specs_after({} if stretch.base else self.specs, stretch)
        gone = [_SPEC + name.encode() for name in self.specs if name not in after]
        for number in stretch.dropped:
            if self._indexes.pop(number, None) is not None:
                gone.append(_INDEX + number.to_bytes(4, "big"))
        batch = StoreBatch(deletes=gone)
        for name, spec in stretch.specs.items():
            batch.put(_SPEC + name.encode(), spec.encode())
        batch.put(_POSITION, stretch.position.encode())
        batch.put(_OFFSETS, stretch.meta)
        return batch

    def _apply_change(self, change: NetChange) -> None:
        spec = change.spec
        for start in range(0, change.deleted_count, ENCODE_ROWS):
            count = min(ENCODE_ROWS, change.deleted_count - start)
            columns = [column.slice(start, count) for column in change.deleted]
            keys = store_keys(spec, encode_keys(columns, spec.key_types, count))
            self._delete([*self._entries_going(spec, columns, keys), *keys])
        code = StoredCode(spec)
        for rows in change.rows:
            for start in range(0, len(rows), SORT_ROWS):
                self._put(spec, code, rows.slice(start, SORT_ROWS))

    def _put(self, spec: StoredSpec, code: StoredCode, rows: Rows) -> None:
        encoded = encode_keys([rows.columns[i] for i in spec.key_columns], spec.key_types, len(rows))
        order = store_order(encoded)
        for at in range(0, len(rows), ENCODE_ROWS):
            part = order[at : at + ENCODE_ROWS]
            keys, values = store_keys(spec, encoded.take(part)), code.encode(rows.take(part))
            if spec.number in self._indexes:
                if not self._indexed_by_key(spec):
                    # Entries may be gone before their rows are replaced: after a crash that is done again.
                    self._delete(self._stale_entries(spec, keys))
                entries = row_entries(spec, self._indexes[spec.number], code.decode(values))
                keys, values = keys + entries, values + [b""] * len(entries)
            self._write(keys, values)

    def _delete(self, keys: Sequence[bytes]) -> None:
        for at in range(0, len(keys), BATCH_ROWS):
            self._store.write(StoreBatch(deletes=keys[at : at + BATCH_ROWS]))
            self.pause()

    def _write(self, keys: list[bytes], values: list[bytes]) -> None:
        for at in range(0, len(keys), BATCH_ROWS):
            stop = at + BATCH_ROWS
            self._store.write(StoreBatch(keys=keys[at:stop], values=values[at:stop]))
            self.pause()

    def _indexed_by_key(self, spec: StoredSpec) -> bool:
        """Whether a row's key says what its index entries are: another row of that key has the same."""
        return indexed_by_key(spec, self._indexes.get(spec.number, ()))

    def _entries_going(
        self, spec: StoredSpec, columns: Sequence[pa.Array], keys: Sequence[bytes]
    ) -> list[bytes]:
        """The index entries of rows that are deleted; `columns` are those of their key."""
        if not self._indexed_by_key(spec):
            return self._stale_entries(spec, keys)
        indexes = self._indexes.get(spec.number, ())
        return [entry for found in entries_by_key(spec, indexes, columns, keys) for entry in found]

    def _stale_entries(self, spec: StoredSpec, keys: Sequence[bytes]) -> list[bytes]:
        """The index entries of the rows that the store has under these keys, about to go or be replaced."""
        indexes = self._indexes.get(spec.number)
        if not indexes:
            return []
        found = [value for value in self._store.snapshot().get_many(keys) if value is not None]
        return row_entries(spec, indexes, StoredCode(spec).decode(found)) if found else []


def _specs_after(specs: dict[str, StoredSpec], stretch: Stretch) -> dict[str, StoredSpec]:
    dropped = set(stretch.dropped)
    return {n: s for n, s in specs.items() if s.number not in dropped} | stretch.specs
