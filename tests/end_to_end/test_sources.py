"""Sources in a real server: exactly once over kill -9, bad rows set aside, stalled sources explained."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from .server_process import ServerProcess

CONTENT = "SELECT md5(string_agg(concat(id, name, price, at), ',' ORDER BY id)) FROM g"


def wait_until(connection: psycopg.Connection, query: str, wanted: object, seconds: float = 30) -> None:
    """Waits until the query's first value is `wanted`."""
    deadline = time.monotonic() + seconds
    while True:
        row = connection.execute(query).fetchone()
        if row is not None and row[0] == wanted:
            return
        assert time.monotonic() < deadline, (row, wanted)
        time.sleep(0.05)


def test_i6_a_file_source_is_read_exactly_once_over_kill(server: ServerProcess, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    folder = tmp_path / "in"
    folder.mkdir()
    with server.connect() as connection:
        connection.execute(
            f"CREATE SOURCE line (id int, k int) WITH (connector = 'file', path = '{folder}/*.csv', "
            "rows_per_poll = 50)"
        )
        connection.execute(
            "CREATE TABLE latest (k int PRIMARY KEY, id int) "
            f"WITH (connector = 'file', path = '{folder}/*.csv')"
        )
        connection.execute(
            "CREATE MATERIALIZED VIEW per_k AS SELECT k, count(*) AS n, sum(id) AS s FROM line GROUP BY k"
        )
        connection.execute("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(id) AS s FROM line")
    written = 0
    for round_ in range(4):
        for _ in range(30):
            with (folder / f"{round_}.csv").open("a") as out:
                if out.tell() == 0:
                    out.write("id,k\n")
                lines = [f"{written + i},{(written + i) % 10}\n" for i in range(chance.randint(1, 300))]
                written += len(lines)
                out.write("".join(lines) + "partial")
                out.flush()
                out.truncate(out.tell() - 7)
            time.sleep(0.005)
        time.sleep(chance.random() * 0.3)
        server.kill()
        server.start()
    with server.connect() as connection:
        wait_until(connection, "SELECT n FROM total", written)
        wait_until(connection, "SELECT max(id) FROM latest", written - 1)
        assert connection.execute("SELECT s FROM total").fetchone() == (sum(range(written)),)
        assert connection.execute("SELECT count(*), count(DISTINCT id), sum(id) FROM line").fetchone() == (
            written, written, sum(range(written)),
        )  # fmt: skip
        assert connection.execute("SELECT sum(n), sum(s) FROM per_k").fetchone() == (
            written,
            sum(range(written)),
        )
        rows = connection.execute("SELECT k, id FROM latest ORDER BY k").fetchall()
        assert rows == [(k, max(i for i in range(written) if i % 10 == k)) for k in range(10)]


def test_i9_bad_rows_are_set_aside(server: ServerProcess, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "v": "2.5"}\n{"id": 2, "v": "x"}\n{"id": 3\n{"id": 4, "v": 4}\n')
    with server.connect() as connection:
        connection.execute(
            "CREATE SOURCE s (id int, v numeric) "
            f"WITH (connector = 'posix_fs', posix_fs.root = '{tmp_path}', match_pattern = '*.jsonl') "
            "FORMAT PLAIN ENCODE JSON"
        )
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(v) AS v FROM s")
        wait_until(connection, "SELECT n FROM m", 2)
        assert connection.execute("SELECT v::text FROM m").fetchone() == ("6.5",)
        found = connection.execute(
            "SELECT sqlstate, message, position, row FROM millpond.errors ORDER BY position"
        ).fetchall()
        assert [(code, position, row) for code, _, position, row in found] == [
            ("22P02", f"{path}:2", '{"id": 2, "v": "x"}'), ("22P02", f"{path}:3", '{"id": 3'),
        ]  # fmt: skip
        assert found[0][1] == 'invalid input syntax for type numeric: "x"'
        path.write_text('{"id": 1}\n')
        wait_until(connection, "SELECT state FROM millpond.sources", "stalled")
        reason = connection.execute("SELECT reason FROM millpond.sources").fetchone()
        assert reason is not None and "was truncated" in reason[0]
        assert connection.execute("SELECT n FROM m").fetchone() == (2,)


def test_datagen_makes_what_it_is_told(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute(
            "CREATE SOURCE g (id bigint, name varchar(5), price numeric(8, 2), at timestamptz) WITH ("
            "connector = 'datagen', datagen.rows.per.second = 0, fields.id.kind = 'sequence', "
            "fields.id.start = 1, fields.id.end = 20000, fields.price.min = 1, fields.price.max = 2)"
        )
        connection.execute(
            "CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(id) AS s, min(price) AS low, "
            "max(price) AS high, max(length(name)) AS l, count(DISTINCT id) AS d FROM g"
        )
        wait_until(connection, "SELECT n FROM m", 20000)
        before = connection.execute("SELECT * FROM m").fetchone()
        assert before is not None and (before[1], before[4], before[5]) == (200010000, 5, 20000)
        assert 1 <= before[2] <= before[3] <= 2
        content = connection.execute(
            "SELECT md5(string_agg(concat(id, name, price, at), ',' ORDER BY id)) FROM g"
        ).fetchone()
    server.kill()
    server.start()
    with server.connect() as connection:
        assert connection.execute("SELECT * FROM m").fetchone() == before
        again = connection.execute(
            "SELECT md5(string_agg(concat(id, name, price, at), ',' ORDER BY id)) FROM g"
        ).fetchone()
        assert again == content


def test_bad_sources_are_refused(server: ServerProcess) -> None:
    cases: list[tuple[str, Callable[[psycopg.Error], bool]]] = [
        ("CREATE SOURCE x (a int) WITH (connector = 'fil')", lambda e: "file" in str(e)),
        ("CREATE SOURCE x (a int) WITH (connector = 'file', pth = 'a.csv')", lambda e: '"path"' in str(e)),
        ("CREATE SOURCE x (a int) WITH (connector = 'datagen', fields.a.kind = 'odd')",
         lambda e: "random" in str(e)),
    ]  # fmt: skip
    with server.connect() as connection:
        for statement, fits in cases:
            try:
                connection.execute(statement)
            except psycopg.Error as error:
                assert fits(error), error
            else:
                raise AssertionError(f"accepted: {statement}")
        assert connection.execute("SELECT count(*) FROM millpond.sources").fetchone() == (0,)
