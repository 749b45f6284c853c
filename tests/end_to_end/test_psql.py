"""psql's backslash commands, and what drivers ask of the catalogue, against a running server."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest
import sqlalchemy

from ..psql_program import PG_DUMP, PSQL
from .server_process import ServerProcess

SCHEMA = """
CREATE SCHEMA app;
CREATE TABLE customers (
    id int PRIMARY KEY, name varchar(40) NOT NULL DEFAULT 'x', email text UNIQUE,
    balance numeric(10,2) DEFAULT 0 CHECK (balance >= 0), tags text[]
);
CREATE TABLE orders (
    id serial PRIMARY KEY, customer_id int NOT NULL REFERENCES customers (id), total numeric(12,2),
    twice numeric GENERATED ALWAYS AS (total * 2) STORED
);
CREATE TABLE nokey (a int, b text);
CREATE TABLE app.numbered (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "Odd Name" text);
CREATE INDEX orders_customer ON orders (customer_id, total DESC);
CREATE VIEW rich AS SELECT id, name FROM customers WHERE balance > 0;
CREATE MATERIALIZED VIEW per_customer AS
    SELECT customer_id, count(*) AS n, sum(total) AS total FROM orders GROUP BY customer_id;
CREATE SOURCE bids WITH (connector = 'nexmark', nexmark.table.type = 'bid', nexmark.event.num = 100);
CREATE SEQUENCE fives INCREMENT 5;
COMMENT ON TABLE customers IS 'people who buy';
COMMENT ON COLUMN customers.name IS 'full name';
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server with the schema, for the tests that only read."""
    process = ServerProcess(tmp_path_factory.mktemp("psql") / "data")
    process.start()
    try:
        with process.connect() as connection:
            for statement in SCHEMA.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute("INSERT INTO customers VALUES (1, 'a', NULL, 5), (2, 'b', NULL, 0)")
            connection.execute("INSERT INTO orders (customer_id, total) VALUES (1, 10), (2, 20)")
        yield process
    finally:
        process.stop()


@pytest.fixture(scope="module")
def connection(shared: ServerProcess) -> Iterator[psycopg.Connection]:
    with shared.connect() as connected:
        yield connected


def psql(server: ServerProcess, *commands: str, program: tuple[str, ...] = (PSQL, "-X", "-A")) -> str:
    """What psql prints; it must not complain."""
    arguments = [part for command in commands for part in ("-c", command)]
    place = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "tester", "millpond")
    done = subprocess.run([*program, *place, *arguments], capture_output=True, text=True, timeout=120)
    assert "ERROR" not in done.stderr, done.stderr
    return done.stdout


QUIET = r"""
    \d \d+ \dt \dt+ \dv \dv+ \dm \dm+ \di \di+ \ds \ds+ \dE \dE+ \dtvmsE \dn \dn+ \l \l+ \du \du+ \dg \db \db+
    \dp \z \df \df+ \dfS \da \daS \dT \dT+ \dTS \dC \dC+ \do \doS \dO \dOS \dc \dcS \dD \dDS \dL \dLS \dx \dx+
    \dX \dA \dA+ \dAc \dAf \dAo \dAp \dF \dF+ \dFd \dFp \dFt \det \det+ \des \des+ \dew \dew+ \deu \dP \dP+
    \dd \ddp \drds \dRp \dRp+ \dRs \dRs+ \dy \dconfig \dl \dS \dtS \dvS \conninfo \encoding
"""
NAMED = (
    r"\d customers", r"\d+ customers", r"\d orders", r"\d+ orders", r"\d nokey", r"\d rich", r"\d+ rich",
    r"\d per_customer", r"\d+ per_customer", r"\d bids", r"\d+ bids", r"\d app.numbered", r"\d fives",
    r"\d customers_pkey", r"\d+ orders_customer", r"\d pg_class", r"\d+ information_schema.tables",
    r"\d millpond.views", r"\dt app.*", r"\dt *.*", r"\df+ abs", r"\sv rich", r"\sv+ rich", r"\dT text",
    r"\doS ||", r"\dconfig search*", r"\dn app", r"\l mill*", r"\du tester", r"\dp customers", r"\d cust*",
)  # fmt: skip


@pytest.mark.parametrize("command", [*QUIET.split(), *NAMED])
def test_backslash_command_answers(shared: ServerProcess, command: str) -> None:
    psql(shared, command)


def test_list_of_relations(shared: ServerProcess) -> None:
    lines = psql(shared, r"\d").splitlines()
    assert lines[2:-1] == [
        "public|bids|foreign table|millpond",
        "public|customers|table|millpond",
        "public|fives|sequence|millpond",
        "public|nokey|table|millpond",
        "public|orders|table|millpond",
        "public|orders_id_seq|sequence|millpond",
        "public|per_customer|materialized view|millpond",
        "public|rich|view|millpond",
    ]


def test_table(shared: ServerProcess) -> None:
    text = psql(shared, r"\d+ customers")
    assert "name|character varying(40)||not null|'x'::character varying|extended|||full name" in text
    assert "balance|numeric(10,2)|||0|main" in text
    assert '"customers_pkey" PRIMARY KEY, btree (id)' in text
    assert '"customers_email_key" UNIQUE CONSTRAINT, btree (email)' in text
    assert '"customers_balance_check" CHECK (balance >= 0)' in text
    assert 'TABLE "orders" CONSTRAINT "orders_customer_id_fkey" FOREIGN KEY (customer_id)' in text


def test_serial_generated_and_foreign_key(shared: ServerProcess) -> None:
    text = psql(shared, r"\d orders")
    assert "id|integer||not null|nextval('orders_id_seq'::regclass)" in text
    assert "twice|numeric|||generated always as (total * 2) stored" in text
    assert '"orders_customer" btree (customer_id, total DESC)' in text
    assert '"orders_customer_id_fkey" FOREIGN KEY (customer_id) REFERENCES customers(id)' in text
    assert "id|bigint||not null|generated always as identity" in psql(shared, r"\d app.numbered")


def test_views_and_sources(shared: ServerProcess) -> None:
    assert "SELECT id, name FROM customers WHERE balance > 0;" in psql(shared, r"\d+ rich")
    assert "CREATE OR REPLACE VIEW public.rich AS" in psql(shared, r"\sv rich")
    assert "SELECT customer_id, count(*) AS n" in psql(shared, r"\d+ per_customer")
    source = psql(shared, r"\d bids")
    assert 'Foreign table "public.bids"' in source
    assert "Server: nexmark" in source
    assert "\"nexmark.table.type\" 'bid'" in source


def test_describe_is_quick(shared: ServerProcess) -> None:
    psql(shared, r"\d customers")
    started = time.monotonic()
    psql(shared, r"\d", r"\d customers", r"\d+ orders")
    assert time.monotonic() - started < 2


def test_dump_of_the_schema(shared: ServerProcess) -> None:
    text = psql(shared, program=(PG_DUMP, "-s"))
    assert "CREATE TABLE public.customers (" in text
    assert "id integer DEFAULT nextval('public.orders_id_seq'::regclass) NOT NULL" in text
    assert "FOREIGN KEY (customer_id) REFERENCES public.customers(id);" in text
    assert "CREATE MATERIALIZED VIEW public.per_customer AS" in text
    assert "SELECT id, name FROM public.customers WHERE balance > 0;" in text
    assert "CREATE EXTENSION" not in text and "millpond.errors" not in text


Rows = list[tuple[object, ...]]

QUERIES: tuple[tuple[str, Rows], ...] = (
    ("SELECT 'customers'::regclass::text, 'public.orders'::regclass::oid = 'orders'::regclass",
     [("customers", True)]),
    ("SELECT relname FROM pg_class WHERE oid = 'app.numbered'::regclass", [("numbered",)]),
    ("SELECT 1259::regclass::text, 23::regtype::text, 11::regnamespace::text, 10::regrole::text",
     [("pg_class", "integer", "pg_catalog", "millpond")]),
    ("SELECT 'int4'::regtype::oid::int, 'varchar[]'::regtype::text, to_regtype('nothing')::text",
     [(23, "character varying[]", None)]),
    ("SELECT to_regclass('app.numbered')::text, to_regclass('nothing')::text", [("app.numbered", None)]),
    ("SELECT pg_typeof(1)::text, pg_typeof('customers'::regclass)::text", [("integer", "regclass")]),
    # Keys, their columns expanded and counted.
    ("SELECT a.attname, k.n FROM (SELECT indrelid, (information_schema._pg_expandarray(indkey)).n AS n,"
     " information_schema._pg_expandarray(indkey) AS pair FROM pg_index WHERE indisprimary) k"
     " JOIN pg_attribute a ON a.attrelid = k.indrelid AND a.attnum = (k.pair).x"
     " WHERE k.indrelid = 'orders'::regclass", [("id", 1)]),
    ("SELECT attname FROM pg_attribute a, pg_index i WHERE i.indexrelid = 'orders_customer'::regclass"
     " AND a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) ORDER BY attnum",
     [("customer_id",), ("total",)]),
    ("SELECT indkey[0], indkey[1], indkey::int2[], indoption[1] & 1, array_upper(indkey, 1), indkey::text"
     " FROM pg_index WHERE indexrelid = 'orders_customer'::regclass", [(2, 3, [2, 3], 1, 1, "2 3")]),
    ("SELECT array_agg(pg_get_indexdef(i.indexrelid, k + 1, true) ORDER BY k) FROM pg_index i,"
     " generate_subscripts(i.indkey, 1) k WHERE i.indexrelid = 'orders_customer'::regclass",
     [(["customer_id", "total"],)]),
    ("SELECT con.conname, ARRAY(SELECT attname::text FROM unnest(con.conkey) WITH ORDINALITY k(n, place)"
     " JOIN pg_attribute ON attrelid = con.conrelid AND attnum = k.n ORDER BY place) FROM pg_constraint con"
     " WHERE contype = 'f'", [("orders_customer_id_fkey", ["customer_id"])]),
    # Types by how they are read.
    ("SELECT typname FROM pg_type WHERE typinput = 'pg_catalog.array_in'::regproc AND typelem = 23",
     [("_int4",)]),
    ("SELECT proname FROM pg_type JOIN pg_proc p ON p.oid = typreceive WHERE typname = 'int4'",
     [("int4recv",)]),
    ("SELECT t.typname, e.typname FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typlen = -1"
     " WHERE t.oid = 1009", [("_text", "text")]),
    # What depends on what.
    ("SELECT DISTINCT v.relname, t.relname FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid"
     " JOIN pg_class v ON v.oid = r.ev_class JOIN pg_class t ON t.oid = d.refobjid AND t.oid <> v.oid"
     " WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass ORDER BY 1",
     [("per_customer", "orders"), ("rich", "customers")]),
    ("SELECT pg_get_serial_sequence('orders', 'id'), obj_description('customers'::regclass, 'pg_class'),"
     " col_description('customers'::regclass, 2)", [("public.orders_id_seq", "people who buy", "full name")]),
    # information_schema, also in capitals.
    ("SELECT TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'public' ORDER BY 1",
     [("bids", "FOREIGN"), ("customers", "BASE TABLE"), ("nokey", "BASE TABLE"), ("orders", "BASE TABLE"),
      ("per_customer", "VIEW"), ("rich", "VIEW")]),
    ("SELECT f.table_name, f.column_name, p.table_name, p.column_name"
     " FROM information_schema.referential_constraints r"
     " JOIN information_schema.key_column_usage f ON f.constraint_name = r.constraint_name"
     " JOIN information_schema.key_column_usage p ON p.constraint_name = r.unique_constraint_name",
     [("orders", "customer_id", "customers", "id")]),
    ("SELECT schemaname, matviewname FROM pg_matviews", [("public", "per_customer")]),
    ("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'per_customer'", [(2,)]),
    # The session.
    ("SELECT version() LIKE 'PostgreSQL 15.%', current_setting('server_version_num')::int / 10000",
     [(True, 15)]),
    ("SELECT current_schema()::text, current_schemas(true)::text[]", [("public", ["pg_catalog", "public"])]),
    ("SELECT pg_is_in_recovery(), pg_try_advisory_lock(1), pg_advisory_unlock(1),"
     " has_table_privilege('orders', 'select')",
     [(False, True, True, True)]),
    ("SELECT count(*) FROM pg_stat_activity WHERE pid = pg_backend_pid()", [(1,)]),
    ("SELECT rolname::text FROM pg_roles WHERE rolname = current_user", [("tester",)]),
    ("SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE relname = 'orders'", [("millpond",)]),
    ("SELECT pg_size_pretty(10240::bigint), pg_size_pretty(1e10::numeric), pg_size_bytes('1 MB')",
     [("10 kB", "9537 MB", 1 << 20)]),
    ("SELECT count(*) > 100 FROM pg_timezone_names WHERE name > ''", [(True,)]),
    ("SELECT word FROM pg_get_keywords() WHERE word = 'select'", [("select",)]),
)  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), QUERIES, ids=range(len(QUERIES)))
def test_catalogue_query(connection: psycopg.Connection, query: str, expected: Rows) -> None:
    found = connection.execute(query).fetchall()
    assert found == expected


def test_names_of_objects_as_results_and_parameters(connection: psycopg.Connection) -> None:
    row = connection.execute("SELECT 'orders'::regclass, 'int8'::regtype, ARRAY['text'::regtype]").fetchone()
    assert row == ("orders", "bigint", ["text"])
    found = connection.execute("SELECT relname FROM pg_class WHERE oid = %s::regclass", ("app.numbered",))
    assert found.fetchall() == [("numbered",)]
    with pytest.raises(psycopg.errors.UndefinedTable, match='relation "nothing" does not exist'):
        connection.execute("SELECT 'nothing'::regclass")


def test_materialized_views_keep_off_the_catalogue(connection: psycopg.Connection) -> None:
    for query in ("SELECT relname FROM pg_class", "SELECT a FROM nokey WHERE a IN (SELECT oid FROM pg_type)"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot read system relation"):
            connection.execute(f"CREATE MATERIALIZED VIEW never AS {query}")
    connection.execute("CREATE VIEW names AS SELECT relname FROM pg_class WHERE relname = 'nokey'")
    assert connection.execute("SELECT * FROM names").fetchall() == [("nokey",)]
    connection.execute("DROP VIEW names")


def test_cursors_of_psycopg(shared: ServerProcess) -> None:
    """psycopg declares a cursor by SQL and asks for its columns as those of a portal."""
    with shared.connect() as connection, connection.transaction():
        with connection.cursor("numbers") as cursor:
            cursor.execute("SELECT n, n::text AS t FROM generate_series(1, 5) n")
            assert cursor.description is not None and [c.name for c in cursor.description] == ["n", "t"]
            assert cursor.fetchmany(2) == [(1, "1"), (2, "2")]
            assert list(cursor) == [(3, "3"), (4, "4"), (5, "5")]
        with connection.cursor("binary", binary=True) as cursor:
            cursor.execute("SELECT %s::numeric", (5,))
            assert cursor.fetchall() == [(5,)]


def test_parameters_of_explain(connection: psycopg.Connection) -> None:
    query = "EXPLAIN (ANALYZE) SELECT count(*) FROM customers WHERE balance > %s"
    lines = [line for (line,) in connection.execute(query, (1,)).fetchall()]
    assert any("balance > 1::numeric" in line for line in lines) and "Rows: 1" in lines
    assert connection.execute("EXPLAIN DELETE FROM nokey WHERE a = %s", (1,)).fetchall()[0] == (
        "Delete on nokey",
    )


def test_set_config_holds_and_is_told(shared: ServerProcess) -> None:
    with shared.connect() as own:
        assert own.execute("SELECT set_config('TimeZone', 'Asia/Tokyo', false)").fetchall() == [
            ("Asia/Tokyo",)
        ]
        assert own.info.parameter_status("TimeZone") == "Asia/Tokyo"
        assert own.execute("SHOW timezone").fetchall() == [("Asia/Tokyo",)]
        assert own.execute("SELECT current_setting('nothing.here', true)").fetchall() == [(None,)]
        with pytest.raises(psycopg.errors.UndefinedObject):
            own.execute("SELECT current_setting('nothing')")


def test_a_session_is_ended_by_another(shared: ServerProcess, connection: psycopg.Connection) -> None:
    victim = shared.connect()
    pid = victim.info.backend_pid
    assert connection.execute("SELECT pg_terminate_backend(%s)", (pid,)).fetchall() == [(True,)]
    with pytest.raises(psycopg.OperationalError):
        for _ in range(100):
            victim.execute("SELECT 1")
            time.sleep(0.02)
    assert connection.execute("SELECT pg_cancel_backend(%s)", (pid,)).fetchall() == [(False,)]


def test_sequences(shared: ServerProcess) -> None:
    with shared.connect() as own, shared.connect() as other:
        first = own.execute("SELECT nextval('fives')").fetchone()
        assert first is not None
        assert own.execute("SELECT currval('fives'), lastval()").fetchone() == (first[0], first[0])
        assert other.execute("SELECT nextval('fives')").fetchone() == (first[0] + 5,)
        state = own.execute("SELECT last_value, is_called FROM fives").fetchone()
        assert state is not None and state == (first[0] + 5, True)
        assert own.execute("SELECT last_value FROM pg_sequences WHERE sequencename = 'fives'").fetchone() == (
            state[0],
        )
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            other.execute("SELECT currval('orders_id_seq')")


def test_asyncpg_introspects_types(shared: ServerProcess) -> None:
    async def ask() -> list[object]:
        client = await asyncpg.connect(host="127.0.0.1", port=shared.port, user="tester", database="millpond")
        try:
            row = await client.fetchrow("SELECT '{1,2}'::int[] AS a, indkey, indrelid FROM pg_index LIMIT 1")
            kinds = await client.fetch("SELECT attgenerated FROM pg_attribute WHERE attname = 'twice'")
            statement = await client.prepare("SELECT $1::int4[] || 1, $2::regclass")
            types = [parameter.name for parameter in statement.get_parameters()]
            await client.reset()
            return [list(row["a"]), list(row["indkey"]), [kind[0] for kind in kinds], types]
        finally:
            await client.close()

    numbers, key, kinds, types = asyncio.run(ask())
    assert numbers == [1, 2]
    assert isinstance(key, list) and len(key) >= 1
    assert kinds == [b"s"]
    assert types == ["int4[]", "regclass"]


def test_sqlalchemy_reflects(shared: ServerProcess) -> None:
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://tester@127.0.0.1:{shared.port}/millpond")
    inspector = sqlalchemy.inspect(engine)
    assert sorted(inspector.get_table_names()) == ["customers", "nokey", "orders"]
    assert inspector.get_materialized_view_names() == ["per_customer"]
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["id"]
    assert inspector.get_foreign_keys("orders")[0]["referred_table"] == "customers"
    engine.dispose()


def test_a_sleep_holds_up_nobody_and_can_be_cancelled(shared: ServerProcess) -> None:
    with shared.connect() as sleeper, shared.connect() as other:
        started = time.monotonic()
        sleeper.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            sleeper.execute("SELECT pg_sleep(30)")
        assert time.monotonic() - started < 5
        assert sleeper.execute("SELECT pg_sleep(0.01)").fetchone() == ("",)
        assert other.execute("SELECT 1").fetchone() == (1,)
