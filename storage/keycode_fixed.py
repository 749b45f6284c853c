"""Key bytes of columns all of whose values take the same number of them, a column at a time.

The layout is the one of `keycode.py`. What is here writes into the columns of a matrix of bytes that has a
row for each key, so that the keys of several such columns are made in place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import kernels_keys
from .arrowview import bool_values, physical_values, validity
from .keys import ByteArray
from .types import NAMED_OIDS, Type

COMPILED_ROWS = 4096
"""Up to so many numbers are encoded by one compiled loop: numpy takes more calls, but less a value."""

VALUE = 1
"""The marker of a value; that of NULL is below or above it, as NULLs are sorted."""

_SIGN64 = np.uint64(1 << 63)
_SIGN32 = np.uint32(1 << 31)
_DAY_US = 86_400_000_000
_ZERO = np.uint64(0)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_INFINITY = np.uint64(0x7FF0000000000000)
_NAN = np.uint64(0x7FF8000000000000)


def fixed_width(type_: Type) -> int:
    """Bytes of every value's key code including the marker, 0 if they differ from value to value."""
    if type_.element is not None:
        return 0
    entry = _FIXED.get(type_.name)
    return entry[0] if entry else 0


def put_fixed(column: pa.Array, type_: Type, null_mark: int, descending: bool, out: ByteArray) -> None:
    """Writes the markers and values of a column as the columns of bytes `out`."""
    out[:, 0] = VALUE
    _FIXED[type_.name][1](column, out[:, 1:])
    if descending:
        np.invert(out[:, 1:], out=out[:, 1:])
    valid = validity(column)
    if valid is not None:
        missing = valid == 0
        out[missing] = 0
        out[missing, 0] = null_mark


def _big_endian(words: npt.NDArray[np.uint64]) -> ByteArray:
    return words.byteswap().view(np.uint8).reshape(-1, 8)


def _put_bool(column: pa.Array, out: ByteArray) -> None:
    out[:, 0] = bool_values(column)


def _put_int(column: pa.Array, out: ByteArray) -> None:
    values = physical_values(column).astype(np.int64, copy=False).view(np.uint64)
    if len(values) <= COMPILED_ROWS:
        kernels_keys.put_integers(values, out)
        return
    out[:] = _big_endian(values ^ _SIGN64)


def _put_date(column: pa.Array, out: ByteArray) -> None:
    flipped = physical_values(column).view(np.uint32) ^ _SIGN32
    out[:] = flipped.byteswap().view(np.uint8).reshape(-1, 4)


def _put_float(column: pa.Array, out: ByteArray) -> None:
    values = physical_values(column)
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
    out[:] = physical_values(column).view(np.uint8).reshape(-1, 16)


_INTERVAL = np.dtype([("us", "<i8"), ("days", "<i4"), ("months", "<i4")])


def _put_interval(column: pa.Array, out: ByteArray) -> None:
    parts = physical_values(column).view(_INTERVAL)
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
