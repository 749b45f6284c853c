"""bytea functions, encodings and digests."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import (
    CharacterNotInRepertoire,
    InvalidParameterValue,
    SqlError,
    SubstringError,
)
from ...storage.textform_bytes import parse_bytes
from .registry import scalar
from .vector import each, native

if TYPE_CHECKING:
    from ..node import EpochContext

_S, _B = pa.string(), pa.binary()


class ArraySubscriptError(SqlError, code="2202E"): ...


def _hex(data: bytes) -> str:
    return data.hex()


def _unhex(text: str) -> bytes:
    out = bytearray()
    digits = iter(text)
    for high in digits:
        if high in " \n\t\r":
            continue
        _check_digit(high)
        low = next(digits, None)
        if low is None:
            raise InvalidParameterValue("invalid hexadecimal data: odd number of digits")
        _check_digit(low)
        out.append(int(high + low, 16))
    return bytes(out)


def _check_digit(char: str) -> None:
    if char not in "0123456789abcdefABCDEF":
        raise InvalidParameterValue(f'invalid hexadecimal digit: "{char}"')


def _base64(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "\n".join(text[i : i + 76] for i in range(0, len(text), 76))


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


def _unbase64(text: str) -> bytes:
    letters = "".join(text.split())
    for char in letters:
        if char not in _ALPHABET:
            raise InvalidParameterValue(f'invalid symbol "{char}" found while decoding base64 sequence')
    try:
        return base64.b64decode(letters, validate=True)
    except binascii.Error:
        message = "invalid base64 end sequence"
        raise InvalidParameterValue(
            message, hint="Input data is missing padding, is truncated, or is otherwise corrupted."
        ) from None


def _escape(data: bytes) -> str:
    """Zero and the bytes above 127 in octal; the backslash twice."""
    return "".join(
        "\\\\" if byte == 92 else f"\\{byte:03o}" if byte == 0 or byte > 127 else chr(byte) for byte in data
    )


_ENCODERS: dict[str, tuple[Callable[[bytes], str], Callable[[str], bytes]]] = {
    "hex": (_hex, _unhex), "base64": (_base64, _unbase64), "escape": (_escape, parse_bytes),
}  # fmt: skip


def _coder(name: str) -> tuple[Callable[[bytes], str], Callable[[str], bytes]]:
    found = _ENCODERS.get(name.lower())
    if found is None:
        raise InvalidParameterValue(f'unrecognized encoding: "{name}"')
    return found


def _encode(data: bytes, name: str) -> str:
    """Bytes as text: hex, base64 or escape."""
    return _coder(name)[0](data)


def _decode(text: str, name: str) -> bytes:
    """Text in hex, base64 or escape form as bytes."""
    return _coder(name)[1](text)


scalar("encode", (t.BYTEA, t.TEXT), t.TEXT)(each(_encode, _S))
scalar("decode", (t.TEXT, t.TEXT), t.BYTEA)(each(_decode, _B))

_CHARSETS = {
    "utf8": "utf-8", "unicode": "utf-8", "latin1": "latin-1", "iso88591": "latin-1", "sqlascii": "utf-8",
    "win1252": "cp1252", "win1251": "cp1251", "latin2": "iso8859-2", "latin9": "iso8859-15",
    "koi8r": "koi8-r",
    "eucjp": "euc_jp", "sjis": "shift_jis", "gbk": "gbk", "big5": "big5", "euckr": "euc_kr",
}  # fmt: skip


def _charset(name: str, which: str) -> str:
    found = _CHARSETS.get("".join(c for c in name.lower() if c.isalnum()))
    if found is None:
        raise InvalidParameterValue(f'invalid {which} encoding name "{name}"')
    return found


def _convert_from(data: bytes, name: str) -> str:
    """Bytes in a character set as text."""
    charset = _charset(name, "source")
    try:
        return data.decode(charset)
    except UnicodeDecodeError as error:
        bad = " ".join(f"0x{b:02x}" for b in data[error.start : max(error.end, error.start + 1)])
        label = "UTF8" if charset == "utf-8" else name.upper()
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "{label}": {bad}') from None


def _convert_to(text: str, name: str) -> bytes:
    """Text as bytes in a character set."""
    return text.encode(_charset(name, "destination"))


scalar("convert_from", (t.BYTEA, t.NAME), t.TEXT)(each(_convert_from, _S))
scalar("convert_to", (t.TEXT, t.NAME), t.BYTEA)(each(_convert_to, _B))


def _md5(data: str | bytes) -> str:
    """MD5 as hexadecimal text."""
    raw = data.encode() if isinstance(data, str) else data
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()


for _type in (t.TEXT, t.BYTEA):
    scalar("md5", (_type,), t.TEXT)(each(_md5, _S))


def _digest(name: str) -> Callable[[bytes], bytes]:
    def digest(data: bytes) -> bytes:
        return hashlib.new(name, data).digest()

    digest.__doc__ = f"{name.upper()} of the bytes."
    return digest


for _name in ("sha224", "sha256", "sha384", "sha512"):
    scalar(_name, (t.BYTEA,), t.BYTEA)(each(_digest(_name), _B))


def _crc32(data: bytes) -> int:
    """CRC-32 of the bytes."""
    return zlib.crc32(data)


scalar("crc32", (t.BYTEA,), t.INT8)(each(_crc32, pa.int64()))


def _hmac(data: str | bytes, key: str | bytes, name: str) -> bytes:
    """HMAC of the data with a key, by the named hash."""
    raw, secret = (v.encode() if isinstance(v, str) else v for v in (data, key))
    if name.lower() not in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        raise InvalidParameterValue(f'Cannot use "{name}": No such hash algorithm')
    return hmac.new(secret, raw, name.lower()).digest()


def _any_digest(data: str | bytes, name: str) -> bytes:
    """Hash of the data by the named algorithm."""
    raw = data.encode() if isinstance(data, str) else data
    if name.lower() not in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        raise InvalidParameterValue(f'Cannot use "{name}": No such hash algorithm')
    return hashlib.new(name.lower(), raw, usedforsecurity=False).digest()


for _type in (t.TEXT, t.BYTEA):
    scalar("hmac", (_type, _type, t.TEXT), t.BYTEA)(each(_hmac, _B))
    scalar("digest", (_type, t.TEXT), t.BYTEA)(each(_any_digest, _B))


# Bytes one by one.


@scalar("||", (t.BYTEA, t.BYTEA), t.BYTEA)
@native
def _concatenate(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
    """Two byte strings as one."""
    return pc.binary_join_element_wise(args[0], args[1], pa.scalar(b"", _B))


def _length(data: bytes) -> int:
    """Number of bytes."""
    return len(data)


def _bit_length(data: bytes) -> int:
    """Number of bits."""
    return 8 * len(data)


def _bit_count(data: bytes) -> int:
    """Number of bits that are 1."""
    return int.from_bytes(data, "big").bit_count()


for _name, _function, _result in (
    ("length", _length, t.INT4), ("octet_length", _length, t.INT4), ("bit_length", _bit_length, t.INT4),
    ("bit_count", _bit_count, t.INT8),
):  # fmt: skip
    scalar(_name, (t.BYTEA,), _result)(each(_function, _result.arrow))


def _index(number: int, size: int) -> None:
    if not 0 <= number < size:
        raise ArraySubscriptError(f"index {number} out of valid range, 0..{size - 1}")


def _get_byte(data: bytes, number: int) -> int:
    """The byte at a position (0-based)."""
    _index(number, len(data))
    return data[number]


def _set_byte(data: bytes, number: int, value: int) -> bytes:
    """The bytes with one of them replaced."""
    _index(number, len(data))
    return data[:number] + bytes([value & 255]) + data[number + 1 :]


def _get_bit(data: bytes, number: int) -> int:
    """The bit at a position, counted from the lowest bit of the first byte."""
    _index(number, 8 * len(data))
    return data[number >> 3] >> (number & 7) & 1


def _set_bit(data: bytes, number: int, value: int) -> bytes:
    """The bytes with one bit replaced."""
    _index(number, 8 * len(data))
    if value not in (0, 1):
        raise InvalidParameterValue("new bit must be 0 or 1")
    byte = data[number >> 3] & ~(1 << (number & 7)) | value << (number & 7)
    return data[: number >> 3] + bytes([byte]) + data[(number >> 3) + 1 :]


scalar("get_byte", (t.BYTEA, t.INT4), t.INT4)(each(_get_byte, pa.int32()))
scalar("set_byte", (t.BYTEA, t.INT4, t.INT4), t.BYTEA)(each(_set_byte, _B))
scalar("get_bit", (t.BYTEA, t.INT8), t.INT4)(each(_get_bit, pa.int32()))
scalar("set_bit", (t.BYTEA, t.INT8, t.INT4), t.BYTEA)(each(_set_bit, _B))


def _substring(data: bytes, start: int, count: int | None = None) -> bytes:
    """The bytes from position `start` (1-based) on, at most `count` of them."""
    if count is not None and count < 0:
        raise SubstringError("negative substring length not allowed")
    stop = len(data) if count is None else max(start - 1 + count, 0)
    return data[max(start - 1, 0) : stop]


def _position(data: bytes, part: bytes) -> int:
    """Position (1-based) of the first occurrence, 0 when there is none."""
    return data.find(part) + 1


for _name in ("substring", "substr"):
    scalar(_name, (t.BYTEA, t.INT4), t.BYTEA)(each(_substring, _B))
    scalar(_name, (t.BYTEA, t.INT4, t.INT4), t.BYTEA)(each(_substring, _B))
scalar("position", (t.BYTEA, t.BYTEA), t.INT4)(each(_position, pa.int32()))
