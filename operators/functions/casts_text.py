"""Conversions of any type to and from text, through its text form, and among the string types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ...storage.arrow_compute import pc
from ...storage.errors import NumericOutOfRange
from ...storage.textform import ObjectNames, TextSettings, format_text, parse_text
from ...storage.textform_strings import fit_length
from ...storage.types import Type
from .casts import cast
from .vector import each_distinct

if TYPE_CHECKING:
    from ..node import EpochContext


def text_settings(context: EpochContext) -> TextSettings:
    """The settings text forms depend on, as the epoch or the session has them."""
    session = context.session
    names: ObjectNames | None = context.surroundings
    if not session:
        return TextSettings(context.timezone, names=names)
    return TextSettings(
        context.timezone,
        session.get("DateStyle", "ISO, MDY"),
        session.get("IntervalStyle", "postgres"),
        session.get("bytea_output", "hex"),
        int(session.get("extra_float_digits", "1")),
        names,
    )


def text_values(settings: TextSettings) -> dict[str, str]:
    """Those settings, the time zone aside, as `EpochContext.session` has them."""
    return {
        "DateStyle": settings.date_style,
        "IntervalStyle": settings.interval_style,
        "bytea_output": settings.bytea_output,
        "extra_float_digits": str(settings.extra_float_digits),
    }


def to_string(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The text form of each value, cut or padded to the target's length."""
    if source.name == "bool":
        text = pc.if_else(array, "true", "false")
    else:
        text = format_text(source, array, text_settings(context))
    return text if target.name == "text" else fit_length(target, text, explicit)


def from_string(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    """Each text read as the input function of the target type reads it."""
    if explicit and target.name in ("varchar", "bpchar"):
        return fit_length(target, array, explicit)
    return parse_text(target, array, text_settings(context))


def string_to_string(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    """Among string types; character(n) loses its trailing blanks on the way to the others."""
    if source.name == "bpchar" and target.name != "bpchar":
        array = pc.utf8_rtrim(array, " ")
    return array if target.name == "text" else fit_length(target, array, explicit)


def to_char(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """To the one-byte type "char": of a number the character of that code, of a name the first."""
    if source.name != "int4":
        return fit_length(target, array, explicit)
    return each_distinct(_character, array, pa.string())


def _character(code: int) -> str:
    if not -128 <= code <= 127:
        raise NumericOutOfRange('"char" out of range')
    return chr(code) if code > 0 else f"\\{code & 255:03o}" if code else ""


@cast("char", "int4", "explicit")
def char_code(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The code of the one byte, negative above 127."""
    return each_distinct(_code, array, pa.int32())


def _code(text: str) -> int:
    if len(text) == 4 and text[0] == "\\":
        return (int(text[1:], 8) ^ 128) - 128
    return ord(text[0]) if text else 0


def _register() -> None:
    implicit = [
        ("bpchar", "text"), ("bpchar", "varchar"), ("char", "text"), ("name", "text"), ("text", "bpchar"),
        ("text", "varchar"), ("varchar", "text"), ("varchar", "bpchar"), ("text", "name"), ("bpchar", "name"),
        ("varchar", "name"), ("varchar", "varchar"), ("bpchar", "bpchar"), ("text", "text"),
    ]  # fmt: skip
    for source, target in implicit:
        cast(source, target, "implicit")(string_to_string)
    for source, target in (
        ("name", "bpchar"), ("name", "varchar"), ("char", "bpchar"), ("char", "varchar"), ("text", "char"),
        ("bpchar", "char"), ("varchar", "char"),
    ):  # fmt: skip
        cast(source, target, "assignment")(string_to_string)
    for source in ("name", "int4"):
        cast(source, "char", "explicit")(to_char)
    for target in ("text", "varchar", "bpchar"):
        cast("bool", target, "assignment")(to_string)
    cast("text", "regclass", "implicit")(from_string)
    cast("varchar", "regclass", "implicit")(from_string)


_register()
