"""String functions that make a string anew: trim, pad, repeat, replace, translate.

As in `text.py`, Arrow's kernels do the work where they can. What would be too long is refused before it is
made.
"""

from __future__ import annotations

import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import ProgramLimitExceeded
from ...storage.room import VALUE_BYTES_MAX, check_buffer
from .registry import scalar
from .text import bytes_of, with_fast
from .vector import each

_S = pa.string()
_LOOK_BYTES = 100 << 20
"""Replacing is foreseen exactly when the result could have more bytes."""


def _trims(name: str) -> None:
    method, arrow = {
        "btrim": (str.strip, pc.utf8_trim), "ltrim": (str.lstrip, pc.utf8_ltrim), "rtrim": (str.rstrip,
        pc.utf8_rtrim),
    }[name]  # fmt: skip

    def trim(text: str, characters: str = " ") -> str:
        """Without the given characters (blanks by default) at the ends."""
        return method(text, characters) if characters else text

    def fast(column: pa.Array, characters: str = " ") -> pa.Array | None:
        return arrow(column, characters) if characters else column

    scalar(name, (t.TEXT,), t.TEXT)(with_fast(trim, fast))
    scalar(name, (t.TEXT, t.TEXT), t.TEXT)(with_fast(trim, fast))


for _name in ("btrim", "ltrim", "rtrim"):
    _trims(_name)


def _padding(text: str, length: int, fill: str) -> str:
    missing = max(length, 0) - len(text)
    if missing * 4 > VALUE_BYTES_MAX:
        raise ProgramLimitExceeded("requested length too large")
    return (fill * (missing // len(fill) + 1))[:missing] if fill and missing > 0 else ""


def _lpad(text: str, length: int, fill: str = " ") -> str:
    """Filled up on the left to the length, or cut to it on the right."""
    return (
        text[:length]
        if length <= len(text) and length > 0
        else ""
        if length <= 0
        else _padding(text, length, fill) + text
    )


def _rpad(text: str, length: int, fill: str = " ") -> str:
    """Filled up on the right to the length, or cut to it."""
    return (
        text[:length]
        if length <= len(text) and length > 0
        else ""
        if length <= 0
        else text + _padding(text, length, fill)
    )


for _name, _function in (("lpad", _lpad), ("rpad", _rpad)):
    scalar(_name, (t.TEXT, t.INT4), t.TEXT)(each(_function, _S))
    scalar(_name, (t.TEXT, t.INT4, t.TEXT), t.TEXT)(each(_function, _S))


def _repeat(text: str, count: int) -> str:
    """The string so many times."""
    if count > 0 and len(text.encode()) * count > VALUE_BYTES_MAX:
        raise ProgramLimitExceeded("requested length too large")
    return text * count


def _replace(text: str, old: str, new: str) -> str:
    """All occurrences of one string replaced by another."""
    if len(text) * max(len(new), 1) > _LOOK_BYTES and old:
        check_buffer(len(text.encode()), text.count(old) * (len(new.encode()) - len(old.encode())))
    return text.replace(old, new) if old else text


def _fast_replace(column: pa.Array, old: str, new: str) -> pa.Array | None:
    if bytes_of(column) * max(len(new), 1) > _LOOK_BYTES:
        return None
    return pc.replace_substring(column, old, new) if old else column


def _translate(text: str, old: str, new: str) -> str:
    """Each character of the second argument replaced by its counterpart in the third, or removed."""
    table: dict[int, str | None] = {}
    for i, char in enumerate(old):
        table.setdefault(ord(char), new[i] if i < len(new) else None)
    return text.translate(table)


scalar("repeat", (t.TEXT, t.INT4), t.TEXT)(each(_repeat, _S))
scalar("replace", (t.TEXT, t.TEXT, t.TEXT), t.TEXT)(with_fast(_replace, _fast_replace))
scalar("translate", (t.TEXT, t.TEXT, t.TEXT), t.TEXT)(each(_translate, _S))
