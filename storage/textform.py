"""Text form of values, as PostgreSQL reads and writes them.

`parse_text` and `format_text` are the path of every SELECT, INSERT of literals and COPY. The families
are in `textform_*.py`, `intervals.py` and `jsons.py`; `_FAMILIES` below names, for each type, its two
functions. Both keep NULLs. Types are dispatched on by `type.name`; arrays of any of them work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from . import textform_arrays as arrays
from . import textform_bytes as byte_strings
from . import textform_numbers as numbers
from . import textform_strings as strings
from . import textform_temporal as temporal
from .types import INFO, NAMED_OIDS, Type


class ObjectNames(Protocol):
    """Who knows the objects behind the OIDs of regclass and its like (`NAMED_OIDS`)."""

    def object_texts(self, type_name: str, oids: pa.Array) -> pa.Array:
        """The text of each OID: the object's name, or the number of what does not exist."""
        ...

    def object_oids(self, type_name: str, texts: pa.Array) -> pa.Array:
        """The OID each text names. Raises 42P01, 42704 … for what does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The session settings that text forms depend on."""

    timezone: str = "UTC"
    date_style: str = "ISO, MDY"
    interval_style: str = "postgres"
    bytea_output: str = "hex"
    extra_float_digits: int = 1
    names: ObjectNames | None = field(default=None, compare=False)
    """Without it OIDs that are shown by name are shown, and read, as numbers."""


DEFAULT_SETTINGS = TextSettings()

Parse = Callable[[Type, pa.Array, TextSettings], pa.Array]
Format = Callable[[Type, pa.Array, TextSettings], pa.Array]


def parse_text(type_: Type, texts: pa.Array, settings: TextSettings = DEFAULT_SETTINGS) -> pa.Array:
    """Values of `type_` from their text, as the type's input function does, its modifier included.

    `texts` is a string array; the result is of `type_.arrow` and of the same length.
    Raises SqlError in PostgreSQL's words (22P02, 22003, 22007, 22008, 22001 …), the first failing row's,
    with `rows` set to all failing rows.
    """
    if type_.element is not None:
        return arrays.parse_arrays(type_, texts, settings, parse_text)
    if settings.names is not None and type_.name in NAMED_OIDS:
        return settings.names.object_oids(type_.name, texts)
    return _FAMILIES[type_.name][0](type_, texts, settings)


def format_text(type_: Type, array: pa.Array, settings: TextSettings = DEFAULT_SETTINGS) -> pa.Array:
    """The text of each value, as the type's output function gives it: a string array."""
    if type_.element is not None:
        return arrays.format_arrays(type_, array, settings, format_text)
    if settings.names is not None and type_.name in NAMED_OIDS:
        return settings.names.object_texts(type_.name, array)
    return _FAMILIES[type_.name][1](type_, array, settings)


_FAMILIES: dict[str, tuple[Parse, Format]] = {
    "bool": (strings.parse_booleans, strings.format_booleans),
    "int2": (numbers.parse_integers, numbers.format_integers),
    "int4": (numbers.parse_integers, numbers.format_integers),
    "int8": (numbers.parse_integers, numbers.format_integers),
    "float4": (numbers.parse_floats, numbers.format_floats),
    "float8": (numbers.parse_floats, numbers.format_floats),
    "numeric": (numbers.parse_numerics, numbers.format_numerics),
    "bytea": (byte_strings.parse_bytea, byte_strings.format_bytea),
    "uuid": (byte_strings.parse_uuids, byte_strings.format_uuids),
    "date": (temporal.parse_dates, temporal.format_dates),
    "time": (temporal.parse_times, temporal.format_times),
    "timestamp": (temporal.parse_timestamps, temporal.format_timestamps),
    "timestamptz": (temporal.parse_timestamps, temporal.format_timestamps),
    "interval": (temporal.parse_intervals, temporal.format_intervals),
    "json": (strings.parse_json, strings.format_strings),
    "jsonb": (strings.parse_jsonb, strings.format_strings),
}
_STRINGS = ("text", "varchar", "bpchar", "name", "char", "unknown", "record", "void")
_OIDS = ("oid", "xid", *NAMED_OIDS)
_FAMILIES.update(dict.fromkeys(_STRINGS, (strings.parse_strings, strings.format_strings)))
_FAMILIES.update(dict.fromkeys(_OIDS, (numbers.parse_oids, numbers.format_oids)))
assert _FAMILIES.keys() == INFO.keys()
