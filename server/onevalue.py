"""Single values to their wire form without arrays: a shortcut for one-row results.

Only types and values whose form is as simple as this are here. A function gives None for a value it leaves to
`format_text` and `encode_binary`, which it must otherwise agree with to the byte (tested).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from ..storage.arrowview import WIDE, fixed_values
from ..storage.textform import TextSettings
from ..storage.types import STRINGS, Type
from .messages import TEXT

OneValue = Callable[[Any], bytes | None]
"""A value as it lies in memory (`ColumnView.plain`), which is not NULL, to bytes, or None."""

_EPOCH = datetime(1970, 1, 1)
_POSTGRES_EPOCH_US = 946_684_800_000_000
_POSTGRES_EPOCH_DAYS = 10_957
_YEAR_1_US, _YEAR_9999_US = -62_135_596_800_000_000, 253_370_764_800_000_000
_UTC_NAMES = ("UTC", "Etc/UTC", "GMT")

_pack_int2 = struct.Struct("!h").pack
_pack_int4 = struct.Struct("!i").pack
_pack_int8 = struct.Struct("!q").pack
_pack_oid = struct.Struct("!I").pack
_pack_float4 = struct.Struct("!f").pack
_pack_float8 = struct.Struct("!d").pack


def one_value(type_: Type, code: int, settings: TextSettings) -> OneValue | None:
    """The shortcut for a type in a format, if there is one."""
    name = type_.name
    if code == TEXT and name == "numeric":
        return _bytes if type_.scale is None else _fixed_numeric_text(type_.scale)
    if code == TEXT and name == "float8":
        return _float_text if settings.extra_float_digits > 0 else None
    if code == TEXT and name in ("timestamp", "timestamptz", "date"):
        plain = settings.date_style.startswith("ISO") and (
            name != "timestamptz" or settings.timezone in _UTC_NAMES
        )
        return _TEMPORAL_TEXT[name] if plain else None
    return _ONE.get((name, code))


def plain_value(type_: Type) -> Callable[[pa.Array], Any]:
    """What reads the value, which is not NULL, of an array of one."""
    if type_.name in STRINGS | {"json", "jsonb"} or (type_.name == "numeric" and type_.scale is None):
        return _bytes_of
    if type_.name in _TEMPORAL_TEXT:
        return _number_of
    return _wide_of if type_.name == "numeric" else _value_of


def _bytes_of(array: pa.Array) -> bytes:
    return array.to_pylist()[0].encode()


def _number_of(array: pa.Array) -> int:
    return array[0].value


def _wide_of(array: pa.Array) -> bytes:
    return fixed_values(array, WIDE)[0].tobytes()


def _value_of(array: pa.Array) -> Any:
    return array.to_pylist()[0]


def _fixed_numeric_text(scale: int) -> OneValue:
    def encode(value: bytes) -> bytes:
        number = int.from_bytes(value, "little", signed=True)
        if not scale:
            return b"%d" % number
        digits = b"%0*d" % (scale + 1, abs(number))
        return (b"-" if number < 0 else b"") + digits[:-scale] + b"." + digits[-scale:]

    return encode


def _bytes(value: bytes) -> bytes:
    return value


def _bool_text(value: int) -> bytes:
    return b"t" if value else b"f"


def _bool_binary(value: int) -> bytes:
    return b"\1" if value else b"\0"


def _integer_text(value: int) -> bytes:
    return b"%d" % value


def _float_text(value: float) -> bytes | None:
    """Python and PostgreSQL both write the shortest digits, but choose exponents at different sizes."""
    if value == 0 or 1e-4 <= abs(value) < 1e15:
        return repr(value).removesuffix(".0").encode()
    return None


def _timestamp_text(value: int) -> bytes | None:
    if not _YEAR_1_US <= value < _YEAR_9999_US:
        return None
    text = (_EPOCH + timedelta(microseconds=value)).isoformat(" ")
    return (text.rstrip("0") if len(text) > 19 else text).encode()


def _timestamptz_text(value: int) -> bytes | None:
    text = _timestamp_text(value)
    return None if text is None else text + b"+00"


def _date_text(value: int) -> bytes | None:
    if not _YEAR_1_US <= value * 86_400_000_000 < _YEAR_9999_US:
        return None
    return (_EPOCH + timedelta(days=value)).isoformat()[:10].encode()


def _timestamp_binary(value: int) -> bytes | None:
    if not _YEAR_1_US <= value < _YEAR_9999_US:
        return None
    return _pack_int8(value - _POSTGRES_EPOCH_US)


def _date_binary(value: int) -> bytes | None:
    if not _YEAR_1_US <= value * 86_400_000_000 < _YEAR_9999_US:
        return None
    return _pack_int4(value - _POSTGRES_EPOCH_DAYS)


_TEMPORAL_TEXT: dict[str, OneValue] = {
    "timestamp": _timestamp_text,
    "timestamptz": _timestamptz_text,
    "date": _date_text,
}

_ONE: dict[tuple[str, int], OneValue] = {
    ("bool", 0): _bool_text,
    ("bool", 1): _bool_binary,
    ("int2", 0): _integer_text,
    ("int4", 0): _integer_text,
    ("int8", 0): _integer_text,
    ("oid", 0): _integer_text,
    ("int2", 1): _pack_int2,
    ("int4", 1): _pack_int4,
    ("int8", 1): _pack_int8,
    ("oid", 1): _pack_oid,
    ("float4", 1): _pack_float4,
    ("float8", 1): _pack_float8,
    ("timestamp", 1): _timestamp_binary,
    ("timestamptz", 1): _timestamp_binary,
    ("date", 1): _date_binary,
    **{(name, code): _bytes for name in (STRINGS - {"char"}) | {"json"} for code in (0, 1)},
    ("jsonb", 0): _bytes,
}
