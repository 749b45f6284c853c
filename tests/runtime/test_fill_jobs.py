"""Jobs that fill views: what others see of them meanwhile, and what they may do to them."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import Future

import pytest

from millpond.storage.errors import (
    DuplicateTable,
    ObjectInUse,
    ObjectNotReady,
    QueryCanceled,
    UndefinedTable,
)

from .filling import QUERIES, begun, finished, under_way
from .local import Local


def test_nobody_sees_half_a_view(slow: Local) -> None:
    creation = begun(slow)
    seen = 0
    while not creation.done():
        try:
            slow.sql("SELECT count(*) FROM v")
        except UndefinedTable:
            seen += 1
    assert seen > 10
    creation.result()
    slow.equal("v", QUERIES["joined"])


def test_other_work_goes_on_meanwhile(slow: Local) -> None:
    creation = begun(slow)
    slow.sql("CREATE TABLE other (a int PRIMARY KEY)")
    slow.sql("INSERT INTO other VALUES (1)")
    slow.sql("CREATE MATERIALIZED VIEW w AS SELECT sum(a) AS s FROM other")
    assert slow.sql("SELECT s FROM w") == [(1,)]
    slow.sql("BEGIN")
    slow.sql("CREATE TABLE another (a int)")
    slow.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    slow.sql("COMMIT")
    assert not creation.done()
    creation.result(30)
    slow.equal("v", QUERIES["joined"])


def test_cancelled_by_its_client(slow: Local) -> None:
    names = set(slow.state.storage.names())
    session = slow.connect()
    creation = session.submit(f"CREATE MATERIALIZED VIEW v AS {QUERIES['errors']}")
    under_way(slow)
    session.client.cancel()
    with pytest.raises(QueryCanceled):
        session.wait(creation)
    slow.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    assert set(slow.state.storage.names()) == names
    assert slow.sql("SELECT count(*) FROM millpond.errors") == [(0,)]
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['joined']}")
    slow.equal("v", QUERIES["joined"])


def test_cancelled_by_cancel_jobs_and_shown_until_then(slow: Local) -> None:
    creation = begun(slow)
    under_way(slow)
    number, name, progress = slow.sql("SELECT job, query, progress FROM millpond.jobs WHERE job IS NOT NULL")[
        0
    ]
    assert name == f"CREATE MATERIALIZED VIEW v AS {QUERIES['joined']}"
    assert 0 < progress < 1
    slow.sql(f"CANCEL JOBS {number}")
    with pytest.raises(QueryCanceled):
        creation.result(10)
    assert slow.sql("SELECT job FROM millpond.jobs WHERE job IS NOT NULL") == []


def test_a_name_that_is_being_filled_is_taken(slow: Local) -> None:
    creation = begun(slow)
    for text in ("CREATE TABLE v (a int)", "CREATE MATERIALIZED VIEW v AS SELECT 1 AS a"):
        with pytest.raises(DuplicateTable):
            slow.sql(text)
    with pytest.raises(DuplicateTable):
        slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    creation.result(30)


def test_inputs_stay_while_a_view_is_filled(slow: Local) -> None:
    creation = begun(slow, QUERIES["two_levels"])
    for text in ("DROP TABLE u", "DROP TABLE u CASCADE", "DROP MATERIALIZED VIEW per_n",
                 "ALTER TABLE u ADD COLUMN x int"):  # fmt: skip
        with pytest.raises(ObjectInUse, match="is being filled"):
            slow.sql(text)
    creation.result(30)
    slow.equal("v", QUERIES["two_levels"])


def test_a_view_being_filled_can_be_dropped(slow: Local) -> None:
    creation = begun(slow)
    slow.sql("DROP MATERIALIZED VIEW v")
    with pytest.raises(QueryCanceled):
        creation.result(10)
    with pytest.raises(UndefinedTable):
        slow.sql("DROP MATERIALIZED VIEW v")


def test_jobs_are_done_one_after_the_other(slow: Local) -> None:
    names = list(QUERIES)[:5]
    creations = [begun(slow, QUERIES[name], f"v_{name}") for name in names]
    same = [begun(slow, QUERIES["grouped"], f"again_{i}") for i in range(2)]
    for creation in (*creations, *same):
        creation.result(60)
    slow.sql("UPDATE t SET n = n + 1")
    for name in names:
        slow.equal(f"v_{name}", QUERIES[name])
    for i in range(2):
        slow.equal(f"again_{i}", QUERIES["grouped"])
    slow.sql("DROP MATERIALIZED VIEW v_grouped")
    slow.crash()
    slow.sql("UPDATE t SET n = n + 1")
    slow.equal("again_1", QUERIES["grouped"])


def test_a_small_view_with_an_operator_that_is_being_filled_waits(slow: Local) -> None:
    slow.state.one_epoch_rows_max = 500
    creation = begun(slow, QUERIES["grouped"])
    slow.state.one_epoch_rows_max = 10_000
    slow.sql(f"CREATE MATERIALIZED VIEW w AS {QUERIES['grouped']}")
    assert creation.done()
    slow.sql("UPDATE t SET n = n + 1")
    slow.equal("v", QUERIES["grouped"])
    slow.equal("w", QUERIES["grouped"])


def test_or_replace_keeps_the_old_view_until_the_new_one_is_complete(slow: Local) -> None:
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['total']}")
    session = slow.connect()
    creation = session.submit("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT max(id) AS top FROM t")
    slow.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    slow.equal("v", QUERIES["total"])
    session.wait(creation)
    assert slow.sql("SELECT * FROM v") == [(5000,)]


def test_a_view_made_in_a_block_is_filled_by_a_job(slow: Local) -> None:
    session = slow.connect()
    session.sql("BEGIN")
    session.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    session.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    session.sql("CREATE MATERIALIZED VIEW w AS SELECT sum(c) AS c FROM v")
    done = session.submit("COMMIT")
    assert isinstance(done, Future)
    refused = 0
    while not done.done():
        try:
            slow.sql("SELECT * FROM v")
        except (ObjectNotReady, UndefinedTable) as error:
            refused += "still being filled" in error.message
        with contextlib.suppress(ObjectNotReady, UndefinedTable):
            slow.sql("INSERT INTO u SELECT n, 1 FROM v LIMIT 1")
    assert refused
    session.wait(done)
    slow.equal("v", QUERIES["grouped"])
    slow.equal("w", "SELECT sum(c) FROM per_n")
    slow.sql("UPDATE t SET n = n + 1")
    slow.equal("v", QUERIES["grouped"])


def test_views_over_a_replaced_view_are_filled_by_jobs(slow: Local) -> None:
    slow.sql("CREATE VIEW half AS SELECT id, n FROM t WHERE id % 2 = 0")
    slow.sql("CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM half GROUP BY n")
    session = slow.connect()
    creation = session.submit("CREATE OR REPLACE VIEW half AS SELECT id, n FROM t WHERE id % 2 = 1")
    assert isinstance(creation, Future)
    while not slow.sql("SELECT 1 FROM millpond.views WHERE name = 'v' AND state = 'filling'"):
        assert not creation.done()
    slow.sql("DELETE FROM t WHERE id < 100")
    slow.crash()
    finished(slow)
    slow.equal("v", "SELECT n, count(*) FROM t WHERE id % 2 = 1 GROUP BY n")
    slow.sql("UPDATE t SET n = n + 1")
    slow.equal("v", "SELECT n, count(*) FROM t WHERE id % 2 = 1 GROUP BY n")


def test_a_view_that_is_filled_in_the_catalogue_can_be_dropped_or_cancelled(slow: Local) -> None:
    slow.sql("SET background_ddl = true")
    slow.sql("CREATE VIEW half AS SELECT id, n FROM t WHERE id % 2 = 0")
    slow.sql("CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM half GROUP BY n")
    finished(slow)
    slow.sql("CREATE OR REPLACE VIEW half AS SELECT id, n FROM t WHERE id % 2 = 1")
    slow.sql("CREATE OR REPLACE VIEW half AS SELECT id, n FROM t WHERE id % 3 = 1")
    finished(slow)
    slow.equal("v", "SELECT n, count(*) FROM t WHERE id % 3 = 1 GROUP BY n")
    slow.sql("CREATE OR REPLACE VIEW half AS SELECT id, n FROM t WHERE id % 2 = 1")
    slow.sql("DROP MATERIALIZED VIEW v")
    slow.sql("CREATE MATERIALIZED VIEW v AS SELECT n, sum(id) AS c FROM half GROUP BY n")
    finished(slow)
    slow.equal("v", "SELECT n, sum(id) FROM t WHERE id % 2 = 1 GROUP BY n")
    slow.sql("CREATE OR REPLACE VIEW half AS SELECT id, n FROM t WHERE id % 2 = 0")
    number = slow.sql("SELECT job FROM millpond.jobs WHERE job IS NOT NULL")[0][0]
    slow.sql(f"CANCEL JOBS {number}")
    finished(slow)
    while slow.sql("SELECT 1 FROM millpond.views WHERE name = 'v' AND state = 'filling'"):
        time.sleep(0.01)
    with pytest.raises(ObjectNotReady, match="canceling"):
        slow.sql("SELECT * FROM v")
    slow.crash()
    finished(slow)
    slow.equal("v", "SELECT n, sum(id) FROM t WHERE id % 2 = 0 GROUP BY n")
