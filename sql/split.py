"""A string of statements, split at its semicolons without making tokens."""

from __future__ import annotations

import re

from .lexer import skip_comment

_STOP = re.compile(
    r"(?P<escaped>(?<![A-Za-z0-9_$\x80-\U0010ffff])[eE]'[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*(?:'|\Z))"
    r"|(?P<quoted>'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|--[^\r\n]*)"
    r"|(?P<dollar>(?<![A-Za-z0-9_$\x80-\U0010ffff])\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\$)"
    r"|(?P<comment>/\*)"
    r"|(?P<end>;)"
)
_BLANKS = " \t\r\n\f\v"
_BLANK = re.compile(r"(?:\s+|--[^\r\n]*)*")


def split(text: str) -> list[tuple[int, str]]:
    """The statements of `text` as (offset, text), without blanks in front and without empty ones.

    Each keeps its semicolon, which a syntax error may have to name, and comments before it. A string
    that does not end runs to the end of `text`, where the lexer will find it. Raises SyntaxFault for a
    comment that does not end.
    """
    pieces: list[tuple[int, str]] = []
    begin = position = 0
    while True:
        found = _STOP.search(text, position) if ";" in text else None
        if found is None:
            _add(pieces, text, begin, len(text))
            return pieces
        position = found.end()
        if found.lastgroup == "dollar":
            close = text.find(found[0], position)
            position = len(text) if close < 0 else close + len(found[0])
        elif found.lastgroup == "comment":
            position = skip_comment(text, found.start(), len(text))
        elif found.lastgroup == "end":
            _add(pieces, text, begin, position)
            begin = position


def _add(pieces: list[tuple[int, str]], text: str, begin: int, end: int) -> None:
    piece = text[begin:end].lstrip(_BLANKS)
    if piece and not is_blank(piece.removesuffix(";")):
        pieces.append((end - len(piece), piece))


def is_blank(text: str) -> bool:
    """Whether there is nothing but blanks and comments."""
    position = 0
    while position < len(text):
        found = _BLANK.match(text, position)
        assert found is not None
        position = found.end()
        if text.startswith("/*", position):
            position = skip_comment(text, position, len(text))
        else:
            return position == len(text)
    return True
