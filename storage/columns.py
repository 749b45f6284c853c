"""Growable columns: rows are appended and never changed, so readers may share the memory.

A `…View` reads: it holds references to the arrays as they were when it was made, and is valid for the
rows appended until then, however the column grows afterwards (in place or into new arrays). The
`Growing…` of each kind is a view that can also append. `GenericColumn` stores any Arrow type (lists).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import arrowview as av
from .errors import ProgramLimitExceeded
from .reserve import CAPACITY_MIN, empty, grown
from .tablespec import Positions

TEXT_BYTES_MAX = 2**31 - 1
"""Bytes of all values of one string column of one table: Arrow's 32-bit offsets."""


class ColumnView(Protocol):
    """Reading a column."""

    def array(self, start: int, stop: int) -> pa.Array:
        """Rows `start` to `stop`, without copying values."""
        ...

    def take(self, positions: Positions, missing: npt.NDArray[np.bool_] | None) -> pa.Array:
        """The rows at `positions`; NULL where `missing` (their positions are −1)."""
        ...

    def plain(self, position: int) -> Any:
        """A value as it lies in memory, None for NULL: whole numbers (bool, dates and times too), floats,
        bytes (strings in UTF-8, decimals as 16 bytes, little-endian)."""
        ...

    def bytes_of(self, rows: int) -> int:
        """Bytes in use for the first `rows` rows."""
        ...


class GrowingColumn(ColumnView, Protocol):
    """Writing a column."""

    def append(self, array: pa.Array, start: int) -> None:
        """Makes `array` the rows from `start` on, whatever was there from a failed attempt."""
        ...

    def freeze(self) -> ColumnView: ...


def growing_column(arrow: pa.DataType) -> GrowingColumn:
    """An empty column of an Arrow type."""
    if pa.types.is_boolean(arrow):
        return GrowingFixed(arrow, np.dtype(np.uint8))
    dtype = av.fixed_dtype(arrow)
    if dtype is not None:
        return GrowingFixed(arrow, dtype)
    return GrowingText(arrow) if av.is_bytes(arrow) else GenericColumn(arrow)


class FixedView:
    """Values of one width (bool: one byte each); `valid` is None until the first NULL."""

    __slots__ = ("arrow", "bits", "valid", "values")

    def __init__(self, arrow: pa.DataType, values: npt.NDArray[Any], valid: av.ByteArray | None) -> None:
        self.arrow = arrow
        self.bits = pa.types.is_boolean(arrow)
        self.values = values
        self.valid: av.ByteArray | None = valid

    def array(self, start: int, stop: int) -> pa.Array:
        if self.valid is None and not self.bits:
            buffers = [None, pa.py_buffer(self.values[start:stop])]
            return pa.Array.from_buffers(self.arrow, stop - start, buffers, 0)
        return self._build(self.values[start:stop], None if self.valid is None else self.valid[start:stop])

    def take(self, positions: Positions, missing: npt.NDArray[np.bool_] | None) -> pa.Array:
        valid = None if self.valid is None else self.valid[positions]
        if missing is not None:
            valid = ~missing if valid is None else np.where(missing, 0, valid)
        return self._build(self.values[positions], valid)

    def plain(self, position: int) -> Any:
        if self.valid is not None and not self.valid[position]:
            return None
        return self.values.item(position)

    def _build(self, values: npt.NDArray[Any], valid: npt.NDArray[Any] | None) -> pa.Array:
        if self.bits:
            return av.from_bools(values, valid)
        return av.from_fixed(self.arrow, values, valid)

    def bytes_of(self, rows: int) -> int:
        return rows * (self.values.itemsize + (0 if self.valid is None else 1))


class GrowingFixed(FixedView):
    """A fixed-width column being written."""

    __slots__ = ("_frozen",)

    def __init__(self, arrow: pa.DataType, dtype: np.dtype[Any]) -> None:
        super().__init__(arrow, np.empty(CAPACITY_MIN, dtype), None)
        self._frozen: FixedView | None = None

    def append(self, array: pa.Array, start: int) -> None:
        stop = start + len(array)
        self.values = grown(self.values, start, stop)
        if self.bits:
            self.values[start:stop] = av.bool_values(array)
        else:
            self.values[start:stop] = av.fixed_values(array, self.values.dtype)
        self.valid = _valid_until(self.valid, av.validity(array), start, stop)

    def open(self, start: int, stop: int) -> None:
        """Makes room for the rows `start` to `stop`, none of them NULL, for who writes `values` itself."""
        self.values = grown(self.values, start, stop)
        self.valid = _valid_until(self.valid, None, start, stop)

    def note_nulls(self, start: int, valid: npt.NDArray[np.bool_]) -> None:
        """Says which of the rows from `start` on, the last there are, are not NULL."""
        self.valid = _valid_until(self.valid, valid.view(np.uint8), start, start + len(valid))

    def put(self, places: Positions, array: pa.Array) -> None:
        """Values for rows that are NULL and that nobody else has seen yet."""
        assert self.valid is not None
        valid = av.validity(array)
        self.values[places] = av.fixed_values(array, self.values.dtype)
        self.valid[places] = 1 if valid is None else valid

    def copy(self, source: GrowingFixed, start: int, stop: int) -> None:
        """Rows of another column of the same type."""
        self.values = grown(self.values, start, stop)
        self.values[start:stop] = source.values[start:stop]
        valid = None if source.valid is None else source.valid[start:stop]
        self.valid = _valid_until(self.valid, valid, start, stop)

    def freeze(self) -> FixedView:
        """The view made last will do unless there are other arrays now."""
        last = self._frozen
        if last is None or last.values is not self.values or last.valid is not self.valid:
            last = self._frozen = FixedView(self.arrow, self.values, self.valid)
        return last


class TextView:
    """Strings or binary strings: row i is `data[offsets[i]:offsets[i + 1]]`."""

    __slots__ = ("arrow", "data", "offsets", "valid")

    def __init__(
        self,
        arrow: pa.DataType,
        offsets: npt.NDArray[np.int32],
        data: av.ByteArray,
        valid: av.ByteArray | None,
    ) -> None:
        self.arrow = arrow
        self.offsets = offsets
        self.data = data
        self.valid: av.ByteArray | None = valid

    def array(self, start: int, stop: int) -> pa.Array:
        valid = None if self.valid is None else self.valid[start:stop]
        return av.from_bytes(self.arrow, self.offsets[start : stop + 1], self.data, valid)

    def take(self, positions: Positions, missing: npt.NDArray[np.bool_] | None) -> pa.Array:
        rows = int(positions.max()) + 1 if len(positions) else 0
        if missing is not None or not rows:
            return self.array(0, rows).take(pa.array(positions, mask=missing))
        first = int(positions.min())
        return self.array(first, rows).take(pa.array(positions - first))

    def plain(self, position: int) -> Any:
        if self.valid is not None and not self.valid[position]:
            return None
        return self.data[self.offsets[position] : self.offsets[position + 1]].tobytes()

    def bytes_of(self, rows: int) -> int:
        return rows * (4 if self.valid is None else 5) + int(self.offsets[rows])


class GrowingText(TextView):
    """A string column being written."""

    __slots__ = ("_frozen",)

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow, np.zeros(CAPACITY_MIN + 1, np.int32), np.empty(CAPACITY_MIN, np.uint8), None)
        self._frozen: TextView | None = None

    def append(self, array: pa.Array, start: int) -> None:
        bounds, data = av.byte_values(array)
        stop = start + len(array)
        first, last = int(bounds[0]), int(bounds[-1])
        before = int(self.offsets[start])
        used = before + last - first
        if used > TEXT_BYTES_MAX:
            raise ProgramLimitExceeded(f"a text column holds more than {TEXT_BYTES_MAX} bytes")
        self.offsets = grown(self.offsets, start + 1, stop + 1)
        self.data = grown(self.data, before, used)
        self.data[before:used] = data[first:last]
        np.add(bounds[1:], before - first, out=self.offsets[start + 1 : stop + 1])
        self.valid = _valid_until(self.valid, av.validity(array), start, stop)

    def open(self, start: int, stop: int, room: int) -> bool:
        """Makes room for the rows `start` to `stop`, none of them NULL, for who writes `offsets` and `data`.

        They may have `room` bytes. False, and nothing is changed, if that could be too many.
        """
        before = int(self.offsets[start])
        if before + room > TEXT_BYTES_MAX:
            return False
        self.offsets = grown(self.offsets, start + 1, stop + 1)
        self.data = grown(self.data, before, before + room)
        self.valid = _valid_until(self.valid, None, start, stop)
        return True

    def freeze(self) -> TextView:
        last = self._frozen
        same = last is not None and last.offsets is self.offsets and last.data is self.data
        if last is None or not same or last.valid is not self.valid:
            last = self._frozen = TextView(self.arrow, self.offsets, self.data, self.valid)
        return last


def _valid_until(
    known: av.ByteArray | None, valid: av.ByteArray | None, start: int, stop: int
) -> av.ByteArray | None:
    """Validity of the rows up to `stop`, of which those from `start` on are given; None: all are valid."""
    if known is None:
        if valid is None:
            return None
        known = empty(stop, np.uint8)
        known[:start] = 1
    known = grown(known, start, stop)
    known[start:stop] = 1 if valid is None else valid
    return known


class GenericColumn:
    """Any Arrow type, as chunks of which each is less than half as long as the one before.

    Reading puts the chunks together in one array, which is kept until rows are appended.
    """

    __slots__ = ("arrow", "chunks")

    def __init__(self, arrow: pa.DataType, chunks: tuple[pa.Array, ...] = ()) -> None:
        self.arrow = arrow
        self.chunks = chunks

    def append(self, array: pa.Array, start: int) -> None:
        chunks = [*self.chunks, array]
        if sum(map(len, self.chunks)) > start:
            chunks = [self.array(0, start), array]
        while len(chunks) > 1 and len(chunks[-2]) < 2 * len(chunks[-1]):
            chunks[-2:] = [pa.concat_arrays(chunks[-2:])]
        self.chunks = tuple(chunks)

    def _whole(self) -> pa.Array:
        chunks = self.chunks
        if len(chunks) != 1:
            chunks = (pa.concat_arrays(chunks) if chunks else pa.array([], type=self.arrow),)
            self.chunks = chunks
        return chunks[0]

    def array(self, start: int, stop: int) -> pa.Array:
        return self._whole().slice(start, stop - start)

    def take(self, positions: Positions, missing: npt.NDArray[np.bool_] | None) -> pa.Array:
        return self._whole().take(pa.array(positions, mask=missing))

    def plain(self, position: int) -> Any:
        value = self._whole()[position].as_py()
        return value.encode() if isinstance(value, str) else value

    def freeze(self) -> GenericColumn:
        return GenericColumn(self.arrow, self.chunks)

    def bytes_of(self, rows: int) -> int:
        return sum(chunk.nbytes for chunk in self.chunks)
