"""pg_class and what hangs on it: columns, defaults, indexes, constraints, rules, comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...storage.types import VECTORS, Type
from ..catalog import PUBLIC_OID
from ..entries import (
    MaterializedView,
    Relation,
    Schema,
    Sequence,
    Source,
    SystemRelation,
    Table,
    View,
)
from ..secret_options import shown_options
from .objects import CLASSES, OWNER, SEQUENCE_COLUMNS, Class, IndexShape, Objects, objects, part_oid
from .opclasses import default_opclass
from .own import release
from .pg_types import TYPES
from .registry import Rows, SystemContext, catalogue

INTERNAL_DEPENDENCE, AUTOMATIC_DEPENDENCE, NORMAL_DEPENDENCE, EXTENSION_DEPENDENCE = "i", "a", "n", "e"
EXTENSION_OID = 13002
"""Schema `millpond` as an extension that comes with the server: pg_dump leaves it out, as it must."""


@catalogue(
    "pg_class",
    "oid relname relnamespace relam relkind relnatts relhasindex relhasrules relhastriggers relchecks"
    " reltuples"
    " relpages"
    " relpersistence relfilenode",
    relowner=OWNER, relispopulated=True, relreplident="d", relfrozenxid=0, relminmxid=0,
)  # fmt: skip
def _classes(system: SystemContext) -> Rows:
    """Relations, indexes, sequences."""
    all_ = objects(system.catalog)
    indexed = {index.table.oid for index in all_.indexes.values()}
    foreign = [found for found in all_.constraints.values() if found.foreign is not None]
    referring = {oid for key in foreign if key.foreign for oid in (key.table.oid, key.foreign.oid)}
    for found in all_.classes:
        entry = found.entry
        temporary = isinstance(entry, Table | View) and entry.temporary
        method = {"i": 403, "r": 2, "m": 2}.get(found.kind, 0)
        yield (
            found.oid, found.name, all_.schemas[found.schema_name], method, found.kind, _width(found, all_),
            found.oid in indexed, isinstance(entry, View), found.oid in referring,
            len(entry.checks) if isinstance(entry, Table) and found.kind == "r" else 0,
            -1.0, 0, "t" if temporary else "p", 0 if found.kind in "vf" else found.oid,
        )  # fmt: skip


def _width(found: Class, all_: Objects) -> int:
    """Number of columns."""
    if found.kind == "i":
        index = all_.indexes[found.oid]
        return len(index.columns) + len(index.included)
    if isinstance(found.entry, Sequence):
        return len(SEQUENCE_COLUMNS)
    assert isinstance(found.entry, Relation)
    return sum(not column.hidden for column in found.entry.schema)


@catalogue(
    "pg_attribute",
    "attrelid attname atttypid attlen attnum attndims atttypmod attbyval attalign attstorage attnotnull"
    " atthasdef attidentity attgenerated attcollation",
    attstattarget=-1, attcacheoff=-1, attislocal=True,
)  # fmt: skip
def _attributes(system: SystemContext) -> Rows:
    """Columns of relations, indexes and sequences."""
    all_ = objects(system.catalog)
    storage: dict[str, tuple[int, int, bool, str, str, int]] = {}
    for found in all_.classes:
        for name, type_, number, rest in _columns(found, all_):
            known = storage.get(type_.name)
            if known is None:
                known = storage[type_.name] = (type_.oid, *_storage(type_))
            oid, size, by_value, align, store, collation = known
            modifier = type_.typmod
            dimensions = int(type_.element is not None)
            yield (
                found.oid, name, oid, size, number, dimensions, modifier, by_value, align, store, *rest,
                collation,
            )  # fmt: skip


def _columns(found: Class, all_: Objects) -> Iterator[tuple[str, Type, int, tuple[bool, bool, str, str]]]:
    """(name, type, number, (not null, has default, identity, generated))"""
    plain = (False, False, "", "")
    if found.kind == "i":
        index = all_.indexes[found.oid]
        for number, column in enumerate((*index.columns, *index.included), 1):
            shown = index.table.schema[column - 1] if column else None
            yield (shown.name, shown.type, number, plain) if shown else ("expr", Type("text"), number, plain)
        return
    entry = found.entry
    if isinstance(entry, Sequence):
        for number, (name, type_) in enumerate(SEQUENCE_COLUMNS, 1):
            yield name, type_, number, (True, False, "", "")
        return
    assert isinstance(entry, Relation)
    describe = _table_column(entry) if isinstance(entry, Table) else {}
    for number, column in enumerate(entry.schema, 1):
        if not column.hidden:
            rest = describe.get(column.name, (not column.nullable, False, "", ""))
            yield column.name, column.type, number, rest


def _table_column(table: Table) -> Mapping[str, tuple[bool, bool, str, str]]:
    found: dict[str, tuple[bool, bool, str, str]] = {}
    for column in table.schema:
        identity = table.identities.get(column.name)
        letter = {"always": "a", "by default": "d"}.get(identity.kind, "") if identity else ""
        generated = column.name in table.generated
        has = generated or column.name in table.defaults or (identity is not None and not letter)
        found[column.name] = (not column.nullable, has, letter, "s" if generated else "")
    return found


def _storage(type_: Type) -> tuple[int, bool, str, str, int]:
    """(size, passed by value, alignment, storage, collation)"""
    known = TYPES[type_.name if type_.element is None or type_.name in VECTORS else "anyarray"]
    element = type_.element
    collation = (
        _storage(element)[-1] if element is not None and type_.name not in VECTORS else known.collation
    )
    align = "d" if element is not None and TYPES[element.name].align == "d" else known.align
    return (
        known.size,
        known.by_value,
        "i" if element is not None and align != "d" else align,
        known.storage,
        collation,
    )


@catalogue("pg_attrdef", "oid adrelid adnum adbin")
def _defaults(system: SystemContext) -> Rows:
    """Default values and generated columns. `adbin` is the SQL text."""
    for default in objects(system.catalog).defaults:
        yield default.oid, default.table.oid, default.number, default.text


@catalogue(
    "pg_index",
    "indexrelid indrelid indnatts indnkeyatts indisunique indisprimary indkey indcollation indclass indoption"
    " indexprs indpred",
    indimmediate=True, indisvalid=True, indisready=True, indislive=True,
)  # fmt: skip
def _indexes(system: SystemContext) -> Rows:
    """Indexes, those of keys included."""
    for index in objects(system.catalog).indexes.values():
        types = _key_types(index)
        expressions = [key for key, number in zip(index.keys, index.columns, strict=True) if not number]
        yield (
            index.oid, index.table.oid, len(index.columns) + len(index.included), len(index.columns),
            index.unique, index.primary, [*index.columns, *index.included],
            [100 if type_.category == "S" else 0 for type_ in types],
            [default_opclass(type_) for type_ in types],
            list(index.options), ", ".join(expressions) or None, index.where or None,
        )  # fmt: skip


def _key_types(index: IndexShape) -> list[Type]:
    return [index.table.schema[number - 1].type if number else Type("text") for number in index.columns]


@catalogue(
    "pg_constraint",
    "oid conname connamespace contype conrelid conindid confrelid confupdtype confdeltype confmatchtype"
    " conkey"
    " confkey conbin",
    convalidated=True, conislocal=True, connoinherit=True,
)  # fmt: skip
def _constraints(system: SystemContext) -> Rows:
    """Keys, checks and foreign keys."""
    all_ = objects(system.catalog)
    for found in all_.constraints.values():
        foreign = found.kind == "f"
        yield (
            found.oid, found.name, all_.schemas[found.schema_name], found.kind, found.table.oid,
            found.index_oid, found.foreign.oid if found.foreign else 0,
            *(("a", "a", "s") if foreign else ("", "", "")),
            list(found.columns), list(found.foreign_columns) if foreign else None, found.expression or None,
        )  # fmt: skip


@catalogue("pg_sequence", "seqrelid seqtypid seqstart seqincrement seqmax seqmin seqcycle", seqcache=1)
def _sequences(system: SystemContext) -> Rows:
    """Sequences."""
    for entry in system.catalog.of(Sequence):
        assert isinstance(entry, Sequence)
        type_ = Type(entry.type_name).oid
        yield entry.oid, type_, entry.start, entry.increment, entry.maximum, entry.minimum, entry.cycle


@catalogue("pg_rewrite", "oid ev_class", rulename="_RETURN", ev_type="1", ev_enabled="O", is_instead=True)
def _rules(system: SystemContext) -> Rows:
    """A view's query is a rule in PostgreSQL: one row a view."""
    for entry in system.catalog.of(View, MaterializedView):
        yield part_oid(entry.oid, 0), entry.oid


@catalogue("pg_depend", "classid objid objsubid refclassid refobjid refobjsubid deptype")
def _dependencies(system: SystemContext) -> Rows:
    """What needs what: a view's rule its relations, an index its table, a sequence its column."""
    relation, rewrite, namespace = CLASSES["pg_class"], CLASSES["pg_rewrite"], CLASSES["pg_namespace"]
    all_ = objects(system.catalog)
    for found in all_.classes:
        entry = found.entry
        if found.schema_name == "millpond" and isinstance(entry, SystemRelation):
            yield relation, found.oid, 0, CLASSES["pg_extension"], EXTENSION_OID, 0, EXTENSION_DEPENDENCE
        elif not isinstance(entry, SystemRelation):
            schema = all_.schemas[found.schema_name]
            yield relation, found.oid, 0, namespace, schema, 0, NORMAL_DEPENDENCE
        if isinstance(entry, View | MaterializedView) and found.kind != "i":
            rule = part_oid(entry.oid, 0)
            yield rewrite, rule, 0, relation, entry.oid, 0, INTERNAL_DEPENDENCE
            yield rewrite, rule, 0, relation, entry.oid, 0, NORMAL_DEPENDENCE
            for oid in entry.dependencies:
                yield rewrite, rule, 0, relation, oid, 0, NORMAL_DEPENDENCE
        if isinstance(entry, Sequence) and entry.owner is not None:
            yield _ownership(entry, all_)
    yield (
        namespace,
        all_.schemas["millpond"],
        0,
        CLASSES["pg_extension"],
        EXTENSION_OID,
        0,
        EXTENSION_DEPENDENCE,
    )
    yield from _index_dependencies(all_)


def _ownership(sequence: Sequence, all_: Objects) -> tuple[object, ...]:
    assert sequence.owner is not None
    oid, column = sequence.owner
    table = all_.catalog.by_oid(oid)
    assert isinstance(table, Table)
    number = table.schema.names.index(column) + 1
    identity = table.identities.get(column)
    letter = AUTOMATIC_DEPENDENCE if identity is None or identity.kind == "serial" else INTERNAL_DEPENDENCE
    relation = CLASSES["pg_class"]
    return relation, sequence.oid, 0, relation, oid, number, letter


def _index_dependencies(all_: Objects) -> Rows:
    relation, constraint = CLASSES["pg_class"], CLASSES["pg_constraint"]
    for index in all_.indexes.values():
        if index.constraint:
            yield relation, index.oid, 0, constraint, index.oid, 0, INTERNAL_DEPENDENCE
        else:
            for number in index.columns:
                yield relation, index.oid, 0, relation, index.table.oid, number, AUTOMATIC_DEPENDENCE
    for found in all_.constraints.values():
        for number in found.columns:
            yield constraint, found.oid, 0, relation, found.table.oid, number, AUTOMATIC_DEPENDENCE


@catalogue("pg_description", "objoid classoid objsubid description")
def _comments(system: SystemContext) -> Rows:
    """Comments on objects and columns."""
    yield PUBLIC_OID, CLASSES["pg_namespace"], 0, "standard public schema"
    for entry in system.catalog:
        class_oid = CLASSES["pg_namespace" if isinstance(entry, Schema) else "pg_class"]
        if entry.comment and entry.oid != PUBLIC_OID:
            yield entry.oid, class_oid, 0, entry.comment
        if isinstance(entry, Relation):
            for number, name in enumerate(entry.schema.names, 1):
                if entry.column_comments.get(name):
                    yield entry.oid, class_oid, number, entry.column_comments[name]


@catalogue("pg_extension", "oid extname extnamespace extversion", extowner=OWNER)
def _extensions(system: SystemContext) -> Rows:
    """One: what stands in schema millpond."""
    schemas = objects(system.catalog).schemas
    yield EXTENSION_OID, "millpond", schemas["millpond"], release()


# Sources as foreign tables.
def connector_of(entry: Source) -> str:
    return entry.options.get("connector", "")


def _server_oid(connector: str, system: SystemContext) -> int:
    return 1 + sorted({connector_of(e) for e in system.catalog.of(Source) if isinstance(e, Source)}).index(
        connector
    )


@catalogue("pg_foreign_table", "ftrelid ftserver ftoptions")
def _foreign_tables(system: SystemContext) -> Rows:
    """Sources, with their options but the connector."""
    for entry in system.catalog.of(Source):
        assert isinstance(entry, Source)
        shown = shown_options(entry.options).items()
        options = [f"{name}={value}" for name, value in shown if name not in ("connector", "relation.own")]
        yield entry.oid, _server_oid(connector_of(entry), system), options or None


@catalogue("pg_foreign_server", "oid srvname", srvowner=OWNER, srvfdw=1)
def _foreign_servers(system: SystemContext) -> Rows:
    """One row a connector in use by a source."""
    for connector in sorted({connector_of(e) for e in system.catalog.of(Source) if isinstance(e, Source)}):
        yield _server_oid(connector, system), connector


@catalogue("pg_foreign_data_wrapper", "oid fdwname", fdwowner=OWNER)
def _foreign_data_wrappers(system: SystemContext) -> Rows:
    """One: the connectors."""
    if system.catalog.of(Source):
        yield 1, "millpond"
