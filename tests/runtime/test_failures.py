"""Epochs that fail leave no trace; a view that fails stalls alone."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from millpond.operators.aggregate import _Aggregate
from millpond.operators.distinct import _Distinct
from millpond.operators.node import EpochContext
from millpond.operators.zset import ZSet
from millpond.storage import columns
from millpond.storage.errors import (
    DiskFull,
    DivisionByZero,
    InternalError,
    IoError,
    ObjectNotReady,
    ProgramLimitExceeded,
)

from .local import Local

TOTAL = "SELECT count(*) AS rows, sum(n) AS n FROM t"
EACH = "SELECT n, count(*) AS rows FROM t GROUP BY n"


@pytest.fixture
def table(local: Local) -> Local:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    local.sql(f"CREATE MATERIALIZED VIEW total AS {TOTAL}")
    local.sql(f"CREATE MATERIALIZED VIEW each AS {EACH}")
    local.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    return local


def intact(local: Local, rows: int) -> None:
    assert local.sql("SELECT count(*) FROM t") == [(rows,)]
    local.equal("total", TOTAL)
    local.equal("each", EACH)


def test_a_full_disk_refuses_writes_and_answers_reads(table: Local) -> None:
    table.sql("CREATE TABLE s (a int)")
    table.disk.space = 0
    for text in (
        "INSERT INTO t VALUES (3, 30)",
        "DELETE FROM t",
        "CREATE TABLE u (a int)",
        f"CREATE MATERIALIZED VIEW more AS {TOTAL}",
        "DROP MATERIALIZED VIEW each",
        "DROP TABLE t CASCADE",
        "ALTER TABLE s ADD COLUMN b int",
    ):
        with pytest.raises(DiskFull):
            table.sql(text)
        intact(table, 2)
    table.disk.space = None
    table.sql("INSERT INTO t VALUES (3, 30)")
    intact(table, 3)
    table.sql(f"CREATE MATERIALIZED VIEW more AS {TOTAL}")
    table.sql("INSERT INTO t VALUES (4, 30)")
    table.equal("more", TOTAL)
    table.crash()
    intact(table, 4)
    table.equal("more", TOTAL)


def test_a_failing_disk_is_not_taken_for_a_working_one(table: Local) -> None:
    for _ in range(3):
        table.disk.sync_failure = 1.0
        with pytest.raises(IoError):
            table.sql("INSERT INTO t VALUES (3, 30)")
        table.disk.sync_failure = 0.0
        intact(table, 2)
        table.sql("INSERT INTO t VALUES (3, 31)")
        table.sql("DELETE FROM t WHERE id = 3")
    table.crash()
    intact(table, 2)


def test_row_ids_and_sequences_survive_a_failed_epoch(local: Local) -> None:
    local.sql("CREATE TABLE s (id serial, x int)")
    local.sql("INSERT INTO s (x) VALUES (1)")
    local.disk.space = 0
    with pytest.raises(DiskFull):
        local.sql("INSERT INTO s (x) VALUES (2)")
    local.disk.space = None
    local.sql("INSERT INTO s (x) VALUES (3)")
    found = local.sql("SELECT id, x FROM s")
    assert [x for _, x in sorted(found)] == [1, 3]
    assert len({i for i, _ in found}) == 2
    local.crash()
    local.sql("INSERT INTO s (x) VALUES (4)")
    assert len({i for i, _ in local.sql("SELECT id, x FROM s")}) == 3


def test_one_bad_work_does_not_fail_its_epoch(table: Local) -> None:
    sessions = [table.connect() for _ in range(8)]
    texts = [f"INSERT INTO t VALUES ({i if i % 2 else 1}, 5)" for i in range(10, 18)]
    waiting = [(s, s.submit(text)) for s, text in zip(sessions, texts, strict=True)]
    failed = 0
    for session, outcome in waiting:
        try:
            session.wait(outcome)
        except Exception:
            failed += 1
    assert failed == 4
    intact(table, 6)


def test_a_statement_that_fails_in_evaluation_changes_nothing(table: Local) -> None:
    with pytest.raises(DivisionByZero):
        table.sql("UPDATE t SET n = n / (n - 10)")
    intact(table, 2)


def test_a_definition_that_cannot_be_filled_is_undone(table: Local) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Distinct, "step", out_of_luck)
        with pytest.raises(InternalError, match="out of luck"):
            table.sql("CREATE MATERIALIZED VIEW d AS SELECT DISTINCT n FROM t")
    table.sql("INSERT INTO t VALUES (3, 30)")
    intact(table, 3)
    table.sql("CREATE MATERIALIZED VIEW d AS SELECT DISTINCT n FROM t")
    table.equal("d", "SELECT DISTINCT n FROM t")


def out_of_luck(self: object, deltas: object, context: object) -> object:
    raise RuntimeError("out of luck")


def stall(local: Local) -> None:
    """`odd` fails at the next change, and is the only one that does."""
    local.sql("CREATE MATERIALIZED VIEW odd AS SELECT DISTINCT n FROM t")
    local.sql("CREATE MATERIALIZED VIEW above AS SELECT count(*) AS n FROM odd")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Distinct, "step", out_of_luck)
        local.sql("INSERT INTO t VALUES (3, 30)")


def test_a_failing_view_stalls_alone(table: Local) -> None:
    stall(table)
    intact(table, 3)
    with pytest.raises(ObjectNotReady, match=r'"odd" is stalled: .*out of luck'):
        table.sql("SELECT * FROM odd")
    with pytest.raises(ObjectNotReady, match=r'"above" is stalled: it reads "odd", which is stalled: .*'):
        table.sql("SELECT * FROM above")
    stalled = table.sql("SELECT name, reason FROM millpond.views WHERE state = 'stalled' ORDER BY name")
    assert [name for name, _ in stalled] == ["above", "odd"]
    assert all("out of luck" in reason for _, reason in stalled)
    table.sql("INSERT INTO t VALUES (4, 40)")
    intact(table, 4)
    used = set(table.state.tables).union(*map(table.state.dataflow.tables, table.state.dataflow.views))
    assert set(table.state.storage.names()) == used


def test_a_stalled_view_is_taken_up_at_restart(table: Local) -> None:
    stall(table)
    table.sql("INSERT INTO t VALUES (4, 40)")
    table.restart()
    table.equal("odd", "SELECT DISTINCT n FROM t")
    table.sql("DELETE FROM t WHERE id < 3")
    table.equal("odd", "SELECT DISTINCT n FROM t")
    intact(table, 2)


def test_a_stalled_view_is_taken_up_after_a_crash(table: Local) -> None:
    stall(table)
    table.crash()
    table.equal("odd", "SELECT DISTINCT n FROM t")
    table.equal("above", "SELECT count(*) FROM (SELECT DISTINCT n FROM t) AS d")
    table.sql("INSERT INTO t VALUES (5, 50)")
    table.equal("odd", "SELECT DISTINCT n FROM t")
    table.equal("above", "SELECT count(*) FROM (SELECT DISTINCT n FROM t) AS d")


def test_a_stalled_view_of_rows_as_they_are_misses_nothing_after_a_restart(table: Local) -> None:
    """It has no state but its rows, which are those of an older epoch."""
    table.sql("CREATE MATERIALIZED VIEW odd AS SELECT DISTINCT n FROM t")
    table.sql("CREATE MATERIALIZED VIEW same AS SELECT n FROM odd WHERE n > 0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Distinct, "step", out_of_luck)
        table.sql("INSERT INTO t VALUES (3, 30)")
    table.sql("INSERT INTO t VALUES (4, 40)")
    table.restart()
    table.equal("same", "SELECT DISTINCT n FROM t")


def test_a_stalled_view_can_be_dropped_and_made_again(table: Local) -> None:
    stall(table)
    table.sql("DROP MATERIALIZED VIEW odd CASCADE")
    table.sql("CREATE MATERIALIZED VIEW odd AS SELECT DISTINCT n FROM t")
    table.sql("INSERT INTO t VALUES (6, 60)")
    table.equal("odd", "SELECT DISTINCT n FROM t")
    table.crash()
    table.equal("odd", "SELECT DISTINCT n FROM t")
    intact(table, 4)


def test_a_view_made_in_the_epoch_after_a_failure_starts_empty(table: Local) -> None:
    """The failed view's operators are as of an older epoch: one with the same plan must not find them."""
    stall(table)
    table.sql("CREATE MATERIALIZED VIEW again AS SELECT DISTINCT n FROM t")
    table.sql("INSERT INTO t VALUES (7, 70)")
    table.equal("again", "SELECT DISTINCT n FROM t")


def test_a_failing_shared_operator_stalls_all_it_serves(table: Local) -> None:
    groups = "(SELECT n, max(id) AS m FROM t GROUP BY n) AS g"
    table.sql(f"CREATE MATERIALIZED VIEW first AS SELECT n, m + 1 AS next FROM {groups}")
    table.sql(f"CREATE MATERIALIZED VIEW second AS SELECT m FROM {groups}")
    real, failed = _Aggregate.update, list[object]()

    def broken(self: _Aggregate, delta: ZSet, context: EpochContext) -> Callable[[], ZSet]:
        if not {"max", "m"} & set(self.schema.names):
            return real(self, delta, context)
        failed.append(self)
        raise RuntimeError("out of luck")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Aggregate, "update", broken)
        table.sql("INSERT INTO t VALUES (3, 30)")
    stalled = table.sql("SELECT name FROM millpond.views WHERE state = 'stalled'")
    assert {name for (name,) in stalled} == {"first", "second"}
    assert len(failed) == 1
    intact(table, 3)


def test_a_bad_row_is_kept_out_and_recorded(table: Local) -> None:
    table.sql("CREATE MATERIALIZED VIEW inverse AS SELECT id, 100 / n AS x FROM t")
    table.session.copy("t", [pa.array([5, 6], pa.int32()), pa.array([0, 50], pa.int32())])
    assert sorted(table.sql("SELECT * FROM inverse")) == [(1, 10), (2, 5), (6, 2)]
    assert table.sql("SELECT sqlstate, count FROM millpond.errors") == [("22012", 1)]
    table.sql("UPDATE t SET n = 1 WHERE id = 5")
    assert table.sql("SELECT sqlstate, count FROM millpond.errors") == []
    table.equal("inverse", "SELECT id, 100 / n AS x FROM t")


def test_a_clock_set_back_does_not_turn_time_around(table: Local) -> None:
    engine = table.database.engine
    real = engine._clock_us
    before = table.sql("SELECT committed FROM millpond.version")[0][0]
    engine._clock_us = lambda: real() - 3_600_000_000
    times = []
    for number in range(5):
        table.sql(f"INSERT INTO t VALUES ({100 + number}, 1)")
        times.append(table.sql("SELECT committed FROM millpond.version")[0][0])
    assert before < times[0] and times == sorted(set(times))
    table.crash()
    intact(table, 7)


def test_a_transaction_that_a_table_cannot_take_leaves_nothing(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.sql("CREATE TABLE numbers (n int PRIMARY KEY)")
    local.sql("CREATE TABLE texts (t text PRIMARY KEY)")
    local.sql("BEGIN")
    local.sql("INSERT INTO numbers VALUES (1)")
    local.sql(f"INSERT INTO texts VALUES ('{'x' * 1000}')")
    monkeypatch.setattr(columns, "TEXT_BYTES_MAX", 100)
    with pytest.raises(ProgramLimitExceeded):
        local.sql("COMMIT")
    monkeypatch.undo()
    assert local.sql("SELECT count(*) FROM numbers") == [(0,)] == local.sql("SELECT count(*) FROM texts")
    local.sql("INSERT INTO numbers VALUES (1)")


def test_a_number_drawn_before_an_epoch_failed_is_not_drawn_again(local: Local) -> None:
    local.sql("CREATE SEQUENCE s")
    local.sql("CREATE TABLE t (n int)")
    assert local.sql("SELECT nextval('s')") == [(1,)]
    local.disk.space = 0
    with pytest.raises(DiskFull):
        local.sql("INSERT INTO t VALUES (0)")
    local.disk.space = None
    local.sql("INSERT INTO t VALUES (1)")
    local.crash()
    assert local.sql("SELECT nextval('s')") == [(2,)]
