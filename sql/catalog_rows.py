"""The catalogue as rows, to be kept in a state table like any other data: one row an object.

A row is (oid, kind, schema, name, JSON of the entry's other fields). One row of kind "catalog" has the
OID counter. The JSON follows the fields of the entry's class: a new field needs nothing here, and a
row written before the field existed gives it its default.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

from ..storage.schema import Column, Schema
from ..storage.types import Type
from . import entries
from .catalog import Catalog, kind_of
from .entries import Entry, SystemRelation

_CLASSES: dict[str, type[Entry]] = {
    "table": entries.Table, "view": entries.View, "materialized view": entries.MaterializedView,
    "source": entries.Source, "index": entries.Index, "sink": entries.Sink, "sequence": entries.Sequence,
    "subscription": entries.Subscription, "connection": entries.Connection, "secret": entries.Secret,
    "schema": entries.Schema,
}  # fmt: skip
_COLUMNS = frozenset({"oid", "schema_name", "name"})


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """One row of the stored catalogue; `oid` is its key (0 for the counter)."""

    oid: int
    kind: str
    schema: str
    name: str
    details: str


def to_rows(catalog: Catalog) -> list[CatalogRow]:
    """The rows of a catalogue, without the system relations, which are made anew at each start."""
    rows = [to_row(entry) for entry in catalog if not isinstance(entry, SystemRelation)]
    return [CatalogRow(0, "catalog", "", "", json.dumps({"next_oid": catalog.next_oid})), *rows]


def to_row(entry: Entry) -> CatalogRow:
    details = {
        item.name: _encode(getattr(entry, item.name)) for item in fields(entry) if item.name not in _COLUMNS
    }
    text = json.dumps(details, ensure_ascii=False, separators=(",", ":"))
    return CatalogRow(entry.oid, kind_of(entry), entry.schema_name, entry.name, text)


def from_rows(rows: Iterable[CatalogRow], system: Iterable[SystemRelation] = ()) -> Catalog:
    """The catalogue that `to_rows` wrote, with the given system relations."""
    found: list[Entry] = list(system)
    next_oid = 0
    for row in rows:
        if row.kind == "catalog":
            next_oid = int(json.loads(row.details)["next_oid"])
        else:
            found.append(entry_of(row))
    catalog = Catalog().with_all(found)
    _, counted = catalog.reserve(max(0, next_oid - catalog.next_oid))
    return counted


def entry_of(row: CatalogRow) -> Entry:
    """The entry that `to_row` wrote."""
    class_ = _CLASSES[row.kind]
    details = json.loads(row.details)
    known = {name: _decode(hint, details[name]) for name, hint in _hints(class_).items() if name in details}
    return class_(oid=row.oid, schema_name=row.schema, name=row.name, **known)


@cache
def _hints(class_: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields, resolved."""
    resolved = typing.get_type_hints(class_)
    return {item.name: resolved[item.name] for item in fields(class_) if item.name not in _COLUMNS}


def _encode(value: Any) -> Any:
    """A field's value as JSON."""
    if isinstance(value, Type):
        return [value.name, value.typmod, value.scale, _encode(value.element)]
    if isinstance(value, Schema):
        return [[c.name, _encode(c.type), c.nullable, c.hidden] for c in value]
    if isinstance(value, frozenset):
        return sorted(value)  # pyright: ignore[reportArgumentType]
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _encode(item) for key, item in value.items()}
    if is_dataclass(value):
        return {item.name: _encode(getattr(value, item.name)) for item in fields(value)}
    assert value is None or isinstance(value, (str, int, bool)), value
    return value


def _decode(hint: Any, value: Any) -> Any:
    """The value of a field with that annotation."""
    if value is None or hint in (int, str, bool):
        return value
    if hint is Schema:
        return Schema(tuple(Column(name, _type(type_), *flags) for name, type_, *flags in value))
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _decode(next(arg for arg in args if arg is not types.NoneType), value)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(_decode(args[0], item) for item in value)
        return tuple(_decode(arg, item) for arg, item in zip(args, value, strict=True))
    if origin is frozenset:
        return frozenset(value)
    if origin is not None:
        return {key: _decode(args[1], item) for key, item in value.items()}
    return _dataclass(hint, value)


def _dataclass(class_: type, value: dict[str, Any]) -> Any:
    hints = typing.get_type_hints(class_)
    return class_(**{name: _decode(hints[name], item) for name, item in value.items() if name in hints})


def _type(value: Any) -> Type:
    name, typmod, scale, element = value
    return Type(name, typmod, scale, None if element is None else _type(element))
