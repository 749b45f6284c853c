"""PostgreSQL protocol 3.0 messages as bytes: parsing what frontends send, building what we answer.

Pure functions. A frontend message comes as its body, without type byte and length; a backend message
is built whole. Malformed bodies raise `ProtocolViolation` (08P01), text that is not UTF-8 raises
`CharacterNotInRepertoire` (22021). See "Message Formats" in PostgreSQL's protocol chapter.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..storage.errors import CharacterNotInRepertoire, ProtocolViolation, SqlError
from .backend import ResultColumn, TransactionStatus

PROTOCOL_3_0 = 3 << 16
CANCEL_REQUEST = (1234 << 16) | 5678
SSL_REQUEST = (1234 << 16) | 5679
GSS_REQUEST = (1234 << 16) | 5680

TEXT, BINARY = 0, 1
"""Format codes of a parameter or a result column."""

PARSE_COMPLETE = b"1\0\0\0\4"
BIND_COMPLETE = b"2\0\0\0\4"
CLOSE_COMPLETE = b"3\0\0\0\4"
COPY_DONE = b"c\0\0\0\4"
EMPTY_QUERY = b"I\0\0\0\4"
NO_DATA = b"n\0\0\0\4"
PORTAL_SUSPENDED = b"s\0\0\0\4"
AUTHENTICATION_OK = b"R\0\0\0\10\0\0\0\0"
READY = {status: b"Z\0\0\0\5" + status.value.encode() for status in TransactionStatus}

_uint16 = struct.Struct("!H").unpack_from
_int32 = struct.Struct("!i").unpack_from
_head = struct.Struct("!cI").pack
_field = struct.Struct("!IhIhih").pack


class Parse(NamedTuple):
    statement: str
    text: str
    parameter_oids: tuple[int, ...]


class Bind(NamedTuple):
    """Format codes as sent: none means all text, one applies to all."""

    portal: str
    statement: str
    parameter_formats: tuple[int, ...]
    values: list[bytes | None]
    result_formats: tuple[int, ...]


class Target(NamedTuple):
    """What Describe or Close is about: `kind` is "S" for a statement, "P" for a portal."""

    kind: str
    name: str


class Execute(NamedTuple):
    portal: str
    rows_max: int
    """0: no limit."""


class Startup(NamedTuple):
    version: int
    parameters: dict[str, str]


# Parsing what the frontend sends.


def decode_text(raw: bytes) -> str:
    """Client text as str. Raises CharacterNotInRepertoire for what PostgreSQL refuses in UTF8."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        broken = " ".join(f"0x{byte:02x}" for byte in raw[error.start : max(error.end, error.start + 1)])
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {broken}') from None
    if 0 in raw:
        raise CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
    return text


def parse_query(body: bytes) -> str:
    end = body.find(0)
    if end < 0:
        raise ProtocolViolation("invalid string in message")
    if end != len(body) - 1:
        raise ProtocolViolation("invalid message format")
    return decode_text(body[:end])


def parse_parse(body: bytes) -> Parse:
    name, position = _string(body, 0)
    text, position = _string(body, position)
    try:
        (count,) = _uint16(body, position)
        oids = struct.unpack_from(f"!{count}I", body, position + 2)
    except struct.error:
        raise ProtocolViolation("insufficient data left in message") from None
    _expect_end(body, position + 2 + 4 * count)
    return Parse(name, text, oids)


def parse_bind(body: bytes) -> Bind:
    portal, position = _string(body, 0)
    statement, position = _string(body, position)
    try:
        parameter_formats, position = _formats(body, position)
        values, position = _values(body, position)
        result_formats, position = _formats(body, position)
    except struct.error:
        raise ProtocolViolation("insufficient data left in message") from None
    _expect_end(body, position)
    return Bind(portal, statement, parameter_formats, values, result_formats)


def parse_target(body: bytes) -> Target:
    """Describe and Close."""
    kind = body[:1].decode("latin-1")
    name, position = _string(body, 1)
    _expect_end(body, position)
    return Target(kind, name)


def parse_execute(body: bytes) -> Execute:
    portal, position = _string(body, 0)
    if len(body) != position + 4:
        raise ProtocolViolation("invalid message format")
    (rows_max,) = _int32(body, position)
    return Execute(portal, max(rows_max, 0))


def parse_copy_fail(body: bytes) -> str:
    return _string(body, 0)[0]


def parse_sasl_initial(body: bytes) -> tuple[str, bytes]:
    """(mechanism, data) of a SASLInitialResponse."""
    mechanism, position = _string(body, 0)
    if len(body) < position + 4:
        raise ProtocolViolation("invalid message format")
    (length,) = _int32(body, position)
    data = body[position + 4 :]
    if length != len(data):
        raise ProtocolViolation("invalid message format")
    return mechanism, data


def parse_startup(body: bytes) -> Startup:
    """A startup packet: version, then name and value pairs up to an empty name. `options` is unfolded."""
    (version,) = _int32(body, 0)
    if body[-1:] != b"\0" or len(body) < 5:
        raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte")
    parts = [decode_text(part) for part in body[4:-1].split(b"\0")]
    pairs = list(zip(parts[0::2], parts[1::2], strict=False))
    parameters = {name: value for name, value in pairs if name}
    parameters.update(parse_options(parameters.pop("options", "")))
    return Startup(version, parameters)


def parse_options(options: str) -> dict[str, str]:
    """Settings of a startup packet's `options`: `-c name=value` and `--name=value`, `\\` escaping a space."""
    words = _option_words(options)
    settings: dict[str, str] = {}
    for word in words:
        if word == "-c":
            word = "--" + next(words, "")
        elif word.startswith("-c"):
            word = "--" + word[2:]
        name, equals, value = word[2:].partition("=")
        if not word.startswith("--") or not equals:
            raise ProtocolViolation(f'invalid command-line argument for server process: "{word}"')
        settings[name.replace("-", "_")] = value
    return settings


def _option_words(options: str):
    word, escaped, begun = "", False, False
    for character in options:
        if escaped or (not character.isspace() and character != "\\"):
            word, escaped, begun = word + character, False, True
        elif character == "\\":
            escaped = True
        elif begun:
            yield word
            word, begun = "", False
    if begun:
        yield word


def _string(body: bytes, position: int) -> tuple[str, int]:
    end = body.find(0, position)
    if end < 0:
        raise ProtocolViolation("invalid string in message")
    return ("" if end == position else decode_text(body[position:end])), end + 1


def _formats(body: bytes, position: int) -> tuple[tuple[int, ...], int]:
    (count,) = _uint16(body, position)
    if count == 0:
        return (), position + 2
    formats = struct.unpack_from(f"!{count}H", body, position + 2)
    for code in formats:
        if code > BINARY:
            raise ProtocolViolation(f"unsupported format code: {code}")
    return formats, position + 2 + 2 * count


def _values(body: bytes, position: int) -> tuple[list[bytes | None], int]:
    (count,) = _uint16(body, position)
    position += 2
    values: list[bytes | None] = []
    for _ in range(count):
        (length,) = _int32(body, position)
        position += 4
        if length == -1:
            values.append(None)
            continue
        end = position + length
        if length < 0 or end > len(body):
            raise ProtocolViolation("insufficient data left in message")
        values.append(body[position:end])
        position = end
    return values, position


def _expect_end(body: bytes, position: int) -> None:
    if position != len(body):
        raise ProtocolViolation("invalid message format")


# Building what we answer.


def message(kind: bytes, body: bytes) -> bytes:
    return _head(kind, len(body) + 4) + body


def authentication(code: int, data: bytes = b"") -> bytes:
    """Authentication request `code`: 10 SASL, 11 SASLContinue, 12 SASLFinal."""
    return message(b"R", struct.pack("!I", code) + data)


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", f"{name}\0{value}\0".encode())


def backend_key_data(process: int, secret: int) -> bytes:
    return message(b"K", struct.pack("!II", process, secret))


def negotiate_protocol_version(unknown_options: Sequence[str]) -> bytes:
    """Says that 3.0 is the newest we speak, and which `_pq_.` options we do not know."""
    names = "".join(f"{name}\0" for name in unknown_options).encode()
    return message(b"v", struct.pack("!II", PROTOCOL_3_0, len(unknown_options)) + names)


@lru_cache(1024)
def command_complete(tag: str) -> bytes:
    raw = tag.encode()
    return _head(b"C", len(raw) + 5) + raw + b"\0"


def parameter_description(oids: Sequence[int]) -> bytes:
    return message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def row_description(columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """`formats` has one code a column."""
    parts = [struct.pack("!H", len(columns))]
    for column, code in zip(columns, formats, strict=True):
        type_ = column.type
        parts.append(column.name.encode() + b"\0")
        parts.append(_field(column.table_oid, column.number, type_.oid, type_.info.size, type_.typmod, code))
    return message(b"T", b"".join(parts))


def copy_response(kind: bytes, code: int, columns: int) -> bytes:
    """CopyInResponse (`G`) or CopyOutResponse (`H`) with one format code for all columns."""
    return message(kind, struct.pack(f"!bH{columns}H", code, columns, *[code] * columns))


def error_response(error: SqlError, severity: str = "ERROR") -> bytes:
    return message(b"E", _report(error, severity))


def notice_response(notice: SqlError) -> bytes:
    """A notice; warnings are told apart by the SQLSTATE classes that PostgreSQL warns with."""
    severity = "WARNING" if notice.code[:2] in ("01", "25") else "NOTICE"
    return message(b"N", _report(notice, severity))


def _report(error: SqlError, severity: str) -> bytes:
    fields = [
        ("S", severity), ("V", severity), ("C", error.code), ("M", error.message), ("D", error.detail),
        ("H", error.hint), ("P", str(error.position) if error.position else ""), ("W", error.context),
        ("s", error.schema), ("t", error.table), ("c", error.column), ("n", error.constraint),
    ]  # fmt: skip
    text = "".join(f"{kind}{value.replace(chr(0), '')}\0" for kind, value in fields if value or kind == "M")
    return text.encode(errors="replace") + b"\0"
