"""The catalogue as PostgreSQL divides it up: relations with their indexes, constraints, defaults.

`objects(catalog)` makes them once a catalogue. Rows that are no entries of ours (a check, a default, a
view's rule) get OIDs by `part_oid`, the same from one start to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...operators.functions.text_quote import quote_ident
from ...storage.types import BOOL, INT8, Type, format_type
from ..catalog import Catalog
from ..entries import (
    Entry,
    Index,
    MaterializedView,
    Relation,
    Schema,
    Sequence,
    Source,
    SystemRelation,
    Table,
    View,
)

Kind = Literal["r", "v", "m", "f", "i", "S"]
OWNER = 10
"""The role that owns everything: `millpond`."""

CLASSES = {"pg_class": 1259, "pg_type": 1247, "pg_proc": 1255, "pg_attrdef": 2604, "pg_constraint": 2606,
           "pg_namespace": 2615, "pg_rewrite": 2618, "pg_operator": 2617, "pg_database": 1262,
           "pg_extension": 3079}  # fmt: skip
"""The OIDs of PostgreSQL's catalogues, by which pg_depend and pg_description name them."""


SEQUENCE_COLUMNS = (("last_value", INT8), ("log_cnt", INT8), ("is_called", BOOL))
"""What a sequence shows when it is read like a table."""


def part_oid(oid: int, number: int) -> int:
    """The OID of part `number` of an object."""
    return (1 << 30) + oid * 2048 + number


@dataclass(frozen=True, slots=True)
class Class:
    """A row of pg_class. `entry` is the relation or sequence; of an index its table's, if it has no own."""

    oid: int
    schema_name: str
    name: str
    kind: Kind
    entry: Entry


@dataclass(frozen=True, slots=True)
class IndexShape:
    """An index, also one that a key made.

    `keys` are SQL texts, `columns` attribute numbers, 0 for an expression.
    """

    oid: int
    schema_name: str
    name: str
    table: Relation
    columns: tuple[int, ...]
    keys: tuple[str, ...]
    included: tuple[int, ...] = ()
    options: tuple[int, ...] = ()
    unique: bool = False
    primary: bool = False
    constraint: bool = False
    method: str = "btree"
    where: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A row of pg_constraint. `kind`: p, u, c, f. Columns are attribute numbers.

    `text` lacks the name of the foreign table behind REFERENCES, which hangs on the search path.
    """

    oid: int
    schema_name: str
    name: str
    kind: str
    table: Table
    columns: tuple[int, ...]
    text: str
    index_oid: int = 0
    foreign: Relation | None = None
    foreign_columns: tuple[int, ...] = ()
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Default:
    """A row of pg_attrdef: what `table` puts into column `number`."""

    oid: int
    table: Relation
    number: int
    text: str
    generated: bool = False


@dataclass(frozen=True, slots=True)
class Objects:
    """All of a catalogue."""

    catalog: Catalog
    classes: tuple[Class, ...]
    indexes: Mapping[int, IndexShape]
    constraints: Mapping[int, Constraint]
    defaults: tuple[Default, ...]
    by_oid: Mapping[int, Class] = field(default_factory=dict)
    by_name: Mapping[tuple[str, str], Class] = field(default_factory=dict)
    schemas: Mapping[str, int] = field(default_factory=dict)

    def relations(self, *kinds: str) -> list[Class]:
        return [found for found in self.classes if found.kind in kinds]

    def of_table(self, oid: int) -> list[IndexShape]:
        return [index for index in self.indexes.values() if index.table.oid == oid]


_LAST: list[Objects] = []


def objects(catalog: Catalog) -> Objects:
    """The catalogue divided up. The last few are kept."""
    for known in _LAST:
        if known.catalog is catalog:
            return known
    made = _objects(catalog)
    _LAST.insert(0, made)
    del _LAST[4:]
    return made


def _objects(catalog: Catalog) -> Objects:
    indexes = {index.oid: index for index in _indexes(catalog)}
    tables = [entry for entry in catalog.of(Table) if isinstance(entry, Table)]
    constraints = {found.oid: found for table in tables for found in _constraints(table, catalog)}
    classes = tuple(sorted(_classes(catalog, indexes), key=lambda found: found.oid))
    return Objects(
        catalog,
        classes,
        indexes,
        constraints,
        tuple(default for table in tables for default in _defaults(table, catalog)),
        {found.oid: found for found in classes},
        {(found.schema_name, found.name): found for found in classes},
        {entry.name: entry.oid for entry in catalog.of(Schema)},
    )


def _classes(catalog: Catalog, indexes: Mapping[int, IndexShape]) -> Iterator[Class]:
    for entry in catalog:
        kind = kind_letter(entry)
        if kind:
            yield Class(entry.oid, entry.schema_name, entry.name, kind, entry)
    for index in indexes.values():
        entry = catalog.by_oid(index.oid) or index.table
        yield Class(index.oid, index.schema_name, index.name, "i", entry)


def kind_letter(entry: Entry) -> Kind | None:
    """`pg_class.relkind`; None for what PostgreSQL has no relation for, and for indexes.

    A source is a foreign table: its rows lie elsewhere, and its connector is shown as the server.
    """
    if isinstance(entry, Table):
        return "r"
    if isinstance(entry, View):
        return "v"
    if isinstance(entry, MaterializedView):
        return "m"
    if isinstance(entry, Source):
        return "f"
    if isinstance(entry, Sequence):
        return "S"
    if isinstance(entry, SystemRelation):
        return "v" if entry.view else "r"
    return None


# Indexes and constraints.
def _names(relation: Relation, positions: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(quote_ident(relation.schema[position].name) for position in positions)


def _numbers(positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(position + 1 for position in positions)


def _indexes(catalog: Catalog) -> Iterator[IndexShape]:
    for entry in catalog.of(Table, Index):
        if isinstance(entry, Table):
            yield from _key_indexes(entry)
            continue
        assert isinstance(entry, Index)
        table = catalog.by_oid(entry.table_oid)
        assert isinstance(table, Relation)
        keys = tuple(
            f"({key.expression})" if key.column < 0 else quote_ident(table.schema[key.column].name)
            for key in entry.keys
        )
        yield IndexShape(
            entry.oid, entry.schema_name, entry.name, table,
            tuple(key.column + 1 for key in entry.keys), keys, _numbers(entry.include),
            tuple(key.descending + 2 * key.nulls_first for key in entry.keys),
            entry.unique, method=entry.method, where=entry.where,
        )  # fmt: skip


def _key_indexes(table: Table) -> Iterator[IndexShape]:
    keys = [(table.primary_key_oid, table.primary_key_name, table.primary_key)] if table.primary_key else []
    keys += [(unique.oid, unique.name, unique.columns) for unique in table.uniques]
    for oid, name, positions in keys:
        assert positions is not None
        yield IndexShape(
            oid, table.schema_name, name, table, _numbers(positions), _names(table, positions),
            options=(0,) * len(positions), unique=True, primary=oid == table.primary_key_oid, constraint=True,
        )  # fmt: skip


def _constraints(table: Table, catalog: Catalog) -> Iterator[Constraint]:
    for index in _key_indexes(table):
        word = "PRIMARY KEY" if index.primary else "UNIQUE"
        yield Constraint(
            index.oid, table.schema_name, index.name, "p" if index.primary else "u", table, index.columns,
            f"{word} ({', '.join(index.keys)})", index.oid,
        )  # fmt: skip
    for number, check in enumerate(table.checks):
        columns = tuple(
            position + 1
            for position, column in enumerate(table.schema)
            if _mentions(check.expression, column.name)
        )
        yield Constraint(
            part_oid(table.oid, number), table.schema_name, check.name, "c", table, columns,
            f"CHECK ({check.expression})", expression=check.expression,
        )  # fmt: skip
    for number, key in enumerate(table.foreign_keys, len(table.checks)):
        foreign = catalog.by_oid(key.table_oid)
        if not isinstance(foreign, Relation):
            continue
        mine, theirs = ", ".join(_names(table, key.columns)), ", ".join(_names(foreign, key.references))
        indexed = foreign.primary_key_oid if isinstance(foreign, Table) else 0
        yield Constraint(
            part_oid(table.oid, number), table.schema_name, key.name, "f", table, _numbers(key.columns),
            f"FOREIGN KEY ({mine}) REFERENCES ({theirs})", indexed, foreign,
            _numbers(key.references),
        )  # fmt: skip


def _mentions(expression: str, column: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(column)}(?!\w)", expression) is not None


def _defaults(table: Table, catalog: Catalog) -> Iterator[Default]:
    for position, column in enumerate(table.schema):
        number = position + 1
        identity = table.identities.get(column.name)
        if column.name in table.generated:
            yield Default(part_oid(table.oid, number), table, number, table.generated[column.name], True)
        elif identity is not None and identity.kind == "serial":
            sequence = catalog.by_oid(identity.sequence_oid)
            assert sequence is not None
            name = quote_ident(sequence.name)
            if sequence.schema_name != "public":
                name = f"{quote_ident(sequence.schema_name)}.{name}"
            text = "nextval('" + name.replace("'", "''") + "'::regclass)"
            yield Default(part_oid(table.oid, number), table, number, text)
        elif column.name in table.defaults:
            text = _typed_literal(table.defaults[column.name], column.type)
            yield Default(part_oid(table.oid, number), table, number, text)


def _typed_literal(text: str, type_: Type) -> str:
    """A string constant with the type it stands for, as PostgreSQL shows defaults."""
    if re.fullmatch(r"'(?:[^']|'')*'", text):
        return f"{text}::{format_type(type_.bare())}"
    return text
