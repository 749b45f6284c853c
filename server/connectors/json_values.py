"""JSON records to typed columns: each object a row, its members by column name.

A value is converted as PostgreSQL would convert its text; objects and arrays fit columns of type jsonb,
json, text and (arrays) array types. A member that is missing is NULL. Numbers keep their digits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa

from ...storage.errors import DataException, InvalidTextRepresentation, SqlError, UntranslatableCharacter
from ...storage.schema import Column, Schema
from .rows import Rows

_MISSING = object()
_INTEGERS = ("int2", "int4", "int8")
_DOCUMENTS = ("json", "jsonb")
_TEXTS = ("text", "varchar", "bpchar", "name")


class Number(str):
    """A JSON number with a fraction or exponent, as it was written."""

    __slots__ = ()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_float=Number, parse_constant=_no_constant)


def parse_objects(lines: Sequence[str]) -> tuple[list[dict[str, Any]], dict[int, SqlError]]:
    """The object of each line, an empty one where it is none, and what is wrong with those."""
    scan: Any = getattr(_DECODER, "scan_once")  # noqa: B009 - not in the type stubs
    try:
        found = [scan(line, 0) for line in lines]
        if all(
            end == len(line) and value.__class__ is dict
            for (value, end), line in zip(found, lines, strict=True)
        ):
            return [value for value, _ in found], {}
    except (ValueError, StopIteration, RecursionError):
        pass
    return _parse_each(lines)


def _parse_each(lines: Sequence[str]) -> tuple[list[dict[str, Any]], dict[int, SqlError]]:
    objects: list[dict[str, Any]] = []
    bad: dict[int, SqlError] = {}
    for row, line in enumerate(lines):
        value: Any = {}
        try:
            value = _DECODER.decode(line)
            if value.__class__ is not dict:
                bad[row] = DataException("the record is no JSON object")
                value = {}
        except RecursionError:
            bad[row] = InvalidTextRepresentation("invalid input syntax for type json: nested too deeply")
        except ValueError as error:
            bad[row] = InvalidTextRepresentation(f"invalid input syntax for type json: {_reason(error)}")
        objects.append(value)
    return objects, bad


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return str(error)


def columns_of(objects: Sequence[dict[str, Any]], schema: Schema, rows: Rows) -> list[pa.Array]:
    """The columns of the objects' rows; rows with a value that does not fit are noted in `rows`."""
    return [_column(column, _members(objects, column.name), rows) for column in schema]


def _members(objects: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """The member called `name` of each object, in other case if there is none in this."""
    values = [item.get(name, _MISSING) for item in objects]
    if _MISSING in values:
        folded = name.lower()
        for row, value in enumerate(values):
            if value is _MISSING:
                values[row] = next((v for k, v in objects[row].items() if k.lower() == folded), None)
    return values


def _column(column: Column, values: list[Any], rows: Rows) -> pa.Array:
    name = column.type.name
    try:
        if name in _INTEGERS or name == "bool":
            return _checked(column, pa.array(values, column.type.arrow), rows)
        if name not in _DOCUMENTS and column.type.element is None:
            return _parsed(column, pa.array(values, pa.string()), rows)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError):
        pass
    return _parsed(column, pa.array(_texts(column, values, rows), pa.string()), rows)


def _checked(column: Column, values: pa.Array, rows: Rows) -> pa.Array:
    return rows.convert(column, values, lambda same: same)


def _parsed(column: Column, texts: pa.Array, rows: Rows) -> pa.Array:
    buffer = texts.buffers()[2] if len(texts) else None
    if buffer is not None and b"\0" in memoryview(buffer).tobytes():
        texts = pa.array(_texts(column, texts.to_pylist(), rows), pa.string())
    return rows.parse(column, texts)


def _texts(column: Column, values: list[Any], rows: Rows) -> list[str | None]:
    """The text of each value that the column's type reads; rows whose text cannot be are noted."""
    document = column.type.name in _DOCUMENTS
    elements = column.type.element is not None
    texts: list[str | None] = []
    for row, value in enumerate(values):
        text = _text(value, document, elements)
        if text is not None and not document and not _storable(text):
            rows.bad.setdefault(row, UntranslatableCharacter("unsupported Unicode escape sequence"))
            text = None
        texts.append(text)
    return texts


def _storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _text(value: Any, document: bool, elements: bool) -> str | None:
    if value is None:
        return None
    if document:
        return json_text(value)
    if isinstance(value, str):
        return value
    if elements and isinstance(value, list):
        return array_text(value)
    return json_text(value)


def json_text(value: Any) -> str:
    """A decoded value as JSON again, numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return json.dumps(value)


def array_text(values: list[Any]) -> str:
    """A list as PostgreSQL's text of an array."""
    parts: list[str] = []
    for value in values:
        if value is None:
            parts.append("NULL")
        elif isinstance(value, list):
            parts.append(array_text(value))
        else:
            text = value if isinstance(value, str) else json_text(value)
            parts.append('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return "{" + ",".join(parts) + "}"
