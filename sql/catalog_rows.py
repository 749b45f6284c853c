"""The catalogue as rows and back: one row an object, (oid, kind, schema, name, description).

`description` is JSON of the entry's other fields. A field an older row lacks takes its default and an
unknown one is refused, so that a newer catalogue is never read half.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ..storage.errors import DataCorrupted
from ..storage.schema import Column
from ..storage.schema import Schema as Columns
from ..storage.types import Type
from . import entries
from .catalog import FIRST_OID, Catalog
from .entries import Entry

Row = tuple[int, str, str, str, str]
NEXT_OID = "next oid"
"""Kind of the row that keeps `next_oid`: an OID is never used again, even of a dropped object."""

_ENTRY_KINDS: dict[str, type[Entry]] = {
    kind.__name__: kind
    for kind in (entries.Table, entries.View, entries.MaterializedView, entries.Source, entries.Index,
                 entries.Sink, entries.Sequence, entries.Subscription, entries.Connection, entries.Secret,
                 entries.Schema)
}  # fmt: skip
_PARTS: dict[str, type] = {
    kind.__name__: kind
    for kind in (Type, Column, Columns, entries.Check, entries.UniqueConstraint, entries.ForeignReference,
                 entries.Identity, entries.IndexKey)
}  # fmt: skip
_PART_NAMES = {kind: name for name, kind in _PARTS.items()} | {Columns: "Columns"}
_PARTS["Columns"] = Columns
_OWN_COLUMNS = ("oid", "schema_name", "name")


def catalog_rows(catalog: Catalog) -> Iterator[Row]:
    """The user's objects and the OID counter."""
    yield 0, NEXT_OID, "", "", str(catalog.next_oid)
    for entry in catalog:
        kind = type(entry).__name__
        if entry.oid >= FIRST_OID or (kind in _ENTRY_KINDS and entry.comment):
            values = {
                item.name: _encoded(getattr(entry, item.name))
                for item in fields(entry)
                if item.name not in _OWN_COLUMNS
            }
            yield entry.oid, kind, entry.schema_name, entry.name, json.dumps(values, sort_keys=True)


def catalog_from_rows(rows: Iterable[Row], initial: Catalog) -> Catalog:
    """`initial` with the objects of the rows. Raises DataCorrupted for a row that cannot be read."""
    found: list[Entry] = []
    next_oid = FIRST_OID
    for oid, kind, schema_name, name, description in sorted(rows):
        if kind == NEXT_OID:
            next_oid = int(description)
            continue
        if kind not in _ENTRY_KINDS:
            raise DataCorrupted(f'the catalogue holds an object of unknown kind "{kind}"')
        values = {key: _decoded(value) for key, value in json.loads(description).items()}
        try:
            found.append(_ENTRY_KINDS[kind](oid, schema_name, name, **values))
        except TypeError as error:
            raise DataCorrupted(f'the catalogue\'s entry of "{name}" cannot be read: {error}') from None
    catalog = initial.with_all(found)
    return catalog.reserve(max(next_oid - catalog.next_oid, 0))[1]


def _encoded(value: object) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_encoded(v) for v in typing.cast("tuple[object, ...]", value)]}
    if isinstance(value, frozenset):
        return {"set": sorted(typing.cast("frozenset[int]", value))}
    if isinstance(value, Mapping):
        return {"map": {key: _encoded(v) for key, v in typing.cast("Mapping[str, object]", value).items()}}
    assert is_dataclass(value) and type(value) in _PART_NAMES, value
    parts = {item.name: _encoded(getattr(value, item.name)) for item in fields(value)}
    return {"part": _PART_NAMES[type(value)], "fields": parts}


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_decoded(v) for v in value["tuple"])
    if "set" in value:
        return frozenset(value["set"])
    if "map" in value:
        return {key: _decoded(v) for key, v in value["map"].items()}
    return _PARTS[value["part"]](**{key: _decoded(v) for key, v in value["fields"].items()})
