"""Type names: `numeric(10, 2)[]`, `timestamp(3) with time zone`, `interval day to second`, …"""

from __future__ import annotations

from ..storage.errors import InvalidParameterValue
from .cursor import Cursor
from .keywords import NOT_FUNCTION
from .typename import TypeName

_PLAIN = {
    "int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "real": "float4",
    "boolean": "bool",
}  # fmt: skip
_NUMERIC = frozenset({"numeric", "decimal", "dec"})
_CHARACTER = frozenset({"character", "char", "varchar", "national", "nchar"})
KEYWORDS = (
    frozenset(_PLAIN) | _NUMERIC | _CHARACTER | {"float", "bit", "time", "timestamp", "interval", "setof"}
)
"""Types that are words of the grammar; all other types are plain names."""

FIELDS = ("year", "month", "day", "hour", "minute", "second")
_LAST = {
    "year": ("month",), "day": ("hour", "minute", "second"), "hour": ("minute", "second"),
    "minute": ("second",),
}  # fmt: skip


def parse_type(c: Cursor) -> TypeName:
    """A type with its array brackets."""
    position = c.position
    c.accept("setof")
    name, modifiers, schema, fields = parse_base(c)
    return TypeName(name, modifiers, _dimensions(c), schema, fields, position)


def _dimensions(c: Cursor) -> int:
    if c.accept("array"):
        if c.accept("["):
            c.integer()
            c.expect("]")
        return 1
    count = 0
    while c.word == "[":
        c.i += 1
        if not c.accept("]"):
            c.integer()
            c.expect("]")
        count += 1
    return count


def parse_base(c: Cursor) -> tuple[str, tuple[int, ...], str, str]:
    """(name, modifiers, schema, interval fields) of a type without brackets."""
    word = c.word
    if word not in KEYWORDS and not (word == "double" and c.ahead() == "precision"):
        return _generic(c)
    c.i += 1
    if word in _PLAIN:
        return _PLAIN[word], (), "", ""
    if word in _NUMERIC:
        return "numeric", _modifiers(c), "", ""
    if word in _CHARACTER:
        return _character(c, word)
    match word:
        case "double":
            c.expect("precision")
            return "float8", (), "", ""
        case "float":
            return _float(c), (), "", ""
        case "bit":
            name = "varbit" if c.accept("varying") else "bit"
            return name, _modifiers(c), "", ""
        case "time" | "timestamp":
            return _time(c, word)
        case "interval":
            return _interval(c)
        case _:
            return c.fail()


def _generic(c: Cursor) -> tuple[str, tuple[int, ...], str, str]:
    parts = [c.name(NOT_FUNCTION)]
    while c.accept("."):
        parts.append(c.label())
    return parts[-1], _modifiers(c), ".".join(parts[:-1]), ""


def _modifiers(c: Cursor) -> tuple[int, ...]:
    if not c.accept("("):
        return ()
    found = [c.signed_integer()]
    while c.accept(","):
        found.append(c.signed_integer())
    c.expect(")")
    return tuple(found)


def _character(c: Cursor, word: str) -> tuple[str, tuple[int, ...], str, str]:
    if word == "national":
        c.expect_any("character", "char")
    varying = word == "varchar" or c.accept("varying")
    modifiers = ()
    if c.accept("("):
        modifiers = (c.integer(),)
        c.expect(")")
    return "varchar" if varying else "character", modifiers, "", ""


def _float(c: Cursor) -> str:
    if not c.accept("("):
        return "float8"
    position, bits = c.position, c.integer()
    c.expect(")")
    if bits < 1:
        raise InvalidParameterValue("precision for type float must be at least 1 bit", position=position)
    if bits > 53:
        raise InvalidParameterValue("precision for type float must be less than 54 bits", position=position)
    return "float4" if bits <= 24 else "float8"


def _time(c: Cursor, word: str) -> tuple[str, tuple[int, ...], str, str]:
    modifiers = ()
    if c.accept("("):
        modifiers = (c.integer(),)
        c.expect(")")
    zone = c.accept("with", "time", "zone")
    if not zone:
        c.accept("without", "time", "zone")
    return word + ("tz" if zone else ""), modifiers, "", ""


def _interval(c: Cursor) -> tuple[str, tuple[int, ...], str, str]:
    if c.accept("("):
        precision = c.integer()
        c.expect(")")
        return "interval", (precision,), "", ""
    fields, modifiers = interval_fields(c)
    return "interval", modifiers, "", fields


def interval_fields(c: Cursor) -> tuple[str, tuple[int, ...]]:
    """`day to second(3)`: the fields, "" when there are none, and the precision of seconds."""
    first = _field(c)
    if not first:
        return "", ()
    last = first
    if first in _LAST and c.accept("to"):
        last = _field(c) or c.fail()
        if last not in _LAST[first]:
            c.fail(-1)
    modifiers: tuple[int, ...] = ()
    if last == "second" and c.accept("("):
        modifiers = (c.integer(),)
        c.expect(")")
    return first if last == first else f"{first} to {last}", modifiers


def _field(c: Cursor) -> str:
    return c.accept_any(*FIELDS)
