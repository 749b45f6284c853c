"""pg_tables, pg_views, pg_indexes and the other views that show objects by name; and their statistics."""

from __future__ import annotations

from ..entries import MaterializedView, Sequence, View
from .definitions import index_definition, view_definition
from .objects import Class, objects
from .pg_server import OWNER_NAME
from .registry import Rows, SystemContext, catalogue


@catalogue(
    "pg_tables", "schemaname tablename hasindexes",
    tableowner=OWNER_NAME, hasrules=False, hastriggers=False, rowsecurity=False,
)  # fmt: skip
def _tables(system: SystemContext) -> Rows:
    """Tables."""
    all_ = objects(system.catalog)
    indexed = {index.table.oid for index in all_.indexes.values()}
    for found in all_.relations("r"):
        yield found.schema_name, found.name, found.oid in indexed


@catalogue("pg_views", "schemaname viewname definition", viewowner=OWNER_NAME)
def _views(system: SystemContext) -> Rows:
    """Views."""
    for found in objects(system.catalog).relations("v"):
        text = view_definition(found.entry) if isinstance(found.entry, View) else None
        yield found.schema_name, found.name, text


@catalogue(
    "pg_matviews", "schemaname matviewname hasindexes definition",
    matviewowner=OWNER_NAME, ispopulated=True,
)  # fmt: skip
def _materialized_views(system: SystemContext) -> Rows:
    """Materialized views."""
    all_ = objects(system.catalog)
    indexed = {index.table.oid for index in all_.indexes.values()}
    for found in all_.relations("m"):
        assert isinstance(found.entry, MaterializedView)
        yield found.schema_name, found.name, found.oid in indexed, view_definition(found.entry)


@catalogue("pg_indexes", "schemaname tablename indexname indexdef")
def _indexes(system: SystemContext) -> Rows:
    """Indexes, those of keys included."""
    for index in objects(system.catalog).indexes.values():
        yield index.schema_name, index.table.name, index.name, index_definition(index)


@catalogue(
    "pg_sequences",
    "schemaname sequencename data_type start_value min_value max_value increment_by cycle last_value",
    live=True, sequenceowner=OWNER_NAME, cache_size=1,
)  # fmt: skip
def _sequences(system: SystemContext) -> Rows:
    """Sequences."""
    from ...storage.types import Type

    for entry in system.catalog.of(Sequence):
        assert isinstance(entry, Sequence)
        yield (
            entry.schema_name, entry.name, Type(entry.type_name).oid, entry.start, entry.minimum,
            entry.maximum, entry.increment, entry.cycle,
            system.sequences.last(entry) if system.sequences is not None else None,
        )  # fmt: skip


def row_counts(system: SystemContext) -> dict[int, int]:
    """Rows of each table and materialized view, by OID."""
    counts: dict[int, int] = {}
    for row in (*system.facts("tables"), *system.facts("views")):
        oid, rows = row[0], row[1]
        assert isinstance(oid, int) and isinstance(rows, int)
        counts[oid] = rows
    return counts


def _is_user(found: Class) -> bool:
    return found.schema_name not in ("pg_catalog", "information_schema", "millpond")


_COUNTERS = {
    "seq_scan": 0, "seq_tup_read": 0, "n_tup_ins": 0, "n_tup_upd": 0, "n_tup_del": 0, "n_tup_hot_upd": 0,
    "n_dead_tup": 0, "n_mod_since_analyze": 0, "n_ins_since_vacuum": 0, "vacuum_count": 0,
    "autovacuum_count": 0, "analyze_count": 0, "autoanalyze_count": 0,
}  # fmt: skip


@catalogue("pg_stat_user_tables", "relid schemaname relname n_live_tup", live=True, fixed=_COUNTERS)
def _user_table_statistics(system: SystemContext) -> Rows:
    """Rows of tables and materialized views; nothing else is counted."""
    counts = row_counts(system)
    for found in objects(system.catalog).relations("r", "m"):
        if _is_user(found):
            yield found.oid, found.schema_name, found.name, counts.get(found.oid, 0)


@catalogue("pg_stat_all_tables", "relid schemaname relname n_live_tup", live=True, fixed=_COUNTERS)
def _table_statistics(system: SystemContext) -> Rows:
    """As pg_stat_user_tables."""
    return _user_table_statistics(system)
