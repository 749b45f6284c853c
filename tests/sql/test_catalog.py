"""The catalogue: names and search path, dependencies, errors in PostgreSQL's words, rows and back."""

from __future__ import annotations

import psycopg
import pytest

from millpond.sql.catalog import (
    FIRST_OID,
    Catalog,
    Check,
    Connection,
    ForeignReference,
    Identity,
    Index,
    IndexKey,
    MaterializedView,
    Schema,
    Sink,
    Source,
    SystemRelation,
    Table,
    UniqueConstraint,
    View,
    kind_of,
)
from millpond.sql.catalog_rows import from_rows, to_rows
from millpond.storage.errors import SqlError
from millpond.storage.schema import Column
from millpond.storage.schema import Schema as Columns
from millpond.storage.types import INT4, INT8, TEXT, array_of, numeric, varchar

PUBLIC = ("public",)
PG_CLASS = SystemRelation(1259, "pg_catalog", "pg_class", schema=Columns.of(relname=TEXT))


def table(oid: int, name: str, schema: str = "public", needs: tuple[int, ...] = ()) -> Table:
    return Table(oid, schema, name, schema=Columns.of(a=INT4), dependencies=frozenset(needs))


def sample() -> Catalog:
    """t ← v ← mv, an index on t, another schema with a table t."""
    return Catalog.initial([PG_CLASS]).with_all(
        [
            Schema(16384, "", "s"),
            table(16385, "t"),
            table(16386, "t", "s"),
            View(16387, "public", "v", dependencies=frozenset({16385}), query="select * from t"),
            MaterializedView(16388, "public", "mv", dependencies=frozenset({16387}), query="select * from v"),
            Index(16389, "public", "t_a_idx", dependencies=frozenset({16385}), table_oid=16385,
                  keys=(IndexKey(0, "", True, True),)),
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "path", "oid"),
    [
        (("t",), PUBLIC, 16385),
        (("t",), ("s", "public"), 16386),
        (("t",), ("missing", "s"), 16386),
        (("s", "t"), PUBLIC, 16386),
        (("millpond", "s", "t"), PUBLIC, 16386),
        (("pg_class",), PUBLIC, 1259),
        (("pg_class",), (), 1259),
        (("pg_catalog", "pg_class"), PUBLIC, 1259),
    ],
)
def test_names_are_found_along_the_search_path(parts, path, oid):
    assert sample().resolve(parts, path).oid == oid


def test_pg_catalog_comes_first_unless_the_path_says_otherwise():
    catalog = sample().with_(table(16400, "pg_class"))
    assert catalog.resolve(("pg_class",), PUBLIC).oid == 1259
    assert catalog.resolve(("pg_class",), ("public", "pg_catalog")).oid == 16400


@pytest.mark.parametrize("name", ["missing", "s.missing", "nowhere.t", 'public."T"'])
def test_a_missing_relation_is_reported_as_postgresql_does(postgres: psycopg.Connection, name: str):
    with pytest.raises(psycopg.Error) as theirs:
        postgres.execute(f"SELECT * FROM {name}".encode())
    parts = tuple(name.replace('"', "").split("."))
    with pytest.raises(SqlError) as ours:
        sample().resolve(parts, PUBLIC)
    assert (ours.value.code, ours.value.message) == (theirs.value.sqlstate, theirs.value.diag.message_primary)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("table", "missing"), ("view", "missing"), ("materialized view", "missing"), ("index", "missing"),
     ("schema", "missing"), ("table", "nowhere.t"), ("sequence", "missing")],
)  # fmt: skip
def test_dropping_what_is_not_there(postgres: psycopg.Connection, kind: str, name: str):
    with pytest.raises(psycopg.Error) as theirs:
        postgres.execute(f"DROP {kind} {name}".encode())
    with pytest.raises(SqlError) as ours:
        sample().resolve_object(kind, tuple(name.split(".")), PUBLIC)
    assert (ours.value.code, ours.value.message) == (theirs.value.sqlstate, theirs.value.diag.message_primary)


def test_too_many_dots_and_other_databases():
    with pytest.raises(SqlError, match="cross-database references are not implemented") as error:
        sample().resolve(("other", "s", "t"), PUBLIC)
    assert error.value.code == "0A000"
    with pytest.raises(SqlError, match="improper qualified name") as error:
        sample().resolve(("a", "b", "c", "d"), PUBLIC)
    assert error.value.code == "42601"


def test_all_relations_of_a_schema_share_their_names():
    catalog = sample()
    with pytest.raises(SqlError, match='relation "mv" already exists') as error:
        catalog.check_free("table", "public", "mv")
    assert error.value.code == "42P07"
    with pytest.raises(SqlError, match='schema "s" already exists') as error:
        catalog.check_free("schema", "", "s")
    assert error.value.code == "42P06"
    catalog.check_free("table", "s", "mv")
    catalog.check_free("connection", "public", "mv")
    named = catalog.with_(Connection(16500, "public", "mv"))
    assert named.resolve_object("connection", ("mv",), PUBLIC).oid == 16500
    assert named.resolve(("mv",), PUBLIC).oid == 16388


def test_a_new_object_goes_to_the_first_schema_that_exists():
    catalog = sample()
    assert catalog.creation_schema(("x",), ("missing", "s", "public")) == "s"
    assert catalog.creation_schema(("public", "x"), ("s",)) == "public"
    with pytest.raises(SqlError, match="no schema has been selected to create in") as error:
        catalog.creation_schema(("x",), ("missing",))
    assert error.value.code == "3F000"
    with pytest.raises(SqlError, match='schema "missing" does not exist'):
        catalog.creation_schema(("missing", "x"), PUBLIC)


def test_dependents_come_before_what_they_need():
    catalog = sample()
    assert [e.name for e in catalog.dependents(16385)] == ["v", "t_a_idx"]
    closure = catalog.dependents_closure([16385])
    assert {e.name for e in closure} == {"mv", "v", "t_a_idx"}
    order = [e.oid for e in closure]
    assert order.index(16388) < order.index(16387)
    assert catalog.dependents_closure([16388]) == []


def test_a_catalogue_never_changes_and_oids_are_never_used_again():
    before = sample()
    after = before.without(16388, 16389)
    assert before.find(("mv",), PUBLIC) is not None
    assert after.find(("mv",), PUBLIC) is None
    assert after.next_oid == before.next_oid == 16390
    assert after.version == before.version + 1
    first, reserved = after.reserve(2)
    assert first == 16390
    assert reserved.next_oid == 16392
    assert Catalog.initial().next_oid == FIRST_OID


def test_replacing_an_entry_renames_it():
    catalog = sample().with_(table(16385, "renamed"))
    assert catalog.find(("t",), PUBLIC) is None
    assert catalog.resolve(("renamed",), PUBLIC).id == "r16385"
    entry = catalog.by_id("r16385")
    assert entry is not None
    assert kind_of(entry) == "table"


@pytest.mark.parametrize(
    "columns", [("a",), ("a", "b"), ("very_long_column_name_" * 3, "another_long_column_name_" * 3)]
)
def test_free_names_are_those_of_postgresql(postgres: psycopg.Connection, columns: tuple[str, ...]):
    columns = tuple(name[:60] for name in columns)
    listed = ", ".join(columns)
    definitions = ", ".join(f"{column} int" for column in columns)
    postgres.execute(f"CREATE TABLE a_table_with_a_name ({definitions})".encode())
    for _ in range(2):
        postgres.execute(f"CREATE INDEX ON a_table_with_a_name ({listed})".encode())
    theirs = postgres.execute(
        "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
        " WHERE indrelid = 'a_table_with_a_name'::regclass ORDER BY pg_class.oid"
    ).fetchall()
    catalog, ours = Catalog.initial(), []
    for _ in range(2):
        name = catalog.free_name("public", "a_table_with_a_name", "_".join(columns), "idx")
        ours.append((name,))
        catalog = catalog.with_(Index(catalog.next_oid, "public", name))
    assert ours == theirs


def test_rows_and_back():
    columns = Columns(
        (
            Column("id", INT8, False),
            Column("name", varchar(10)),
            Column("prices", array_of(numeric(10, 2))),
            Column("_row_id", INT8, False, True),
        )
    )
    rich = Table(
        17000, "s", "Rich ü", "CREATE TABLE …", frozenset({16384, 3}), "a comment", {"id": "its number"},
        columns, (3,), True, None, "", 0, {"name": "'x'"}, {"prices": "array[1.0]"},
        {"id": Identity("always", 17001)}, (Check("c", "id > 0"),), (UniqueConstraint(17002, "u", (0, 1)),),
        (ForeignReference("f", (0,), 16385, (0,)),), {"id": "id - 1"}, "overwrite", ("id",), {"a": "b"},
    )  # fmt: skip
    source = Source(17003, "public", "src", schema=columns, options={"connector": "kafka"}, key=())
    sink = Sink(
        17004, "public", "k", from_oid=17000, schema=columns, key=(0,), dependencies=frozenset({17000})
    )
    catalog = sample().with_all([rich, source, sink]).without(17003)
    rows = to_rows(catalog)
    assert len({row.oid for row in rows}) == len(rows)
    again = from_rows(rows, [PG_CLASS])
    assert dict(again.entries) == dict(catalog.entries)
    assert again.next_oid == catalog.next_oid
    assert dict(again.names) == dict(catalog.names)


def test_a_row_from_before_a_field_existed_has_its_default():
    rows = [
        row
        if row.kind != "view"
        else type(row)(row.oid, row.kind, row.schema, row.name, '{"query":"select 1"}')
        for row in to_rows(sample())
    ]
    view = from_rows(rows).by_oid(16387)
    assert isinstance(view, View)
    assert (view.query, view.search_path, view.comment) == ("select 1", ("public",), "")
