"""Text form of numbers: integers, floats, numeric, oid.

Floats are written with the fewest digits that read back as the same value, in PostgreSQL's layout:
plain between 1e-4 and 1e15 (1e6 for real), else with an exponent of at least two digits.
"""

from __future__ import annotations

import math
import re
import struct
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .arrow_compute import pc
from .decimals_convert import parse_numeric
from .errors import InvalidTextRepresentation, NumericOutOfRange
from .textform_rows import (
    SMALL,
    SPACE,
    convert_each,
    fixed_values,
    matches,
    parse_each,
    parse_mixed,
    patch_rows,
    text_bytes,
    to_mask,
    valid_mask,
)
from .types import Type, numeric_modifier

if TYPE_CHECKING:
    from .textform import TextSettings

_BITS = {"int2": 16, "int4": 32, "int8": 64}
_INTEGER = re.compile(
    r"([+-]?)(?:(\d+(?:_\d+)*)|0[xX]((?:_?[0-9a-fA-F])+)|0[oO]((?:_?[0-7])+)|0[bB]((?:_?[01])+))", re.ASCII
)


def parse_integer(name: str, text: str) -> int:
    """One int2, int4 or int8. Raises 22P02, or 22003 when beyond the type."""
    bits = _BITS[name]
    try:
        value = int(text) if text.isdecimal() and text.isascii() else _spelled_integer(text)
    except ValueError:
        raise InvalidTextRepresentation(f'invalid input syntax for type {Type(name)}: "{text}"') from None
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise NumericOutOfRange(f'value "{text}" is out of range for type {Type(name)}')
    return value


def _spelled_integer(text: str) -> int:
    match = _INTEGER.fullmatch(text.strip(SPACE))
    if match is None:
        raise ValueError(text)
    sign, decimal, hexadecimal, octal, binary = match.groups()
    if decimal:
        value = int(decimal)
    elif hexadecimal:
        value = int(hexadecimal.lstrip("_"), 16)
    else:
        value = int(octal.lstrip("_"), 8) if octal else int(binary.lstrip("_"), 2)
    return -value if sign == "-" else value


def parse_integers(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    name, arrow = type_.name, type_.arrow
    if len(texts) <= SMALL:
        return parse_each(texts, lambda text: parse_integer(name, text), arrow)
    # Arrow would read 0xFFFFFFFF as -1.
    if not (text_bytes(texts) | 0x20 == ord("x")).any():
        try:
            return pc.cast(texts, arrow)
        except pa.ArrowInvalid:
            pass
    digits = {"int2": 4, "int4": 9, "int8": 18}[name]
    plain = matches(texts, rf"^-?\d{{1,{digits}}}$")
    return parse_mixed(
        texts, plain, lambda rows: pc.cast(rows, arrow), lambda text: parse_integer(name, text)
    )


def format_integers(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    if len(array) <= SMALL:
        return pa.array([None if v is None else str(v) for v in array.to_pylist()], pa.string())
    return pc.cast(array, pa.string())


_OID = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", re.ASCII)


def parse_oid(name: str, text: str) -> int:
    """One oid, as C's strtoul reads it: hexadecimal and octal too, negatives wrap around.

    `-` is the zero of the reg… types. Raises 22P02 or 22003.
    """
    stripped = text.strip(SPACE)
    if stripped == "-" and name.startswith("reg"):
        return 0
    match = _OID.fullmatch(stripped)
    if match is None:
        raise InvalidTextRepresentation(f'invalid input syntax for type {name}: "{text}"')
    digits = match[2]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    value = int(digits, base)
    if match[1] == "-":
        value = -value
    if not -(1 << 31) <= value < 1 << 32:
        raise NumericOutOfRange(f'value "{text}" is out of range for type {name}')
    return value % (1 << 32)


def parse_oids(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    """Numbers only: names of relations and types are resolved by the catalog, above this floor."""
    name = type_.name
    if len(texts) > SMALL:
        plain = matches(texts, r"^[1-9]\d{0,8}$")
        return parse_mixed(texts, plain, lambda rows: pc.cast(rows, pa.int64()), lambda t: parse_oid(name, t))
    return parse_each(texts, lambda text: parse_oid(name, text), pa.int64())


def format_oids(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    texts = format_integers(type_, array, settings)
    if type_.name.startswith("reg"):
        return pc.if_else(pc.equal(array, 0), "-", texts)
    return texts


_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_HEX_FLOAT = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?", re.ASCII
)
_FLOAT_WORDS = {
    "nan": float("nan"), "inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"),
    "infinity": float("inf"), "+infinity": float("inf"), "-infinity": float("-inf"),
}  # fmt: skip


def parse_float(name: str, text: str) -> float:
    """One float4 or float8. Raises 22P02, or 22003 when the value overflows or underflows to zero."""
    stripped = text.strip(SPACE)
    if _FLOAT.fullmatch(stripped):
        value = float(stripped)
        if name == "float4":
            value = _nearest_float4(stripped, value)
        if value in (float("inf"), float("-inf")) or (value == 0 and _has_digit(stripped)):
            raise NumericOutOfRange(f'"{stripped}" is out of range for type {Type(name)}')
        return value
    word = _FLOAT_WORDS.get(stripped.lower())
    if word is not None:
        return word
    if _HEX_FLOAT.fullmatch(stripped):
        return float.fromhex(stripped)
    raise InvalidTextRepresentation(f'invalid input syntax for type {Type(name)}: "{text}"')


def _has_digit(text: str) -> bool:
    return any(c in "123456789" for c in text.lower().partition("e")[0])


def _nearest_float4(text: str, value: float) -> float:
    """The float4 nearest to the text, of which `value` is the nearest float8.

    Rounding twice goes wrong only if the float8 lies half way between two float4; below their normal
    range that is not told by the bits.
    """
    half_way = struct.unpack("<Q", struct.pack("<d", value))[0] & 0x1FFFFFFF == 0x10000000
    if half_way or abs(value) < 1.2e-38:
        return pc.cast(pa.array([text]), pa.float32()).to_pylist()[0]
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def parse_floats(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    name, arrow = type_.name, type_.arrow
    if len(texts) <= SMALL:
        return parse_each(texts, lambda text: parse_float(name, text), arrow)

    def convert(text: str) -> float:
        return parse_float(name, text)

    try:
        values = pc.cast(texts, arrow)
    except pa.ArrowInvalid:
        plain = matches(texts, r"^-?\d+(\.\d*)?$")
        values = parse_mixed(texts, plain, lambda rows: pc.cast(rows, arrow), convert)
    numbers = fixed_values(values, arrow.to_pandas_dtype())
    suspect = ((numbers == 0) | ~np.isfinite(numbers)) & valid_mask(values)
    return patch_rows(texts, np.flatnonzero(suspect), values, convert)


def shortest_float(value: float) -> str:
    """PostgreSQL's text of one float8."""
    if abs(value) < 1e15:
        text = repr(value)
        return text[:-2] if text.endswith(".0") else text
    return _layout(repr(value), value, 15)


def _layout(text: str, value: float, limit: int, bits: int = 64) -> str:
    """The shortest digits, given in any layout, in PostgreSQL's layout."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0" if text[0] == "-" else "0"
    if (1 << (53 if bits == 64 else 24)) <= abs(value) < 1e42 and _may_be_half_way(text, value, bits):
        text = _open_interval(text, value, bits)
    sign, digits, exponent = _digits(text)
    if -4 <= exponent < limit:
        return sign + _plain(digits, exponent)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _digits(text: str) -> tuple[str, str, int]:
    """Sign, significant digits, and the decimal exponent of the first of them."""
    sign = "-" if text[0] == "-" else ""
    mantissa, _, power = text[len(sign) :].partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    exponent = int(power or 0) + len(whole) - 1 - (len(digits) - len(significant))
    return sign, significant.rstrip("0"), exponent


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return digits[: exponent + 1] + "." + digits[exponent + 1 :]


def _may_be_half_way(text: str, value: float, bits: int) -> bool:
    """Whether a decimal of an integral float lies half way to one of its neighbours."""
    _, digits, exponent = _digits(text)
    distance = abs(int(digits) * 10 ** (exponent + 1 - len(digits)) - int(abs(value)))
    step = 1 << (math.frexp(value)[1] - (53 if bits == 64 else 24))
    # Below a power of two the neighbour is only half a step away.
    return distance * 2 == step or distance * 4 == step


def _open_interval(text: str, value: float, bits: int) -> str:
    """The shortest text strictly nearer to `value` than to its neighbours.

    Shortest-digits algorithms may return a decimal exactly half way to the neighbour when the
    mantissa is even, because reading rounds half to even; PostgreSQL does not rely on that.
    Only integers beyond the mantissa, and below 2^53 · 10^25, can be so close to a decimal that short.
    """
    kind = np.float64 if bits == 64 else np.float32
    number = kind(value)
    exact = Fraction(float(number))
    with np.errstate(over="ignore"):
        below, above = float(np.nextafter(number, kind(0))), float(np.nextafter(number, number * 2))
    near, far = sorted(((exact + Fraction(below)) / 2, (exact + Fraction(above)) / 2))
    count = len(_digits(text)[1])
    while not near < Fraction(text) < far:
        text = f"{float(number):.{count - 1}e}"
        count += 1
    return text


def format_floats(type_: Type, array: pa.Array, settings: TextSettings | None) -> pa.Array:
    """Floats as PostgreSQL writes them: the shortest text that reads back, or fewer digits if so set."""
    wide = type_.name == "float8"
    if settings is not None and settings.extra_float_digits <= 0:
        precision = max((15 if wide else 6) + settings.extra_float_digits, 1)
        return pa.array(convert_each(array.to_pylist(), lambda v: _rounded(v, precision)), pa.string())
    if wide and len(array) <= SMALL:
        return pa.array([None if v is None else shortest_float(v) for v in array.to_pylist()], pa.string())
    if len(array) <= SMALL:
        shown = [None if v is None else _layout(str(np.float32(v)), v, 6, 32) for v in array.to_pylist()]
        return pa.array(shown, pa.string())
    texts = pc.cast(array, pa.string())
    values = np.abs(fixed_values(array, array.type.to_pandas_dtype()))
    with np.errstate(invalid="ignore"):
        # Arrow's own exponents begin at 1e10.
        plain = (values >= 1e-4) & (values < (1e10 if wide else 1e6)) | (values == 0)
    rows = np.flatnonzero(~plain & valid_mask(array))
    if not len(rows):
        return texts
    odd = array.take(pa.array(rows)).to_pylist()
    if wide:
        patch = [shortest_float(value) for value in odd]
    else:
        shown = texts.take(pa.array(rows)).to_pylist()
        patch = [_layout(text, value, 6, 32) for text, value in zip(shown, odd, strict=True)]
    mask = np.zeros(len(array), dtype=bool)
    mask[rows] = True
    return pc.replace_with_mask(texts, pa.array(mask), pa.array(patch, pa.string()))


def _rounded(value: float, precision: int) -> str:
    """The text for extra_float_digits of 0 or less: C's %.*g."""
    if value != value or value in (float("inf"), float("-inf")):
        return _layout("", value, 15)
    return f"{value:.{precision}g}"


_OWN_TEXT = r"^(?:(?:0|[1-9]\d*)(?:\.\d+)?|-(?:[1-9]\d*(?:\.\d+)?|0\.\d*[1-9]\d*))$"
"""Numbers written as numeric_out writes them: no plus, no leading zeros, no exponent, no negative zero."""
_OWN_TEXT_BYTES_MAX = 1000


def parse_numerics(type_: Type, texts: pa.Array, settings: TextSettings) -> pa.Array:
    """Numbers of a numeric type, rounded to its declared scale. Raises 22P02 and 22003."""
    arrow = type_.arrow
    if len(texts) > SMALL and type_.scale is None and type_.typmod < 0:
        own = matches(texts, _OWN_TEXT) & (
            fixed_values(pc.binary_length(texts), np.int32) < _OWN_TEXT_BYTES_MAX
        )
        return parse_mixed(texts, own, lambda rows: rows, lambda text: parse_numeric(type_, text))
    if len(texts) <= SMALL or type_.scale is None:
        return parse_each(texts, lambda text: parse_numeric(type_, text), arrow)
    scale = type_.scale
    digits = 37 - scale
    if type_.typmod >= 0:
        precision, _ = numeric_modifier(type_.typmod)
        digits = precision - scale
    if digits < 1:
        return parse_each(texts, lambda text: parse_numeric(type_, text), arrow)
    fraction = rf"(\.\d{{0,{scale}}})?" if scale else r"\.?"
    plain = matches(texts, rf"^-?\d{{1,{digits}}}{fraction}$")
    return parse_mixed(
        texts, plain, lambda rows: pc.cast(rows, arrow), lambda text: parse_numeric(type_, text)
    )


def format_numerics(type_: Type, array: pa.Array, settings: TextSettings) -> pa.Array:
    if type_.scale is None:
        return array
    if len(array) <= SMALL:
        return pa.array([None if v is None else f"{v:f}" for v in array.to_pylist()], pa.string())
    texts = pc.cast(array, pa.string())
    if type_.scale <= 6:
        return texts
    # Arrow writes values below 1e-6 with an exponent.
    odd = np.flatnonzero(to_mask(pc.match_substring(texts, "E").fill_null(False)))
    return patch_rows(array, odd, texts, lambda value: f"{value:f}")
