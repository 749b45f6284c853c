"""Canonical, order-preserving key bytes of rows; what follows from them is in `keys.py`.

Two rows have equal bytes exactly when their values are not distinct in SQL's sense: −0.0 is 0.0, NaN
is NaN, numeric 1.0 is 1.00 in both physical forms, int2 1 is int8 1, one month is 30 days, trailing
blanks of bpchar do not count. Bytes compare (memcmp) as PostgreSQL orders the values ascending, NULLS
LAST, text in C collation. Every value starts with a marker (1; NULL is 2) and no encoded value is a
prefix of another, so the bytes of several columns are simply put side by side:

    bool            1 byte                          interval   16 bytes: whole days, µs of the day
    int2/4/8, oid   8 bytes, sign bit inverted      uuid       16 bytes
    date            4 bytes, sign bit inverted      numeric    class, exponent, base-100 digits, end
    time(stamp)     8 bytes, sign bit inverted      text-like  00 as 00 FF, then 00 00
    float4/8        8 bytes, negatives complemented  arrays     elements with markers, then 00
    jsonb           kind, then count or value

Columns of the fixed widths are encoded in `keycode_fixed.py`, a few rows in `keycode_few.py`; `keyvalues.py`
holds what needs Python objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_keys
from .arrow_compute import pc
from .arrowview import byte_values, is_bytes, physical_values, validity
from .keycode_few import FEW_ROWS, encode_few
from .keycode_fixed import VALUE, fixed_width, put_fixed
from .keys import NO_OFFSETS, ByteArray, Encoded, Int64Array, Keys, Part, assemble
from .keyvalues import jsonb_bytes, list_bytes
from .types import Type

_NULL_LAST = 2
_NULL_FIRST = 0
_NO_BYTES = np.empty(0, np.uint8)


class KeyColumns(list[pa.Array]):
    """Key columns that several tables are asked about: `encode_keys` does its work once."""

    __slots__ = ("_keys", "_types", "asked", "numbers")

    def __init__(self, columns: Sequence[pa.Array]) -> None:
        super().__init__(columns)
        self.asked = 0
        """How many indexes were asked for them (`known_keys.py`)."""
        self.numbers: tuple[tuple[Type, ...], Any, npt.NDArray[np.int32]] | None = None
        """The types as which they are numbered, the dictionary and their numbers in it."""
        self._types: tuple[Type, ...] | None = None
        self._keys: Keys | None = None

    def keys(self, types: Sequence[Type], length: int | None) -> Keys:
        """The key bytes as `types`; `length` as for `encode_keys`."""
        wanted = tuple(types)
        if self._keys is None or wanted != self._types:
            self._keys, self._types = encode_keys(list(self), wanted, length), wanted
        return self._keys

    def some(self, columns: Sequence[pa.Array], places: Int64Array) -> KeyColumns:
        """The keys at `places`, which are `columns`; with their bytes, if those are known."""
        chosen = KeyColumns(columns)
        if self._keys is not None:
            chosen._keys, chosen._types = self._keys.take(places), self._types
        if self.numbers is not None:
            types, dictionary, numbers = self.numbers
            chosen.numbers, chosen.asked = (types, dictionary, numbers[places]), self.asked
        return chosen


def encode_keys(columns: Sequence[pa.Array], types: Sequence[Type], length: int | None = None) -> Keys:
    """The canonical key bytes of rows of `columns`.

    An array may have another physical form than its type says (int32 where the type is int8, another
    numeric scale): it is the value that counts. `length` is needed only when there are no columns;
    then every row has the same one-byte key.
    """
    if type(columns) is KeyColumns and columns:
        return columns.keys(types, length)
    if columns and 0 < len(columns[0]) <= FEW_ROWS:
        few = encode_few(columns, types)
        if few is not None:
            return _few_keys(*few)
    none = (False,) * len(columns)
    return encode_sort_keys(columns, types, none, none, length)


def joined_keys(prefix: Keys, ids: Int64Array, columns: Sequence[pa.Array], types: Sequence[Type]) -> Keys:
    """The keys of rows of which row i has key `ids[i]` of `prefix`, then the values of `columns`."""
    rows, more = len(ids), encode_keys(columns, types, len(ids))
    if prefix.width and more.width:
        width, offsets = prefix.width + more.width, NO_OFFSETS
        size = rows * width
    else:
        width, offsets = 0, np.empty(rows + 1, np.int64)
        size = kernels_keys.joined_sizes(prefix.offsets, prefix.width, ids, more.offsets, more.width, offsets)
    data = np.empty(size, np.uint8)
    kernels_keys.join_keys(
        prefix.data, prefix.offsets, prefix.width, ids, more.data, more.offsets, more.width, data
    )
    return Keys(rows, width, data, offsets)


def _few_keys(encoded: list[bytes], width: int) -> Keys:
    data = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
    if width:
        return Keys(len(encoded), width, data, NO_OFFSETS)
    offsets = np.zeros(len(encoded) + 1, np.int64)
    offsets[1:] = [*accumulate(map(len, encoded))]
    return Keys(len(encoded), 0, data, offsets)


def encode_sort_keys(
    columns: Sequence[pa.Array],
    types: Sequence[Type],
    descending: Sequence[bool],
    nulls_first: Sequence[bool],
    length: int | None = None,
) -> Keys:
    """Key bytes whose ascending order is the order asked for, column by column."""
    rows = len(columns[0]) if columns else length
    assert rows is not None
    if not columns:
        return Keys(rows, 1, np.zeros(rows, np.uint8), NO_OFFSETS)
    widths = [fixed_width(type_) for type_ in types]
    null_marks = [_NULL_FIRST if first else _NULL_LAST for first in nulls_first]
    if all(widths):
        data = np.empty((rows, sum(widths)), np.uint8)
        at = 0
        for i, column in enumerate(columns):
            out = data[:, at : at + widths[i]]
            put_fixed(column, types[i], null_marks[i], descending[i], out)
            at += widths[i]
        return Keys(rows, at, data.reshape(-1), NO_OFFSETS)
    parts: list[Part] = []
    for i, column in enumerate(columns):
        if widths[i]:
            matrix = np.empty((rows, widths[i]), np.uint8)
            put_fixed(column, types[i], null_marks[i], descending[i], matrix)
            parts.append(_fixed_part(matrix))
        else:
            parts.append(_variable_part(column, types[i], null_marks[i], descending[i]))
    return assemble(parts, rows)


def _fixed_part(matrix: ByteArray) -> Encoded:
    rows, width = matrix.shape
    return Encoded(matrix.reshape(-1), np.arange(0, rows * width, width), np.full(rows, width))


# -- variable width


@dataclass(slots=True)
class _Text:
    """A string or binary column as it lies in Arrow."""

    offsets: npt.NDArray[np.int32]
    data: ByteArray
    valid: ByteArray
    null_mark: int
    flip: int

    def sizes(self, total: Int64Array) -> None:
        kernels_keys.text_sizes(self.data, self.offsets, self.valid, total)

    def place(self, out: ByteArray, cursor: Int64Array) -> None:
        kernels_keys.place_text(
            self.data, self.offsets, self.valid, VALUE, self.null_mark, self.flip, out, cursor
        )


def _variable_part(column: pa.Array, type_: Type, null_mark: int, descending: bool) -> Part:
    if type_.name == "bpchar":
        column = pc.call_function("ascii_rtrim", [column], pc.TrimOptions(" "))
    if type_.element is None and type_.name not in ("numeric", "jsonb"):
        assert is_bytes(column.type), column.type
        offsets, data = byte_values(column)
        valid = validity(column)
        flip = 255 if descending else 0
        return _Text(offsets, data, _NO_BYTES if valid is None else valid, null_mark, flip)
    if type_.name != "numeric":
        part = _object_part(column, type_, null_mark)
    elif pa.types.is_decimal(column.type):
        part = _decimal_part(column, null_mark)
    else:
        part = _numeric_text_part(column, null_mark)
    if descending:
        part.complement()
    return part


def _decimal_part(column: pa.Array, null_mark: int) -> Encoded:
    rows = len(column)
    words = physical_values(column).view(np.uint64).reshape(-1, 2)
    valid = validity(column)
    out = np.empty(rows * kernels_keys.NUMERIC_BYTES, np.uint8)
    sizes = np.empty(rows, np.int64)
    kernels_keys.encode_decimals(
        words, _NO_BYTES if valid is None else valid, column.type.scale, VALUE, null_mark, out, sizes
    )
    return Encoded(out, np.arange(rows) * kernels_keys.NUMERIC_BYTES, sizes)


def _numeric_text_part(column: pa.Array, null_mark: int) -> Encoded:
    offsets, data = byte_values(column)
    valid = validity(column)
    rows = len(column)
    starts = offsets[:-1].astype(np.int64) - offsets[0]
    starts += np.arange(rows) * kernels_keys.NUMERIC_TEXT_EXTRA
    size = int(offsets[-1] - offsets[0]) + rows * kernels_keys.NUMERIC_TEXT_EXTRA
    out = np.empty(size, np.uint8)
    sizes = np.empty(rows, np.int64)
    kernels_keys.encode_numeric_texts(
        data, offsets, _NO_BYTES if valid is None else valid, VALUE, null_mark, out, starts, sizes
    )
    return Encoded(out, starts, sizes)


def _object_part(column: pa.Array, type_: Type, null_mark: int) -> Encoded:
    """Values encoded one by one in Python; of jsonb each distinct one once."""
    if type_.element is not None:
        element = type_.element
        flat = encode_keys([column.flatten()], [element]).to_bytes_list()
        encoded = list_bytes(column, flat, bytes([VALUE]), bytes([null_mark]))
        return _from_list(encoded)
    coded = column.dictionary_encode()
    distinct = [bytes([VALUE]) + jsonb_bytes(text) for text in coded.dictionary.to_pylist()]
    distinct.append(bytes([null_mark]))
    indices = coded.indices.fill_null(len(distinct) - 1).to_numpy()
    part = _from_list(distinct)
    return Encoded(part.data, part.starts[indices], part.lengths[indices])


def _from_list(encoded: Sequence[bytes]) -> Encoded:
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    data = np.frombuffer(b"".join(encoded) or b"\x00", np.uint8)
    return Encoded(data, np.cumsum(lengths) - lengths, lengths)
