"""Text form of booleans, strings and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from . import jsons
from .arrow_compute import pc
from .errors import InvalidTextRepresentation, StringTooLong
from .textform_rows import SMALL, SPACE, parse_distinct, parse_each, patch_rows, to_mask
from .types import Type

if TYPE_CHECKING:
    from .textform import TextSettings

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def parse_boolean(text: str) -> bool:
    """One boolean: any unambiguous beginning of true, false, yes, no, on, off; 1 and 0."""
    word = text.strip(SPACE).lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise InvalidTextRepresentation(f'invalid input syntax for type boolean: "{text}"')


def parse_booleans(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    if len(texts) <= SMALL:
        return parse_each(texts, parse_boolean, pa.bool_())
    return parse_distinct(texts, parse_boolean, pa.bool_())


def format_booleans(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    if len(array) <= SMALL:
        return pa.array([None if v is None else "t" if v else "f" for v in array.to_pylist()], pa.string())
    return pc.if_else(array, "t", "f")


def parse_strings(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    return fit_length(type_, texts)


def format_strings(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    return array


def fit_length(type_: Type, array: pa.Array, explicit: bool = False) -> pa.Array:
    """Strings made to fit `type_`: varchar(n) cut, character(n) cut and padded, name cut to 63 bytes.

    Only spaces may be cut off, unless `explicit` (a cast): else raises 22001 with `rows`.
    """
    if type_.name == "name":
        return _per_row(array, pc.greater(pc.binary_length(array), 63), _cut_name)
    if type_.name == "char":
        return parse_each(array, parse_char, pa.string())
    if type_.typmod < 4 or type_.name not in ("varchar", "bpchar"):
        return array
    limit = type_.typmod - 4
    if len(array) <= SMALL:
        return parse_each(array, lambda text: _fit(type_, text, limit, explicit), pa.string())
    lengths = pc.utf8_length(array)
    fitted = _per_row(array, pc.greater(lengths, limit), lambda text: _fit(type_, text, limit, explicit))
    return pc.utf8_rpad(fitted, limit) if type_.name == "bpchar" else fitted


def _per_row(array: pa.Array, wrong: pa.Array, convert: Callable[[str], str]) -> pa.Array:
    return patch_rows(array, np.flatnonzero(to_mask(wrong.fill_null(False))), array, convert)


def _fit(type_: Type, text: str, limit: int, explicit: bool) -> str:
    if len(text) > limit:
        if not explicit and text[limit:].strip(" "):
            raise StringTooLong(f"value too long for type {type_}")
        text = text[:limit]
    return text.ljust(limit) if type_.name == "bpchar" else text


def _cut_name(text: str) -> str:
    return text.encode()[:63].decode(errors="ignore")


_OCTAL = re.compile(r"\\([0-7]{3})")


def parse_char(text: str) -> str:
    """One "char": the first byte; a byte above 127 is kept as its escape, `\\ooo`, which is its text."""
    octal = _OCTAL.fullmatch(text)
    if octal:
        code = int(octal[1], 8) & 0xFF
        return "" if code == 0 else chr(code) if code < 128 else text
    first = text.encode()[:1]
    return first.decode() if first < b"\x80" else f"\\{first[0]:03o}"


def parse_json(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    """json keeps the text as it was written, once it is known to be valid."""
    return parse_each(texts, jsons.check_json, pa.string())


def parse_jsonb(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    return parse_each(texts, jsons.normalise, pa.string())
