"""Statements into their classes: what is in each field, for PostgreSQL's spellings and those of others."""

from __future__ import annotations

import pytest

from millpond.sql import statements as s
from millpond.sql.parse import parse, parse_statement
from millpond.sql.statements import ColumnName, ObjectName
from millpond.storage.errors import SqlError


def one(text: str) -> s.Statement:
    (statement,) = parse(text)
    return statement


def named(found: ObjectName | None, text: str) -> bool:
    return found is not None and str(found) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN", s.Begin()),
        ("begin isolation level repeatable read, read only", s.Begin(True, "repeatable read")),
        ("START TRANSACTION READ WRITE NOT DEFERRABLE", s.Begin(False, None, False)),
        ("COMMIT", s.Commit()),
        ("end work and chain", s.Commit(True)),
        ("ROLLBACK", s.Rollback()),
        ("rollback to savepoint a", s.Rollback("a")),
        ("ROLLBACK TO savepoint", s.Rollback("savepoint")),
        ("SAVEPOINT \"A b\"", s.Savepoint("A b")),
        ("RELEASE a", s.Release("a")),
        ("set transaction isolation level serializable", s.SetTransaction(None, "serializable")),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", s.SetTransaction(True, session=True)),
        ("SET a TO 1", s.SetVariable("a", "1")),
        ("SET LOCAL A.B = 'X y'", s.SetVariable("a.b", "X y", True)),
        ("SET x = -1.5", s.SetVariable("x", "-1.5")),
        ("SET x = on", s.SetVariable("x", "on")),
        ("SET x TO DEFAULT", s.SetVariable("x", None)),
        ("SET datestyle TO iso, mdy", s.SetVariable("datestyle", "iso, mdy")),
        ("SET search_path = \"$user\", public, 'A"
        " b'", s.SetVariable("search_path", '"$user", public, "A b"')),
        ("SET TIME ZONE 'UTC'", s.SetVariable("timezone", "UTC")),
        ("SET TIME ZONE LOCAL", s.SetVariable("timezone", None)),
        ("SET NAMES 'utf8'", s.SetVariable("client_encoding", "utf8")),
        ("SET SCHEMA 'x'", s.SetVariable("search_path", "x")),
        ("SET SESSION AUTHORIZATION joe", s.SetVariable("session_authorization", "joe")),
        ("SET cluster = c", s.SetVariable("cluster", "c")),
        ("SET RW_IMPLICIT_FLUSH TO true", s.SetVariable("rw_implicit_flush", "true")),
        ("SHOW ALL", s.ShowVariable("all")),
        ("show Server_Version", s.ShowVariable("server_version")),
        ("SHOW TRANSACTION ISOLATION LEVEL", s.ShowVariable("transaction_isolation")),
        ("SHOW TIME ZONE", s.ShowVariable("timezone")),
        ("RESET ALL", s.Reset("all")),
        ("RESET a.b", s.Reset("a.b")),
        ("DISCARD TEMPORARY", s.Discard("temp")),
        ("DEALLOCATE PREPARE ALL", s.Deallocate(None)),
        ("DEALLOCATE x", s.Deallocate("x")),
        ("LISTEN x", s.Listen("x")),
        ("UNLISTEN *", s.Unlisten(None)),
        ("NOTIFY x, 'hello'", s.Notify("x", "hello")),
        ("CLOSE ALL", s.CloseCursor(None)),
        ("CLOSE c", s.CloseCursor("c")),
        ("FETCH c", s.Fetch("c")),
        ("FETCH NEXT FROM c", s.Fetch("c", "forward", 1)),
        ("FETCH 10 c", s.Fetch("c", "forward", 10)),
        ("FETCH -2 IN c", s.Fetch("c", "backward", 2)),
        ("FETCH ALL c", s.Fetch("c", "forward", None)),
        ("FETCH BACKWARD ALL FROM c", s.Fetch("c", "backward", None)),
        ("FETCH LAST FROM c", s.Fetch("c", "absolute", -1)),
        ("FETCH RELATIVE -3 FROM c", s.Fetch("c", "relative", -3)),
        ("FETCH ALL c WITH (timeout = '1s')", s.Fetch("c", "forward", None, "1s")),
        ("FETCH next", s.Fetch("next")),
        ("MOVE FORWARD 3 FROM c", s.Move("c", "forward", 3)),
        ("FLUSH", s.Flush()),
        ("WAIT", s.Wait()),
        ("RECOVER", s.Recover()),
        ("CANCEL JOBS 1, 2", s.CancelJobs((1, 2))),
        ("VACUUM ANALYZE t", s.NoOperation("VACUUM")),
        ("LOCK t", s.NoOperation("LOCK TABLE")),
        ("ANALYZE", s.NoOperation("ANALYZE")),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ select 1; $$", s.Unsupported("CREATE FUNCTION")),
        ("CREATE OR REPLACE FUNCTION f() RETURNS int AS 'x'", s.Unsupported("CREATE FUNCTION")),
        ("GRANT SELECT ON t TO joe", s.Unsupported("GRANT")),
        ("DO $$ begin end $$", s.Unsupported("DO")),
        ("ALTER SYSTEM SET a = 1", s.AlterSystem("a", "1")),
        ("SHOW TABLES", s.ShowObjects("tables")),
        ("SHOW FULL TABLES FROM x", s.ShowObjects("tables", schema="x", full=True)),
        ("SHOW MATERIALIZED VIEWS LIKE 'a%'", s.ShowObjects("materialized views", like="a%")),
        ("SHOW JOBS", s.ShowObjects("jobs")),
    ],
)  # fmt: skip
def test_statements_without_parts(text: str, expected: s.Statement):
    found = one(text + " ;")
    assert found == expected
    assert found.text == text


def test_names_have_positions():
    found = one("SHOW COLUMNS FROM a.t")
    assert isinstance(found, s.ShowObjects)
    assert found.of == ObjectName(("a", "t"), 19)
    created = one('show create materialized view "V"')
    assert created == s.ShowCreate("materialized view", ObjectName(("V",), 31))
    assert one("describe t") == s.Describe(ObjectName(("t",), 10))
    assert one("describe fragments t") == s.Describe(ObjectName(("t",), 20), "fragments")


def table(text: str) -> s.CreateTable:
    found = one(text)
    assert isinstance(found, s.CreateTable)
    return found


def test_columns_and_constraints():
    text = """create temp table if not exists s.t (
        id bigserial primary key,
        a int not null default 1 + 2 constraint positive check (a > 0),
        b varchar(10) collate "C" unique references u (x) on delete cascade,
        c int generated always as (a * 2) stored,
        d int generated by default as identity,
        e numeric(10, 2)[] null,
        constraint ab unique (a, b), check (a < 10), foreign key (a, b) references v)"""
    found = table(text)
    assert named(found.name, "s.t")
    assert found.if_not_exists
    assert found.temporary
    body = found.body
    ident, a, b, c, d, e = body.columns
    assert (ident.identity, ident.not_null, str(ident.type)) == ("by default", True, "bigserial")
    assert a.default is not None
    assert (a.default.text, text[a.default.position - 1 :][:5]) == ("1 + 2", "1 + 2")
    assert b.collation == "C"
    assert c.generated is not None
    assert c.generated.text == "a * 2"
    assert (d.identity, d.not_null) == ("by default", True)
    assert e.type is not None
    assert (e.type.modifiers, e.type.dimensions) == ((10, 2), 1)
    assert body.primary_key is not None
    assert [k.name for k in body.primary_key.columns] == ["id"]
    assert [(u.name, [k.name for k in u.columns]) for u in body.uniques] == [("", ["b"]), ("ab", ["a", "b"])]
    assert [(k.name, k.expression.text) for k in body.checks] == [("positive", "a > 0"), ("", "a < 10")]
    assert [(str(f.table), f.on_delete) for f in body.foreign_keys] == [("u", "cascade"), ("v", "")]


def test_two_primary_keys_are_one_too_many():
    with pytest.raises(SqlError, match='multiple primary keys for table "t" are not allowed') as error:
        parse("create table t (a int primary key, primary key (a))")
    assert (error.value.code, error.value.position) == ("42P16", 36)


def test_a_table_from_kafka_in_risingwaves_words():
    found = table(
        """CREATE TABLE t (k varchar, v int, ts timestamp, proc AS proctime(), PRIMARY KEY (k),
             WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
           APPEND ONLY ON CONFLICT DO UPDATE IF NOT NULL WITH VERSION COLUMN(v)
           INCLUDE KEY AS k INCLUDE header 'h' varchar AS hh INCLUDE timestamp
           WITH (connector='kafka', topic = 't', Properties.Bootstrap.Server='h:9092', n = 3, p = SECRET pw)
           FORMAT UPSERT ENCODE JSON (schema.registry = 'http://x', "Quoted" = false)"""
    )
    assert found.append_only
    assert found.on_conflict == "do update if not null"
    assert [c.name for c in found.version_columns] == ["v"]
    assert found.body.columns[3].type is None
    watermark = found.body.watermarks[0]
    assert (watermark.column.name, watermark.expression.text) == ("ts", "ts - INTERVAL '5' SECOND")
    assert found.connector.options == {
        "connector": "kafka", "topic": "t", "properties.bootstrap.server": "h:9092", "n": "3",
        "p": "secret:pw",
    }  # fmt: skip
    form = found.connector.format
    assert form is not None
    assert (form.format, form.encode) == ("upsert", "json")
    assert form.options == {"schema.registry": "http://x", "quoted": "false"}
    key, header, stamp = found.connector.include
    assert (key.what, key.alias) == ("key", "k")
    assert (header.what, header.field, str(header.type), header.alias) == ("header", "h", "varchar", "hh")
    assert (stamp.what, stamp.type) == ("timestamp", None)


def test_sources_of_both_kinds():
    ours = one(
        "CREATE SOURCE s (a int) WITH (connector='datagen', fields.a.kind='sequence') FORMAT PLAIN"
        " ENCODE JSON"
    )
    assert isinstance(ours, s.CreateSource)
    assert ours.connector.options["fields.a.kind"] == "sequence"
    theirs = one(
        "CREATE SOURCE s IN CLUSTER c FROM KAFKA CONNECTION k (TOPIC 't', GROUP ID PREFIX = 'g')"
        " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr INCLUDE KEY AS kk ENVELOPE UPSERT"
    )
    assert isinstance(theirs, s.CreateSource)
    assert theirs.connector.options == {"connector": "kafka", "topic": "t", "group_id_prefix": "g"}
    assert named(theirs.connector.connection, "k")
    form = theirs.connector.format
    assert form is not None
    assert (form.format, form.encode, form.envelope) == ("upsert", "avro", "upsert")
    assert named(form.connection, "csr")
    generator = one("CREATE SOURCE s FROM LOAD GENERATOR AUCTION (TICK INTERVAL '1s')")
    assert isinstance(generator, s.CreateSource)
    assert generator.connector.options == {
        "connector": "load generator",
        "generator": "auction",
        "tick_interval": "1s",
    }


def test_create_table_as_keeps_its_query():
    found = one("create table t (a, b) as select 1, 2 with no data")
    assert isinstance(found, s.CreateTableAs)
    assert found.query.text == "select 1, 2"
    assert [c.name for c in found.columns] == ["a", "b"]
    assert not found.with_data


def test_views_keep_their_query():
    plain = one("create or replace view v (a) with (security_barrier) as\n  select 'é' -- c\n ;")
    assert isinstance(plain, s.CreateView)
    assert (plain.query.text, plain.or_replace, plain.options) == (
        "select 'é'",
        True,
        {"security_barrier": "true"},
    )
    view = one("CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT * FROM t EMIT ON WINDOW CLOSE")
    assert isinstance(view, s.CreateMaterializedView)
    assert (view.query.text, view.emit_on_window_close, view.if_not_exists) == ("SELECT * FROM t", True, True)
    theirs = one(
        "CREATE OR REPLACE MATERIALIZED VIEW v (a, b) IN CLUSTER c WITH (ASSERT NOT NULL a, RETAIN"
        " HISTORY FOR '1hr')"
        " AS SELECT 1, 2"
    )
    assert isinstance(theirs, s.CreateMaterializedView)
    assert theirs.ignored == ("IN CLUSTER c",)
    assert theirs.or_replace
    replacement = one("create replacement materialized view r for v as select 1")
    assert isinstance(replacement, s.CreateMaterializedView)
    assert named(replacement.replacement_for, "v")


def test_sinks_of_both_kinds():
    ours = one(
        "CREATE SINK k FROM v WITH (connector='kafka', primary_key='id') FORMAT PLAIN ENCODE JSON"
        " (force_append_only='true')"
    )
    assert isinstance(ours, s.CreateSink)
    assert named(ours.from_, "v")
    into = one("CREATE SINK k INTO t (a) AS SELECT 1")
    assert isinstance(into, s.CreateSink)
    assert named(into.into, "t")
    assert into.query is not None
    theirs = one(
        "CREATE SINK k FROM v INTO KAFKA CONNECTION c (TOPIC 't') KEY (id) NOT ENFORCED FORMAT JSON"
        " ENVELOPE DEBEZIUM"
    )
    assert isinstance(theirs, s.CreateSink)
    assert [c.name for c in theirs.key] == ["id"]
    assert theirs.connector.format is not None
    assert theirs.connector.format.envelope == "debezium"


def test_indexes():
    found = one(
        "create unique index i on s.t using btree (a desc, lower(b), (a + 1) nulls first) include"
        " (c) where a > 0"
    )
    assert isinstance(found, s.CreateIndex)
    assert [(c.column, c.expression.text, c.descending, c.nulls_first) for c in found.columns] == [
        ("a", "a", True, True), ("", "lower(b)", False, False), ("", "a + 1", False, True),
    ]  # fmt: skip
    assert found.where is not None
    assert found.where.text == "a > 0"
    theirs = one("create default index in cluster c on v")
    assert isinstance(theirs, s.CreateIndex)
    assert (theirs.name, theirs.columns) == ("", ())
    spread = one("create index i on t (a) distributed by (a)")
    assert isinstance(spread, s.CreateIndex)
    assert [c.name for c in spread.distributed_by] == ["a"]


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("drop table a, s.b", "table", ["a", "s.b"]),
        ("drop materialized view v", "materialized view", ["v"]),
        ("drop function f(int, text)", "function", ["f"]), ("drop source s", "source", ["s"]),
        ("drop sink s", "sink", ["s"]), ("drop schema x", "schema", ["x"]),
        ("drop secret p", "secret", ["p"]),
    ],
)  # fmt: skip
def test_drop(text: str, kind: str, names: list[str]):
    found = one(text.replace(kind, f"{kind} if exists", 1) + " cascade")
    assert isinstance(found, s.Drop)
    assert (found.kind, [str(n) for n in found.names], found.if_exists, found.cascade) == (
        kind,
        names,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("alter table t rename to u", s.RenameTo("u")),
        ("alter view v set schema x", s.SetSchema("x")),
        ("alter materialized view v set parallelism to adaptive", s.SetOptions({"parallelism": "adaptive"})),
        ("alter source v set source_rate_limit = 5", s.SetOptions({"source_rate_limit": "5"})),
        ("alter table t set (fillfactor = 70)", s.SetOptions({"fillfactor": "70"})),
        ("alter table t owner to joe", s.OwnerTo("joe")),
        ("alter table t drop constraint if exists c cascade", s.DropConstraint("c", True, True)),
        ("alter table t drop column a", s.DropColumn(ColumnName("a", 27))),
        ("alter table t alter a drop not null", s.AlterColumnNotNull(ColumnName("a", 21), False)),
        ("alter materialized view v swap with w", s.SwapWith(ObjectName(("w",), 37))),
        ("alter materialized view v apply replacement r", s.ApplyReplacement(ObjectName(("r",), 45))),
    ],
)
def test_alter(text: str, action: s.AlterAction):
    found = one(text)
    assert isinstance(found, s.Alter)
    assert found.actions == (action,)


def test_comments():
    assert one("comment on column s.t.c is 'x'") == s.Comment("column", ObjectName(("s", "t"), 19), "c", "x")
    assert one("comment on materialized view v is null") == s.Comment(
        "materialized view", ObjectName(("v",), 30), "", None
    )


def test_nested_statements_know_their_text_and_place():
    explain = one("explain (verbose, format json) select a from t")
    assert isinstance(explain, s.Explain)
    assert explain.options == {"verbose": "true", "format": "json"}
    assert explain.statement is not None
    assert (explain.statement.text, explain.statement.offset) == ("select a from t", 31)
    prepared = one("prepare p (int) as insert into t values ($1)")
    assert isinstance(prepared, s.Prepare)
    assert prepared.statement.text == "insert into t values ($1)"
    cursor = one("declare c no scroll cursor with hold for select 1")
    assert isinstance(cursor, s.DeclareCursor)
    assert (cursor.scroll, cursor.hold, cursor.statement and cursor.statement.text) == (
        False,
        True,
        "select 1",
    )
    subscription = one("DECLARE c SUBSCRIPTION CURSOR FOR s SINCE 1700")
    assert isinstance(subscription, s.DeclareCursor)
    assert subscription.since == "1700"


def test_explain_in_materializes_words():
    found = one("EXPLAIN OPTIMIZED PLAN AS JSON FOR MATERIALIZED VIEW v")
    assert isinstance(found, s.Explain)
    assert found.options == {"stage": "optimized", "format": "json"}
    assert named(found.name, "v")


def test_copy():
    found = one(
        "copy s.t (a, b) from stdin with (format csv, header, null '', delimiter ';', force_null (a))"
    )
    assert isinstance(found, s.Copy)
    assert (named(found.table, "s.t"), [c.name for c in found.columns], found.to) == (True, ["a", "b"], False)
    assert found.options == {"format": "csv", "header": "true", "null": "", "delimiter": ";"}
    assert found.force_null == ("a",)
    old = one("copy t to stdout with csv header delimiter as '|' force quote *")
    assert isinstance(old, s.Copy)
    assert (old.to, old.options, old.force_quote) == (
        True,
        {"format": "csv", "header": "true", "delimiter": "|"},
        True,
    )
    query = one("COPY (SUBSCRIBE v) TO STDOUT (FORMAT binary)")
    assert isinstance(query, s.Copy)
    assert isinstance(query.query, s.Subscribe)


def test_subscribe():
    found = one(
        "SUBSCRIBE TO (SELECT 1) ENVELOPE UPSERT (KEY (a, b)) WITH (SNAPSHOT = false, PROGRESS) AS"
        " OF AT LEAST 5 UP TO 9"
    )
    assert isinstance(found, s.Subscribe)
    assert found.query is not None
    assert found.query.text == "SELECT 1"
    assert (found.envelope, [k.name for k in found.key]) == ("upsert", ["a", "b"])
    assert (found.snapshot, found.progress, found.at_least) == (False, True, True)
    assert found.as_of is not None
    assert found.up_to is not None
    changes = one("SELECT * FROM v EMIT CHANGES")
    assert isinstance(changes, s.Select)
    assert changes.emit_changes


def test_connections_and_secrets():
    kafka = one("CREATE CONNECTION c TO KAFKA (BROKER 'h:9092', SASL PASSWORD = SECRET p)")
    assert isinstance(kafka, s.CreateConnection)
    assert kafka.options == {"broker": "h:9092", "sasl_password": "secret:p", "type": "kafka"}
    registry = one("CREATE CONNECTION c TO CONFLUENT SCHEMA REGISTRY (URL 'u')")
    assert isinstance(registry, s.CreateConnection)
    assert registry.options["type"] == "schema_registry"
    secret = one("CREATE SECRET x WITH (backend = 'meta') AS 'v'")
    assert isinstance(secret, s.CreateSecret)
    assert secret.value == "v"


def test_update_and_delete():
    update = one(
        "update only t as x set a = default, (b, c) = (1, 2) from u join v on true where x.a = u.a"
        " returning *"
    )
    assert isinstance(update, s.Update)
    assert update.alias == "x"
    assert [[c.name for c in a.columns] for a in update.assignments] == [["a"], ["b", "c"]]
    assert update.from_ is not None
    assert update.where is not None
    delete = one("with w as (select 1) delete from t using w where true")
    assert isinstance(delete, s.Delete)
    assert delete.with_ is not None
    assert delete.using is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM TUMBLE(t, ts, INTERVAL '1' MINUTE) GROUP BY window_start",
        "SELECT * FROM HOP(s.t, ts, INTERVAL '1 minute', INTERVAL '5' MINUTE) AS w",
        "SELECT * FROM a JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON a.id = d.id",
        "SELECT * FROM a JOIN d FOR SYSTEM_TIME AS OF PROCTIME() AS x ON a.id = x.id",
        "SELECT * FROM a ASOF LEFT JOIN b ON a.k = b.k AND a.t >= b.t",
        "SELECT * FROM a LEFT ASOF JOIN b MATCH_CONDITION(a.t >= b.t) ON a.k = b.k",
        "WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 10) x (a int) AS (SELECT 1) TABLE x",
        "SELECT a FROM t GROUP BY a OPTIONS (AGGREGATE INPUT GROUP SIZE = 5)",
        "SELECT approx_percentile(0.5, 0.01) WITHIN GROUP (ORDER BY x) FROM t",
        "SELECT first_value(x) OVER (PARTITION BY a ORDER BY t SESSION WITH GAP INTERVAL '5' MINUTE) FROM t",
        "SELECT * FROM t AS OF now()",
        "SELECT * FROM t AS OF AT LEAST 5",
        "SELECT * FROM t WHERE ts > mz_now() - 1000",
        "DECLARE c CURSOR FOR SUBSCRIBE v WITH (SNAPSHOT)",
        "CREATE SINK k AS SELECT * FROM t WITH (connector = 'blackhole')",
        "CREATE TABLE t (*, gen INT AS a + 2, PRIMARY KEY (k)) WITH (a = 'k') FORMAT PLAIN ENCODE AVRO",
        "CREATE TABLE t FROM SOURCE s (REFERENCE a.b)",
        "CREATE TABLE t (a int) FROM s TABLE 'public.t'",
        "CREATE SUBSCRIPTION s FROM v WITH (retention = '1D')",
        "ALTER SOURCE s SET SOURCE_RATE_LIMIT TO DEFAULT",
        "EXPLAIN (distsql, trace) CREATE MATERIALIZED VIEW v AS SELECT 1",
        "EXPLAIN ANALYZE (duration_secs 5) MATERIALIZED VIEW v",
        "EXPLAIN TIMESTAMP FOR SELECT 1",
        "SHOW INTERNAL TABLES",
        "SHOW SUBSCRIPTION CURSORS",
        "SET SOURCE_RATE_LIMIT = 5",
        "CREATE VIEW IF NOT EXISTS v AS SELECT 1",
    ],
)
def test_spellings_of_other_systems_are_accepted(text: str):
    assert one(text).text == text


def test_only_one_statement_can_be_prepared():
    with pytest.raises(SqlError, match="cannot insert multiple commands into a prepared statement"):
        parse_statement("select 1; select 2")
    assert parse_statement("select 1 ; ;\n").text == "select 1"
