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
import numpy.typing as npt
import pyarrow as pa

from .arrowview import ByteArray, fixed_dtype, is_bytes
from .columns import ColumnView, FixedView, TextView
from .tablespec import Int64Array

ROWS_MAX = 4096
"""More rows are written by pyarrow, which need not copy them."""

BYTES_MAX = 1 << 20
_PADDING = tuple(bytes(n) for n in range(8))
_NONE = b""


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


class RowMessage:
    """The messages of one schema, all of whose columns are of fixed width, bool, or strings."""

    def __init__(self, schema: pa.Schema) -> None:
        example = pa.RecordBatch.from_arrays([_one(field.type) for field in schema], schema=schema)
        data = example.serialize().to_pybytes()
        size = struct.unpack_from("<I", data, 4)[0]
        self._front = bytearray(data[: 8 + size])
        message = _Table.root(self._front, 8)
        batch = message.table(2)
        self._body_size = message.place(3)
        self._length = batch.place(0)
        self._nodes, self._buffers = batch.vector(1), batch.vector(2)
        count = sum(len(column.buffers()) for column in example.columns)
        self._node_numbers, self._buffer_numbers = f"<{2 * len(schema)}q", f"<{2 * count}q"

    def encode(self, rows: WrittenRows, weights: Int64Array | None) -> bytes | None:
        """The message of the rows and their weights, if those are a column; None if pyarrow must write it."""
        start, stop = rows.start, rows.stop
        count = stop - start
        if count > ROWS_MAX:
            return None
        body, nodes, places = _Body(), list[int](), list[int]()
        for column in rows.parts:
            if isinstance(column, FixedView):
                nodes += (count, body.validity(column.valid, start, stop, places))
                values = column.values[start:stop]
                body.add(
                    (np.packbits(values, bitorder="little") if column.bits else values).tobytes(), places
                )
            elif isinstance(column, TextView):
                nodes += (count, body.validity(column.valid, start, stop, places))
                offsets = column.offsets[start : stop + 1]
                first, last = int(offsets[0]), int(offsets[-1])
                body.add((offsets - offsets[0]).tobytes(), places)
                body.add(column.data[first:last].tobytes(), places)
            else:
                return None
        if weights is not None:
            nodes += (count, 0)
            body.add(_NONE, places)
            body.add(weights.tobytes(), places)
        return None if body.size > BYTES_MAX else self._message(count, nodes, places, body)

    def _message(self, count: int, nodes: list[int], places: list[int], body: _Body) -> bytes:
        front = self._front
        struct.pack_into("<q", front, self._body_size, body.size)
        struct.pack_into("<q", front, self._length, count)
        struct.pack_into(self._node_numbers, front, self._nodes, *nodes)
        struct.pack_into(self._buffer_numbers, front, self._buffers, *places)
        return b"".join((front, *body.parts))


class _Body:
    """The buffers of a message, one behind the other, each at a multiple of eight bytes."""

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, data: bytes, places: list[int]) -> None:
        """Adds a buffer and notes where it is and how long."""
        length = len(data)
        places += (self.size, length)
        if length:
            self.parts.append(data)
            if length & 7:
                self.parts.append(_PADDING[-length & 7])
            self.size += length + (-length & 7)

    def validity(self, valid: ByteArray | None, start: int, stop: int, places: list[int]) -> int:
        """Adds a column's validity; returns the number of NULLs."""
        nulls = 0 if valid is None else stop - start - int(np.count_nonzero(valid[start:stop]))
        bits: npt.NDArray[Any] | None = None
        if valid is not None and nulls:
            bits = np.packbits(valid[start:stop], bitorder="little")
        self.add(_NONE if bits is None else bits.tobytes(), places)
        return nulls


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a flatbuffer (https://flatbuffers.dev/internals): `at` is its place in `data`."""

    data: bytearray
    at: int

    @staticmethod
    def root(data: bytearray, start: int) -> _Table:
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
