"""From a data directory to a running database: what is there, what is missing, what has another shape."""

from __future__ import annotations

import pytest

from millpond.runtime.state import ERRORS
from millpond.storage.errors import ObjectNotReady
from millpond.storage.schema import Schema
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8

from .local import Local

JOINED = "SELECT t.id, t.n, u.m FROM t JOIN u ON u.n = t.n"
GROUPED = "SELECT n, count(*) AS rows, min(id) AS least FROM t GROUP BY n"
ABOVE = "SELECT m, count(*) AS n FROM joined GROUP BY m"
VIEWS = {"joined": JOINED, "grouped": GROUPED, "above": ABOVE}


@pytest.fixture
def full(local: Local) -> Local:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    local.sql("CREATE TABLE u (n int, m int)")
    for name, query in VIEWS.items():
        local.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    local.sql("INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 40) AS g(i)")
    local.sql("INSERT INTO u VALUES (0, 1), (1, 1), (1, 2), (3, 9)")
    local.sql("DELETE FROM t WHERE id % 7 = 0")
    return local


def correct(local: Local) -> None:
    """Views equal their queries, now and after more changes."""
    for name, query in VIEWS.items():
        local.equal(name, query)
    local.sql("UPDATE t SET n = n + 1 WHERE id % 3 = 0")
    local.sql("DELETE FROM u WHERE m = 1")
    local.sql("INSERT INTO u VALUES (2, 5)")
    for name, query in VIEWS.items():
        local.equal(name, query)


def tamper(local: Local, change) -> None:
    """Changes the stored tables behind the dataflow's back."""
    from millpond.runtime.works import CallWork

    def run(epoch) -> None:
        change(epoch.state.storage)
        epoch.changed = True

    local.database.engine.submit(CallWork(function=run)).result(30)


def operator_tables(local: Local, view: str) -> list[str]:
    entry = local.state.catalog.find((view,), ("public",))
    assert entry is not None
    return [name for name in local.state.dataflow.tables(entry.id) if name != entry.id]


@pytest.mark.parametrize("end", ["restart", "crash"])
def test_everything_is_there(full: Local, end: str) -> None:
    before = sorted(full.sql("SELECT * FROM joined"))
    getattr(full, end)()
    assert sorted(full.sql("SELECT * FROM joined")) == before
    correct(full)


@pytest.mark.parametrize("view", ["joined", "grouped"])
def test_a_view_whose_operator_tables_are_missing_is_filled_anew(full: Local, view: str) -> None:
    missing = operator_tables(full, view)
    assert missing
    tamper(full, lambda storage: [storage.drop(name) for name in missing])
    full.crash()
    correct(full)


def test_a_view_whose_own_rows_are_missing_is_filled_anew(full: Local) -> None:
    entry = full.state.catalog.find(("grouped",), ("public",))
    assert entry is not None
    tamper(full, lambda storage: storage.drop(entry.id))
    full.crash()
    correct(full)


def test_an_operator_table_of_another_shape_is_filled_anew(full: Local) -> None:
    name = operator_tables(full, "grouped")[0]
    other = TableSpec(Schema.of(something=INT8), (0,))

    def reshape(storage) -> None:
        storage.drop(name)
        storage.table(name, other)

    tamper(full, reshape)
    full.crash()
    correct(full)


def test_a_view_that_no_longer_binds_is_stalled_with_the_reason(full: Local) -> None:
    from dataclasses import replace

    catalog = full.state.catalog
    entry = catalog.find(("grouped",), ("public",))
    assert entry is not None
    broken = replace(entry, query="SELECT missing FROM t")  # pyright: ignore[reportCallIssue]
    full.database.engine.state.catalog = catalog.with_(broken)
    full.sql("CREATE TABLE any_definition (a int)")
    full.crash()
    with pytest.raises(ObjectNotReady, match='column "missing" does not exist'):
        full.sql("SELECT * FROM grouped")
    full.equal("joined", JOINED)
    full.sql("INSERT INTO t VALUES (100, 3)")
    assert not [n for n in full.state.storage.names() if n not in full.state.tables and "count" in n]
    full.sql("DROP MATERIALIZED VIEW grouped")
    full.sql(f"CREATE MATERIALIZED VIEW grouped AS {GROUPED}")
    full.restart()
    correct(full)


def test_row_errors_are_those_of_the_rows_after_recovery(full: Local) -> None:
    full.sql("CREATE MATERIALIZED VIEW inverse AS SELECT id, 10 / n AS x FROM t")
    before = full.sql("SELECT sqlstate, count FROM millpond.errors")
    assert before
    full.crash()
    assert sorted(full.sql("SELECT sqlstate, count FROM millpond.errors")) == sorted(before)
    full.sql("DELETE FROM t WHERE n = 0")
    assert full.sql("SELECT * FROM millpond.errors") == []
    assert len(full.state.tables[ERRORS]) == 0


def test_a_source_goes_on_where_it_was(local: Local) -> None:
    local.sql(
        "CREATE SOURCE bid WITH (connector = 'nexmark', nexmark.table.type = 'Bid', "
        "nexmark.event.num = '3000', nexmark.min.event.gap.in.ns = '1000')"
    )
    query = "SELECT auction % 10 AS a, count(*) AS n, sum(price) AS p FROM bid GROUP BY auction % 10"
    local.sql(f"CREATE MATERIALIZED VIEW bids AS {query}")
    for end in (local.crash, local.restart, local.crash):
        end()
        local.equal("bids", query)
    import time

    deadline = time.monotonic() + 20
    while local.sql("SELECT count(*) FROM bid") < [(2760,)] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert local.sql("SELECT count(*) FROM bid") == [(2760,)]
    local.equal("bids", query)


def test_names_and_comments_survive(full: Local) -> None:
    full.sql("DROP MATERIALIZED VIEW joined, grouped, above")
    full.sql("ALTER TABLE t RENAME TO renamed")
    full.sql("COMMENT ON TABLE renamed IS 'what it is'")
    full.crash()
    assert full.sql("SELECT count(*) FROM renamed") == [(35,)]
    assert full.sql("SELECT obj_description('renamed'::regclass)") == [("what it is",)]
