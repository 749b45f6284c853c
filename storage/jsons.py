"""JSON values: jsonb's normal form, access, order, containment, building.

A jsonb column holds PostgreSQL's own text of each value: keys by length and then bytes, the last of equal
keys kept, `{"a": 1, "b": [2, 3]}`, numbers as numeric prints them. A json column holds what was written.
`load` gives Python values (numbers as int or Decimal, so that 1.10 keeps its zero) and `dump` the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from . import decimals_value
from .errors import (
    InvalidTextRepresentation,
    SqlError,
    StatementTooComplex,
    UntranslatableCharacter,
)

Json = Any
"""None, bool, int, Decimal, str, list or dict."""

quote = encode_basestring
"""A JSON string of a text, in its quotes; characters beyond ASCII stay."""


class _Constant(Exception):
    """NaN or Infinity, which Python reads and JSON does not know."""


def _constant(word: str) -> Json:
    raise _Constant(word)


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) < 4000 else decimals_value.parse(text)


_DECODER = json.JSONDecoder(parse_float=decimals_value.parse, parse_int=_integer, parse_constant=_constant)
_SYNTAX = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_constant)
_SPACE = " \t\n\r"


def load(text: str) -> Json:
    """The value of a JSON text. Raises 22P02, 22P05 for \\u0000, 22003 for absurd numbers."""
    value = _decode(text, _DECODER)
    if "\\u" in text:
        _check_escapes(text, value)
    return value


def _decode(text: str, decoder: json.JSONDecoder) -> Json:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _invalid(_detail(text, error)) from None
    except _Constant as error:
        raise _invalid(f'Token "{error}" is invalid.') from None
    except RecursionError:
        raise StatementTooComplex("stack depth limit exceeded") from None


def _invalid(detail: str) -> SqlError:
    return InvalidTextRepresentation("invalid input syntax for type json", detail=detail)


def _detail(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].lstrip(_SPACE)
    if not rest:
        return "The input string ended unexpectedly."
    end = next((i for i, c in enumerate(rest) if not (c.isalnum() or c == "_")), len(rest))
    return f'Token "{rest[: max(end, 1)]}" is invalid.'


def _check_escapes(text: str, value: Json) -> None:
    plain = dump(value)
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise _invalid("Unicode low surrogate must follow a high surrogate.") from None
    if "\\u0000" in plain:
        raise UntranslatableCharacter(
            "unsupported Unicode escape sequence", detail="\\u0000 cannot be converted to text."
        )


def check_json(text: str) -> str:
    """The same text, once known to be valid JSON. Raises 22P02."""
    _decode(text, _SYNTAX)
    return text


def dump(value: Json) -> str:
    """jsonb's text of a value."""
    if value is None:
        return "null"
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is dict:
        items = sorted(value.items(), key=_key_order) if len(value) > 1 else value.items()
        return "{" + ", ".join([f"{encode_basestring(key)}: {dump(item)}" for key, item in items]) + "}"
    if kind is list:
        return "[" + ", ".join([dump(item) for item in value]) + "]"
    assert kind is Decimal, kind
    return decimals_value.to_text(value)


def _key_order(item: tuple[str, Json]) -> tuple[int, bytes]:
    raw = item[0].encode(errors="surrogatepass")
    return len(raw), raw


@lru_cache(maxsize=4096)
def _normalised(text: str) -> str:
    return dump(load(text))


def normalise(text: str) -> str:
    """jsonb's text of a JSON text. Raises as `load`."""
    return _normalised(text) if len(text) < 200 else dump(load(text))


# Access.


def type_of(text: str) -> str:
    """object, array, string, number, boolean or null."""
    first = text.lstrip(_SPACE)[:1]
    names = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
    return names.get(first, "number")


def field(value: Json, key: str) -> tuple[bool, Json]:
    """(found, value) of an object's key."""
    return (True, value[key]) if isinstance(value, dict) and key in value else (False, None)


def element(value: Json, index: int) -> tuple[bool, Json]:
    """(found, value) of an array's element; negative counts from the end."""
    if isinstance(value, list) and -len(value) <= index < len(value):
        return True, value[index]
    return False, None


def path(value: Json, steps: Sequence[str]) -> tuple[bool, Json]:
    """(found, value) at a path of keys and indexes."""
    for step in steps:
        if isinstance(value, dict):
            found, value = field(value, step)
        elif isinstance(value, list) and _is_index(step):
            found, value = element(value, int(step))
        else:
            return False, None
        if not found:
            return False, None
    return True, value


def _is_index(step: str) -> bool:
    digits = step.strip(_SPACE)
    return digits.lstrip("+-").isascii() and digits.lstrip("+-").isdigit() and len(digits) < 11


def _shown(found: tuple[bool, Json]) -> str | None:
    return dump(found[1]) if found[0] else None


def as_text(value: Json) -> str | None:
    """What ->> shows: strings bare, JSON null as NULL."""
    return None if value is None else value if isinstance(value, str) else dump(value)


def get_field(text: str, key: str) -> str | None:
    """jsonb -> key."""
    return _shown(field(load(text), key))


def get_field_text(text: str, key: str) -> str | None:
    """jsonb ->> key."""
    return as_text(field(load(text), key)[1])


def get_element(text: str, index: int) -> str | None:
    """jsonb -> index."""
    return _shown(element(load(text), index))


def get_element_text(text: str, index: int) -> str | None:
    """jsonb ->> index."""
    return as_text(element(load(text), index)[1])


def get_path(text: str, steps: Sequence[str]) -> str | None:
    """jsonb #> steps."""
    return _shown(path(load(text), steps))


def get_path_text(text: str, steps: Sequence[str]) -> str | None:
    """jsonb #>> steps."""
    return as_text(path(load(text), steps)[1])


# The same on json, which keeps the text of the part as it was written.


def raw_items(text: str) -> list[tuple[str | None, str]]:
    """(key, raw text) of each member of a json object, or (None, raw text) of each element of an array.

    Empty for scalars. The text must be valid.
    """
    start = _skip(text, 0)
    opening = text[start : start + 1]
    if opening not in ("{", "["):
        return []
    items: list[tuple[str | None, str]] = []
    position = _skip(text, start + 1)
    while text[position] not in "}]":
        key = None
        if opening == "{":
            key, position = _SYNTAX.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        _, end = _SYNTAX.raw_decode(text, position)
        items.append((key, text[position:end]))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return items


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def raw_path(text: str, steps: Sequence[str | int]) -> str | None:
    """The raw text at a path in a json value: str steps are keys (or indexes of arrays), int indexes."""
    for step in steps:
        items, kind = raw_items(text), type_of(text)
        if kind == "object" and isinstance(step, str):
            found = [raw for key, raw in items if key == step]
            if not found:
                return None
            text = found[-1]
        elif kind == "array" and (isinstance(step, int) or _is_index(step)):
            index = int(step)
            if not -len(items) <= index < len(items):
                return None
            text = items[index][1]
        else:
            return None
    return text.strip(_SPACE)


def raw_text(raw: str | None) -> str | None:
    """What ->> shows of a raw json value."""
    if raw is None or raw == "null":
        return None
    return load(raw) if raw.startswith('"') else raw


# Order, equality, containment.

_EMPTY_ARRAY = (-1,)


def compare_key(text: str) -> tuple[Any, ...]:
    """A tuple that sorts as PostgreSQL sorts jsonb.

    Null < string < number < boolean < array < object, longer containers later; an empty array at the top
    comes before everything, as it does there.
    """
    value = load(text)
    return _EMPTY_ARRAY if value == [] else _order(value)


def _order(value: Json) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, str):
        return 1, value.encode()
    if isinstance(value, bool):
        return 3, value
    if isinstance(value, (int, Decimal)):
        return 2, value
    if isinstance(value, list):
        return 4, len(value), [_order(item) for item in value]
    pairs = sorted(value.items(), key=_key_order)
    return 5, len(pairs), [part for key, item in pairs for part in ((1, key.encode()), _order(item))]


def contains(whole: Json, part: Json, top: bool = True) -> bool:
    """jsonb whole @> part."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and contains(whole[key], item, False) for key, item in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return all(any(contains(own, item, False) for own in whole) for item in part)
    if top and isinstance(whole, list) and not isinstance(part, dict):
        return any(_equal(own, part) for own in whole)
    return _equal(whole, part)


def _equal(a: Json, b: Json) -> bool:
    return _order(a) == _order(b)


def has_key(value: Json, key: str) -> bool:
    """jsonb ? key: a key of an object, a string element of an array, or that string itself."""
    if isinstance(value, dict):
        return key in value
    if isinstance(value, list):
        return any(isinstance(item, str) and item == key for item in value)
    return isinstance(value, str) and value == key


# Building.


def concatenate(a: Json, b: Json) -> Json:
    """jsonb a || b: objects merge, anything else becomes the elements of one array."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **b}
    return (a if isinstance(a, list) else [a]) + (b if isinstance(b, list) else [b])


def build_array(texts: Iterable[str]) -> str:
    """A json or jsonb array of JSON texts (for jsonb: normalised ones)."""
    return "[" + ", ".join(texts) + "]"


def build_jsonb_object(pairs: Iterable[tuple[str, str]]) -> str:
    """jsonb's object of keys and normalised JSON texts."""
    items = sorted(dict(pairs).items(), key=_key_order)
    return "{" + ", ".join([f"{encode_basestring(key)}: {text}" for key, text in items]) + "}"


def build_json_object(pairs: Iterable[tuple[str, str]]) -> str:
    """What json_build_object gives: members in order, duplicates kept, spaces around the colon."""
    return "{" + ", ".join([f"{encode_basestring(key)} : {text}" for key, text in pairs]) + "}"


def pretty(value: Json, depth: int = 0) -> str:
    """jsonb_pretty: four spaces a level."""
    inner, outer = "    " * (depth + 1), "    " * depth
    if isinstance(value, dict):
        items = sorted(value.items(), key=_key_order)
        lines = [f"{inner}{encode_basestring(key)}: {pretty(item, depth + 1)}" for key, item in items]
    elif isinstance(value, list):
        lines = [inner + pretty(item, depth + 1) for item in value]
    else:
        return dump(value)
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return opening + "\n" + ",\n".join(lines) + ("\n" if lines else "") + outer + closing
