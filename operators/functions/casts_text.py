"""Conversions of any type to and from text, through its text form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ...storage.textform import TextSettings, format_text, parse_text
from ...storage.types import Type

if TYPE_CHECKING:
    from ..node import EpochContext


def text_settings(context: EpochContext) -> TextSettings:
    """The settings text forms depend on, as the epoch or the session has them."""
    session = context.session
    if not session:
        return TextSettings(context.timezone)
    return TextSettings(
        context.timezone,
        session.get("DateStyle", "ISO, MDY"),
        session.get("IntervalStyle", "postgres"),
        session.get("bytea_output", "hex"),
        int(session.get("extra_float_digits", "1")),
    )


def to_string(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The text form of each value, shaped to the target's length."""
    text = format_text(source, array, text_settings(context))
    return text if target.name == "text" else _shape(text, target, explicit, context)


def from_string(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    """Each text read as the input function of the target type reads it."""
    return parse_text(target, array, text_settings(context))


def _shape(text: pa.Array, target: Type, explicit: bool, context: EpochContext) -> pa.Array:
    from ...storage.types import TEXT
    from .casts import cast_array

    return cast_array(text, TEXT, target, context, explicit)
