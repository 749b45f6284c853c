"""Arrow arrays as numpy arrays and back, without copying where the layouts agree.

For single rows this costs a microsecond or two, a tenth of the general conversions. Slices (arrays
with an offset) are honoured. Arrays read this way are read-only.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ByteArray = npt.NDArray[np.uint8]

_DTYPES: dict[pa.DataType, np.dtype[Any]] = {
    pa.int16(): np.dtype(np.int16),
    pa.int32(): np.dtype(np.int32),
    pa.int64(): np.dtype(np.int64),
    pa.float32(): np.dtype(np.float32),
    pa.float64(): np.dtype(np.float64),
    pa.date32(): np.dtype(np.int32),
    pa.time64("us"): np.dtype(np.int64),
    pa.timestamp("us"): np.dtype(np.int64),
    pa.timestamp("us", "UTC"): np.dtype(np.int64),
    pa.binary(16): np.dtype("V16"),
}

WIDE = np.dtype("V16")
"""Of decimals: 16 bytes, little-endian."""
_NO_BYTES = np.empty(0, np.uint8)
_ONE_OFFSET = np.zeros(1, np.int32)


def fixed_dtype(arrow: pa.DataType) -> np.dtype[Any] | None:
    """The numpy type of a fixed-width column, None for bool and for variable width."""
    found = _DTYPES.get(arrow)
    if found is None and pa.types.is_decimal128(arrow):
        return WIDE
    return found


def is_bytes(arrow: pa.DataType) -> bool:
    """Whether values are strings or binary strings with 32-bit offsets."""
    return pa.types.is_string(arrow) or pa.types.is_binary(arrow)


def _bits(buffer: pa.Buffer, offset: int, length: int) -> ByteArray:
    start = offset >> 3
    packed = np.frombuffer(buffer, np.uint8, ((offset & 7) + length + 7) >> 3, start)
    return np.unpackbits(packed, count=(offset & 7) + length, bitorder="little")[offset & 7 :]


def validity(array: pa.Array) -> ByteArray | None:
    """One byte a row, 1 where it is not NULL; None when no row is NULL."""
    if array.null_count == 0:
        return None
    buffer = array.buffers()[0]
    if buffer is None:  # an array of type null
        return np.zeros(len(array), np.uint8)
    return _bits(buffer, array.offset, len(array))


def fixed_values(array: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The values of a fixed-width array, anything where it is NULL."""
    length = len(array)
    buffer = array.buffers()[1] if length else None
    if buffer is None:
        return np.empty(length, dtype)
    return np.frombuffer(buffer, dtype, length, array.offset * dtype.itemsize)


def physical_values(array: pa.Array) -> npt.NDArray[Any]:
    """As `fixed_values`, in the numpy type that goes with the array's; not of bool."""
    dtype = fixed_dtype(array.type)
    assert dtype is not None, array.type
    return fixed_values(array, dtype)


def bool_values(array: pa.Array) -> ByteArray:
    """0 or 1 a row, anything where it is NULL."""
    length = len(array)
    buffer = array.buffers()[1] if length else None
    if buffer is None:
        return np.zeros(length, np.uint8)
    return _bits(buffer, array.offset, length)


def byte_values(array: pa.Array) -> tuple[npt.NDArray[np.int32], ByteArray]:
    """Offsets (one more than rows; the first need not be 0) and bytes of a string or binary array."""
    length = len(array)
    if not length:
        return _ONE_OFFSET, _NO_BYTES
    _, offsets, data = array.buffers()
    assert offsets is not None
    bounds = np.frombuffer(offsets, np.int32, length + 1, array.offset * 4)
    if data is None or not data.size:
        return bounds, _NO_BYTES
    return bounds, np.frombuffer(data, np.uint8)


def pack(valid: ByteArray | npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    """The validity bitmap of one byte a row."""
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def from_fixed(
    arrow: pa.DataType, values: npt.NDArray[Any], valid: ByteArray | npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """An array over contiguous `values`, not copied."""
    return pa.Array.from_buffers(arrow, len(values), [pack(valid), pa.py_buffer(values)])


_PACK_INTEGER = {pa.int16(): Struct("<h").pack, pa.int32(): Struct("<i").pack, pa.int64(): Struct("<q").pack}


def one_integer(value: int, arrow: pa.DataType) -> pa.Array:
    """An array of one integer that fits its type; `pa.array` takes three times as long."""
    return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(_PACK_INTEGER[arrow](value))])


_FLOAT = Struct("<d").pack
_OFFSETS = Struct("<ii").pack
_STRING, _DOUBLE = pa.string(), pa.float64()


def one_value(value: object, arrow: pa.DataType) -> pa.Array:
    """`pa.array([value], arrow)`; of the commonest types in a third of its time."""
    if type(value) is int and arrow in _PACK_INTEGER and value.bit_length() < arrow.bit_width:
        return one_integer(value, arrow)
    if type(value) is str and arrow == _STRING:
        data = value.encode()
        offsets = pa.py_buffer(_OFFSETS(0, len(data)))
        return pa.Array.from_buffers(arrow, 1, [None, offsets, pa.py_buffer(data)])
    if type(value) is float and arrow == _DOUBLE:
        return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(_FLOAT(value))])
    return pa.array([value], arrow)


def from_bools(
    values: ByteArray | npt.NDArray[np.bool_], valid: ByteArray | npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """A bool array of one byte a row."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [pack(valid), pack(values)])


def from_bytes(
    arrow: pa.DataType,
    offsets: npt.NDArray[np.int32],
    data: ByteArray,
    valid: ByteArray | npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """A string or binary array over contiguous `offsets` (one more than rows) into `data`, not copied."""
    return pa.Array.from_buffers(
        arrow, len(offsets) - 1, [pack(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    )
