"""Values of other types as json and jsonb: to_json, the build functions, json from arrays; and changes
inside a value: jsonb_set, jsonb_insert, `#-`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...storage import jsons
from ...storage import types as t
from ...storage.errors import InvalidParameterValue, InvalidTextRepresentation, NullNotAllowed
from ...storage.textform import format_text
from ...storage.types import Type
from .casts_text import text_settings
from .json import on_parsed
from .lists import lists_of
from .registry import Kernel, scalar
from .text_join import output_text
from .vector import each, typed

if TYPE_CHECKING:
    from ..node import EpochContext

_S = pa.string()
Types = tuple[Type, ...]
_NUMBERS = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric"})


def json_texts(array: pa.Array, type_: Type, context: EpochContext, binary: bool = True) -> list[str | None]:
    """The JSON text of each value (None for NULL), in jsonb's normal form or as to_json writes it."""
    if type_.element is not None:
        return _array_texts(array, type_.element, context, binary)
    name = type_.name
    if name == "bool":
        return [None if v is None else "true" if v else "false" for v in array.to_pylist()]
    if name in ("json", "jsonb"):
        texts = array.to_pylist()
        if name == "json" and binary:
            return [None if v is None else jsons.normalise(v) for v in texts]
        return texts
    texts = format_text(type_, array, text_settings(context)).to_pylist()
    if name in _NUMBERS:
        return [None if v is None else _number(v, binary) for v in texts]
    if name in ("timestamp", "timestamptz"):
        return [None if v is None else jsons.quote(_iso(v, name)) for v in texts]
    return [None if v is None else jsons.quote(v) for v in texts]


def key_texts(array: pa.Array, type_: Type, context: EpochContext) -> list[str | None]:
    """Each value as a member's name. Raises InvalidParameterValue for a type that cannot be one."""
    name = type_.name
    if type_.element is not None or name in ("json", "jsonb"):
        words = "key value must be scalar, not array, composite, or json"
        raise InvalidParameterValue(words, rows=np.arange(len(array)))
    if name == "bool":
        return json_texts(array, type_, context)
    texts = output_text(array, type_, context).to_pylist()
    if name in ("timestamp", "timestamptz"):
        return [None if v is None else _iso(v, name) for v in texts]
    return texts


def _number(text: str, binary: bool) -> str:
    if text[-1] in "Ny":
        return f'"{text}"'
    return jsons.normalise(text) if binary and "e" in text else text


def _iso(text: str, name: str) -> str:
    """PostgreSQL's timestamp text with T, and the offset with minutes."""
    if text.endswith("infinity"):
        return text
    head, _, tail = text.partition(" ")
    if name == "timestamptz":
        clock, bc = (tail[:-3], " BC") if tail.endswith(" BC") else (tail, "")
        if len(clock) > 2 and clock[-3] in "+-":
            clock += ":00"
        tail = clock + bc
    return f"{head}T{tail}"


def _array_texts(array: pa.Array, element: Type, context: EpochContext, binary: bool) -> list[str | None]:
    lists = lists_of(array)
    items = (
        [v or "null" for v in json_texts(lists.elements, element, context, binary)]
        if len(lists.elements)
        else []
    )
    separator = ", " if binary else ","
    rows = zip(lists.starts.tolist(), lists.lengths.tolist(), lists.valid.tolist(), strict=True)
    return [f"[{separator.join(items[s : s + n])}]" if known else None for s, n, known in rows]


def _convert(binary: bool) -> Kernel:
    @typed
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
        """The value as JSON."""
        return pa.array(json_texts(args[0], types[0], context, binary), _S)

    return kernel


def _build_array(binary: bool) -> Kernel:
    @typed
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
        """A JSON array of the arguments."""
        columns = [json_texts(a, ty, context, binary) for a, ty in zip(args, types, strict=True)]
        rows = zip(*columns, strict=True) if columns else [()] * length
        return pa.array([jsons.build_array(v or "null" for v in row) for row in rows], _S)

    return kernel


def _build_object(binary: bool) -> Kernel:
    build = jsons.build_jsonb_object if binary else jsons.build_json_object
    name = "jsonb" if binary else "json"

    @typed
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
        """A JSON object of alternating keys and values."""
        if len(args) % 2:
            raise InvalidParameterValue(
                "argument list must have even number of elements",
                hint=f"The arguments of {name}_build_object() must consist of alternating keys and values.",
                rows=np.arange(length),
            )
        keys = [
            _keys(a, ty, context, 2 * i + 1, binary)
            for i, (a, ty) in enumerate(zip(args[::2], types[::2], strict=True))
        ]
        items = [json_texts(a, ty, context, binary) for a, ty in zip(args[1::2], types[1::2], strict=True)]
        done: list[str] = []
        for row in range(length):
            done.append(build((k[row], v[row] or "null") for k, v in zip(keys, items, strict=True)))
        return pa.array(done, _S)

    return kernel


def _keys(array: pa.Array, type_: Type, context: EpochContext, number: int, binary: bool) -> list[str]:
    texts = key_texts(array, type_, context)
    missing = [i for i, v in enumerate(texts) if v is None]
    if missing and not binary:
        raise NullNotAllowed("null value not allowed for object key", rows=np.array(missing))
    if missing:
        raise InvalidParameterValue(f"argument {number}: key must not be null", rows=np.array(missing))
    return [text for text in texts if text is not None]


_ANY = Type("any")
for _prefix, _type, _binary in (("jsonb", t.JSONB, True), ("json", t.JSON, False)):
    scalar(f"to_{_prefix}", (Type("anyelement"),), _type, volatility="stable")(_convert(_binary))
    for _count, _variadic in ((0, False), (1, True)):
        _args = (_ANY,) * _count
        scalar(f"{_prefix}_build_array", _args, _type, strict=False, variadic=_variadic, volatility="stable")(
            _build_array(_binary)
        )
        scalar(
            f"{_prefix}_build_object", _args, _type, strict=False, variadic=_variadic, volatility="stable"
        )(_build_object(_binary))
scalar("array_to_json", (Type("anyarray"),), t.JSON, volatility="stable")(_convert(False))


def _object_of(texts: Sequence[str | None], others: Sequence[str | None] | None = None) -> dict[str, Any]:
    if others is None:
        if len(texts) % 2:
            raise ArraySubscriptFault("array must have even number of elements")
        pairs = list(zip(texts[::2], texts[1::2], strict=True))
    else:
        if len(texts) != len(others):
            raise ArraySubscriptFault("mismatched array dimensions")
        pairs = list(zip(texts, others, strict=True))
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key is None:
            raise NullNotAllowed("null value not allowed for object key")
        found[key] = value
    return found


class ArraySubscriptFault(InvalidTextRepresentation, code="2202E"): ...


def _jsonb_object(texts: Sequence[str | None], others: Sequence[str | None] | None = None) -> str:
    """An object of strings, from keys and values that alternate or that are given apart."""
    return jsons.dump(_object_of(texts, others))


def _json_object(texts: Sequence[str | None], others: Sequence[str | None] | None = None) -> str:
    """An object of strings, from keys and values that alternate or that are given apart."""
    pairs = _object_of(texts, others).items()
    return jsons.build_json_object((k, "null" if v is None else jsons.quote(v)) for k, v in pairs)


_TEXTS = t.array_of(t.TEXT)
for _args in ((_TEXTS,), (_TEXTS, _TEXTS)):
    scalar("jsonb_object", _args, t.JSONB)(each(_jsonb_object, _S))
    scalar("json_object", _args, t.JSON)(each(_json_object, _S))


# Changes at a path.

_Change = Callable[[Any, Any], Any]
"""(container, key or index) → the changed container."""


def _at_path(value: Any, steps: Sequence[str], change: _Change) -> Any:
    """`value` with its container at the path's end changed; unchanged when the path leads nowhere."""
    step = steps[0]
    if isinstance(value, dict):
        key: Any = step
    elif isinstance(value, list):
        key = _index(step, steps)
        if key < 0:
            key += len(value)
    else:
        return value
    if len(steps) == 1:
        return change(value, key)
    if isinstance(value, dict):
        return {**value, key: _at_path(value[key], steps[1:], change)} if key in value else value
    if not 0 <= key < len(value):
        return value
    return [*value[:key], _at_path(value[key], steps[1:], change), *value[key + 1 :]]


def _index(step: str, steps: Sequence[str]) -> int:
    try:
        return int(step)
    except ValueError:
        message = f'path element at position {list(steps).index(step) + 1} is not an integer: "{step}"'
        raise InvalidTextRepresentation(message) from None


def _checked(value: Any, steps: Sequence[str | None], verb: str) -> list[str]:
    if not isinstance(value, (dict, list)):
        raise InvalidParameterValue(f"cannot {verb} scalar")
    for i, step in enumerate(steps):
        if step is None:
            raise NullNotAllowed(f"path element at position {i + 1} is null")
    return [step for step in steps if step is not None]


def _set(value: Any, steps: Sequence[str | None], new: str, create: bool = True) -> str:
    """The value with the part at a path replaced (or, with create, added)."""
    path = _checked(value, steps, "set path in")
    item = jsons.load(new)

    def change(container: Any, key: Any) -> Any:
        if isinstance(container, dict):
            return {**container, key: item} if create or key in container else container
        if 0 <= key < len(container):
            return [*container[:key], item, *container[key + 1 :]]
        if not create:
            return container
        return [item, *container] if key < 0 else [*container, item]

    unchanged = not path or (not value and not create)
    return jsons.dump(value if unchanged else _at_path(value, path, change))


def _insert(value: Any, steps: Sequence[str | None], new: str, after: bool = False) -> str:
    """The value with another inserted at a path, before or after what is there."""
    path = _checked(value, steps, "set path in")
    item = jsons.load(new)

    def change(container: Any, key: Any) -> Any:
        if isinstance(container, dict):
            if key in container:
                raise InvalidParameterValue(
                    "cannot replace existing key",
                    hint="Try using the function jsonb_set to replace key value.",
                )
            return {**container, key: item}
        place = min(max(key, 0), len(container)) + (after and 0 <= key < len(container))
        return [*container[:place], item, *container[place:]]

    return jsons.dump(_at_path(value, path, change) if path else value)


def _delete(value: Any, steps: Sequence[str | None]) -> str:
    """The value without the part at a path."""
    path = _checked(value, steps, "delete path in")

    def change(container: Any, key: Any) -> Any:
        if isinstance(container, dict):
            return {k: v for k, v in container.items() if k != key}
        return [v for i, v in enumerate(container) if i != key]

    return jsons.dump(_at_path(value, path, change) if path and value else value)


_B = t.JSONB
for _name, _function in (("jsonb_set", _set), ("jsonb_insert", _insert)):
    scalar(_name, (_B, _TEXTS, _B), _B)(on_parsed(_function, _S))
    scalar(_name, (_B, _TEXTS, _B, t.BOOL), _B)(on_parsed(_function, _S))
scalar("#-", (_B, _TEXTS), _B)(on_parsed(_delete, _S))
