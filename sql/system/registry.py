"""The registry of system relations: one decorated function is one relation of `pg_catalog`,
`information_schema` or `millpond`.

The function gets a `SystemContext` and returns the rows, as tuples in column order; `register` gives the
relation its OID by hashing its name into the range below `FIRST_OID`, unless PostgreSQL's own is given.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ...storage.schema import Column, Schema
from ...storage.types import Type
from ..catalog import Catalog
from ..entries import SystemRelation

Rows = Iterable[tuple[object, ...]]
Provider = Callable[["SystemContext"], Rows]


@dataclass(frozen=True, slots=True)
class SystemContext:
    """What a system relation may show: the catalogue the query sees, its session, and live facts.

    `live` has functions by name (sessions, sources, errors, settings …), each returning rows as tuples.
    """

    catalog: Catalog
    search_path: tuple[str, ...] = ("public",)
    session: Mapping[str, str] = field(default_factory=dict)
    live: Mapping[str, Callable[[], Rows]] = field(default_factory=dict)
    sequences: Any = None
    """The counters `nextval` draws from: `draw(sequence entry, count) → first`."""
    drawn: MutableMapping[int, int] = field(default_factory=dict)
    """What the session drew last from each sequence, by OID (see `sequence_functions.py`)."""

    def facts(self, name: str) -> Rows:
        """The live rows called `name`, none where nobody provides them (in tests)."""
        provider = self.live.get(name)
        return () if provider is None else provider()


_PROVIDERS: dict[int, Provider] = {}
_RELATIONS: dict[int, SystemRelation] = {}


def system_relation(
    schema_name: str, name: str, columns: Mapping[str, Type], *, oid: int = 0, view: bool = False,
    key: tuple[int, ...] | None = None,
) -> Callable[[Provider], Provider]:  # fmt: skip
    """Registers the decorated function as the content of a relation; its docstring is its comment."""

    def register(provider: Provider) -> Provider:
        number = oid or _free_oid(f"{schema_name}.{name}")
        schema = Schema(tuple(Column(column, type_) for column, type_ in columns.items()))
        comment = (provider.__doc__ or "").strip().split("\n")[0]
        _RELATIONS[number] = SystemRelation(
            number, schema_name, name, comment=comment, schema=schema, key=key, view=view
        )
        _PROVIDERS[number] = provider
        return provider

    return register


def _free_oid(name: str) -> int:
    """Stable from one start to the next: 14000 to 16383 by the name's hash, then the next free one."""
    number = 14000 + zlib.crc32(name.encode()) % 2000
    while number in _RELATIONS:
        number += 1
    return number


def relations() -> list[SystemRelation]:
    return list(_RELATIONS.values())


def system_rows(entry: SystemRelation, context: SystemContext) -> list[pa.Array]:
    """The rows of a system relation as columns of its schema."""
    rows = list(_PROVIDERS[entry.oid](context))
    types = entry.schema.types
    if not rows:
        return [pa.array([], type_.arrow) for type_ in types]
    return [
        pa.array(values, type_.arrow) for values, type_ in zip(zip(*rows, strict=True), types, strict=True)
    ]
