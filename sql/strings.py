"""The escapes of E'…' and U&'…' strings (PostgreSQL documentation, sections 4.1.2.2 and 4.1.2.3)."""

from __future__ import annotations

import re

from ..storage.errors import CharacterNotInRepertoire, InvalidEscape, SyntaxFault

_ESCAPE = re.compile(
    r"''|\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))"
)
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_UNICODE_HINT = "Unicode escapes must be \\uXXXX or \\UXXXXXXXX."
_UNICODE_AMP_HINT = "Unicode escapes must be \\XXXX or \\+XXXXXX."


def decode_escapes(raw: str, text: str, begin: int) -> str:
    """The value of the body of an E'…' string; `begin` is where the body stands in `text`.

    Octal and hexadecimal escapes are bytes of UTF-8. Raises InvalidEscape (22025), and
    CharacterNotInRepertoire (22021) for bytes that are no character.
    """
    if "\\" not in raw:
        return raw.replace("''", "'")
    try:
        pieces = _decode_pieces(raw, begin)
        return b"".join(pieces).decode()
    except UnicodeDecodeError as error:
        bad = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.start + 1])
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {bad}') from None


def _decode_pieces(raw: str, begin: int) -> list[bytes]:
    pieces: list[bytes] = []
    position = 0
    high = 0
    for found in _ESCAPE.finditer(raw):
        between = raw[position : found.start()]
        code = found[3] or found[4]
        if high and (between or not code):
            raise _bad_pair(begin + found.start())
        pieces.append(between.encode())
        if code:
            high, piece = _code_point(int(code, 16), high, begin + found.start())
            pieces.append(piece)
        else:
            pieces.append(_plain_escape(found, begin))
        position = found.end()
    if high:
        raise _bad_pair(begin + len(raw), "'")
    pieces.append(raw[position:].encode())
    return pieces


def _plain_escape(found: re.Match[str], begin: int) -> bytes:
    octal, hexadecimal, other = found[1], found[2], found[5]
    if octal or hexadecimal:
        byte = int(octal, 8) & 0xFF if octal else int(hexadecimal, 16)
        if byte == 0:
            raise CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
        return bytes([byte])
    if other is None:
        return b"'"
    if other in "uU":
        raise InvalidEscape("invalid Unicode escape", hint=_UNICODE_HINT, position=begin + found.start() + 1)
    return _SIMPLE.get(other, other).encode()


def _code_point(code: int, high: int, where: int) -> tuple[int, bytes]:
    """(pending high surrogate or 0, bytes to append)."""
    if 0xD800 <= code < 0xDC00 and not high:
        return code, b""
    if 0xDC00 <= code < 0xE000 and high:
        code, high = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00), 0
    elif high or 0xDC00 <= code < 0xE000:
        raise _bad_pair(where)
    if not 0 < code <= 0x10FFFF:
        raise InvalidEscape("invalid Unicode escape value", position=where + 1)
    return 0, chr(code).encode()


def _bad_pair(where: int, near: str = "") -> SyntaxFault:
    shown = f' at or near "{near}"' if near else ""
    return SyntaxFault("invalid Unicode surrogate pair" + shown, position=where + 1)


def decode_unicode(raw: str, escape: str, begin: int) -> str:
    """The value of the body of U&'…' or U&"…" with that escape character."""
    if escape not in raw:
        return raw
    sign = re.escape(escape)
    pattern = re.compile(rf"{sign}(?:({sign})|([0-9a-fA-F]{{4}})|\+([0-9a-fA-F]{{6}})|)")
    pieces: list[bytes] = []
    position = high = 0
    for found in pattern.finditer(raw):
        if high and (position != found.start() or found[1]):
            raise _bad_pair(begin + found.start())
        pieces.append(raw[position : found.start()].encode())
        code = found[2] or found[3]
        if code:
            high, piece = _code_point(int(code, 16), high, begin + found.start())
            pieces.append(piece)
        elif found[1]:
            pieces.append(escape.encode())
        else:
            where = begin + found.start() + 1
            raise SyntaxFault("invalid Unicode escape", hint=_UNICODE_AMP_HINT, position=where)
        position = found.end()
    if high:
        raise _bad_pair(begin + len(raw))
    return b"".join(pieces).decode() + raw[position:]
