"""Rows as bytes, one `bytes` a row: the values of a store. Built column by column, then sliced.

    null bits (1 bit a column)  fixed-width values  4-byte lengths  the variable values
                                                    `- of each variable value -'

Little-endian, no alignment. A NULL has zero bytes in its place, so equal rows have equal bytes. A list is two
variable values: the lengths of its elements' rows (4 bytes each) and those rows, each laid out as above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .kernels_pieces import copy_pieces

ROW_FORMAT = 1
"""Version of this layout, stamped in the store."""

ByteArray = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Pieces:
    """n byte strings somewhere in `data`."""

    data: ByteArray
    starts: Int64Array
    lengths: Int64Array

    def gather(self) -> ByteArray:
        """The strings one behind the other."""
        first = int(self.starts[0]) if len(self.starts) else 0
        total = int(self.lengths.sum())
        if np.array_equal(self.starts[1:], self.starts[:-1] + self.lengths[:-1]):
            return self.data[first : first + total]
        out = np.empty(total, np.uint8)
        copy_pieces(self.data, self.starts, self.lengths, out, np.cumsum(self.lengths) - self.lengths)
        return out


@dataclass(frozen=True, slots=True)
class Rows:
    """Encoded rows: `data` between consecutive `offsets`."""

    data: ByteArray
    offsets: Int64Array

    def to_list(self) -> list[bytes]:
        data, offsets = self.data.tobytes(), self.offsets.tolist()
        return [data[a:b] for a, b in pairwise(offsets)]

    @staticmethod
    def of(values: Sequence[bytes]) -> Rows:
        offsets = np.zeros(len(values) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
        return Rows(np.frombuffer(b"".join(values), np.uint8), offsets)


class RowCode:
    """Encodes and decodes rows of columns of the given Arrow types."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = tuple(types)
        self._null_bytes = (len(self._types) + 7) // 8
        self._widths = [_fixed_width(type_) for type_ in self._types]
        self._fixed_end = self._null_bytes + sum(self._widths)
        self._variable = sum(_piece_count(type_) for type_ in self._types)
        self._front = self._fixed_end + 4 * self._variable

    def encode(self, columns: Sequence[pa.Array], length: int) -> Rows:
        """The rows of `columns`, each of `length` values."""
        front = np.zeros((length, self._front), np.uint8)
        nulls = np.zeros((length, len(columns)), np.bool_)
        pieces: list[_Pieces] = []
        at = self._null_bytes
        for i, (column, width) in enumerate(zip(columns, self._widths, strict=True)):
            if column.null_count:
                nulls[:, i] = _null_mask(column)
            if width:
                front[:, at : at + width] = _fixed_bytes(column, width)
                at += width
            else:
                pieces += _pieces(column)
        front[:, : self._null_bytes] = np.packbits(nulls, axis=1, bitorder="little")
        for piece in pieces:
            front[:, at : at + 4] = piece.lengths.astype("<u4").view(np.uint8).reshape(length, 4)
            at += 4
        return _assemble(front, pieces)

    def decode(self, rows: Rows) -> list[pa.Array]:
        """The columns of encoded rows. Raises ValueError for bytes that are none."""
        starts, sizes = rows.offsets[:-1], np.diff(rows.offsets)
        length = len(starts)
        if rows.offsets[-1] != len(rows.data) or (sizes < self._front).any():
            raise ValueError("a row is cut off")
        front = _front_bytes(rows, self._front)
        nulls = np.unpackbits(front[:, : self._null_bytes], axis=1, bitorder="little").view(np.bool_)
        lengths = np.ascontiguousarray(front[:, self._fixed_end :]).view("<u4").astype(np.int64)
        if (sizes != self._front + lengths.sum(axis=1)).any():
            raise ValueError("a row's values are not as long as it says")
        tails = starts + self._front
        columns: list[pa.Array] = []
        at, piece = self._null_bytes, 0
        for i, (type_, width) in enumerate(zip(self._types, self._widths, strict=True)):
            validity = _validity(nulls[:, i])
            if width:
                values = np.ascontiguousarray(front[:, at : at + width])
                columns.append(_fixed_array(type_, length, validity, values))
                at += width
                continue
            parts: list[_Pieces] = []
            for _ in range(_piece_count(type_)):
                parts.append(_Pieces(rows.data, tails, lengths[:, piece]))
                tails = tails + lengths[:, piece]
                piece += 1
            columns.append(_variable_array(type_, length, validity, parts))
        return columns


def _fixed_width(type_: pa.DataType) -> int:
    """Bytes of a value; 0 for types of variable length."""
    if pa.types.is_boolean(type_):
        return 1
    if _piece_count(type_):
        return 0
    return type_.bit_width // 8


def _piece_count(type_: pa.DataType) -> int:
    if pa.types.is_list(type_):
        return 2
    return int(pa.types.is_string(type_) or pa.types.is_binary(type_))


def _assemble(front: ByteArray, pieces: Sequence[_Pieces]) -> Rows:
    length, width = front.shape
    sizes = np.full(length, width, np.int64)
    for piece in pieces:
        sizes += piece.lengths
    offsets = np.zeros(length + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if not pieces:
        return Rows(front.reshape(-1), offsets)
    out = np.empty(int(offsets[-1]), np.uint8)
    at = offsets[:-1]
    copy_pieces(front.reshape(-1), np.arange(length) * width, np.full(length, width), out, at)
    at = at + width
    for piece in pieces:
        copy_pieces(piece.data, piece.starts, piece.lengths, out, at)
        at = at + piece.lengths
    return Rows(out, offsets)


def _front_bytes(rows: Rows, width: int) -> ByteArray:
    starts = rows.offsets[:-1]
    if len(rows.data) == width * len(starts):
        return rows.data.reshape(len(starts), width)
    out = np.empty((len(starts), width), np.uint8)
    places = np.arange(len(starts)) * width
    copy_pieces(rows.data, starts, np.full(len(starts), width), out.reshape(-1), places)
    return out


def _null_mask(column: pa.Array) -> npt.NDArray[np.bool_]:
    return column.is_null().to_numpy(zero_copy_only=False)


def _validity(nulls: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    if not nulls.any():
        return None
    return pa.py_buffer(np.packbits(~nulls, bitorder="little").data)


def _buffer(column: pa.Array, number: int) -> ByteArray:
    buffer = column.buffers()[number]
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _fixed_bytes(column: pa.Array, width: int) -> ByteArray:
    length, offset = len(column), column.offset
    if pa.types.is_boolean(column.type):
        bits = np.unpackbits(_buffer(column, 1), bitorder="little")
        values = bits[offset : offset + length].reshape(length, 1)
    else:
        values = _buffer(column, 1)[offset * width : (offset + length) * width].reshape(length, width)
    if column.null_count:
        values = np.where(_null_mask(column)[:, None], np.uint8(0), values)
    return values


def _fixed_array(type_: pa.DataType, length: int, validity: pa.Buffer | None, values: ByteArray) -> pa.Array:
    if pa.types.is_boolean(type_):
        values = np.packbits(values.reshape(-1), bitorder="little")
    return pa.Array.from_buffers(type_, length, [validity, pa.py_buffer(values.reshape(-1).data)])


def _pieces(column: pa.Array) -> list[_Pieces]:
    """The variable values of a column."""
    length, offset = len(column), column.offset
    bounds = _buffer(column, 1).view(np.int32)[offset : offset + length + 1].astype(np.int64)
    if not len(bounds):
        bounds = np.zeros(1, np.int64)
    starts, lengths = bounds[:-1], np.diff(bounds)
    if column.null_count:
        lengths = np.where(_null_mask(column), 0, lengths)
    if not pa.types.is_list(column.type):
        return [_Pieces(_buffer(column, 2), starts, lengths)]
    elements = column.values
    rows = RowCode([column.type.value_type]).encode([elements], len(elements))
    sizes = np.diff(rows.offsets).astype("<u4").view(np.uint8)
    spans = np.where(lengths > 0, rows.offsets[starts + lengths] - rows.offsets[starts], 0)
    return [_Pieces(sizes, starts * 4, lengths * 4), _Pieces(rows.data, rows.offsets[starts], spans)]


def _variable_array(
    type_: pa.DataType, length: int, validity: pa.Buffer | None, pieces: Sequence[_Pieces]
) -> pa.Array:
    if pa.types.is_list(type_):
        return _list_array(type_, length, validity, pieces)
    data = np.ascontiguousarray(pieces[0].gather())
    buffers = [validity, _offsets(pieces[0].lengths), pa.py_buffer(data.data)]
    return pa.Array.from_buffers(type_, length, buffers)


def _list_array(
    type_: pa.DataType, length: int, validity: pa.Buffer | None, pieces: Sequence[_Pieces]
) -> pa.Array:
    sizes = np.ascontiguousarray(pieces[0].gather()).view("<u4")
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    elements = RowCode([type_.value_type]).decode(Rows(pieces[1].gather(), offsets))[0]
    buffers = [validity, _offsets(pieces[0].lengths // 4)]
    return pa.Array.from_buffers(type_, length, buffers, children=[elements])


def _offsets(lengths: Int64Array) -> pa.Buffer:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.py_buffer(offsets.data)
