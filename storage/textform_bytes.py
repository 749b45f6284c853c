"""Text form of bytea and uuid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .errors import InvalidParameterValue, InvalidTextRepresentation
from .textform_rows import (
    SMALL,
    fixed_values,
    matches,
    parse_each,
    parse_mixed,
    text_bytes,
    valid_mask,
    validity_of,
)
from .types import Type

if TYPE_CHECKING:
    from .textform import TextSettings

_ESCAPE = re.compile(rb"\\(?:([0-3][0-7][0-7])|(\\))|(\\)")
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def parse_bytes(text: str) -> bytes:
    r"""One bytea, in hex (`\x0aff`) or escape (`a\\b\000`) form. Raises 22P02, 22023 for bad hex."""
    if text[:2] == "\\x":
        return _parse_hex(text[2:])
    raw = text.encode()
    if b"\\" not in raw:
        return raw
    return _ESCAPE.sub(_unescape, raw)


def _unescape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 8)])
    if match[2]:
        return b"\\"
    raise InvalidTextRepresentation("invalid input syntax for type bytea")


def _parse_hex(digits: str) -> bytes:
    # White space may stand between bytes, not between the digits of one.
    out = bytearray()
    position, end = 0, len(digits)
    try:
        return bytes.fromhex(digits) if digits.isalnum() else _parse_spaced_hex(digits)
    except ValueError:
        pass
    while position < end:
        c = digits[position]
        if c in " \n\t\r":
            position += 1
            continue
        for offset in (0, 1):
            if position + offset >= end:
                raise InvalidParameterValue("invalid hexadecimal data: odd number of digits")
            if digits[position + offset] not in _HEX_DIGITS:
                raise InvalidParameterValue(f'invalid hexadecimal digit: "{digits[position + offset]}"')
        out += bytes.fromhex(digits[position : position + 2])
        position += 2
    return bytes(out)


def _parse_spaced_hex(digits: str) -> bytes:
    raise ValueError(digits)


def parse_bytea(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    return parse_each(texts, parse_bytes, pa.binary())


_ESCAPED = {code: bytes([code]) if 0x20 <= code <= 0x7E else b"\\%03o" % code for code in range(256)}
_ESCAPED[ord("\\")] = b"\\\\"


def escape_bytes(value: bytes) -> str:
    r"""The escape form: printable ASCII as it is, `\` doubled, other bytes as `\ooo`."""
    return b"".join([_ESCAPED[code] for code in value]).decode()


def format_bytea(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    values = array.to_pylist()
    if settings.bytea_output == "escape":
        return pa.array([None if v is None else escape_bytes(v) for v in values], pa.string())
    return pa.array([None if v is None else "\\x" + v.hex() for v in values], pa.string())


_UUID = re.compile(r"(?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}")
_UUID_PATTERN = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_HYPHENS = (8, 13, 18, 23)
_DIGITS = [column for column in range(36) if column not in _HYPHENS]
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_NIBBLE = np.zeros(256, np.uint8)
for _digit in range(16):
    _NIBBLE[ord(f"{_digit:x}")] = _NIBBLE[ord(f"{_digit:X}")] = _digit


def parse_uuid(text: str) -> bytes:
    """One uuid: hyphens after any group of four digits, braces around. Raises 22P02."""
    inner = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else text
    if _UUID.fullmatch(inner) is None:
        raise InvalidTextRepresentation(f'invalid input syntax for type uuid: "{text}"')
    return bytes.fromhex(inner.replace("-", ""))


def parse_uuids(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    if len(texts) <= SMALL:
        return parse_each(texts, parse_uuid, type_.arrow)
    return parse_mixed(texts, matches(texts, _UUID_PATTERN), _parse_regular_uuids, parse_uuid)


def _parse_regular_uuids(texts: pa.Array) -> pa.Array:
    valid = valid_mask(texts)
    nibbles = _NIBBLE[text_bytes(texts.drop_null()).reshape(-1, 36)[:, _DIGITS]]
    values = np.zeros((len(texts), 16), np.uint8)
    values[valid] = nibbles[:, ::2] << 4 | nibbles[:, 1::2]
    return pa.Array.from_buffers(pa.binary(16), len(texts), [validity_of(texts), pa.py_buffer(values)])


def format_uuid(value: bytes) -> str:
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def format_uuids(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    if len(array) <= SMALL:
        return pa.array([None if v is None else format_uuid(v) for v in array.to_pylist()], pa.string())
    raw = fixed_values(array, "V16").view(np.uint8).reshape(-1, 16)
    text = np.full((len(array), 36), ord("-"), np.uint8)
    nibbles = np.empty((len(array), 32), np.uint8)
    nibbles[:, ::2], nibbles[:, 1::2] = _HEX[raw >> 4], _HEX[raw & 15]
    text[:, _DIGITS] = nibbles
    offsets = pa.py_buffer(np.arange(len(array) + 1, dtype=np.int32) * 36)
    return pa.StringArray.from_buffers(len(array), offsets, pa.py_buffer(text), validity_of(array))
