"""`Mirror`: the tables' rows in a `Store`, as the changelog up to a position has them (I1).

What the store says of itself lies under table number 0: the format stamp, the identity of the log it
mirrors, `position` (everything up to there is in the store), `ahead` (nothing behind it is), the connector
offsets at `position`, and the spec of each table.

A stretch too large for one batch is written in several, of which the first raises `ahead` and only
the last `position`. A crash between them leaves later operations applied early. Replaying from
`position` sets that right, because operations say what is; a log that ends before `ahead` has lost epochs.
"""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .changelog import CHANGELOG_FORMAT, Rows, StoredSpec
from .keycode import HASH_NAME, VNODES, Keys, encode_keys
from .log import Position
from .replay import NetChange, Stretch
from .rowcode import ROW_FORMAT, RowCode
from .rowcode import Rows as RowBytes
from .store import Store, StoreBatch

BATCH_ROWS = 1 << 14
"""Rows in one write batch. Bounds how long a checkpoint keeps the interpreter to itself (about 10 ms)."""

SORT_ROWS = 1 << 18
"""Rows brought into the order of their keys at a time: RocksDB takes ascending keys three times as fast."""

LOAD_ROWS = 1 << 16
"""Rows decoded at a time."""

_META = bytes(4)
_FORMAT, _IDENTITY, _POSITION, _AHEAD = (
    _META + name for name in (b"format", b"identity", b"position", b"ahead")
)
_OFFSETS = _META + b"offsets"
_SPEC = _META + b"spec:"
_ROWS = ((1).to_bytes(4, "big"), b"\xff" * 5)

STAMP = json.dumps(
    {"rows": ROW_FORMAT, "changelog": CHANGELOG_FORMAT, "hash": HASH_NAME, "vnodes": VNODES}
).encode()


def table_range(number: int) -> tuple[bytes, bytes]:
    """Low (included) and high (excluded) key of a table's rows."""
    return number.to_bytes(4, "big"), (number + 1).to_bytes(4, "big")


class Mirror:
    """Applies stretches of a log to a store, and reads tables back.

    `position` None: the store mirrors nothing yet.
    """

    def __init__(self, store: Store, identity: bytes) -> None:
        self._store = store
        self.identity = identity
        position, ahead = store.get(_POSITION), store.get(_AHEAD)
        self.position = None if position is None else Position.decode(position)
        self.ahead = None if ahead is None else Position.decode(ahead)
        self.offsets = store.get(_OFFSETS) or b""
        self.specs: dict[str, StoredSpec] = {}
        for key, value in store.items(_SPEC, _SPEC[:-1] + b";"):
            self.specs[key[len(_SPEC) :].decode()] = StoredSpec.decode(value)

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
        self._store.write(self._opening(stretch))
        for change in stretch.changes.values():
            self._apply_change(change)
        self._store.write(self._closing(stretch))
        if stretch.base:
            self.specs.clear()
        self.specs = _specs_after(self.specs, stretch)
        self.position = self.ahead = stretch.position
        self.offsets = stretch.meta

    def flush(self) -> None:
        """Makes what was applied durable. Raises OSError."""
        self._store.flush()

    def load(self, spec: StoredSpec) -> list[Rows]:
        """All stored rows of a table, in batches."""
        code = _row_code(spec)
        return [
            _unweigh(code.decode(RowBytes.of(values)), spec)
            for values in self._store.values(*table_range(spec.number), LOAD_ROWS)
        ]

    def close(self) -> None:
        self._store.close()

    def _opening(self, stretch: Stretch) -> StoreBatch:
        """What comes before the rows: whole ranges go, and the store owns up to what it is about to do."""
        batch = StoreBatch()
        if stretch.base:
            batch.ranges.append(_ROWS)
            batch.deletes = [_POSITION, *(_SPEC + name.encode() for name in self.specs)]
        batch.ranges += [table_range(number) for number in stretch.dropped]
        for change in stretch.changes.values():
            if change.truncated:
                batch.ranges.append(table_range(change.spec.number))
        batch.put(_FORMAT, STAMP)
        batch.put(_IDENTITY, self.identity)
        batch.put(_AHEAD, stretch.position.encode())
        return batch

    def _closing(self, stretch: Stretch) -> StoreBatch:
        after = _specs_after({} if stretch.base else self.specs, stretch)
        gone = [_SPEC + name.encode() for name in self.specs if name not in after]
        batch = StoreBatch(deletes=gone)
        for name, spec in stretch.specs.items():
            batch.put(_SPEC + name.encode(), spec.encode())
        batch.put(_POSITION, stretch.position.encode())
        batch.put(_OFFSETS, stretch.meta)
        return batch

    def _apply_change(self, change: NetChange) -> None:
        spec = change.spec
        for start in range(0, change.deleted_count, BATCH_ROWS):
            count = min(BATCH_ROWS, change.deleted_count - start)
            columns = [column.slice(start, count) for column in change.deleted]
            keys = encode_keys(columns, spec.key_types, count)
            self._store.write(StoreBatch(deletes=store_keys(spec, keys)))
        code = _row_code(spec)
        for rows in change.rows:
            for start in range(0, len(rows), SORT_ROWS):
                self._put(spec, code, rows, start, min(SORT_ROWS, len(rows) - start))

    def _put(self, spec: StoredSpec, code: RowCode, rows: Rows, start: int, count: int) -> None:
        columns = [column.slice(start, count) for column in rows.columns]
        encoded = encode_keys([columns[i] for i in spec.key_columns], spec.key_types, count)
        weights = [pa.array(rows.weights[start : start + count])] if spec.weighed else []
        keys, values = store_keys(spec, encoded), code.encode([*columns, *weights], count).to_list()
        order = _store_order(encoded)
        for at in range(0, count, BATCH_ROWS):
            part = order[at : at + BATCH_ROWS].tolist()
            self._store.write(StoreBatch(keys=[keys[i] for i in part], values=[values[i] for i in part]))


def store_keys(spec: StoredSpec, keys: Keys) -> list[bytes]:
    """The store's keys of rows with these keys."""
    number = spec.number.to_bytes(4, "big")
    prefixes = [number + bytes((vnode,)) for vnode in range(VNODES)]
    return [
        prefixes[vnode] + key for vnode, key in zip(keys.vnode().tolist(), keys.to_bytes_list(), strict=True)
    ]


def _store_order(keys: Keys) -> npt.NDArray[np.int64]:
    """Positions in ascending order of the store's keys."""
    order = keys.sort_order()
    return order[np.argsort(keys.vnode()[order], kind="stable")]


def _specs_after(specs: dict[str, StoredSpec], stretch: Stretch) -> dict[str, StoredSpec]:
    dropped = set(stretch.dropped)
    return {n: s for n, s in specs.items() if s.number not in dropped} | stretch.specs


def _row_code(spec: StoredSpec) -> RowCode:
    return RowCode([*spec.arrow, pa.int64()] if spec.weighed else spec.arrow)


def _unweigh(columns: list[pa.Array], spec: StoredSpec) -> Rows:
    if spec.weighed:
        return Rows(columns[:-1], columns[-1].to_numpy())
    return Rows(columns, np.ones(len(columns[0]), np.int64))
