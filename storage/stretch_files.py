"""A stretch of the changelog as one file of sorted keys, ready to become a part of the store.

What `Mirror.apply` writes key by key, without the store: so it can be made by a process that has none
(`stretch_worker.py`). Only indexes whose entries follow from the key of a row can be kept this way
(`indexed_by_key`): of others the entries that go are known by the rows that the store has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from .changelog import Rows, concat_columns
from .keycode import encode_keys
from .replay import NetChange, Stretch
from .rocks import SortedFile
from .storedrows import StoredCode, entries_by_key, store_keys, store_order

Indexes = Mapping[int, Sequence[tuple[int, ...]]]
"""By number of a table, the columns of each index that the store has of it."""

PIECE_ROWS = 1 << 11
"""Rows turned into keys and values at a time."""


def write_stretch(
    path: Path, stretch: Stretch, indexes: Indexes, pause: Callable[[], None] = lambda: None
) -> bool:
    """Writes the file; False if there is nothing to write. Raises OSError.

    All ranges that the stretch empties are left to whoever takes the file in.
    """
    file: SortedFile | None = None
    for key, value in _sorted(list(stretch.changes.values()), indexes, pause):
        file = file or SortedFile(path)
        if value is None:
            file.delete(key)
        else:
            file.put(key, value)
    if file is not None:
        file.finish()
    return file is not None


def without_rows(stretch: Stretch) -> Stretch:
    """The stretch as whoever has its file needs it."""
    changes = {name: NetChange(change.spec, change.truncated) for name, change in stretch.changes.items()}
    return replace(stretch, changes=changes)


def _sorted(
    changes: Sequence[NetChange], indexes: Indexes, pause: Callable[[], None]
) -> Iterator[tuple[bytes, bytes | None]]:
    """All keys, ascending, with their new values; None for keys that go."""
    ascending = sorted(changes, key=lambda change: change.spec.number)
    for change in ascending:
        yield from _rows(change, pause)
    for change in ascending:
        places = indexes.get(change.spec.number)
        if places:
            yield from _entries(change, places, pause)


def _rows(change: NetChange, pause: Callable[[], None]) -> Iterator[tuple[bytes, bytes | None]]:
    """The rows of one table: those that come and those that go, which have different keys."""
    spec, code = change.spec, StoredCode(change.spec)
    rows = Rows.concat(change.rows, change.spec)
    came = len(rows)
    keys = encode_keys(_key_columns(change, rows), spec.key_types, came + change.deleted_count)
    order = store_order(keys)
    for at in range(0, len(order), PIECE_ROWS):
        piece = order[at : at + PIECE_ROWS]
        comes = piece < came
        values = iter(code.encode(rows.take(piece[comes])))
        for key, is_new in zip(store_keys(spec, keys.take(piece)), comes.tolist(), strict=True):
            yield key, next(values) if is_new else None
        pause()


def _entries(
    change: NetChange, places: Sequence[tuple[int, ...]], pause: Callable[[], None]
) -> Iterator[tuple[bytes, bytes | None]]:
    """The entries of one table's indexes."""
    rows = Rows.concat(change.rows, change.spec)
    came, columns = len(rows), _key_columns(change, rows)
    entries: list[tuple[bytes, bytes | None]] = []
    for at in range(0, came + change.deleted_count, PIECE_ROWS):
        piece = [column.slice(at, PIECE_ROWS) for column in columns]
        count = min(PIECE_ROWS, came + change.deleted_count - at)
        keys = store_keys(change.spec, encode_keys(piece, change.spec.key_types, count))
        for found in entries_by_key(change.spec, places, piece, keys):
            entries += [(key, b"" if at + i < came else None) for i, key in enumerate(found)]
        pause()
    entries.sort(key=lambda entry: entry[0])
    return iter(entries)


def _key_columns(change: NetChange, rows: Rows) -> list[pa.Array]:
    """The columns of the key, of the rows that come and then of those that go."""
    came = [rows.columns[i] for i in change.spec.key_columns]
    if not change.deleted:
        return came
    return concat_columns([came, change.deleted])
