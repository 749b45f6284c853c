"""information_schema: the standard's view of tables, columns, constraints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...storage.types import Type, numeric_modifier
from ..catalog import DATABASE
from ..entries import Identity, MaterializedView, Relation, Schema, Sequence, Table, View
from .definitions import view_definition
from .names import type_text
from .objects import Class, Constraint, Objects, objects
from .pg_procs import functions
from .pg_server import OWNER_NAME, roles
from .pg_types import TYPES
from .registry import Rows, SystemContext, catalogue

information = partial(catalogue, schema_name="information_schema")


def _shows_materialized_views(system: SystemContext) -> bool:
    """Setting `show_matviews_as_tables`: tools that read nothing but information_schema see them then."""
    return system.setting is None or system.setting("show_matviews_as_tables") == "on"


def _relations(system: SystemContext) -> list[Class]:
    kinds = "rvfm" if _shows_materialized_views(system) else "rvf"
    return objects(system.catalog).relations(*kinds)


def _yes(value: bool) -> str:
    return "YES" if value else "NO"


@information("information_schema_catalog_name", "catalog_name")
def _catalog_name(system: SystemContext) -> Rows:
    """The name of the database."""
    yield (DATABASE,)


@information("schemata", "schema_name", catalog_name=DATABASE, schema_owner=OWNER_NAME)
def _schemata(system: SystemContext) -> Rows:
    """Schemas."""
    return ((entry.name,) for entry in system.catalog.of(Schema))


_TABLE_TYPES = {"r": "BASE TABLE", "v": "VIEW", "m": "VIEW", "f": "FOREIGN"}


@information(
    "tables", "table_schema table_name table_type is_insertable_into",
    variant=_shows_materialized_views, table_catalog=DATABASE, is_typed="NO",
)  # fmt: skip
def _tables(system: SystemContext) -> Rows:
    """Tables, views and sources; materialized views as views, unless `show_matviews_as_tables` is off."""
    for found in _relations(system):
        kind = "LOCAL TEMPORARY" if isinstance(found.entry, Table) and found.entry.temporary else None
        yield (
            found.schema_name,
            found.name,
            kind or _TABLE_TYPES[found.kind],
            _yes(isinstance(found.entry, Table)),
        )


@information(
    "views", "table_schema table_name view_definition",
    variant=_shows_materialized_views, table_catalog=DATABASE, check_option="NONE", is_updatable="NO",
    is_insertable_into="NO", is_trigger_updatable="NO", is_trigger_deletable="NO",
    is_trigger_insertable_into="NO",
)  # fmt: skip
def _views(system: SystemContext) -> Rows:
    """Views; materialized ones too, unless `show_matviews_as_tables` is off."""
    for found in _relations(system):
        if found.kind in "vm":
            entry = found.entry
            text = view_definition(entry) if isinstance(entry, View | MaterializedView) else None
            yield found.schema_name, found.name, text


# Columns.
TypeFacts = tuple[str, int | None, int | None, int | None, int | None, int | None, int | None, str]
_INTEGER_BITS = {"int2": 16, "int4": 32, "int8": 64}
_FLOAT_BITS = {"float4": 24, "float8": 53}


def type_facts(type_: Type) -> TypeFacts:
    """(data_type, length, octets, precision, radix, scale, datetime precision, udt_name) of a column."""
    name, modifier = type_.name, type_.typmod
    length = octets = precision = radix = scale = moments = None
    if name in ("varchar", "bpchar"):
        length = modifier - 4 if modifier >= 0 else None
        octets = length * 4 if length is not None else 1 << 30
    elif name == "text":
        octets = 1 << 30
    elif name in _INTEGER_BITS:
        precision, radix, scale = _INTEGER_BITS[name], 2, 0
    elif name in _FLOAT_BITS:
        precision, radix = _FLOAT_BITS[name], 2
    elif name == "numeric":
        radix = 10
        precision, scale = numeric_modifier(modifier) if modifier >= 0 else (None, None)
    elif name in ("timestamp", "timestamptz", "time", "interval", "date"):
        moments = 0 if name == "date" else 6 if modifier < 0 or name == "interval" else modifier
    shown = "ARRAY" if type_.category == "A" else type_text(type_.oid)
    return shown, length, octets, precision, radix, scale, moments, name


_COLUMNS = (
    "table_schema table_name column_name ordinal_position column_default is_nullable data_type"
    " character_maximum_length character_octet_length numeric_precision numeric_precision_radix numeric_scale"
    " datetime_precision udt_name dtd_identifier is_identity identity_generation identity_start"
    " identity_increment"
    " identity_maximum identity_minimum identity_cycle is_generated generation_expression is_updatable"
)


@information(
    "columns", _COLUMNS,
    variant=_shows_materialized_views, table_catalog=DATABASE, udt_catalog=DATABASE, udt_schema="pg_catalog",
    is_self_referencing="NO",
)  # fmt: skip
def _columns(system: SystemContext) -> Rows:
    """Columns of what `tables` shows."""
    all_ = objects(system.catalog)
    defaults = {(default.table.oid, default.number): default for default in all_.defaults}
    for found in _relations(system):
        relation = found.entry
        assert isinstance(relation, Relation)
        identities = relation.identities if isinstance(relation, Table) else {}
        for number, column in enumerate(relation.schema, 1):
            if column.hidden:
                continue
            default = defaults.get((relation.oid, number))
            generated = default is not None and default.generated
            text = default.text if default is not None else None
            yield (
                found.schema_name, found.name, column.name, number, None if generated else text,
                _yes(column.nullable), *type_facts(column.type), str(number),
                *_identity(identities.get(column.name), system), "ALWAYS" if generated else "NEVER",
                text if generated else None, _yes(isinstance(relation, Table)),
            )  # fmt: skip


def _identity(identity: Identity | None, system: SystemContext) -> tuple[str | None, ...]:
    """(is_identity, generation, start, increment, maximum, minimum, cycle)"""
    if identity is None or identity.kind == "serial":
        return "NO", None, None, None, None, None, "NO"
    sequence = system.catalog.by_oid(identity.sequence_oid)
    assert isinstance(sequence, Sequence)
    numbers = (sequence.start, sequence.increment, sequence.maximum, sequence.minimum)
    return "YES", identity.kind.upper(), *map(str, numbers), _yes(sequence.cycle)


# Constraints.
_WORDS = {"p": "PRIMARY KEY", "u": "UNIQUE", "c": "CHECK", "f": "FOREIGN KEY"}


def _constraints(system: SystemContext, kinds: str) -> Iterator[Constraint]:
    return (found for found in objects(system.catalog).constraints.values() if found.kind in kinds)


@information(
    "table_constraints", "constraint_schema constraint_name table_schema table_name constraint_type enforced",
    constraint_catalog=DATABASE, table_catalog=DATABASE, is_deferrable="NO", initially_deferred="NO",
)  # fmt: skip
def _table_constraints(system: SystemContext) -> Rows:
    """Keys, checks, foreign keys; and a check for each column that is NOT NULL."""
    for found in _constraints(system, "pucf"):
        table = found.table
        yield (
            found.schema_name, found.name, table.schema_name, table.name, _WORDS[found.kind],
            _yes(found.kind != "f"),
        )  # fmt: skip
    for table, name, _ in _not_nulls(objects(system.catalog)):
        yield table.schema_name, name, table.schema_name, table.name, "CHECK", "YES"


def _not_nulls(all_: Objects) -> Iterator[tuple[Table, str, str]]:
    """(table, name, column) of each NOT NULL, named as PostgreSQL does."""
    for found in all_.relations("r"):
        table = found.entry
        if isinstance(table, Table):
            schema = all_.schemas[table.schema_name]
            for number, column in enumerate(table.schema, 1):
                if not column.nullable and not column.hidden:
                    yield table, f"{schema}_{table.oid}_{number}_not_null", column.name


@information(
    "check_constraints", "constraint_schema constraint_name check_clause", constraint_catalog=DATABASE
)
def _check_constraints(system: SystemContext) -> Rows:
    """CHECK and NOT NULL."""
    for found in _constraints(system, "c"):
        yield found.schema_name, found.name, f"({found.expression})"
    for table, name, column in _not_nulls(objects(system.catalog)):
        yield table.schema_name, name, f"{column} IS NOT NULL"


@information(
    "key_column_usage",
    "constraint_schema constraint_name table_schema table_name column_name ordinal_position"
    " position_in_unique_constraint",
    constraint_catalog=DATABASE, table_catalog=DATABASE,
)  # fmt: skip
def _key_columns(system: SystemContext) -> Rows:
    """Columns of keys and foreign keys."""
    for found in _constraints(system, "puf"):
        table = found.table
        for position, number in enumerate(found.columns, 1):
            yield (
                found.schema_name, found.name, table.schema_name, table.name, table.schema[number - 1].name,
                position,
                position if found.kind == "f" else None,
            )  # fmt: skip


@information(
    "constraint_column_usage", "table_schema table_name column_name constraint_schema constraint_name",
    constraint_catalog=DATABASE, table_catalog=DATABASE,
)  # fmt: skip
def _constraint_columns(system: SystemContext) -> Rows:
    """Columns a constraint is about; of a foreign key those it refers to."""
    for found in _constraints(system, "pucf"):
        table: Relation = found.foreign or found.table
        for number in found.foreign_columns or found.columns:
            name = table.schema[number - 1].name
            yield table.schema_name, table.name, name, found.schema_name, found.name


@information(
    "constraint_table_usage", "table_schema table_name constraint_schema constraint_name",
    constraint_catalog=DATABASE, table_catalog=DATABASE,
)  # fmt: skip
def _constraint_tables(system: SystemContext) -> Rows:
    """Tables of keys, and those foreign keys refer to."""
    for found in _constraints(system, "puf"):
        table: Relation = found.foreign or found.table
        yield table.schema_name, table.name, found.schema_name, found.name


@information(
    "referential_constraints",
    "constraint_schema constraint_name unique_constraint_catalog unique_constraint_schema"
    " unique_constraint_name",
    constraint_catalog=DATABASE, match_option="NONE", update_rule="NO ACTION", delete_rule="NO ACTION",
)  # fmt: skip
def _foreign_keys(system: SystemContext) -> Rows:
    """Foreign keys with the keys they refer to."""
    for found in _constraints(system, "f"):
        assert found.foreign is not None
        key = found.foreign.primary_key_name if isinstance(found.foreign, Table) else ""
        unique = (DATABASE, found.foreign.schema_name, key) if key else (None, None, None)
        yield found.schema_name, found.name, *unique


# The rest.
@information(
    "sequences",
    "sequence_schema sequence_name data_type numeric_precision start_value minimum_value maximum_value"
    " increment"
    " cycle_option",
    sequence_catalog=DATABASE, numeric_precision_radix=2, numeric_scale=0,
)  # fmt: skip
def _sequences(system: SystemContext) -> Rows:
    """Sequences."""
    for entry in system.catalog.of(Sequence):
        assert isinstance(entry, Sequence)
        numbers = (entry.start, entry.minimum, entry.maximum, entry.increment)
        type_ = Type(entry.type_name)
        yield (
            entry.schema_name, entry.name, str(type_), _INTEGER_BITS[entry.type_name], *map(str, numbers),
            _yes(entry.cycle),
        )  # fmt: skip


@information(
    "routines",
    "specific_name routine_name routine_type data_type type_udt_name is_deterministic is_null_call",
    specific_catalog=DATABASE, specific_schema="pg_catalog", routine_catalog=DATABASE,
    routine_schema="pg_catalog",
    type_udt_catalog=DATABASE, type_udt_schema="pg_catalog", routine_body="EXTERNAL",
    external_language="INTERNAL",
    parameter_style="GENERAL", sql_data_access="MODIFIES", security_type="INVOKER",
)  # fmt: skip
def _routines(system: SystemContext) -> Rows:
    """Functions."""
    names = {row.oid: name for name, row in TYPES.items()}
    for function in functions().values():
        kind = "FUNCTION" if function.kind == "f" else None
        shown = type_text(function.result)
        yield (
            f"{function.name}_{function.oid}", function.name, kind,
            "ARRAY" if shown.endswith("[]") else shown,
            names.get(function.result, f"_{shown.removesuffix('[]')}"),
            _yes(function.volatility == "i"), _yes(function.strict),
        )  # fmt: skip


@information("character_sets", "character_set_name", character_repertoire="UCS", form_of_use="UTF8",
             default_collate_catalog=DATABASE, default_collate_schema="pg_catalog",
             default_collate_name="C")  # fmt: skip
def _character_sets(system: SystemContext) -> Rows:
    """UTF8."""
    yield ("UTF8",)


@information("collations", "collation_name", collation_catalog=DATABASE, collation_schema="pg_catalog",
             pad_attribute="NO PAD")  # fmt: skip
def _collations(system: SystemContext) -> Rows:
    """Orders of text."""
    return (("C",), ("POSIX",), ("ucs_basic",))


@information("enabled_roles", "role_name", live=True)
def _enabled_roles(system: SystemContext) -> Rows:
    """The owner and the users with a session."""
    return ((name,) for name in roles(system).values())


@information("view_table_usage", "view_schema view_name table_schema table_name",
             view_catalog=DATABASE, table_catalog=DATABASE)  # fmt: skip
def _view_tables(system: SystemContext) -> Rows:
    """The relations each view reads."""
    for entry in system.catalog.of(View, MaterializedView):
        for oid in entry.dependencies:
            needed = system.catalog.by_oid(oid)
            if isinstance(needed, Relation):
                yield entry.schema_name, entry.name, needed.schema_name, needed.name


_PRIVILEGES = ("INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


def _table_privileges(system: SystemContext) -> Rows:
    """The owner may do everything."""
    for found in _relations(system):
        for privilege in _PRIVILEGES:
            yield found.schema_name, found.name, privilege, _yes(privilege == "SELECT")


for _name in ("table_privileges", "role_table_grants"):
    information(
        _name, "table_schema table_name privilege_type with_hierarchy",
        variant=_shows_materialized_views, grantor=OWNER_NAME, grantee=OWNER_NAME, table_catalog=DATABASE,
        is_grantable="YES",
    )(_table_privileges)  # fmt: skip
