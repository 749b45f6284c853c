"""`RowMessage`: an Arrow IPC record batch message, written from the columns of a table.

Making arrays of a few rows, a batch of them and its message costs ten times what the rows do, and a commit
has as many messages as tables. All messages of one schema differ in numbers only: the flatbuffer in front of
the body has them at the same places. So it is made once, by pyarrow, and the numbers are put in
(https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .arrowview import ByteArray, fixed_dtype, is_bytes
from .columns import ColumnView, FixedView, TextView
from .tablespec import Int64Array

ROWS_MAX = 4096
"""More rows are written by pyarrow, which need not copy them."""

BYTES_MAX = 1 << 20
_PADDING = tuple(bytes(n) for n in range(8))
_NONE = b""
_put_number = struct.Struct("<q").pack_into


@dataclass(frozen=True, slots=True)
class WrittenRows(Sequence[pa.Array]):
    """The rows `start` to `stop` of some columns, as arrays when asked for."""

    parts: Sequence[ColumnView]
    start: int
    stop: int

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [part.array(self.start, self.stop) for part in self.parts[place]]
        return self.parts[place].array(self.start, self.stop)

    def __iter__(self) -> Iterator[pa.Array]:
        return (part.array(self.start, self.stop) for part in self.parts)


@dataclass(frozen=True, slots=True)
class MessageFront:
    """What messages of one schema begin with, and the places in it of numbers that differ, 8 bytes each.

    body_size: of the bytes behind the front.
    length: of the number of rows.
    nodes: of two numbers a column, its rows and its NULLs.
    buffers: of two numbers a buffer, of which there are `buffer_count`: its place in the body and its bytes.
    """

    data: bytes
    body_size: int
    length: int
    nodes: int
    buffers: int
    buffer_count: int

    @staticmethod
    def of(schema: pa.Schema) -> MessageFront:
        """As pyarrow makes it; the schema is one for which `can_write` holds."""
        example = pa.RecordBatch.from_arrays([_one(field.type) for field in schema], schema=schema)
        whole = example.serialize().to_pybytes()
        data = whole[: 8 + struct.unpack_from("<I", whole, 4)[0]]
        message = _Table.root(data, 8)
        batch = message.table(2)
        count = sum(len(column.buffers()) for column in example.columns)
        return MessageFront(data, message.place(3), batch.place(0), batch.vector(1), batch.vector(2), count)


class RowMessage:
    """The messages of one schema, all of whose columns are of fixed width, bool, or strings."""

    def __init__(self, schema: pa.Schema) -> None:
        front = MessageFront.of(schema)
        self._front = bytearray(front.data)
        self._body_size, self._length = front.body_size, front.length
        self._nodes, self._buffers = front.nodes, front.buffers
        self._put_nodes = struct.Struct(f"<{2 * len(schema)}q").pack_into
        self._put_buffers = struct.Struct(f"<{2 * front.buffer_count}q").pack_into

    def encode(self, rows: WrittenRows, weights: Int64Array | None) -> bytes | None:
        """The message of the rows and their weights, if those are a column; None if pyarrow must write it."""
        start, stop = rows.start, rows.stop
        count = stop - start
        if count > ROWS_MAX:
            return None
        buffers, nodes = list[bytes](), list[int]()
        for column in rows.parts:
            nulls, bits = (0, _NONE) if column.valid is None else _validity(column.valid[start:stop])  # pyright: ignore[reportAttributeAccessIssue]
            nodes += (count, nulls)
            if isinstance(column, FixedView):
                values = column.values[start:stop]
                data = np.packbits(values, bitorder="little") if column.bits else values
                buffers += (bits, data.tobytes())
            else:
                assert isinstance(column, TextView)
                offsets = column.offsets[start : stop + 1]
                first = offsets[0]
                buffers += (bits, (offsets - first).tobytes(), column.data[first : offsets[-1]].tobytes())
        if weights is not None:
            nodes += (count, 0)
            buffers += (_NONE, weights.tobytes())
        return self._message(count, nodes, buffers)

    def _message(self, count: int, nodes: list[int], buffers: Sequence[bytes]) -> bytes | None:
        """The buffers lie one behind the other, each at a multiple of eight bytes."""
        front, size = self._front, 0
        parts: list[bytes | bytearray] = [front]
        places: list[int] = []
        for data in buffers:
            length = len(data)
            places += (size, length)
            if length:
                parts.append(data)
                if length & 7:
                    parts.append(_PADDING[-length & 7])
                size += (length + 7) & ~7
        if size > BYTES_MAX:
            return None
        _put_number(front, self._body_size, size)
        _put_number(front, self._length, count)
        self._put_nodes(front, self._nodes, *nodes)
        self._put_buffers(front, self._buffers, *places)
        return b"".join(parts)


def _validity(valid: ByteArray) -> tuple[int, bytes]:
    """The number of NULLs among rows, and their bitmap if there are any."""
    nulls = len(valid) - int(np.count_nonzero(valid))
    return nulls, np.packbits(valid, bitorder="little").tobytes() if nulls else _NONE


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a flatbuffer (https://flatbuffers.dev/internals): `at` is its place in `data`."""

    data: bytes
    at: int

    @staticmethod
    def root(data: bytes, start: int) -> _Table:
        return _Table(data, start + struct.unpack_from("<I", data, start)[0])

    def place(self, field: int) -> int:
        """Where a field is."""
        fields = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        offset = struct.unpack_from("<H", self.data, fields + 4 + 2 * field)[0]
        assert offset, "a field that is not there"
        return self.at + offset

    def _target(self, field: int) -> int:
        at = self.place(field)
        return at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, field: int) -> _Table:
        return _Table(self.data, self._target(field))

    def vector(self, field: int) -> int:
        """Where the first element of a vector is."""
        return self._target(field) + 4


def _one(type_: pa.DataType) -> pa.Array:
    """An array of one value."""
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return pa.array(["a"], pa.string()).cast(type_)
    return pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(bytes(16))])


def can_write(schema: pa.Schema) -> bool:
    """Whether there are `RowMessage`s of a schema."""
    types = [field.type for field in schema]
    return bool(types) and all(
        fixed_dtype(type_) is not None or is_bytes(type_) or pa.types.is_boolean(type_) for type_ in types
    )
