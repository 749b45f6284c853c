"""Scripts of statements that a session of ours answers as one of PostgreSQL does: rows, tags, SQLSTATEs."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from .server_process import ServerProcess

SCRIPTS: dict[str, str] = {
    "a key asked for twice is one row": """
        CREATE TABLE t (id int PRIMARY KEY, v text);
        CREATE TABLE c (a int, n numeric, PRIMARY KEY (a, n));
        INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 9) AS g(i);
        INSERT INTO c SELECT i, i FROM generate_series(1, 9) AS g(i);
        PREPARE some (int, int) AS SELECT * FROM t WHERE id IN ($1, $2, $1 + 0);
        PREPARE sums (int, int) AS SELECT count(*), sum(id) FROM t WHERE id IN ($1, $2);
        PREPARE pairs (numeric, numeric) AS SELECT * FROM c WHERE a IN (1, 2) AND n IN ($1, $2) ORDER BY a;
        PREPARE copies (int, int) AS INSERT INTO t SELECT id + 10, v FROM t WHERE id IN ($1, $2);
        EXECUTE some(5, 5); EXECUTE sums(5, 5); EXECUTE sums(5, 6); EXECUTE sums(5, NULL);
        EXECUTE pairs(1.0, 1.00); EXECUTE pairs(2, 1);
        BEGIN; UPDATE t SET v = 'new' WHERE id = 5;
        EXECUTE some(5, 5); EXECUTE sums(5, 5); COMMIT;
        EXECUTE copies(5, 5); SELECT count(*) FROM t
    """,
    "keys that a cast makes": """
        CREATE TABLE f (k float8 PRIMARY KEY); INSERT INTO f VALUES (1), (2.5), (9223372036854775807);
        CREATE TABLE w (k text PRIMARY KEY); INSERT INTO w VALUES ('a '), ('a'), ('1');
        CREATE TABLE s (k interval PRIMARY KEY); INSERT INTO s VALUES ('12 hours');
        CREATE TABLE i (k bigint PRIMARY KEY); INSERT INTO i VALUES (1), (2);
        PREPARE f1 (numeric) AS SELECT * FROM f WHERE k = $1; EXECUTE f1(2.5); EXECUTE f1(2);
        PREPARE f2 (bigint) AS SELECT * FROM f WHERE k = $1; EXECUTE f2(9223372036854775807); EXECUTE f2(1);
        PREPARE w1 (bpchar) AS SELECT * FROM w WHERE k = $1; EXECUTE w1('a ');
        PREPARE w2 (int) AS SELECT * FROM w WHERE k = $1::text; EXECUTE w2(1);
        PREPARE w3 (text) AS SELECT * FROM w WHERE k = $1::varchar(1); EXECUTE w3('abc');
        PREPARE s1 (time) AS SELECT * FROM s WHERE k = $1; EXECUTE s1('12:00');
        PREPARE i1 (smallint) AS SELECT * FROM i WHERE k = $1; EXECUTE i1(2); EXECUTE i1(NULL);
        PREPARE i2 (float8) AS SELECT * FROM i WHERE k = $1::int; EXECUTE i2(1.6); EXECUTE i2('NaN');
        PREPARE i3 (oid) AS SELECT * FROM i WHERE k = $1; EXECUTE i3(1); EXECUTE i3(NULL)
    """,
    "prepared statements outlive their table": """
        CREATE TABLE t (id int PRIMARY KEY, v int);
        PREPARE ins AS INSERT INTO t VALUES ($1, $2);
        PREPARE upd AS UPDATE t SET v = $2 WHERE id = $1;
        PREPARE sel AS SELECT id FROM t WHERE id = $1;
        EXECUTE ins(1, 5); DROP TABLE t;
        CREATE TABLE t (id text PRIMARY KEY, v text); EXECUTE ins(1, 7); SELECT * FROM t;
        EXECUTE upd(1, 8); DROP TABLE t;
        CREATE TABLE t (id float8 PRIMARY KEY, v numeric); EXECUTE ins(1, 7); EXECUTE upd(1, 8);
        SELECT * FROM t; DROP TABLE t;
        CREATE TABLE t (id date PRIMARY KEY, v time); EXECUTE ins(1, 7); SELECT * FROM t;
        DROP TABLE t; CREATE TABLE t (v int, id int PRIMARY KEY); EXECUTE ins(3, 4); EXECUTE sel(4)
    """,
    "texts that are no dates, times or intervals": """
        SELECT '2020-01-01'::interval; SELECT '1-2 3'::interval; SELECT '1-2-3'::interval;
        SELECT repeat('9', 200000)::interval; SELECT repeat('9', 200000)::date;
        SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::date; SELECT 'x/y'::timestamp;
        SELECT '2020-01-01 Foo/Bar'::timestamptz; SELECT '12:00 Foo/Bar'::timestamp;
        SELECT '2020-01-01 12:00 Europe/Berlin'::timestamp; SELECT 'Jan-8-1999'::date;
        SELECT 'x/y'::time; SELECT '040506-08'::time
    """,
    "names of members of JSON objects": """
        SELECT json_build_object(true, 1, 1.50, 2, '2024-02-29'::date, 3);
        SELECT json_build_object('2024-02-29 12:34:56'::timestamp, 4);
        SELECT jsonb_build_object('2024-02-29 12:34:56+00'::timestamptz, 1, '1 day'::interval, 2, false, 3);
        SELECT json_object_agg(k, v) FROM (VALUES ('2024-02-29 12:34:56'::timestamp, 1)) AS x(k, v);
        SELECT jsonb_object_agg(k, v) FROM (VALUES (true, 1), (false, 2)) AS x(k, v);
        SELECT json_build_object(ARRAY[1], 1); SELECT jsonb_build_object('{}'::jsonb, 1);
        SELECT jsonb_object_agg('[]'::json, 1); SELECT json_build_object(NULL, 1)
    """,
    "modifiers of PREPARE's types": """
        PREPARE p (varchar(3), numeric(4, 1), char(2)) AS SELECT $1, $2, length($3);
        EXECUTE p('abcdef', 12345.678, 'abc')
    """,
    "casts heed the session": """
        CREATE TABLE d (k date PRIMARY KEY, v text);
        PREPARE p1 (text) AS SELECT $1::date::text; PREPARE p2 (date) AS SELECT $1::text;
        SET datestyle = 'ISO, DMY'; SET intervalstyle = 'iso_8601'; SET bytea_output = 'escape';
        SET extra_float_digits = -3;
        SELECT x::date::text, x::timestamp::text, ('{' || x || '}')::date[]::text
        FROM (VALUES ('01/02/2020')) AS v(x);
        SELECT ('01/02' || '/2020')::date::text, '01/02/2020'::date::text;
        EXECUTE p1('01/02/2020'); EXECUTE p2('01/02/2020');
        INSERT INTO d SELECT x::date, x FROM (VALUES ('03/02/2020')) AS v(x);
        UPDATE d SET v = 'found' WHERE k = '03/02/2020'; SELECT k::text, v FROM d;
        SELECT interval '1 day 2 hours'::text, ('\\x00ff' || '')::bytea::text;
        SELECT (0.1::float8 + 0.2::float8)::text;
        SET datestyle = 'ISO, MDY'; EXECUTE p1('01/02/2020'); EXECUTE p2('01/02/2020')
    """,
    "savepoints take settings and cursors back": """
        BEGIN; SET timezone = 'Asia/Kolkata'; SAVEPOINT a;
        SET timezone = 'Asia/Tokyo'; SET LOCAL datestyle = 'ISO, DMY'; DECLARE c CURSOR FOR SELECT 1;
        ROLLBACK TO a; SHOW timezone; SHOW datestyle; SAVEPOINT e; FETCH c;
        ROLLBACK TO e; SET timezone = 'Asia/Tokyo'; RELEASE e; SHOW timezone; ROLLBACK TO a; SHOW timezone;
        COMMIT; SHOW timezone;
        BEGIN; SET LOCAL timezone = 'Asia/Kolkata'; SET timezone = 'Asia/Tokyo'; COMMIT; SHOW timezone;
        BEGIN; SAVEPOINT a; SET LOCAL timezone = 'UTC'; RELEASE a; SHOW timezone; COMMIT; SHOW timezone;
        BEGIN; DECLARE c0 CURSOR FOR VALUES (1), (2); SAVEPOINT a; SAVEPOINT b;
        DECLARE c1 CURSOR WITH HOLD FOR VALUES (3); FETCH c0; RELEASE b; ROLLBACK TO a; FETCH c0;
        SELECT name FROM pg_cursors; DECLARE c1 CURSOR WITH HOLD FOR VALUES (4), (5); RELEASE a; COMMIT;
        FETCH c1; BEGIN; SAVEPOINT a; FETCH c1; ROLLBACK TO a; SELECT name FROM pg_cursors; COMMIT
    """,
    "numbers beside others of another scale": """
        CREATE TABLE n (id int PRIMARY KEY, a numeric(10, 2), b numeric(10, 4), c numeric, d int,
            e numeric[], f int[]);
        INSERT INTO n VALUES (1, 1.5, 2.25, 3.125, 4, '{1.5,2}', '{1,2}'),
            (2, 2.5, NULL, NULL, 5, '{}', NULL);
        SELECT array[1] || 2.5, 1.5 || array[1], array[1.50] || array[2.5555], array[1] || NULL;
        SELECT e || d, f || a, e || f, array_append(e, b), array_prepend(d, e), array_cat(f, e)
        FROM n ORDER BY id;
        SELECT array_position(e, 2), array_remove(e, 2), array_replace(e, d, a), a || e FROM n ORDER BY id;
        SELECT lag(a, 1, b) OVER w, lead(a, 1, 0) OVER w, lag(d, 1, a) OVER w, lag(c, 1, 0) OVER w,
            lag(a, 1, c) OVER w, lag(d, 1, 0.5) OVER w, lead(d, 1, 99999999999) OVER w, lag(a, 1, NULL) OVER w
        FROM n WINDOW w AS (ORDER BY id) ORDER BY id;
        SELECT lag(id, 1, 'x') OVER (ORDER BY id) FROM n
    """,
    "constants of floats are numbers first": """
        CREATE TABLE f (k float8 PRIMARY KEY, r real);
        INSERT INTO f VALUES (-0, -0), (1, '-0'), (2, -0.0), (-1.5, -1e-3); SELECT * FROM f ORDER BY k
    """,
    "numerics longer than Python's integers may be": """
        CREATE TABLE n (v numeric); INSERT INTO n VALUES (10::numeric ^ 5000), (1);
        SELECT length(sum(v)::text), length(avg(v)::text), length(max(v * v)::text) FROM n
    """,
    "patterns see the blanks of character(n)": """
        CREATE TABLE c (id int PRIMARY KEY, v char(4)); INSERT INTO c VALUES (1, 'ab'), (2, ''), (3, 'abcd');
        SELECT v ~ ' $', v ~* 'B ', v !~ ' ', v !~* ' ', v LIKE '% ', v SIMILAR TO '% ' FROM c ORDER BY id
    """,
    "what takes no argument, and what takes no set": """
        SELECT make_interval(); SELECT sum(generate_series(1, 2)) OVER ();
        SELECT lag(generate_series(1, 2)) OVER ()
    """,
}


def answer(connection: psycopg.Connection, statement: str) -> Any:
    """Rows, a command tag, or the SQLSTATE of an error."""
    try:
        found = connection.execute(statement)
        return found.fetchall() if found.description is not None else found.statusmessage
    except psycopg.Error as error:
        return error.sqlstate


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_session_answers_as_postgres(
    server: ServerProcess, postgres: psycopg.Connection, name: str
) -> None:
    with server.connect() as ours:
        for connection in (ours, postgres):
            connection.prepare_threshold = None
        for statement in SCRIPTS[name].split(";"):
            assert repr(answer(ours, statement)) == repr(answer(postgres, statement)), statement


def test_copy_from_needs_a_column(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE bare ()")
        with (
            pytest.raises(psycopg.errors.FeatureNotSupported),
            connection.cursor().copy("COPY bare FROM STDIN"),
        ):
            pass
        assert connection.execute("SELECT count(*) FROM bare").fetchall() == [(0,)]


def test_a_long_number_does_not_stall_its_sum(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE n (id int PRIMARY KEY, v numeric)")
        connection.execute("CREATE MATERIALIZED VIEW sums AS SELECT sum(v) AS s FROM n")
        connection.execute("INSERT INTO n VALUES (1, 10::numeric ^ 5000), (2, 7)")
        assert connection.execute("SELECT length(s::text) FROM sums").fetchall() == [(5001,)]
        connection.execute("DELETE FROM n WHERE id = 1")
        assert connection.execute("SELECT s FROM sums").fetchall() == [(7,)]
