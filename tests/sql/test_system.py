"""System relations against PostgreSQL: same columns, same types, same rows where they are its own."""

from __future__ import annotations

import psycopg
import pyarrow as pa
import pytest

from millpond.operators.functions.registry import SCALARS
from millpond.operators.node import EpochContext
from millpond.sql.catalog import Catalog, MaterializedView, Sequence, SystemRelation, Table
from millpond.sql.entries import (
    Check,
    ForeignReference,
    Identity,
    Index,
    IndexKey,
    Source,
    UniqueConstraint,
    View,
)
from millpond.sql.system import SYSTEM_RELATIONS, SystemContext, system_rows
from millpond.sql.system.names import name_parts, relation_oid, relation_text, type_text
from millpond.storage.errors import SqlError
from millpond.storage.schema import Column, Schema
from millpond.storage.types import INT4, REGCLASS, TEXT, numeric, varchar

SHOWN_AS = {
    "sql_identifier": "name", "character_data": "varchar", "yes_or_no": "varchar", "cardinal_number": "int4",
    "time_stamp": "timestamptz", "pg_node_tree": "text", "pg_lsn": "text", "_aclitem": "_text",
    "anyarray": "_text", "inet": "text", "pg_ndistinct": "text", "pg_dependencies": "text",
    "pg_mcv_list": "text", "_pg_statistic": "_text",
}  # fmt: skip
"""Types that nothing here has values of, and what their columns are instead."""

NEWER = {"pg_stat_io"}
CHANGED_IN_16 = {
    "pg_attribute", "pg_auth_members", "pg_collation", "pg_constraint", "pg_database", "pg_hba_file_rules",
    "pg_ident_file_mappings", "pg_prepared_statements", "pg_replication_slots", "pg_stat_all_indexes",
    "pg_stat_all_tables", "pg_stat_database_conflicts", "pg_stat_gssapi", "pg_stat_subscription",
    "pg_stat_sys_indexes", "pg_stat_sys_tables", "pg_stat_user_indexes", "pg_stat_user_tables",
    "pg_stat_xact_all_tables", "pg_stat_xact_sys_tables", "pg_stat_xact_user_tables", "pg_subscription",
}  # fmt: skip
"""Relations whose columns differ between 15, which we show, and 16, which the oracle is."""


def rows(
    name: str, system: SystemContext, *columns: str, schema: str = "pg_catalog"
) -> list[tuple[object, ...]]:
    """These columns of a system relation."""
    entry = system.catalog.find((schema, name), ())
    assert isinstance(entry, SystemRelation), name
    arrays = system_rows(entry, system)
    names = entry.schema.names
    return list(zip(*(arrays[names.index(column)].to_pylist() for column in columns), strict=True))


@pytest.fixture(scope="module")
def system() -> SystemContext:
    """A catalogue with one of everything."""
    columns = Schema(
        (Column("id", INT4, False), Column("name", varchar(40)), Column("Total", numeric(10, 2)))
    )
    people = Table(
        20000, "public", "people", schema=columns, key=(0,), primary_key=(0,), primary_key_name="people_pkey",
        primary_key_oid=20001, defaults={"name": "'x'"}, checks=(Check("people_id_check", "id > 0"),),
        uniques=(UniqueConstraint(20002, "people_name_key", (1,)),), comment="who",
        column_comments={"name": "whose"},
        identities={"id": Identity("serial", 20003)},
    )  # fmt: skip
    sequence = Sequence(
        20003, "public", "people_id_seq", owner=(20000, "id"), dependencies=frozenset({20000})
    )
    index = Index(
        20004, "public", "people_total", table_oid=20000, dependencies=frozenset({20000}),
        keys=(IndexKey(2, descending=True, nulls_first=True), IndexKey(1)),
    )  # fmt: skip
    orders = Table(
        20005, "app", "orders", schema=Schema((Column("who", INT4), Column("_row_id", INT4, False, True))),
        key=(1,),
        foreign_keys=(ForeignReference("orders_who_fkey", (0,), 20000, (0,)),),
    )  # fmt: skip
    view = View(20006, "public", "v", schema=Schema.of(id=INT4), query="select id from people;",
                dependencies=frozenset({20000}))  # fmt: skip
    totals = MaterializedView(20007, "public", "mv", schema=Schema.of(n=INT4), query="select 1 as n")
    source = Source(
        20008, "public", "src", schema=Schema.of(a=TEXT), options={"connector": "file", "path": "x"}
    )
    from millpond.sql.entries import Schema as SchemaEntry

    catalog = Catalog.initial(SYSTEM_RELATIONS).with_all(
        [SchemaEntry(19999, "", "app"), people, sequence, index, orders, view, totals, source]
    )
    return SystemContext(catalog)


def test_all_of_postgres_relations_are_there_with_its_columns(
    postgres: psycopg.Connection, system: SystemContext
) -> None:
    theirs = postgres.execute(
        "SELECT n.nspname, c.relname, array_agg(a.attname || ' ' || t.typname ORDER BY a.attnum)"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') GROUP BY 1, 2"
    ).fetchall()
    assert len(theirs) > 190
    for schema, name, columns in theirs:
        if name in NEWER or name.startswith("_pg_"):
            continue
        entry = system.catalog.find((schema, name), ())
        assert isinstance(entry, SystemRelation), name
        ours = [f"{column.name} {column.type.name}" for column in entry.schema]
        words = [column.split() for column in columns]
        expected = [f"{column} {SHOWN_AS.get(type_, type_)}" for column, type_ in words]
        if name in CHANGED_IN_16:
            assert {c.split()[0] for c in ours} <= {c.split()[0] for c in expected}, name
        else:
            assert ours == expected, name


def test_every_relation_can_be_read(system: SystemContext) -> None:
    for entry in SYSTEM_RELATIONS:
        arrays = system_rows(entry, system)
        assert [array.type for array in arrays] == [type_.arrow for type_ in entry.schema.types], entry.name
        assert len({len(array) for array in arrays}) == 1


def test_types_are_postgres(postgres: psycopg.Connection, system: SystemContext) -> None:
    columns = (
        "oid", "typname", "typlen", "typbyval", "typtype", "typcategory", "typispreferred", "typdelim",
        "typelem", "typarray", "typalign", "typstorage", "typcollation", "typbasetype", "typtypmod",
    )  # fmt: skip
    ours = rows("pg_type", system, *columns)
    numbers = ("oid", "typelem", "typarray", "typcollation", "typbasetype")
    picked = ", ".join(f"{c}::int8" if c in numbers else c for c in columns)
    theirs = {row[0]: row for row in postgres.execute(f"SELECT {picked} FROM pg_type").fetchall()}
    assert len(ours) > 70
    assert [row for row in ours if tuple(theirs[row[0]]) != row] == []


@pytest.mark.parametrize("name", ["pg_am", "pg_opclass"])
def test_rows_are_among_postgres(name: str, postgres: psycopg.Connection, system: SystemContext) -> None:
    columns = {"pg_am": "oid amname amtype", "pg_opclass": "oid opcname opcintype opcfamily opcdefault"}[name]
    picked = ", ".join(f"{c}::text" for c in columns.split())
    theirs = set(postgres.execute(f"SELECT {picked} FROM {name}").fetchall())
    ours = {tuple(str(v).lower() for v in row) for row in rows(name, system, *columns.split())}
    assert ours <= theirs


def test_function_names_of_types_resolve(system: SystemContext) -> None:
    procs = {row[0] for row in rows("pg_proc", system, "oid")}
    for row in rows(
        "pg_type", system, "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout"
    ):
        assert {oid for oid in row if oid} <= procs


def test_oids_are_unique(system: SystemContext) -> None:
    for name in (
        "pg_class",
        "pg_type",
        "pg_proc",
        "pg_constraint",
        "pg_attrdef",
        "pg_operator",
        "pg_namespace",
    ):
        oids = [row[0] for row in rows(name, system, "oid")]
        assert len(oids) == len(set(oids)), name


def test_classes(system: SystemContext) -> None:
    found = {
        row[1]: row[2:]
        for row in rows(
            "pg_class", system, "oid", "relname", "relkind", "relnatts", "relchecks", "relhastriggers"
        )
        if int(str(row[0])) >= 19999
    }
    assert found == {
        "people": ("r", 3, 1, True), "people_pkey": ("i", 1, 0, False), "people_name_key": ("i", 1, 0, False),
        "people_id_seq": ("S", 3, 0, False), "people_total": ("i", 2, 0, False), "orders": ("r", 1, 0, True),
        "v": ("v", 1, 0, False), "mv": ("m", 1, 0, False), "src": ("f", 1, 0, False),
    }  # fmt: skip


def test_indexes_and_constraints(system: SystemContext) -> None:
    indexes = {
        row[0]: row[1:]
        for row in rows("pg_index", system, "indexrelid", "indkey", "indoption", "indisprimary")
    }
    assert indexes == {
        20001: ([1], [0], True), 20002: ([2], [0], False), 20004: ([3, 2], [3, 0], False)
    }  # fmt: skip
    constraints = rows(
        "pg_constraint", system, "conname", "contype", "conrelid", "confrelid", "conkey", "confkey"
    )
    assert sorted(constraints) == [
        ("orders_who_fkey", "f", 20005, 20000, [1], [1]), ("people_id_check", "c", 20000, 0, [1], None),
        ("people_name_key", "u", 20000, 0, [2], None), ("people_pkey", "p", 20000, 0, [1], None),
    ]  # fmt: skip


def test_dependencies(system: SystemContext) -> None:
    found = rows("pg_depend", system, "classid", "objid", "refclassid", "refobjid", "refobjsubid", "deptype")
    (rule,) = (row[0] for row in rows("pg_rewrite", system, "oid", "ev_class") if row[1] == 20006)
    assert (2618, rule, 1259, 20000, 0, "n") in found
    assert (1259, 20003, 1259, 20000, 1, "a") in found


def call(name: str, system: SystemContext, *values: object) -> object:
    """A function of the catalogue over one row."""
    overload = next(f for f in SCALARS[name] if len(f.args) == len(values))
    arrays = [pa.array([value], type_.arrow) for value, type_ in zip(values, overload.args, strict=True)]
    context = EpochContext(1, 0, surroundings=system)
    result = overload.kernel(arrays, 1, context)
    return result[0].as_py()


def test_definitions(system: SystemContext) -> None:
    assert call("pg_get_indexdef", system, 20004) == (
        'CREATE INDEX people_total ON public.people USING btree ("Total" DESC, name)'
    )
    assert call("pg_get_indexdef", system, 20004, 2, True) == "name"
    assert call("pg_get_indexdef", system, 20001).startswith("CREATE UNIQUE INDEX people_pkey")  # pyright: ignore
    assert call("pg_get_viewdef", system, 20006) == " select id from people;"
    elsewhere = SystemContext(system.catalog, ("app",))
    assert call("pg_get_viewdef", elsewhere, 20006) == " select id from public.people;"
    oids = {str(row[1]): row[0] for row in rows("pg_constraint", system, "oid", "conname")}
    assert call("pg_get_constraintdef", system, oids["people_id_check"]) == "CHECK ((id > 0))"
    assert call("pg_get_constraintdef", system, oids["people_id_check"], True) == "CHECK (id > 0)"
    assert call("pg_get_constraintdef", system, oids["orders_who_fkey"]) == (
        "FOREIGN KEY (who) REFERENCES people(id)"
    )
    assert call("pg_get_constraintdef", system, oids["people_pkey"]) == "PRIMARY KEY (id)"
    assert call("pg_get_serial_sequence", system, "people", "id") == "public.people_id_seq"
    assert call("obj_description", system, 20000, "pg_class") == "who"
    assert call("col_description", system, 20000, 2) == "whose"


def test_defaults(system: SystemContext) -> None:
    found = {(row[0], row[1]): row[2] for row in rows("pg_attrdef", system, "adrelid", "adnum", "adbin")}
    assert found == {
        (20000, 1): "nextval('people_id_seq'::regclass)", (20000, 2): "'x'::character varying"
    }  # fmt: skip


def test_names_of_relations(system: SystemContext) -> None:
    assert name_parts('App."Two "" words"') == ["app", 'Two " words']
    assert relation_oid("people", system) == relation_oid("public.people", system) == 20000
    assert relation_oid("people_pkey", system) == 20001
    assert relation_oid("pg_class", system) == 1259
    assert relation_text(20000, system) == "people"
    assert relation_text(20005, system) == "app.orders"
    assert relation_text(4242, system) == "4242"
    for text, code in (("nothing", "42P01"), ("no.thing", "3F000"), ("a..b", "42602")):
        with pytest.raises(SqlError) as caught:
            relation_oid(text, system)
        assert caught.value.code == code


MODIFIED = {1043: 14, 1042: 14, 1015: 14, 1700: 655366, 1114: 3, 1184: 3, 1083: 3}
"""A modifier for types that have one."""


def test_format_type_is_postgres(postgres: psycopg.Connection, system: SystemContext) -> None:
    for oid in (int(str(row[0])) for row in rows("pg_type", system, "oid")):
        for modifier in (-1, MODIFIED.get(oid, -1)):
            row = postgres.execute("SELECT format_type(%s::int8::oid, %s)", (oid, modifier)).fetchone()
            assert row is not None
            assert type_text(oid, modifier) == row[0], (oid, modifier)


def test_information_schema(system: SystemContext) -> None:
    tables = rows("tables", system, "table_schema", "table_name", "table_type", schema="information_schema")
    own = [row[1:] for row in tables if row[0] in ("public", "app")]
    assert sorted(own) == [
        ("mv", "VIEW"), ("orders", "BASE TABLE"), ("people", "BASE TABLE"), ("src", "FOREIGN"), ("v", "VIEW")
    ]  # fmt: skip
    hidden = SystemContext(system.catalog, setting=lambda name: "off")
    assert "mv" not in [row[0] for row in rows("tables", hidden, "table_name", schema="information_schema")]
    keys = rows("key_column_usage", system, "constraint_name", "column_name", schema="information_schema")
    assert ("people_pkey", "id") in keys
    referred = rows("constraint_column_usage", system, "constraint_name", "table_name", "column_name",
                    schema="information_schema")  # fmt: skip
    assert ("orders_who_fkey", "people", "id") in referred


def test_columns_of_information_schema_are_postgres(
    postgres: psycopg.Connection, system: SystemContext
) -> None:
    postgres.execute(
        "CREATE TABLE people (id int NOT NULL, name varchar(40) DEFAULT 'x', \"Total\" numeric(10,2))"
    )
    picked = (
        "column_name", "ordinal_position", "is_nullable", "data_type", "character_maximum_length",
        "character_octet_length", "numeric_precision", "numeric_precision_radix", "numeric_scale",
        "datetime_precision", "udt_name", "dtd_identifier", "is_identity", "is_generated", "is_updatable",
    )  # fmt: skip
    theirs = postgres.execute(
        f"SELECT {', '.join(picked)} FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND table_name = 'people' ORDER BY ordinal_position"
    ).fetchall()
    ours = rows("columns", system, "table_name", *picked, schema="information_schema")
    assert [row[1:] for row in ours if row[0] == "people"] == theirs


def test_a_relation_is_computed_once_a_catalogue(system: SystemContext) -> None:
    entry = system.catalog.find(("pg_catalog", "pg_attribute"), ())
    assert isinstance(entry, SystemRelation)
    assert system_rows(entry, system) is system_rows(entry, SystemContext(system.catalog, ("app",)))
    changed = SystemContext(system.catalog.without(20007))
    assert system_rows(entry, changed) is not system_rows(entry, system)


def test_own_relations_describe_their_columns() -> None:
    for entry in SYSTEM_RELATIONS:
        if entry.schema_name == "millpond":
            assert entry.comment
            assert set(entry.column_comments) == set(entry.schema.names), entry.name


class Counters:
    """Counts the draws of sequences."""

    def __init__(self) -> None:
        self.next = 1
        self.draws = 0

    def draw(self, sequence: Sequence, count: int) -> int:
        first, self.next = self.next, self.next + count * sequence.increment
        self.draws += 1
        return first

    def set_next(self, oid: int, value: int) -> None:
        self.next = value


def test_nextval_of_many_rows_draws_once(system: SystemContext) -> None:
    counters = Counters()
    session = SystemContext(system.catalog, sequences=counters)
    context = EpochContext(1, 0, surroundings=session)
    kernel = SCALARS["nextval"][0].kernel
    assert SCALARS["nextval"][0].args == (REGCLASS,)
    assert kernel([pa.array([20003] * 5, pa.int64())], 5, context).to_pylist() == [1, 2, 3, 4, 5]
    assert counters.draws == 1
    assert call("currval", session, 20003) == call("lastval", session) == 5
    assert call("setval", session, 20003, 40) == 40
    assert kernel([pa.array([20003], pa.int64())], 1, context).to_pylist() == [41]
    for name, oid, code in (("nextval", 20000, "42809"), ("currval", 20003, None), ("nextval", 5, "42P01")):
        if code is not None:
            with pytest.raises(SqlError) as caught:
                call(name, session, oid)
            assert caught.value.code == code
    with pytest.raises(SqlError, match="not yet defined in this session"):
        call("currval", SystemContext(system.catalog), 20003)
