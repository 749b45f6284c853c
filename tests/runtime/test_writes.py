"""INSERT, UPDATE, DELETE: constraints, moving keys, ON CONFLICT; alone and in a transaction block alike."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from millpond.server.backend import Result
from millpond.storage.errors import (
    CardinalityViolation,
    CheckViolation,
    NotNullViolation,
    ProgramLimitExceeded,
    SerializationFailure,
    SqlError,
    UniqueViolation,
)

from .local import Local


@pytest.fixture(params=["alone", "in a block"])
def table(request: pytest.FixtureRequest, local: Local) -> Local:
    """`t` with four rows; the statements of the test run alone, or in a block that sees its own writes."""
    local.sql(
        "CREATE TABLE t (id int PRIMARY KEY, code text UNIQUE, n int NOT NULL DEFAULT 7, CHECK (n < 1000))"
    )
    local.sql("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS rows, sum(n) AS n FROM t")
    local.sql("INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30), (4, NULL, 40)")
    if request.param == "in a block":
        local.sql("BEGIN")
    return local


def rows(local: Local) -> list[tuple]:
    return sorted(local.sql("SELECT id, code, n FROM t"))


def settle(local: Local) -> None:
    """Commits, if the test runs in a block, and compares the view with its query."""
    if local.session.client.in_block:
        local.sql("COMMIT")
    local.equal("total", "SELECT count(*), sum(n) FROM t")


def refused(local: Local, error: type[SqlError], text: str) -> SqlError:
    """The statement fails with that error and has changed nothing."""
    if local.session.client.in_block:
        local.sql("SAVEPOINT before")
    before = rows(local)
    with pytest.raises(error) as caught:
        local.sql(text)
    if local.session.client.in_block:
        local.sql("ROLLBACK TO before")
    assert rows(local) == before
    return caught.value


def test_keys_move_in_one_statement(table: Local) -> None:
    table.sql("UPDATE t SET id = id + 1")
    assert [row[0] for row in rows(table)] == [2, 3, 4, 5]
    table.sql("UPDATE t SET id = 7 - id")
    assert rows(table) == [(2, None, 40), (3, "c", 30), (4, "b", 20), (5, "a", 10)]
    settle(table)


def test_unique_values_are_swapped_in_one_statement(table: Local) -> None:
    table.sql("UPDATE t SET code = CASE code WHEN 'a' THEN 'b' ELSE 'a' END WHERE id < 3")
    assert rows(table)[:2] == [(1, "b", 10), (2, "a", 20)]
    settle(table)


def test_a_key_that_is_taken_is_refused(table: Local) -> None:
    error = refused(table, UniqueViolation, "INSERT INTO t VALUES (9, 'z', 1), (2, 'y', 1)")
    assert error.detail == "Key (id)=(2) already exists."
    refused(table, UniqueViolation, "INSERT INTO t VALUES (9, 'z', 1), (9, 'y', 1)")
    refused(table, UniqueViolation, "UPDATE t SET id = 4 WHERE id = 1")
    refused(table, UniqueViolation, "UPDATE t SET id = 1")
    settle(table)


def test_unique_lets_nulls_be_many(table: Local) -> None:
    table.sql("INSERT INTO t VALUES (5, NULL, 1), (6, NULL, 1)")
    error = refused(table, UniqueViolation, "INSERT INTO t VALUES (7, 'b', 1)")
    assert error.detail == "Key (code)=(b) already exists."
    refused(table, UniqueViolation, "UPDATE t SET code = 'x'")
    settle(table)


def test_a_freed_key_can_be_taken_again(table: Local) -> None:
    table.sql("DELETE FROM t WHERE id = 2")
    table.sql("INSERT INTO t VALUES (2, 'b', 21)")
    table.sql("UPDATE t SET id = 5, code = 'e' WHERE id = 1")
    table.sql("INSERT INTO t VALUES (1, 'a', 11)")
    assert rows(table) == [(1, "a", 11), (2, "b", 21), (3, "c", 30), (4, None, 40), (5, "e", 10)]
    settle(table)


def test_not_null_and_check(table: Local) -> None:
    error = refused(table, NotNullViolation, "INSERT INTO t VALUES (8, 'x', NULL)")
    assert error.detail == "Failing row contains (8, x, null)."
    refused(table, CheckViolation, "UPDATE t SET n = n * 30")
    refused(table, NotNullViolation, "UPDATE t SET id = NULL WHERE id = 3")
    settle(table)


def test_on_conflict_do_nothing(table: Local) -> None:
    table.sql("INSERT INTO t VALUES (1, 'n', 1), (8, 'h', 8), (8, 'i', 9) ON CONFLICT (id) DO NOTHING")
    assert rows(table)[0] == (1, "a", 10)
    assert rows(table)[-1] == (8, "h", 8)
    settle(table)


def test_on_conflict_do_update(table: Local) -> None:
    returned = table.sql(
        "INSERT INTO t VALUES (1, 'n', 1), (2, 'm', 2), (9, 'i', 9) ON CONFLICT (id) DO UPDATE "
        "SET n = t.n + excluded.n WHERE t.n > 10 RETURNING id, n"
    )
    assert sorted(returned) == [(2, 22), (9, 9)]
    assert rows(table)[:2] == [(1, "a", 10), (2, "b", 22)]
    refused(
        table,
        CardinalityViolation,
        "INSERT INTO t VALUES (1, 'n', 1), (1, 'm', 2) ON CONFLICT (id) DO UPDATE SET n = 0",
    )
    refused(
        table, UniqueViolation, "INSERT INTO t VALUES (1, 'n', 1) ON CONFLICT (id) DO UPDATE SET code = 'c'"
    )
    settle(table)


def test_update_from_changes_a_row_once(table: Local) -> None:
    table.sql("CREATE TABLE u (id int, m int)")
    table.sql("INSERT INTO u VALUES (1, 5), (1, 5), (2, 6)")
    table.sql("UPDATE t SET n = n + u.m FROM u WHERE u.id = t.id")
    assert [row[2] for row in rows(table)] == [15, 26, 30, 40]
    assert table.sql("DELETE FROM t USING u WHERE u.id = t.id RETURNING t.id") == [(1,), (2,)]
    settle(table)


def test_rows_without_key_count_as_often_as_they_are_there(local: Local) -> None:
    local.sql("CREATE TABLE bag (x int)")
    local.sql("CREATE MATERIALIZED VIEW copies AS SELECT x, count(*) AS n FROM bag GROUP BY x")
    local.sql("INSERT INTO bag VALUES (1), (1), (2)")
    assert sorted(local.sql("SELECT * FROM copies")) == [(1, 2), (2, 1)]
    local.sql("BEGIN")
    local.sql("INSERT INTO bag VALUES (1)")
    local.sql("UPDATE bag SET x = 3 WHERE x = 2")
    assert local.sql("SELECT count(*) FROM bag") == [(4,)]
    local.sql("COMMIT")
    assert sorted(local.sql("SELECT * FROM copies")) == [(1, 3), (3, 1)]


# Transactions.


def test_first_committer_wins(local: Local) -> None:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    local.sql("INSERT INTO t VALUES (1, 0), (2, 0)")
    other = local.connect()
    local.sql("BEGIN")
    local.sql("UPDATE t SET n = n + 1 WHERE id = 1")
    other.sql("UPDATE t SET n = 10 WHERE id = 1")
    assert local.sql("SELECT n FROM t WHERE id = 1") == [(1,)]
    with pytest.raises(SerializationFailure):
        local.sql("COMMIT")
    assert sorted(local.sql("SELECT * FROM t")) == [(1, 10), (2, 0)]


def test_transactions_on_other_rows_do_not_meet(local: Local) -> None:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    local.sql("INSERT INTO t VALUES (1, 0), (2, 0)")
    other = local.connect()
    local.sql("BEGIN")
    local.sql("UPDATE t SET n = 1 WHERE id = 1")
    other.sql("UPDATE t SET n = 2 WHERE id = 2")
    local.sql("COMMIT")
    assert sorted(local.sql("SELECT * FROM t")) == [(1, 1), (2, 2)]


def test_two_transactions_insert_one_key(local: Local) -> None:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, code text UNIQUE)")
    other = local.connect()
    local.sql("BEGIN")
    local.sql("INSERT INTO t VALUES (1, 'a')")
    other.sql("INSERT INTO t VALUES (1, 'b')")
    with pytest.raises(UniqueViolation):
        local.sql("COMMIT")
    local.sql("BEGIN")
    local.sql("INSERT INTO t VALUES (2, 'c')")
    other.sql("INSERT INTO t VALUES (3, 'c')")
    with pytest.raises(UniqueViolation, match="t_code_key"):
        local.sql("COMMIT")
    assert sorted(local.sql("SELECT * FROM t")) == [(1, "b"), (3, "c")]


def test_savepoints_give_rows_back(local: Local) -> None:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    local.sql("INSERT INTO t VALUES (1, 0)")
    local.sql("BEGIN")
    local.sql("DELETE FROM t")
    local.sql("SAVEPOINT a")
    local.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    local.sql("SAVEPOINT b")
    local.sql("UPDATE t SET n = 9")
    local.sql("ROLLBACK TO b")
    assert sorted(local.sql("SELECT * FROM t")) == [(1, 1), (2, 2)]
    local.sql("ROLLBACK TO a")
    assert local.sql("SELECT * FROM t") == []
    local.sql("INSERT INTO t VALUES (3, 3)")
    local.sql("COMMIT")
    assert local.sql("SELECT * FROM t") == [(3, 3)]


def test_a_block_sees_its_writes_through_views(local: Local) -> None:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    local.sql("CREATE MATERIALIZED VIEW s AS SELECT sum(n) AS n FROM t")
    local.sql("CREATE MATERIALIZED VIEW d AS SELECT n * 2 AS n FROM s")
    other = local.connect()
    local.sql("BEGIN")
    local.sql("INSERT INTO t VALUES (1, 4)")
    assert local.sql("SELECT n FROM d") == [(8,)]
    assert other.sql("SELECT n FROM d") == [(None,)]
    local.sql("ROLLBACK")
    assert local.sql("SELECT n FROM d") == [(None,)]


def test_definitions_and_rows_commit_together(local: Local) -> None:
    local.sql("BEGIN")
    local.sql("CREATE TABLE t (id int PRIMARY KEY)")
    local.sql("INSERT INTO t VALUES (1), (2)")
    local.sql("CREATE MATERIALIZED VIEW c AS SELECT count(*) AS n FROM t")
    assert local.sql("SELECT n FROM c") == [(2,)]
    local.sql("COMMIT")
    assert local.connect().sql("SELECT n FROM c") == [(2,)]
    local.sql("BEGIN")
    local.sql("DROP MATERIALIZED VIEW c")
    local.sql("DROP TABLE t")
    local.sql("ROLLBACK")
    assert local.sql("SELECT n FROM c") == [(2,)]


def test_a_copy_takes_bounded_memory(local: Local) -> None:
    local.sql("CREATE TABLE t (id bigint PRIMARY KEY)")
    local.database.config = replace(local.database.config, copy_mb_max=1)
    ids = pa.array(range(100_000), pa.int64())
    result = local.session.submit("COPY t FROM STDIN")
    assert isinstance(result, Result) and result.copy_in is not None
    result.copy_in.write([ids])
    with pytest.raises(ProgramLimitExceeded, match="COPY FROM of more than 1 MB at once"):
        result.copy_in.write([ids])
    result.copy_in.fail("too much")
    assert local.sql("SELECT count(*) FROM t") == [(0,)]
    local.session.copy("t", [ids])
    assert local.sql("SELECT count(*) FROM t") == [(100_000,)]
