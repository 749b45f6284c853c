"""String functions. Characters are code points; lower and upper follow Unicode's simple mappings.

Arrow's kernels do the work when the other arguments are constants, as they nearly always are; else a
Python function does it, once a distinct value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import (
    InvalidParameterValue,
    ProgramLimitExceeded,
    SubstringError,
)
from ...storage.room import VALUE_BYTES_MAX, check_buffer, check_column, check_value
from ...storage.types import Type
from .casts_text import to_string
from .registry import Kernel, scalar
from .vector import each, native, null_safe, rowwise, typed

if TYPE_CHECKING:
    from ..node import EpochContext

_S = pa.string()
_LOOK_BYTES = 100 << 20
"""Replacing is foreseen exactly when the result could have more bytes."""


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


def _with_fast(
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
    scalar(_name, (t.TEXT, t.INT4), t.TEXT)(_with_fast(_substring, _fast_substring))
    scalar(_name, (t.TEXT, t.INT4, t.INT4), t.TEXT)(_with_fast(_substring, _fast_substring))
scalar("left", (t.TEXT, t.INT4), t.TEXT)(_with_fast(_left, _fast_left))
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
    scalar(_name, (t.TEXT, t.TEXT), t.BOOL)(_with_fast(_starts_with, _fast_starts, pa.bool_()))


def _overlay(text: str, part: str, start: int, count: int | None = None) -> str:
    """The string with `count` characters from `start` replaced."""
    count = len(part) if count is None else count
    if start <= 0:
        raise SubstringError("negative substring length not allowed")
    return text[: start - 1] + part + _substring(text, start + count)


scalar("overlay", (t.TEXT, t.TEXT, t.INT4), t.TEXT)(each(_overlay, _S))
scalar("overlay", (t.TEXT, t.TEXT, t.INT4, t.INT4), t.TEXT)(each(_overlay, _S))


# Trimming and padding.


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

    scalar(name, (t.TEXT,), t.TEXT)(_with_fast(trim, fast))
    scalar(name, (t.TEXT, t.TEXT), t.TEXT)(_with_fast(trim, fast))


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
    if _bytes_of(column) * max(len(new), 1) > _LOOK_BYTES:
        return None
    return pc.replace_substring(column, old, new) if old else column


def _translate(text: str, old: str, new: str) -> str:
    """Each character of the second argument replaced by its counterpart in the third, or removed."""
    table: dict[int, str | None] = {}
    for i, char in enumerate(old):
        table.setdefault(ord(char), new[i] if i < len(new) else None)
    return text.translate(table)


scalar("repeat", (t.TEXT, t.INT4), t.TEXT)(each(_repeat, _S))
scalar("replace", (t.TEXT, t.TEXT, t.TEXT), t.TEXT)(_with_fast(_replace, _fast_replace))
scalar("translate", (t.TEXT, t.TEXT, t.TEXT), t.TEXT)(each(_translate, _S))


# Joining.


def _joined(parts: Sequence[Any]) -> pa.Array:
    """The texts of each row one after the other. Raises before one, or all, would be too long."""
    size = sum(_bytes_of(part) for part in parts)
    if size > VALUE_BYTES_MAX:
        lengths = [pc.cast(pc.fill_null(pc.binary_length(part), 0), pa.int64()) for part in parts]
        whole = lengths[0]
        for more in lengths[1:]:
            whole = pc.add(whole, more)
        check_value((whole.as_py() if isinstance(whole, pa.Scalar) else pc.max(whole).as_py()) + 4)
        check_column(whole.as_py() if isinstance(whole, pa.Scalar) else pc.sum(whole).as_py())
    return pc.binary_join_element_wise(*parts, pa.scalar("", _S))


def _bytes_of(part: Any) -> int:
    """At least the bytes of a column's texts; of a constant, a row's."""
    if isinstance(part, pa.Scalar):
        return part.as_buffer().size if part.is_valid else 0
    data = part.buffers()[2]
    return 0 if data is None else data.size


@scalar("||", (t.TEXT, t.TEXT), t.TEXT)
@native
def _concatenate(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
    """Two strings as one."""
    return _joined(args)


def _as_text(array: pa.Array, type_: Type, context: EpochContext) -> pa.Array:
    return array if type_.name in ("text", "unknown") else output_text(array, type_, context)


def output_text(array: pa.Array, type_: Type, context: EpochContext) -> pa.Array:
    """The output form, as concat shows values: t and f for booleans."""
    if type_.name == "bool":
        return pc.if_else(array, "t", "f")
    return to_string(array, type_, t.TEXT, context, False)


def _join_any(left: Type, right: Type) -> None:
    @scalar("||", (left, right), t.TEXT, volatility="stable")
    @typed
    @null_safe
    def _kernel(
        args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
    ) -> pa.Array:
        """A string and the text of another value as one string."""
        parts = [_as_value(arg, type_, context) for arg, type_ in zip(args, types, strict=True)]
        return _joined(parts)


def _as_value(array: pa.Array, type_: Type, context: EpochContext) -> pa.Array:
    return array if type_.name in ("text", "unknown") else to_string(array, type_, t.TEXT, context, False)


_join_any(t.TEXT, Type("anynonarray"))
_join_any(Type("anynonarray"), t.TEXT)


@scalar("concat", (Type("any"),), t.TEXT, strict=False, variadic=True, volatility="stable")
@typed
def _concat(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The texts of all values that are not NULL, joined."""
    parts = [pc.fill_null(_as_text(a, ty, context), "") for a, ty in zip(args, types, strict=True)]
    return _joined(parts)


@scalar("concat_ws", (t.TEXT, Type("any")), t.TEXT, strict=False, variadic=True, volatility="stable")
@typed
def _concat_ws(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The texts of all values that are not NULL, joined with a separator."""
    parts = [_as_text(a, ty, context).to_pylist() for a, ty in zip(args[1:], types[1:], strict=True)]
    joined = [
        None if separator is None else separator.join(v for v in row if v is not None)
        for separator, *row in zip(args[0].to_pylist(), *parts, strict=True)
    ]
    return pa.array(joined, _S)


# Quoting.

_PLAIN_IDENTIFIER = __import__("re").compile(r"[a-z_][a-z0-9_$]*")


def quote_ident(text: str) -> str:
    """As an identifier: quoted unless plain lower case and no reserved word."""
    from .keywords import RESERVED

    if _PLAIN_IDENTIFIER.fullmatch(text) and "$" not in text and text not in RESERVED:
        return text
    return '"' + text.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """As a string constant."""
    quoted = text.replace("'", "''").replace("\\", "\\\\")
    return f" E'{quoted}'".lstrip() if "\\" in text else f"'{quoted}'"


def _quote_nullable(text: str | None) -> str:
    """As a string constant, NULL for NULL."""
    return "NULL" if text is None else quote_literal(text)


scalar("quote_ident", (t.TEXT,), t.TEXT)(each(quote_ident, _S))
scalar("quote_literal", (t.TEXT,), t.TEXT)(each(quote_literal, _S))
scalar("quote_nullable", (t.TEXT,), t.TEXT, strict=False)(rowwise(_quote_nullable, _S))
