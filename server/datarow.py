"""Rows from Arrow columns to DataRow messages, in text or binary, a column at a time.

`RowEncoder` is made once for a result (types and formats) and turns batches into bytes: every column
becomes variable-width values (`format_text`, `encode_binary`), then two compiled passes lay out the rows.
A one-row batch takes a path of its own without kernels: point lookups are the common case.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage.binaryform import encode_binary
from ..storage.kernels_wire import add_value_sizes, fill_values, frame_rows
from ..storage.one_row import OneRow
from ..storage.textform import TextSettings, format_text
from ..storage.types import Type
from .messages import BINARY
from .onevalue import one_value, plain_value

PIECE_BYTES = 256 << 10
"""Aimed at when a large batch is cut into pieces."""
PIECE_ROWS_MAX = 16_384

_NO_BYTES = np.empty(0, dtype=np.uint8)
_DATA_ROW = ord("D")
_NULL = b"\xff\xff\xff\xff"
_pack_length = struct.Struct("!I").pack
_pack_head = struct.Struct("!cIH").pack

Values = tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.uint8], int]
"""Offsets, bytes, validity bitmap (empty: no NULL) and its bit offset: what the kernels take."""


def variable_values(array: pa.Array) -> Values:
    """The buffers of a string or binary array, without copying."""
    validity, offsets, data = array.buffers()
    begin, size = array.offset, len(array)
    ends = np.frombuffer(offsets, dtype=np.int32, count=size + 1, offset=4 * begin) if offsets else None
    return (
        np.zeros(size + 1, dtype=np.int32) if ends is None else ends,
        _NO_BYTES if data is None or not data.size else np.frombuffer(data, dtype=np.uint8),
        _NO_BYTES if validity is None or not array.null_count else np.frombuffer(validity, dtype=np.uint8),
        begin,
    )


def frame_values(columns: Sequence[Values], size: int, kind: int, counted: bool) -> npt.NDArray[np.uint8]:
    """`size` messages of type `kind` holding the columns' values with their lengths.

    `counted`: the column count stands before them (DataRow and binary COPY).
    """
    sizes = np.full(size, 7 if counted else 5, dtype=np.int64)
    for offsets, _, validity, bit in columns:
        add_value_sizes(sizes, offsets, validity, bit)
    starts = row_starts(sizes)
    out = np.empty(int(starts[-1]), dtype=np.uint8)
    cursor = np.empty(size, dtype=np.int64)
    frame_rows(out, cursor, starts, kind, len(columns) if counted else -1)
    for offsets, data, validity, bit in columns:
        fill_values(out, cursor, offsets, data, validity, bit)
    return out


def row_starts(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where rows of these sizes begin, and at last where all end."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    _ = np.cumsum(sizes, out=starts[1:])
    return starts


def piece_rows(columns: Sequence[pa.Array]) -> int:
    """How many rows of a batch make a piece of about PIECE_BYTES."""
    rows = len(columns[0]) if columns else 0
    if rows <= 64:
        return rows or 1
    row_bytes = 8 * len(columns) + sum(column.nbytes for column in columns) // rows
    return max(1, min(PIECE_ROWS_MAX, PIECE_BYTES // row_bytes))


def _one_row(values: Sequence[bytes]) -> bytes:
    """DataRow of values with their lengths."""
    body = b"".join(values)
    return _pack_head(b"D", len(body) + 6, len(values)) + body


class RowEncoder:
    """Encodes the rows of one result. `formats` has one code a column."""

    __slots__ = ("_formats", "_one", "_plain", "_settings", "_types")

    def __init__(self, types: Sequence[Type], formats: Sequence[int], settings: TextSettings) -> None:
        self._types = types
        self._formats = formats
        self._settings = settings
        self._plain = [plain_value(type_) for type_ in types]
        self._one = [one_value(type_, code, settings) for type_, code in zip(types, formats, strict=True)]

    def encode(self, columns: Sequence[pa.Array], size: int) -> bytes:
        """All `size` rows as DataRow messages."""
        if size == 1:
            return self.encode_one(columns)
        if not columns:
            return _pack_head(b"D", 6, 0) * size
        values = [
            variable_values(self._value_bytes(position, column)) for position, column in enumerate(columns)
        ]
        return frame_values(values, size, _DATA_ROW, counted=True).tobytes()

    def encode_one(self, columns: Sequence[pa.Array]) -> bytes:
        """A single row."""
        parts: list[bytes] = []
        for position, column in enumerate(columns):
            if column.null_count:
                parts.append(_NULL)
                continue
            one = self._one[position]
            raw = None if one is None else one(self._plain[position](column))
            if raw is None:
                raw = self._one_by_array(position, column)
            parts.append(_pack_length(len(raw)) + raw)
        return _one_row(parts)

    def encode_row(self, row: OneRow) -> bytes:
        """A single row as it lies in its table."""
        parts: list[bytes] = []
        for position, one in enumerate(self._one):
            value = row.plain(position)
            if value is None:
                parts.append(_NULL)
                continue
            raw = None if one is None else one(value)
            if raw is None:
                raw = self._one_by_array(position, row[position])
            parts.append(_pack_length(len(raw)) + raw)
        return _one_row(parts)

    def _one_by_array(self, position: int, column: pa.Array) -> bytes:
        value = self._value_bytes(position, column)[0].as_py()
        return value if isinstance(value, bytes) else value.encode()

    def _value_bytes(self, position: int, column: pa.Array) -> pa.Array:
        type_ = self._types[position]
        if self._formats[position] == BINARY:
            return encode_binary(type_, column)
        return format_text(type_, column, self._settings)
