"""Rows of tables as a store has them: which keys they lie under, and what their values are.

    number, vnode, key bytes                   a row of table `number`
    number + 2**31, index, index key, vnode, key bytes
                                               nothing: the row of that key is to be found by index `index`

Index keys are encoded as in memory (`keycode.py`): no key's bytes begin another's, so what follows an index
key is the rest of the key of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .changelog import Rows, StoredSpec
from .keycode import encode_keys
from .keys import VNODES, Keys
from .rowcode import RowCode
from .rowcode import Rows as RowBytes

_INDEXES = 1 << 31


def table_range(number: int) -> tuple[bytes, bytes]:
    """Low (included) and high (excluded) key of a table's rows."""
    return number.to_bytes(4, "big"), (number + 1).to_bytes(4, "big")


def index_range(number: int) -> tuple[bytes, bytes]:
    """The same of the entries of all its indexes."""
    return table_range(_INDEXES + number)


def store_keys(spec: StoredSpec, keys: Keys) -> list[bytes]:
    """The store's keys of rows with these keys."""
    number = spec.number.to_bytes(4, "big")
    prefixes = [number + bytes((vnode,)) for vnode in range(VNODES)]
    return [
        prefixes[vnode] + key for vnode, key in zip(keys.vnode().tolist(), keys.to_bytes_list(), strict=True)
    ]


def store_order(keys: Keys) -> npt.NDArray[np.int64]:
    """Positions in ascending order of the store's keys."""
    order = keys.sort_order()
    return order[np.argsort(keys.vnode()[order], kind="stable")]


def index_prefixes(spec: StoredSpec, index: int, keys: Keys) -> list[bytes]:
    """What the entries of index number `index` with these index keys begin with."""
    prefix = (_INDEXES + spec.number).to_bytes(4, "big") + bytes((index,))
    return [prefix + key for key in keys.to_bytes_list()]


def index_keys(
    spec: StoredSpec,
    index: int,
    places: Sequence[int],
    columns: Mapping[int, pa.Array],
    row_keys: Sequence[bytes],
) -> list[bytes]:
    """The entries of rows with the store's keys `row_keys`, in an index on the columns at `places`.

    `columns`: by their place, at least those.
    """
    types = [spec.schema[i].type for i in places]
    keys = encode_keys([columns[i] for i in places], types, len(row_keys))
    prefixes = index_prefixes(spec, index, keys)
    return [prefix + key[4:] for prefix, key in zip(prefixes, row_keys, strict=True)]


def entries_by_key(
    spec: StoredSpec, indexes: Sequence[Sequence[int]], columns: Sequence[pa.Array], row_keys: Sequence[bytes]
) -> list[list[bytes]]:
    """Of each index, by number, the entries of rows of which the columns of the key are given."""
    by_place = dict(zip(spec.key_columns, columns, strict=True)) if columns else {}
    return [index_keys(spec, number, places, by_place, row_keys) for number, places in enumerate(indexes)]


def indexed_by_key(spec: StoredSpec, indexes: Sequence[Sequence[int]]) -> bool:
    """Whether a row's key says what its index entries are: another row of that key has the same."""
    return all(set(places) <= set(spec.key_columns) for places in indexes)


def row_entries(spec: StoredSpec, indexes: Sequence[Sequence[int]], rows: Rows) -> list[bytes]:
    """The entries of these rows in all of the indexes."""
    primary = [rows.columns[i] for i in spec.key_columns]
    keys = store_keys(spec, encode_keys(primary, spec.key_types, len(rows)))
    by_place = dict(enumerate(rows.columns))
    return [
        entry
        for number, places in enumerate(indexes)
        for entry in index_keys(spec, number, places, by_place, keys)
    ]


class StoredCode:
    """Turns rows of one table into values of the store, and back."""

    def __init__(self, spec: StoredSpec) -> None:
        self._weighed = spec.weighed
        self._code = RowCode([*spec.arrow, pa.int64()] if spec.weighed else spec.arrow)

    def encode(self, rows: Rows) -> list[bytes]:
        """The values of the rows."""
        weights = [pa.array(rows.weights)] if self._weighed else []
        return self._code.encode([*rows.columns, *weights], len(rows)).to_list()

    def decode(self, values: Sequence[bytes]) -> Rows:
        columns = self._code.decode(RowBytes.of(values))
        if self._weighed:
            return Rows(columns[:-1], columns[-1].to_numpy())
        return Rows(columns, np.ones(len(values), np.int64))
