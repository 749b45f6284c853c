"""String functions: measures, case, characters by code point, and parts of a string.

Characters are code points; lower and upper follow Unicode's simple mappings. What makes other strings is in
`text_change.py`, joining in `text_join.py`, quoting in `text_quote.py`.

Arrow's kernels do the work when the other arguments are constants, as they nearly always are; else a
Python function does it, once a distinct value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import InvalidParameterValue, ProgramLimitExceeded, SubstringError
from .registry import Kernel, scalar
from .vector import each, native, null_safe

if TYPE_CHECKING:
    from ..node import EpochContext

_S = pa.string()


def _one(function: Callable[[Any], pa.Array], doc: str) -> Kernel:
    @null_safe
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        return function(args[0])

    kernel.__doc__ = doc
    return kernel


def _bits(array: pa.Array) -> pa.Array:
    return pc.multiply(pc.binary_length(array), 8)


for _name, _function, _result, _doc in (
    ("length", pc.utf8_length, t.INT4, "Number of characters."),
    ("char_length", pc.utf8_length, t.INT4, "Number of characters."),
    ("character_length", pc.utf8_length, t.INT4, "Number of characters."),
    ("octet_length", pc.binary_length, t.INT4, "Number of bytes."),
    ("bit_length", _bits, t.INT4, "Number of bits."),
    ("lower", pc.utf8_lower, t.TEXT, "In lower case."),
    ("upper", pc.utf8_upper, t.TEXT, "In upper case."),
    ("reverse", pc.utf8_reverse, t.TEXT, "Characters in reverse order."),
):
    scalar(_name, (t.TEXT,), _result)(
        _one(lambda a, f=_function, r=_result.arrow: f(a) if r == _S else f(a).cast(r), _doc)
    )


def _blank_padded_length(array: pa.Array) -> pa.Array:
    return pc.utf8_length(pc.utf8_rtrim(array, " ")).cast(pa.int32())


for _name in ("length", "char_length", "character_length"):
    scalar(_name, (t.BPCHAR,), t.INT4)(
        _one(_blank_padded_length, "Number of characters, blanks at the end aside.")
    )
scalar("octet_length", (t.BPCHAR,), t.INT4)(_one(lambda a: pc.binary_length(a).cast(pa.int32()), "Bytes."))


def _initcap(text: str) -> str:
    """First letter of each word in upper case, the rest in lower."""
    out: list[str] = []
    inside = False
    for char in text:
        out.append(char.lower() if inside else char.upper())
        inside = char.isalnum()
    return "".join(out)


def _ascii(text: str) -> int:
    """Code point of the first character, 0 for the empty string."""
    return ord(text[0]) if text else 0


def _chr(code: int) -> str:
    """The character of a code point."""
    if code == 0:
        raise ProgramLimitExceeded("null character not permitted")
    if code < 0:
        raise InvalidParameterValue("character number must be positive")
    if code > 0x10FFFF:
        raise ProgramLimitExceeded(f"requested character too large for encoding: {code}")
    if 0xD800 <= code < 0xE000:
        raise ProgramLimitExceeded(f"requested character not valid for encoding: {code}")
    return chr(code)


def _to_hex(bits: int) -> Callable[[int], str]:
    def to_hex(value: int) -> str:
        """Hexadecimal digits of the two's complement."""
        return f"{value & ((1 << bits) - 1):x}"

    return to_hex


scalar("initcap", (t.TEXT,), t.TEXT)(each(_initcap, _S))
scalar("ascii", (t.TEXT,), t.INT4)(each(_ascii, pa.int32()))
scalar("chr", (t.INT4,), t.TEXT)(each(_chr, _S))
scalar("to_hex", (t.INT4,), t.TEXT)(each(_to_hex(32), _S))
scalar("to_hex", (t.INT8,), t.TEXT)(each(_to_hex(64), _S))


# Parts of a string.


def _constants(args: Sequence[Any]) -> list[Any] | None:
    """The values of the arguments after the first when they are constants and not NULL."""
    if isinstance(args[0], pa.Scalar) or any(isinstance(a, pa.Array) or not a.is_valid for a in args[1:]):
        return None
    return [a.as_py() for a in args[1:]]


def with_fast(
    slow: Callable[..., Any], fast: Callable[..., pa.Array | None], arrow: pa.DataType = _S
) -> Kernel:
    """`fast(column, *constants)` where it can (it returns None where not), else `slow` by value."""
    fallback = each(slow, arrow)

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        fixed = _constants(args) if length > 8 else None
        if fixed is not None:
            found = fast(args[0], *fixed)
            if found is not None:
                return found if found.type == arrow else found.cast(arrow)
        return fallback(args, length, context)

    kernel.__doc__ = slow.__doc__
    return kernel


def bytes_of(part: Any) -> int:
    """At least the bytes of a column's texts; of a constant, a row's."""
    if isinstance(part, pa.Scalar):
        return part.as_buffer().size if part.is_valid else 0
    data = part.buffers()[2]
    return 0 if data is None else data.size


def _substring(text: str, start: int, count: int | None = None) -> str:
    """The characters from position `start` (1-based) on, at most `count` of them."""
    if count is None:
        return text[max(start - 1, 0) :]
    if count < 0:
        raise SubstringError("negative substring length not allowed")
    return text[max(start - 1, 0) : max(start - 1 + count, 0)]


def _fast_substring(column: pa.Array, start: int, count: int | None = None) -> pa.Array | None:
    if count is None:
        return pc.utf8_slice_codeunits(column, max(start - 1, 0))
    if count < 0 or start - 1 + count > 2**31:
        return None
    stop = max(start - 1 + count, 0)
    return pc.utf8_slice_codeunits(column, min(max(start - 1, 0), stop), stop)


def _left(text: str, count: int) -> str:
    """The first characters; with a negative count, all but the last ones."""
    return text[:count] if count >= 0 else text[: max(len(text) + count, 0)]


def _right(text: str, count: int) -> str:
    """The last characters; with a negative count, all but the first ones."""
    if count < 0:
        return text[-count:]
    return text[-count:] if count else ""


def _fast_left(column: pa.Array, count: int) -> pa.Array | None:
    return pc.utf8_slice_codeunits(column, 0, count) if count >= 0 else None


for _name in ("substring", "substr"):
    scalar(_name, (t.TEXT, t.INT4), t.TEXT)(with_fast(_substring, _fast_substring))
    scalar(_name, (t.TEXT, t.INT4, t.INT4), t.TEXT)(with_fast(_substring, _fast_substring))
scalar("left", (t.TEXT, t.INT4), t.TEXT)(with_fast(_left, _fast_left))
scalar("right", (t.TEXT, t.INT4), t.TEXT)(each(_right, _S))


def _split_part(text: str, delimiter: str, number: int) -> str:
    """The number-th field (1-based, from the end when negative) between delimiters."""
    if number == 0:
        raise InvalidParameterValue("field position must not be zero")
    fields = text.split(delimiter) if delimiter else [text]
    if not text:
        return ""
    index = number - 1 if number > 0 else len(fields) + number
    return fields[index] if 0 <= index < len(fields) else ""


scalar("split_part", (t.TEXT, t.TEXT, t.INT4), t.TEXT)(each(_split_part, _S))


def _position(text: str, part: str) -> int:
    """Position (1-based) of the first occurrence, 0 when there is none."""
    return text.find(part) + 1


def _starts_with(text: str, prefix: str) -> bool:
    """Whether the string begins with the prefix."""
    return text.startswith(prefix)


def _fast_starts(column: pa.Array, prefix: str) -> pa.Array | None:
    return pc.starts_with(column, prefix)


for _name in ("strpos", "position"):
    scalar(_name, (t.TEXT, t.TEXT), t.INT4)(each(_position, pa.int32()))
for _name in ("starts_with", "^@"):
    scalar(_name, (t.TEXT, t.TEXT), t.BOOL)(with_fast(_starts_with, _fast_starts, pa.bool_()))


def _overlay(text: str, part: str, start: int, count: int | None = None) -> str:
    """The string with `count` characters from `start` replaced."""
    count = len(part) if count is None else count
    if start <= 0:
        raise SubstringError("negative substring length not allowed")
    return text[: start - 1] + part + _substring(text, start + count)


scalar("overlay", (t.TEXT, t.TEXT, t.INT4), t.TEXT)(each(_overlay, _S))
scalar("overlay", (t.TEXT, t.TEXT, t.INT4, t.INT4), t.TEXT)(each(_overlay, _S))
