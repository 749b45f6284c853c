"""`RowMessages`: reads many Arrow IPC record batch messages of one schema at once.

Reading a message of a few rows by pyarrow costs a hundred times what its rows do, and whoever follows a log
reads one for each table in each epoch. Small messages of one schema differ in numbers only
(`row_message.py`): compiled loops find the numbers and make whole columns. A message that is not like that is
read by pyarrow, which says what is wrong with a damaged one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_messages as kernels
from .arrowview import ByteArray, fixed_dtype, is_bytes
from .log import Payload
from .row_message import MessageFront
from .tablespec import Int64Array

MESSAGE_BYTES_MAX = 1 << 16
"""Larger ones are read by pyarrow, which need not copy them."""

AT_ONCE = 1 << 11
RUN_BYTES = 1 << 20
"""About so many messages, and bytes of them, are put together at a time, as other threads wait meanwhile.

Offsets of their strings are within 32 bits too.
"""

FEW = 3
"""Fewer messages are read by pyarrow."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The rows of consecutive messages; `counts` says how many each has."""

    columns: list[pa.Array]
    counts: Int64Array


class RowMessages:
    """Reads the messages of a schema for which `can_write` holds."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        front = MessageFront.of(schema)
        self._front = np.frombuffer(bytes(front.data), np.uint8)
        self._places = np.array([front.body_size, front.length, front.nodes, front.buffers], np.int64)
        self._fixed = np.full(len(self._front), 255, np.uint8)
        for start, words in (
            (front.body_size, 1),
            (front.length, 1),
            (front.nodes, 2 * len(schema)),
            (front.buffers, 2 * front.buffer_count),
        ):
            self._fixed[start : start + 8 * words] = 0
        self._widths = np.array([_width(field.type) for field in schema], np.int64)

    def read(self, payloads: Sequence[Payload]) -> Iterator[ReadRows]:
        """All rows, in order. Raises as pyarrow does when a payload is no message of the schema."""
        for start in range(0, len(payloads), AT_ONCE):
            yield from self._read_some(payloads[start : start + AT_ONCE])

    def _read_some(self, payloads: Sequence[Payload]) -> Iterator[ReadRows]:
        sizes = np.fromiter(map(len, payloads), np.int64, len(payloads))
        kinds = 2 * (np.cumsum(sizes) // RUN_BYTES) + (sizes > MESSAGE_BYTES_MAX)
        for start, stop in _runs(kinds):
            if kinds[start] & 1 or stop - start < FEW:
                yield from read_each(payloads[start:stop], self._schema)
            else:
                yield from self._read_run(payloads[start:stop], sizes[start:stop])

    def _read_run(self, payloads: Sequence[Payload], sizes: Int64Array) -> Iterator[ReadRows]:
        found = self._find(np.frombuffer(b"".join(payloads), np.uint8), sizes)
        for start, stop in _runs(found.counts > 0):
            if found.counts[start]:
                yield self._rows(found.part(start, stop))
            else:
                yield from read_each(payloads[start:stop], self._schema)

    def _find(self, data: ByteArray, sizes: Int64Array) -> _Found:
        starts = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        shape = len(sizes), len(self._widths)
        found = _Found(data, np.empty(len(sizes), np.int64), *(np.empty(shape, np.int64) for _ in range(4)))
        kernels.read_fronts(
            data, starts, self._front, self._fixed, self._places, self._widths,
            found.counts, found.valid, found.values, found.texts, found.lengths,
        )  # fmt: skip
        return found

    def _rows(self, found: _Found) -> ReadRows:
        rows = int(found.counts.sum())
        columns: list[pa.Array] = []
        for i, (field, width) in enumerate(zip(self._schema, self._widths.tolist(), strict=True)):
            buffers = [_validity(found, i, rows), *_values(found, i, rows, width)]
            columns.append(pa.Array.from_buffers(field.type, rows, buffers))
        return ReadRows(columns, found.counts)


def read_each(payloads: Sequence[Payload], schema: pa.Schema) -> Iterator[ReadRows]:
    """The rows of each message, where they lie in it. Raises pa.ArrowInvalid, OSError, EOFError."""
    for payload in payloads:
        buffer = payload if isinstance(payload, pa.Buffer) else pa.py_buffer(payload)
        batch = pa.ipc.read_record_batch(buffer, schema)
        yield ReadRows(list(batch.columns), np.array([batch.num_rows], np.int64))


@dataclass(frozen=True, slots=True)
class _Found:
    """What `read_fronts` finds in `data`."""

    data: ByteArray
    counts: Int64Array
    valid: Int64Array
    values: Int64Array
    texts: Int64Array
    lengths: Int64Array

    def part(self, start: int, stop: int) -> _Found:
        """Of the messages `start` to `stop`."""
        if stop - start == len(self.counts):
            return self
        arrays = (self.counts, self.valid, self.values, self.texts, self.lengths)
        return _Found(self.data, *(array[start:stop] for array in arrays))


def _validity(found: _Found, column: int, rows: int) -> pa.Buffer | None:
    places = found.valid[:, column]
    return _bits(found, places, rows) if (places >= 0).any() else None


def _values(found: _Found, column: int, rows: int, width: int) -> list[pa.Buffer]:
    """The buffers of a column behind its validity."""
    data, counts, places = found.data, found.counts, found.values[:, column]
    if width == kernels.BITS:
        return [_bits(found, places, rows)]
    if width != kernels.TEXT:
        values = np.empty(rows * width, np.uint8)
        kernels.copy_values(data, counts, places, width, values)
        return [pa.py_buffer(values)]
    offsets = np.empty(rows + 1, np.int32)
    kernels.join_offsets(data, counts, places, offsets)
    text = np.empty(offsets[-1], np.uint8)
    lengths = np.ascontiguousarray(found.lengths[:, column])
    kernels.copy_values(data, lengths, found.texts[:, column], 1, text)
    return [pa.py_buffer(offsets), pa.py_buffer(text)]


def _bits(found: _Found, places: Int64Array, rows: int) -> pa.Buffer:
    bits = np.zeros((rows + 7) >> 3, np.uint8)
    kernels.copy_bits(found.data, found.counts, places, bits)
    return pa.py_buffer(bits)


def _runs(kinds: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Where equal ones that follow each other begin and end."""
    if len(kinds):
        cuts = (np.flatnonzero(kinds[1:] != kinds[:-1]) + 1).tolist()
        yield from zip([0, *cuts], [*cuts, len(kinds)], strict=True)


def _width(type_: pa.DataType) -> int:
    if is_bytes(type_):
        return kernels.TEXT
    dtype = fixed_dtype(type_)
    return kernels.BITS if dtype is None else dtype.itemsize
