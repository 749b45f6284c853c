"""The key bytes of a few rows, value by value.

The layout is the one of `keycode.py`. For a handful of rows arrays cost more than the values in them,
and an epoch of one row is the common case.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from .arrowview import fixed_dtype, fixed_values
from .types import NAMED_OIDS, Type

FEW_ROWS = 4
"""Up to so many rows are encoded here."""

_NULL = b"\x02"
_WORD = struct.Struct(">BQ")
_HALF = struct.Struct(">BI")
_DOUBLE = struct.Struct("<d")
_BITS = struct.Struct("<Q")
_SIGN64 = 1 << 63
_SIGN32 = 1 << 31
_ALL64 = (1 << 64) - 1
_NAN = _WORD.pack(1, 0x7FF8000000000000 | _SIGN64)

_Encode = Callable[[pa.Array], list[bytes]]


def encode_few(columns: Sequence[pa.Array], types: Sequence[Type]) -> tuple[list[bytes], int] | None:
    """(key bytes of each row, their width or 0 if it varies); None if a type is not known here."""
    width, fixed = 0, True
    parts: list[list[bytes]] = []
    for column, type_ in zip(columns, types, strict=True):
        encoder = _ENCODERS.get(type_.name)
        if encoder is None or type_.element is not None:
            return None
        size, encode = encoder
        width += size
        fixed = fixed and size > 0
        values = encode(column)
        if column.null_count:
            null = _NULL.ljust(size, b"\0")
            valid = column.is_valid().to_pylist()
            values = [value if here else null for value, here in zip(values, valid, strict=True)]
        parts.append(values)
    if len(parts) == 1:
        return parts[0], width if fixed else 0
    return [b"".join(row) for row in zip(*parts, strict=True)], width if fixed else 0


def encode_plain(values: Sequence[object], types: Sequence[Type]) -> bytes | None:
    """The key bytes of a row of values, none NULL; None without values, or if one is not known here."""
    parts: list[bytes] = []
    for value, type_ in zip(values, types, strict=True):
        known = _PLAIN.get(type_.name)
        if known is None or type(value) is not known[0]:
            return None
        parts.append(known[1](value))
    return b"".join(parts) or None


def _plain(column: pa.Array) -> list[Any]:
    """The values as they lie in memory, anything where they are NULL."""
    dtype = fixed_dtype(column.type)
    assert dtype is not None, column.type
    return fixed_values(column, dtype).tolist()


def _bools(column: pa.Array) -> list[bytes]:
    return [b"\x01\x01" if value else b"\x01\x00" for value in column.to_pylist()]


def _ints(column: pa.Array) -> list[bytes]:
    return [_WORD.pack(1, (value or 0) + _SIGN64) for value in column.to_pylist()]


def _instants(column: pa.Array) -> list[bytes]:
    return [_WORD.pack(1, value + _SIGN64) for value in _plain(column)]


def _dates(column: pa.Array) -> list[bytes]:
    return [_HALF.pack(1, value + _SIGN32) for value in _plain(column)]


def _int(value: int) -> bytes:
    return _WORD.pack(1, value + _SIGN64)


def _text(value: str) -> bytes:
    return _bytes(value.encode())


def _floats(column: pa.Array) -> list[bytes]:
    return [_float(value or 0.0) for value in column.to_pylist()]


def _float(value: float) -> bytes:
    if value != value:
        return _NAN
    if value == 0:
        return _WORD.pack(1, _SIGN64)
    (bits,) = _BITS.unpack(_DOUBLE.pack(value))
    return _WORD.pack(1, bits ^ (_ALL64 if bits & _SIGN64 else _SIGN64))


def _texts(column: pa.Array) -> list[bytes]:
    return [_text(value or "") for value in column.to_pylist()]


def _blank_padded(column: pa.Array) -> list[bytes]:
    return [_bytes((value or "").rstrip(" ").encode()) for value in column.to_pylist()]


def _binaries(column: pa.Array) -> list[bytes]:
    return [_bytes(value or b"") for value in column.to_pylist()]


def _bytes(value: bytes) -> bytes:
    return b"\x01" + value.replace(b"\0", b"\0\xff") + b"\0\0"


def _uuids(column: pa.Array) -> list[bytes]:
    return [b"\x01" + (value or bytes(16)) for value in column.to_pylist()]


_ENCODERS: dict[str, tuple[int, _Encode]] = {
    "bool": (2, _bools),
    "float4": (9, _floats),
    "float8": (9, _floats),
    "date": (5, _dates),
    "uuid": (17, _uuids),
    "bpchar": (0, _blank_padded),
    "bytea": (0, _binaries),
    **dict.fromkeys(("text", "varchar", "name"), (0, _texts)),
    **dict.fromkeys(("int2", "int4", "int8", "oid", "xid", *NAMED_OIDS), (9, _ints)),
    **dict.fromkeys(("time", "timestamp", "timestamptz"), (9, _instants)),
}
"""By type: bytes of every value's code including the marker (0 if they differ), and the values' codes."""

_PLAIN: dict[str, tuple[type, Callable[[Any], bytes]]] = {
    **dict.fromkeys(("text", "varchar", "name"), (str, _text)),
    **dict.fromkeys(("int2", "int4", "int8"), (int, _int)),
    "float8": (float, _float),
}
"""By type: the class of its simple values, and their code."""
