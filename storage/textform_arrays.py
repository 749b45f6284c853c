"""Text form of arrays, `{1,NULL,"a b"}`: one dimension; more are refused (0A000)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .errors import FeatureNotSupported, InvalidTextRepresentation, SqlError
from .textform_rows import convert_each, raise_at, valid_mask, validity_of
from .types import VECTORS, Type

if TYPE_CHECKING:
    from .textform import TextSettings

_SPACE = " \t\n\v\f\r"
_BOUNDS = re.compile(r"\s*(\[[+-]?\d+(?::[+-]?\d+)?\]\s*)+=\s*")
_SIMPLE = re.compile(r'\{[^{}",\\\s]+(?:,[^{}",\\\s]+)*\}', re.ASCII)
_NULLS = frozenset(f"{n}{u}{a}{b}" for n in "nN" for u in "uU" for a in "lL" for b in "lL")
_QUOTED = re.compile(r'[{}",\\\s]', re.ASCII)


def _malformed(text: str, detail: str) -> InvalidTextRepresentation:
    return InvalidTextRepresentation(f'malformed array literal: "{text}"', detail=detail)


def split_array(text: str) -> list[str | None]:
    """The element texts of an array literal, None for NULL. Raises 22P02, 0A000 for nested arrays."""
    if _SIMPLE.fullmatch(text):
        words = text[1:-1].split(",")
        return [None if word in _NULLS else word for word in words]
    body = text.lstrip(_SPACE)
    bounds = _BOUNDS.match(body)
    if bounds:
        body = body[bounds.end() :]
        if not body.startswith("{"):
            raise _malformed(text, 'Array contents must start with "{".')
    if not body.startswith("{"):
        raise _malformed(text, 'Array value must start with "{" or dimension information.')
    return _Reader(text, body).elements()


class _Reader:
    """Reads the elements of one literal from its opening brace."""

    def __init__(self, text: str, body: str) -> None:
        self.text, self.body, self.position = text, body, 1

    def elements(self) -> list[str | None]:
        self._skip_space()
        found: list[str | None] = []
        if self._peek() == "}":
            self.position += 1
        else:
            while True:
                found.append(self._element())
                c = self._peek()
                self.position += 1
                if c == "}":
                    break
        if self.body[self.position :].strip(_SPACE):
            raise _malformed(self.text, "Junk after closing right brace.")
        return found

    def _peek(self) -> str:
        if self.position >= len(self.body):
            raise _malformed(self.text, "Unexpected end of input.")
        return self.body[self.position]

    def _skip_space(self) -> None:
        while self.position < len(self.body) and self.body[self.position] in _SPACE:
            self.position += 1

    def _element(self) -> str | None:
        self._skip_space()
        c = self._peek()
        if c == "{":
            raise FeatureNotSupported("multidimensional arrays are not supported")
        if c in ",}":
            raise _malformed(self.text, f'Unexpected "{c}" character.')
        if c == '"':
            return self._quoted()
        return self._bare()

    def _quoted(self) -> str:
        self.position += 1
        out: list[str] = []
        while (c := self._peek()) != '"':
            if c == "\\":
                self.position += 1
                c = self._peek()
            out.append(c)
            self.position += 1
        self.position += 1
        self._skip_space()
        if self._peek() not in ",}":
            raise _malformed(self.text, "Unexpected array element.")
        return "".join(out)

    def _bare(self) -> str | None:
        out: list[str] = []
        kept = 0
        escaped = False
        while (c := self._peek()) not in ",}":
            if c == "{":
                raise _malformed(self.text, 'Unexpected "{" character.')
            if c == '"':
                raise _malformed(self.text, "Unexpected array element.")
            if c == "\\":
                escaped = True
                self.position += 1
                c = self._peek()
                kept = len(out) + 1
            elif c not in _SPACE:
                kept = len(out) + 1
            out.append(c)
            self.position += 1
        word = "".join(out[:kept])
        return None if not escaped and word.upper() == "NULL" else word


def parse_arrays(
    type_: Type, texts: pa.Array, settings: TextSettings,
    parse_text: Callable[[Type, pa.Array, TextSettings], pa.Array],
) -> pa.Array:  # fmt: skip
    assert type_.element is not None
    lists = convert_each(texts.to_pylist(), str.split if type_.name in VECTORS else split_array)
    element = type_.element if type_.typmod < 0 else Type(type_.element.name, type_.typmod, type_.scale)
    lengths = [0 if found is None else len(found) for found in lists]
    flat = pa.array([text for found in lists if found for text in found], pa.string())
    try:
        values = parse_text(element, flat, settings)
    except SqlError as error:
        assert error.rows is not None
        raise_at(error, np.unique(np.repeat(np.arange(len(lists)), lengths)[error.rows]))
        raise
    offsets = np.array([0, *accumulate(lengths)], np.int32)
    return pa.Array.from_buffers(
        type_.arrow, len(texts), [validity_of(texts), pa.py_buffer(offsets)], children=[values]
    )


def quote_element(text: str) -> str:
    """One element as it stands between the braces: in quotes when it could be misread."""
    if text and not _QUOTED.search(text) and text.upper() != "NULL":
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_arrays(
    type_: Type, array: pa.Array, settings: TextSettings,
    format_text: Callable[[Type, pa.Array, TextSettings], pa.Array],
) -> pa.Array:  # fmt: skip
    assert type_.element is not None
    offsets = array.offsets.to_pylist()
    valid = valid_mask(array)
    first, last = (offsets[0], offsets[-1]) if offsets else (0, 0)
    texts = format_text(type_.element, array.values.slice(first, last - first), settings).to_pylist()
    words = ["NULL" if text is None else quote_element(text) for text in texts]
    if type_.name in VECTORS:
        opening, comma, closing = "", " ", ""
    else:
        opening, comma, closing = "{", ",", "}"
    rows = [
        opening + comma.join(words[start - first : end - first]) + closing if known else None
        for start, end, known in zip(offsets, offsets[1:], valid.tolist(), strict=False)
    ]
    return pa.array(rows, pa.string())
