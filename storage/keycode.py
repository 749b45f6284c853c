"""Canonical, order-preserving key bytes, and what follows from them: hash, vnode, order, groups.

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
    jsonb           kind, then count or value       (`keyvalues.py` holds what needs Python objects)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels, kernels_keys
from .arrow_compute import pc
from .arrowview import bool_values, byte_values, fixed_dtype, fixed_values, is_bytes, validity
from .keycode_few import FEW_ROWS, encode_few
from .keyvalues import jsonb_bytes, list_bytes
from .types import NAMED_OIDS, Type

HASH_NAME = "millpond-64-1"
"""Names the hash function and the key bytes; stamped in stores, where both are kept."""

VNODES = 256

COMPILED_ROWS = 4096
"""Up to so many numbers are encoded by one compiled loop: numpy takes more calls, but less a value."""

ByteArray = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]

_VALUE = 1
_NULL_LAST = 2
_NULL_FIRST = 0
_NO_BYTES = np.empty(0, np.uint8)
_NO_OFFSETS = np.empty(0, np.int64)
_SIGN64 = np.uint64(1 << 63)
_SIGN32 = np.uint32(1 << 31)
_DAY_US = 86_400_000_000
_ZERO = np.uint64(0)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_INFINITY = np.uint64(0x7FF0000000000000)
_NAN = np.uint64(0x7FF8000000000000)


@dataclass(frozen=True, slots=True)
class Keys:
    """Key bytes of n rows: `width` bytes each, or (`width` 0) between consecutive `offsets`."""

    length: int
    width: int
    data: ByteArray
    offsets: Int64Array

    def __len__(self) -> int:
        return self.length

    def hash(self) -> npt.NDArray[np.uint64]:
        """The stable hash called HASH_NAME of each key."""
        out = np.empty(self.length, np.uint64)
        kernels.hash_keys(self.data, self.offsets, self.width, out)
        return out

    def vnode(self) -> ByteArray:
        """The virtual node of each key: the lowest byte of its hash."""
        return self.hash().astype(np.uint8)

    def to_bytes_list(self) -> list[bytes]:
        """The bytes of each key."""
        data = self.data.tobytes()
        if self.width:
            return [data[i : i + self.width] for i in range(0, self.length * self.width, self.width)]
        bounds: list[int] = self.offsets.tolist()
        return [data[a:b] for a, b in pairwise(bounds)]

    def slice(self, start: int, length: int) -> Keys:
        """`length` keys from number `start` on, sharing the memory."""
        if self.width:
            data = self.data[start * self.width : (start + length) * self.width]
            return Keys(length, self.width, data, _NO_OFFSETS)
        return Keys(length, 0, self.data, self.offsets[start : start + length + 1])

    def take(self, places: Int64Array) -> Keys:
        """Some of the keys."""
        if self.width:
            data = self.data.reshape(-1, self.width)[places].reshape(-1)
            return Keys(len(places), self.width, data, _NO_OFFSETS)
        starts = self.offsets[places]
        lengths = self.offsets[places + 1] - starts
        return _assemble([_Encoded(self.data, starts, lengths)], len(places))

    def to_arrow(self) -> pa.Array:
        """The keys as a (fixed-size or large) binary array, sharing the memory."""
        if self.width:
            buffers = [None, pa.py_buffer(self.data)]
            return pa.Array.from_buffers(pa.binary(self.width), self.length, buffers)
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), self.length, buffers)

    def sort_order(self) -> Int64Array:
        """The rows in ascending order of their bytes; equal ones stay in their order."""
        if self.length < 2:
            return np.arange(self.length)
        if self.width == 9:
            matrix = self.data.reshape(-1, 9)
            if (matrix[:, 0] == matrix[0, 0]).all():
                words = np.ascontiguousarray(matrix[:, 1:]).view(">u8").ravel().astype(np.uint64)
                return np.argsort(words, kind="stable")
        return pc.call_function("array_sort_indices", [self.to_arrow()]).to_numpy().astype(np.int64)


class _Part(Protocol):
    """The encoded values of one column, still to be placed in the keys."""

    def sizes(self, total: Int64Array) -> None: ...
    def place(self, out: ByteArray, cursor: Int64Array) -> None: ...


@dataclass(slots=True)
class _Encoded:
    """Bytes already encoded: row i is `data[starts[i]:][:lengths[i]]`."""

    data: ByteArray
    starts: Int64Array
    lengths: Int64Array

    def sizes(self, total: Int64Array) -> None:
        total += self.lengths

    def place(self, out: ByteArray, cursor: Int64Array) -> None:
        kernels_keys.place_bytes(self.data, self.starts, self.lengths, out, cursor)

    def complement(self) -> None:
        """Complements all bytes but the marker, for descending order."""
        markers = self.data[self.starts]
        self.data = ~self.data
        self.data[self.starts] = markers


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
            self.data, self.offsets, self.valid, _VALUE, self.null_mark, self.flip, out, cursor
        )


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
        width, offsets = prefix.width + more.width, _NO_OFFSETS
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
        return Keys(len(encoded), width, data, _NO_OFFSETS)
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
        return Keys(rows, 1, np.zeros(rows, np.uint8), _NO_OFFSETS)
    widths = [fixed_width(type_) for type_ in types]
    null_marks = [_NULL_FIRST if first else _NULL_LAST for first in nulls_first]
    if all(widths):
        data = np.empty((rows, sum(widths)), np.uint8)
        at = 0
        for i, column in enumerate(columns):
            out = data[:, at : at + widths[i]]
            _put_fixed(column, types[i], null_marks[i], descending[i], out)
            at += widths[i]
        return Keys(rows, at, data.reshape(-1), _NO_OFFSETS)
    parts: list[_Part] = []
    for i, column in enumerate(columns):
        if widths[i]:
            matrix = np.empty((rows, widths[i]), np.uint8)
            _put_fixed(column, types[i], null_marks[i], descending[i], matrix)
            parts.append(_fixed_part(matrix))
        else:
            parts.append(_variable_part(column, types[i], null_marks[i], descending[i]))
    return _assemble(parts, rows)


def _assemble(parts: Sequence[_Part], rows: int) -> Keys:
    sizes = np.zeros(rows, np.int64)
    for part in parts:
        part.sizes(sizes)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    cursor = offsets[:-1].copy()
    for part in parts:
        part.place(data, cursor)
    return Keys(rows, 0, data, offsets)


# -- fixed width


def fixed_width(type_: Type) -> int:
    """Bytes of every value's key code including the marker, 0 if they differ from value to value."""
    if type_.element is not None:
        return 0
    entry = _FIXED.get(type_.name)
    return entry[0] if entry else 0


def _fixed_part(matrix: ByteArray) -> _Encoded:
    rows, width = matrix.shape
    return _Encoded(matrix.reshape(-1), np.arange(0, rows * width, width), np.full(rows, width))


def _put_fixed(column: pa.Array, type_: Type, null_mark: int, descending: bool, out: ByteArray) -> None:
    """Writes the markers and values of a column as the columns of bytes `out`."""
    out[:, 0] = _VALUE
    _FIXED[type_.name][1](column, out[:, 1:])
    if descending:
        np.invert(out[:, 1:], out=out[:, 1:])
    valid = validity(column)
    if valid is not None:
        missing = valid == 0
        out[missing] = 0
        out[missing, 0] = null_mark


def _values(column: pa.Array) -> npt.NDArray[Any]:
    dtype = fixed_dtype(column.type)
    assert dtype is not None, column.type
    return fixed_values(column, dtype)


def _big_endian(words: npt.NDArray[np.uint64]) -> ByteArray:
    return words.byteswap().view(np.uint8).reshape(-1, 8)


def _put_bool(column: pa.Array, out: ByteArray) -> None:
    out[:, 0] = bool_values(column)


def _put_int(column: pa.Array, out: ByteArray) -> None:
    values = _values(column).astype(np.int64, copy=False).view(np.uint64)
    if len(values) <= COMPILED_ROWS:
        kernels_keys.put_integers(values, out)
        return
    out[:] = _big_endian(values ^ _SIGN64)


def _put_date(column: pa.Array, out: ByteArray) -> None:
    flipped = _values(column).view(np.uint32) ^ _SIGN32
    out[:] = flipped.byteswap().view(np.uint8).reshape(-1, 4)


def _put_float(column: pa.Array, out: ByteArray) -> None:
    values = _values(column)
    if values.dtype != np.float64:
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            values = values.astype(np.float64)
    bits = values.view(np.uint64)
    if len(bits) <= COMPILED_ROWS:
        kernels_keys.put_floats(bits, out)
        return
    magnitude = bits & _MAGNITUDE
    bits = np.where(magnitude == 0, _ZERO, np.where(magnitude > _INFINITY, _NAN, bits))
    negative = bits >> np.uint64(63) == 1
    out[:] = _big_endian(np.where(negative, ~bits, bits | _SIGN64))


def _put_uuid(column: pa.Array, out: ByteArray) -> None:
    out[:] = _values(column).view(np.uint8).reshape(-1, 16)


_INTERVAL = np.dtype([("us", "<i8"), ("days", "<i4"), ("months", "<i4")])


def _put_interval(column: pa.Array, out: ByteArray) -> None:
    parts = _values(column).view(_INTERVAL)
    carried, rest = np.divmod(parts["us"], _DAY_US)
    days = parts["months"].astype(np.int64) * 30 + parts["days"] + carried
    out[:, :8] = _big_endian(days.view(np.uint64) ^ _SIGN64)
    out[:, 8:] = _big_endian(rest.view(np.uint64))


_Put = Callable[[pa.Array, ByteArray], None]
_AS_INT = (
    "int2", "int4", "int8", "time", "timestamp", "timestamptz", "oid", "xid",
    *NAMED_OIDS,
)  # fmt: skip
_FIXED: dict[str, tuple[int, _Put]] = {
    "bool": (2, _put_bool),
    "float4": (9, _put_float),
    "float8": (9, _put_float),
    "date": (5, _put_date),
    "uuid": (17, _put_uuid),
    "interval": (17, _put_interval),
    **dict.fromkeys(_AS_INT, (9, _put_int)),
}


# -- variable width


def _variable_part(column: pa.Array, type_: Type, null_mark: int, descending: bool) -> _Part:
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


def _decimal_part(column: pa.Array, null_mark: int) -> _Encoded:
    rows = len(column)
    words = _values(column).view(np.uint64).reshape(-1, 2)
    valid = validity(column)
    out = np.empty(rows * kernels_keys.NUMERIC_BYTES, np.uint8)
    sizes = np.empty(rows, np.int64)
    kernels_keys.encode_decimals(
        words, _NO_BYTES if valid is None else valid, column.type.scale, _VALUE, null_mark, out, sizes
    )
    return _Encoded(out, np.arange(rows) * kernels_keys.NUMERIC_BYTES, sizes)


def _numeric_text_part(column: pa.Array, null_mark: int) -> _Encoded:
    offsets, data = byte_values(column)
    valid = validity(column)
    rows = len(column)
    starts = offsets[:-1].astype(np.int64) - offsets[0]
    starts += np.arange(rows) * kernels_keys.NUMERIC_TEXT_EXTRA
    size = int(offsets[-1] - offsets[0]) + rows * kernels_keys.NUMERIC_TEXT_EXTRA
    out = np.empty(size, np.uint8)
    sizes = np.empty(rows, np.int64)
    kernels_keys.encode_numeric_texts(
        data, offsets, _NO_BYTES if valid is None else valid, _VALUE, null_mark, out, starts, sizes
    )
    return _Encoded(out, starts, sizes)


def _object_part(column: pa.Array, type_: Type, null_mark: int) -> _Encoded:
    """Values encoded one by one in Python; of jsonb each distinct one once."""
    if type_.element is not None:
        element = type_.element
        flat = encode_keys([column.flatten()], [element]).to_bytes_list()
        encoded = list_bytes(column, flat, bytes([_VALUE]), bytes([null_mark]))
        return _from_list(encoded)
    coded = column.dictionary_encode()
    distinct = [bytes([_VALUE]) + jsonb_bytes(text) for text in coded.dictionary.to_pylist()]
    distinct.append(bytes([null_mark]))
    indices = coded.indices.fill_null(len(distinct) - 1).to_numpy()
    part = _from_list(distinct)
    return _Encoded(part.data, part.starts[indices], part.lengths[indices])


def _from_list(encoded: Sequence[bytes]) -> _Encoded:
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    data = np.frombuffer(b"".join(encoded) or b"\x00", np.uint8)
    return _Encoded(data, np.cumsum(lengths) - lengths, lengths)


# -- groups


def dense_group_ids(values: Int64Array) -> tuple[Int64Array, Int64Array] | None:
    """`group_ids` of integers that lie close together (at least one in every two); None of others."""
    low, high = int(values.min()), int(values.max())
    if high - low >= 2 * len(values):
        return None
    ids, first = np.empty(len(values), np.int64), np.empty(min(len(values), high - low + 1), np.int64)
    groups = kernels.group_dense(values, low, np.zeros(high - low + 1, np.int32), ids, first)
    return ids, first[:groups]


def group_ids(keys: Keys) -> tuple[Int64Array, Int64Array]:
    """Numbers equal keys alike: (group of each row, first row of each group).

    Groups are numbered in order of first appearance; keys are compared, not only hashed.
    """
    if keys.length == 1:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    ids = np.empty(keys.length, np.int64)
    first = np.empty(keys.length, np.int64)
    slots = np.zeros(keys.length * 2 + 1, np.uint64)
    groups = kernels.group_keys(keys.data, keys.offsets, keys.width, slots, ids, first)
    return ids, first[:groups].copy() if groups * 2 < keys.length else first[:groups]
