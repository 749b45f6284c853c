"""The registry of system relations: one decorated function is one relation of `pg_catalog`,
`information_schema` or `millpond`.

The function gets a `SystemContext` and returns the rows as tuples. `system_relation` names the columns
in place, in the order of the tuples; `catalogue` takes them from PostgreSQL (`columns_….py`), names those
the tuples have, and fills the others with constants.

What follows from the catalogue alone is computed once a catalogue and kept as Arrow columns; a `live`
relation is computed for each statement that reads it.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ...operators.functions.vector import each_distinct
from ...storage.schema import Column, Schema
from ...storage.types import STRINGS, Type
from ..catalog import Catalog
from ..entries import SystemRelation
from .shapes import SHAPES

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
    setting: Callable[[str], str] | None = None
    """The value of a setting as SHOW gives it. Raises UnknownSetting."""
    set_config: Callable[[str, str | None, bool], str] | None = None
    """Changes a setting of the session (name, value, local); the value as it is shown then."""
    control: Callable[[str, int], bool] | None = None
    """Does something to the session of that number: "cancel" or "terminate". Whether there is one."""

    def facts(self, name: str) -> Rows:
        """The live rows called `name`, none where nobody provides them (in tests)."""
        provider = self.live.get(name)
        return () if provider is None else provider()

    def object_texts(self, type_name: str, oids: pa.Array) -> pa.Array:
        """The texts of OIDs of type regclass, regtype … (`textform.ObjectNames`)."""
        from .names import WRITERS

        write = WRITERS[type_name]
        return each_distinct(lambda oid: write(oid, self), oids, pa.string())

    def object_oids(self, type_name: str, texts: pa.Array) -> pa.Array:
        """The OIDs that texts of type regclass, regtype … name. Raises 42P01, 42704 …"""
        from .names import READERS

        read = READERS[type_name]
        return each_distinct(lambda text: read(text, self), texts, pa.int64())


@dataclass(frozen=True, slots=True)
class _Content:
    """How the rows of a relation come about: `given[i]` is the column of a tuple's value i."""

    provider: Provider
    given: tuple[int, ...]
    constants: tuple[object, ...]
    live: bool
    variant: Callable[[SystemContext], Hashable] | None = None
    """What of the session the rows hang on besides the catalogue."""


_CONTENTS: dict[int, _Content] = {}
_RELATIONS: dict[int, SystemRelation] = {}
_NAMES: dict[tuple[str, str], int] = {}


def system_relation(
    schema_name: str, name: str, columns: Mapping[str, Type], *, oid: int = 0, view: bool = True,
    live: bool = True, comments: Mapping[str, str] | None = None,
) -> Callable[[Provider], Provider]:  # fmt: skip
    """Registers the decorated function as the content of a relation; its docstring is its comment."""

    def add(provider: Provider) -> Provider:
        everything = tuple(range(len(columns)))
        content = _Content(provider, everything, (None,) * len(columns), live)
        _register(schema_name, name, columns, oid, view, content, comments or {})
        return provider

    return add


def catalogue(
    name: str, given: str, *, schema_name: str = "pg_catalog", live: bool = False,
    variant: Callable[[SystemContext], Hashable] | None = None, fixed: Mapping[str, object] | None = None,
    **constants: object,
) -> Callable[[Provider], Provider]:  # fmt: skip
    """Registers the decorated function as the content of PostgreSQL's relation of that name.

    `given` names the columns of the tuples. The others are `constants` (or in `fixed`), or zero, false and
    "" where
    PostgreSQL has never NULL, or NULL.
    """
    oid, columns = SHAPES[schema_name, name]
    constants = {**(fixed or {}), **constants}

    def add(provider: Provider) -> Provider:
        positions = {column: position for position, column in enumerate(columns)}
        rest = tuple(constants.get(column, _usual(type_, view=not oid)) for column, type_ in columns.items())
        assert constants.keys() <= columns.keys(), (name, constants.keys() - columns.keys())
        content = _Content(
            provider, tuple(positions[column] for column in given.split()), rest, live, variant
        )
        _register(schema_name, name, columns, oid, not oid, content, {})
        return provider

    return add


def _usual(type_: Type, view: bool) -> object:
    """The value of a column nobody fills."""
    if view or type_.element is not None or type_.name in ("text", "bytea", "timestamptz"):
        return None
    if type_.name == "bool":
        return False
    return "" if type_.name in STRINGS else 0


def _register(
    schema_name: str, name: str, columns: Mapping[str, Type], oid: int, view: bool, content: _Content,
    comments: Mapping[str, str],
) -> None:  # fmt: skip
    number = oid or _free_oid(f"{schema_name}.{name}")
    assert (schema_name, name) not in _NAMES, name
    schema = Schema(tuple(Column(column, type_) for column, type_ in columns.items()))
    comment = " ".join((content.provider.__doc__ or "").strip().split("\n\n")[0].split())
    _NAMES[schema_name, name] = number
    _CONTENTS[number] = content
    _RELATIONS[number] = SystemRelation(
        number, schema_name, name, comment=comment, column_comments=comments, schema=schema, view=view
    )


def _free_oid(name: str) -> int:
    """Stable from one start to the next: 14000 to 16383 by the name's hash, then the next free one."""
    number = 14000 + zlib.crc32(name.encode()) % 2000
    while number in _RELATIONS:
        number += 1
    return number


def relations() -> list[SystemRelation]:
    """All system relations. Those of PostgreSQL that nobody fills are there, and empty."""
    for schema_name, name in SHAPES:
        if (schema_name, name) not in _NAMES:
            catalogue(name, "", schema_name=schema_name)(_nothing)
    return list(_RELATIONS.values())


def _nothing(system: SystemContext) -> Rows:
    """Always empty."""
    return ()


# Contents.
_Kept = dict[tuple[int, Hashable], list[pa.Array]]
_KEPT: OrderedDict[int, tuple[Catalog, _Kept]] = OrderedDict()
CATALOGS_KEPT = 4
"""Catalogues whose relations are kept: that of the last commit, and those of open transactions."""


def system_rows(entry: SystemRelation, context: SystemContext) -> list[pa.Array]:
    """The rows of a system relation as columns of its schema."""
    content = _CONTENTS[entry.oid]
    if content.live:
        return _columns(entry, content, context)
    kept = _kept(context.catalog)
    key = (entry.oid, content.variant(context) if content.variant is not None else None)
    found = kept.get(key)
    if found is None:
        found = kept[key] = _columns(entry, content, context)
    return found


def rows_of(schema_name: str, name: str, context: SystemContext) -> Rows:
    """The rows of another system relation, as its function gives them."""
    return _CONTENTS[_NAMES[schema_name, name]].provider(context)


def _kept(catalog: Catalog) -> _Kept:
    """What has been computed from this very catalogue."""
    found = _KEPT.get(id(catalog))
    if found is None or found[0] is not catalog:
        found = _KEPT[id(catalog)] = (catalog, {})
        while len(_KEPT) > CATALOGS_KEPT:
            _KEPT.popitem(last=False)
    return found[1]


def _columns(entry: SystemRelation, content: _Content, context: SystemContext) -> list[pa.Array]:
    rows = list(content.provider(context))
    types = entry.schema.types
    if not rows:
        return [pa.array([], type_.arrow) for type_ in types]
    values = dict(zip(content.given, zip(*rows, strict=True), strict=True))
    return [
        pa.array(values[position], type_.arrow)
        if position in values
        else pa.repeat(pa.scalar(content.constants[position], type_.arrow), len(rows))
        for position, type_ in enumerate(types)
    ]
