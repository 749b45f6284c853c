"""json and jsonb: access, containment, change, building, casts.

jsonb columns hold PostgreSQL's normalised text; a column is parsed once for several functions of it
that follow one another (`parsed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import decimals_value as exact
from ...storage import jsons
from ...storage import types as t
from ...storage.errors import InvalidParameterValue
from ...storage.types import Type
from .casts import cast
from .casts_numbers import to_numeric
from .registry import Kernel, scalar
from .vector import call_each, each, each_distinct, native

if TYPE_CHECKING:
    from ..node import EpochContext

_S = pa.string()
_TEXTS = t.array_of(t.TEXT)
PARSED_ROWS_MAX = 65_536
"""Rows of the one column whose values are kept parsed."""

_last: tuple[pa.Array, list[Any]] | None = None
MISSING = object()
"""What stands for an SQL NULL among parsed values, which have None for JSON's null."""


def parsed(array: pa.Array) -> list[Any]:
    """The parsed values of a jsonb column, MISSING for NULL. Not to be changed."""
    global _last
    found = _last
    if found is not None and found[0] is array:
        return found[1]
    items = [MISSING if text is None else jsons.load(text) for text in array.to_pylist()]
    if len(array) <= PARSED_ROWS_MAX:
        _last = (array, items)
    return items


def on_parsed(function: Callable[..., Any], type_: pa.DataType) -> Kernel:
    """A strict kernel over the parsed first argument and the plain others."""

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        first = args[0]
        items = [jsons.load(first.as_py()) if first.is_valid else MISSING] * length if isinstance(
            first, pa.Scalar) else parsed(first)  # fmt: skip
        others = [[a.as_py()] * length if isinstance(a, pa.Scalar) else a.to_pylist() for a in args[1:]]
        if not others:
            rows = ((None if v is MISSING else (v,)) for v in items)
        else:
            rows = (
                None if row[0] is MISSING or None in row[1:] else row
                for row in zip(items, *others, strict=True)
            )
        return pa.array(
            call_each(lambda row: None if row is None else function(*row), ((r,) for r in rows)), type_
        )

    kernel.__doc__ = function.__doc__
    return kernel


def _shown(found: tuple[bool, Any]) -> str | None:
    return jsons.dump(found[1]) if found[0] else None


def _text(found: tuple[bool, Any]) -> str | None:
    return jsons.as_text(found[1])


def _get(value: Any, key: str) -> str | None:
    """The value of an object's key."""
    return _shown(jsons.field(value, key))


def _get_text(value: Any, key: str) -> str | None:
    """The value of an object's key as text."""
    return _text(jsons.field(value, key))


def _element(value: Any, index: int) -> tuple[bool, Any]:
    """As PostgreSQL, which stores a scalar as an array of one."""
    if isinstance(value, (dict, list)):
        return jsons.element(value, index)
    return (True, value) if index in (0, -1) else (False, None)


def _at(value: Any, index: int) -> str | None:
    """The element of an array, from 0, from the end when negative."""
    return _shown(_element(value, index))


def _at_text(value: Any, index: int) -> str | None:
    """The element of an array as text."""
    return _text(_element(value, index))


def _path(value: Any, steps: Sequence[str]) -> str | None:
    """The value at a path."""
    return None if None in steps else _shown(jsons.path(value, steps))


def _path_text(value: Any, steps: Sequence[str]) -> str | None:
    """The value at a path as text."""
    return None if None in steps else _text(jsons.path(value, steps))


def _extract(value: Any, *steps: str) -> str | None:
    """The value at a path."""
    return _path(value, steps)


def _extract_text(value: Any, *steps: str) -> str | None:
    """The value at a path as text."""
    return _path_text(value, steps)


_B = t.JSONB
for _name, _arg, _function, _result in (
    ("->", t.TEXT, _get, _B), ("->>", t.TEXT, _get_text, t.TEXT), ("->", t.INT4, _at, _B),
    ("->>", t.INT4, _at_text, t.TEXT), ("#>", _TEXTS, _path, _B), ("#>>", _TEXTS, _path_text, t.TEXT),
    ("[]", t.TEXT, _get, _B), ("[]", t.INT4, _at, _B),
):  # fmt: skip
    scalar(_name, (_B, _arg), _result)(on_parsed(_function, _S))
scalar("jsonb_extract_path", (_B, t.TEXT), _B, variadic=True)(on_parsed(_extract, _S))
scalar("jsonb_extract_path_text", (_B, t.TEXT), t.TEXT, variadic=True)(on_parsed(_extract_text, _S))


# json keeps what was written.


def _raw_field(text: str, key: str) -> str | None:
    """The value of an object's key, as written."""
    return jsons.raw_path(text, (key,)) if jsons.type_of(text) == "object" else None


def _raw_field_text(text: str, key: str) -> str | None:
    """The value of an object's key as text."""
    return jsons.raw_text(_raw_field(text, key))


def _raw(text: str, *steps: Any) -> str | None:
    """The value at a path, as written."""
    return jsons.raw_path(text, steps)


def _raw_text(text: str, *steps: Any) -> str | None:
    """The value at a path as text."""
    return jsons.raw_text(jsons.raw_path(text, steps))


def _raw_array(text: str, steps: Sequence[str]) -> str | None:
    """The value at a path, as written."""
    return None if None in steps else jsons.raw_path(text, steps)


def _raw_array_text(text: str, steps: Sequence[str]) -> str | None:
    """The value at a path as text."""
    return None if None in steps else jsons.raw_text(jsons.raw_path(text, steps))


_J = t.JSON
scalar("->", (_J, t.TEXT), _J)(each(_raw_field, _S))
scalar("->>", (_J, t.TEXT), t.TEXT)(each(_raw_field_text, _S))
scalar("->", (_J, t.INT4), _J)(each(_raw, _S))
scalar("->>", (_J, t.INT4), t.TEXT)(each(_raw_text, _S))
scalar("#>", (_J, _TEXTS), _J)(each(_raw_array, _S))
scalar("#>>", (_J, _TEXTS), t.TEXT)(each(_raw_array_text, _S))
scalar("json_extract_path", (_J, t.TEXT), _J, variadic=True)(each(_raw, _S))
scalar("json_extract_path_text", (_J, t.TEXT), t.TEXT, variadic=True)(each(_raw_text, _S))


# Containment.


def _contains(value: Any, part: str) -> bool:
    """Whether the first value contains the second."""
    return jsons.contains(value, jsons.load(part))


def _contained(value: Any, whole: str) -> bool:
    """Whether the second value contains the first."""
    return jsons.contains(jsons.load(whole), value)


def _any_key(value: Any, keys: Sequence[str | None]) -> bool:
    """Whether any of the keys is there."""
    return any(jsons.has_key(value, key) for key in keys if key is not None)


def _all_keys(value: Any, keys: Sequence[str | None]) -> bool:
    """Whether all of the keys are there."""
    return all(jsons.has_key(value, key) for key in keys if key is not None)


_BOOL = pa.bool_()
scalar("@>", (_B, _B), t.BOOL)(on_parsed(_contains, _BOOL))
scalar("<@", (_B, _B), t.BOOL)(on_parsed(_contained, _BOOL))
scalar("?", (_B, t.TEXT), t.BOOL)(on_parsed(jsons.has_key, _BOOL))
scalar("?|", (_B, _TEXTS), t.BOOL)(on_parsed(_any_key, _BOOL))
scalar("?&", (_B, _TEXTS), t.BOOL)(on_parsed(_all_keys, _BOOL))


# Change.


def _join(value: Any, other: str) -> str:
    """Objects merged, or arrays joined."""
    return jsons.dump(jsons.concatenate(value, jsons.load(other)))


def _without(value: Any, *keys: str) -> str:
    """Without a key of an object or the equal strings of an array."""
    return _without_all(value, keys)


def _without_all(value: Any, keys: Sequence[str | None]) -> str:
    """Without the keys of an object or the equal strings of an array."""
    if isinstance(value, dict):
        return jsons.dump({k: v for k, v in value.items() if k not in keys})
    if isinstance(value, list):
        return jsons.dump([v for v in value if not (isinstance(v, str) and v in keys)])
    raise InvalidParameterValue("cannot delete from scalar")


def _without_element(value: Any, index: int) -> str:
    """Without the element of an array at a position."""
    if isinstance(value, dict):
        raise InvalidParameterValue("cannot delete from object using integer index")
    if not isinstance(value, list):
        raise InvalidParameterValue("cannot delete from scalar")
    at = index if index >= 0 else len(value) + index
    return jsons.dump([v for i, v in enumerate(value) if i != at])


scalar("||", (_B, _B), _B)(on_parsed(_join, _S))
scalar("-", (_B, t.TEXT), _B)(on_parsed(_without, _S))
scalar("-", (_B, _TEXTS), _B)(on_parsed(_without_all, _S))
scalar("-", (_B, t.INT4), _B)(on_parsed(_without_element, _S))


# Facts.


def _typeof(text: str) -> str:
    """object, array, string, number, boolean or null."""
    return jsons.type_of(text)


def _array_length(text: str) -> int:
    """Number of elements of an array."""
    kind = jsons.type_of(text)
    if kind == "object":
        raise InvalidParameterValue("cannot get array length of a non-array")
    if kind != "array":
        raise InvalidParameterValue("cannot get array length of a scalar")
    return len(jsons.load(text))


def _pretty(text: str) -> str:
    """Indented."""
    return jsons.pretty(jsons.load(text))


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _strip(v) for k, v in value.items() if v is not None}
    return [_strip(v) for v in value] if isinstance(value, list) else value


def _strip_nulls(text: str) -> str:
    """Without the object members that are null."""
    return jsons.dump(_strip(jsons.load(text)))


for _type, _prefix in ((_B, "jsonb"), (_J, "json")):
    scalar(f"{_prefix}_typeof", (_type,), t.TEXT)(each(_typeof, _S))
    scalar(f"{_prefix}_array_length", (_type,), t.INT4)(each(_array_length, pa.int32()))
scalar("jsonb_strip_nulls", (_B,), _B)(each(_strip_nulls, _S))
scalar("jsonb_pretty", (_B,), t.TEXT)(each(_pretty, _S))


# Casts.


def _normalise(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    return each_distinct(jsons.normalise, array, _S)


def _same(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return array


def _scalar_of(text: str, wanted: str, kind: str) -> Any:
    value = jsons.load(text)
    found = jsons.type_of(text)
    if found != kind:
        described = "numeric" if found == "number" else found
        raise InvalidParameterValue(f"cannot cast jsonb {described} to type {wanted}")
    return value


def _to_bool(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return each_distinct(lambda v: _scalar_of(v, "boolean", "boolean"), array, _BOOL)


def _to_number(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    from .casts import cast_array

    wanted = target.info.sql_name

    def one(text: str) -> str:
        value = _scalar_of(text, wanted, "number")
        return exact.to_text(value) if isinstance(value, Decimal) else str(value)

    numbers = each_distinct(one, array, _S)
    if target.name == "numeric":
        return to_numeric(numbers, t.NUMERIC, target, context, explicit)
    return cast_array(numbers, t.NUMERIC, target, context, explicit)


cast("json", "jsonb", "assignment")(_normalise)
cast("jsonb", "json", "assignment")(_same)
cast("jsonb", "bool", "explicit")(_to_bool)
for _number in ("int2", "int4", "int8", "float4", "float8", "numeric"):
    cast("jsonb", _number, "explicit")(_to_number)
