"""Whether names mean what they seem to, who may do what, comments, and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...storage import types as t
from ...storage.errors import InvalidParameterValue
from ..entries import MaterializedView, Relation, Schema, Table
from .each import catalog_function
from .names import is_visible, relation_oid
from .objects import CLASSES, objects
from .pg_procs import functions, operators
from .registry import SystemContext

OD, I4, B, TX, N = t.OID, t.INT4, t.BOOL, t.TEXT, t.NAME


@catalog_function("pg_table_is_visible", (OD,), result=B)
def _table_is_visible(system: SystemContext, oid: int) -> bool | None:
    """Whether the relation's plain name means it, on the search path."""
    found = objects(system.catalog).by_oid.get(oid)
    return None if found is None else is_visible(found, system)


_KINDS = """type function operator opclass opfamily collation conversion statistics_obj
    ts_config ts_dict ts_parser ts_template"""
for _kind in _KINDS.split():  # fmt: skip

    @catalog_function(f"pg_{_kind}_is_visible", (OD,), result=B)
    def _is_visible(system: SystemContext, oid: int) -> bool:
        """Whether the object's plain name means it: all are in pg_catalog, which is always searched."""
        return True


# Privileges: every user may do everything.
def _privilege(name: str, *objects_: Sequence[t.Type]) -> None:
    """`has_…_privilege([user,] object…, privilege)` in all spellings of its arguments."""
    for object_args in objects_:
        for user in ((), (N,), (OD,)):

            @catalog_function(name, (*user, *object_args, TX), result=B)
            def _may(system: SystemContext, *_: object) -> bool:
                """Whether a user may: always, for what exists."""
                return True


for _object in ("schema", "database", "function", "type", "language", "tablespace", "server",
                "foreign_data_wrapper", "parameter", "any_column"):  # fmt: skip
    _privilege(f"has_{_object}_privilege", (TX,), (OD,))
_privilege("has_column_privilege", *product((TX, OD), (TX, t.INT2)))
_privilege("pg_has_role", (N,), (OD,))


def _relation_privilege(name: str) -> None:
    for user in ((), (N,), (OD,)):

        @catalog_function(name, (*user, OD, TX), result=B)
        def _by_oid(system: SystemContext, *values: object) -> bool | None:
            """Whether a user may do that with the relation: NULL if there is none."""
            return True if values[-2] in objects(system.catalog).by_oid else None

        @catalog_function(name, (*user, TX, TX), result=B)
        def _by_name(system: SystemContext, *values: object) -> bool:
            """Whether a user may do that with the relation."""
            return bool(relation_oid(str(values[-2]), system)) or True


_relation_privilege("has_table_privilege")
_relation_privilege("has_sequence_privilege")


@catalog_function("pg_relation_is_updatable", (t.REGCLASS, B), result=I4)
def _relation_is_updatable(system: SystemContext, oid: int, *_: object) -> int:
    """Bits: 4 UPDATE, 8 INSERT, 16 DELETE."""
    return 28 if isinstance(system.catalog.by_oid(oid), Table) else 0


@catalog_function("pg_column_is_updatable", (t.REGCLASS, t.INT2, B), result=B)
def _column_is_updatable(system: SystemContext, oid: int, *_: object) -> bool:
    """Whether UPDATE may set the column."""
    return isinstance(system.catalog.by_oid(oid), Table)


@catalog_function("pg_relation_is_publishable", (t.REGCLASS,), result=B)
def _relation_is_publishable(system: SystemContext, oid: int) -> bool:
    """False: there are no publications."""
    return False


# Comments.
@catalog_function("obj_description", (OD, N), result=TX)
def _comment(system: SystemContext, oid: int, class_name: str) -> str | None:
    """The comment on an object of a catalogue."""
    if class_name in ("pg_proc", "pg_operator"):
        found = (functions() if class_name == "pg_proc" else operators()).get(oid)
        return found.doc.split("\n")[0] or None if found is not None else None
    entry = system.catalog.by_oid(oid)
    if entry is None or isinstance(entry, Schema) != (class_name == "pg_namespace"):
        return None
    return entry.comment or None if class_name in CLASSES else None


@catalog_function("obj_description", (OD,), result=TX)
def _any_comment(system: SystemContext, oid: int) -> str | None:
    """The comment on an object."""
    entry = system.catalog.by_oid(oid)
    return entry.comment or None if entry is not None else None


@catalog_function("col_description", (OD, I4), result=TX)
def _column_comment(system: SystemContext, oid: int, number: int) -> str | None:
    """The comment on a column."""
    entry = system.catalog.by_oid(oid)
    if not isinstance(entry, Relation) or not 0 < number <= len(entry.schema):
        return None
    return entry.column_comments.get(entry.schema[number - 1].name) or None


@catalog_function("shobj_description", (OD, N), result=TX)
def _shared_comment(system: SystemContext, oid: int, class_name: str) -> None:
    """The comment on a database, role or tablespace: none."""


# Sizes: bytes in memory.
def _sizes(system: SystemContext) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for row in (*system.facts("tables"), *system.facts("views")):
        oid, size = row[0], row[2]
        assert isinstance(oid, int) and isinstance(size, int)
        sizes[oid] = size
    return sizes


def _size_of(system: SystemContext, oid: int) -> int | None:
    found = objects(system.catalog).by_oid.get(oid)
    if found is None:
        return None
    return _sizes(system).get(oid, 0) if isinstance(found.entry, Table | MaterializedView) else 0


for _name in ("pg_relation_size", "pg_table_size", "pg_total_relation_size"):

    @catalog_function(_name, (t.REGCLASS,), *(((t.REGCLASS, TX),) if _name == "pg_relation_size" else ()),
                      result=t.INT8, volatility="volatile")  # fmt: skip
    def _relation_size(system: SystemContext, oid: int, fork: str = "main") -> int | None:
        """Bytes the rows take in memory, with their indexes."""
        return _size_of(system, oid) if fork == "main" else 0


@catalog_function("pg_indexes_size", (t.REGCLASS,), result=t.INT8, volatility="volatile")
def _index_size(system: SystemContext, oid: int) -> int:
    """0: indexes are counted with their table."""
    return 0


@catalog_function("pg_database_size", (N,), (OD,), result=t.INT8, volatility="volatile")
@catalog_function("pg_tablespace_size", (N,), (OD,), result=t.INT8, volatility="volatile")
def _database_size(system: SystemContext, _: object) -> int:
    """Bytes all rows take in memory."""
    return sum(_sizes(system).values())


@catalog_function("pg_tablespace_location", (OD,), result=TX)
def _location(system: SystemContext, oid: int) -> str:
    """Empty: it lies in the data directory."""
    return ""


_UNITS = {
    "": 1,
    "B": 1,
    "BYTES": 1,
    "KB": 1 << 10,
    "MB": 1 << 20,
    "GB": 1 << 30,
    "TB": 1 << 40,
    "PB": 1 << 50,
}


@catalog_function("pg_size_bytes", (TX,), result=t.INT8, volatility="immutable")
def _size_bytes(system: SystemContext, text: str) -> int:
    """A size like '10 MB' in bytes."""
    import re

    match = re.fullmatch(r"\s*([+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*([a-z]*)\s*", text, re.IGNORECASE)
    if match is None:
        raise InvalidParameterValue(f'invalid size: "{text}"')
    if match[2].upper() not in _UNITS:
        raise InvalidParameterValue(
            f'invalid size: "{text}"', detail=f'Invalid size unit: "{match[2]}".',
            hint='Valid units are "bytes", "B", "kB", "MB", "GB", "TB", and "PB".',
        )  # fmt: skip
    return int(float(match[1]) * _UNITS[match[2].upper()])
