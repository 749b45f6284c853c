"""Views filled over several epochs, while their inputs change and everything else goes on."""

from __future__ import annotations

import contextlib
import random
import time
from concurrent.futures import Future

import pytest

from millpond.operators.aggregate import _Aggregate
from millpond.operators.zset import ZSet
from millpond.runtime import fill, pace, recovery
from millpond.runtime.fill_inputs import TableInput
from millpond.runtime.source import Connectors
from millpond.runtime.state import State
from millpond.server import database
from millpond.storage.commit import Storage
from millpond.storage.errors import (
    DuplicateTable,
    InternalError,
    ObjectInUse,
    ObjectNotReady,
    QueryCanceled,
    SqlError,
    UndefinedTable,
)

from .local import Local

QUERIES = {
    "rows": "SELECT id, n, word FROM t",
    "grouped": "SELECT n, count(*) AS c, sum(id) AS s, min(word) AS w FROM t GROUP BY n",
    "total": "SELECT count(*) AS c, sum(n) AS s FROM t",
    "joined": "SELECT t.id, t.n, u.m FROM t JOIN u ON u.n = t.n",
    "outer": "SELECT t.id, u.m FROM t LEFT JOIN u ON u.n = t.n AND u.m > 3",
    "missing": "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.n = t.n)",
    "self": "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.n = b.n WHERE a.id % 7 = 0",
    "top": "SELECT id, n FROM t ORDER BY n DESC, id LIMIT 5",
    "ranked": "SELECT id, n, row_number() OVER (PARTITION BY n % 3 ORDER BY n, id) AS r FROM t",
    "distinct": "SELECT DISTINCT n, m FROM (SELECT n, n % 2 AS m FROM t UNION ALL SELECT n, m FROM u) AS b",
    "of_bag": "SELECT m, count(*) AS c, max(n) AS x FROM u GROUP BY m",
    "of_view": "SELECT c, count(*) AS k FROM per_n GROUP BY c",
    "two_levels": "SELECT u.m, p.c FROM u JOIN per_n p ON p.n = u.n",
    "scalar": "SELECT id FROM t WHERE n > (SELECT avg(n) FROM t)",
    "errors": "SELECT id, 100 / (n - 3) AS q FROM t",
}


CHUNK = 9
"""Rows."""


@pytest.fixture
def small(local: Local, monkeypatch: pytest.MonkeyPatch) -> Local:
    """Everything is large here, and chunks have a few rows."""
    monkeypatch.setattr(fill, "CHUNK_ROWS_FIRST", CHUNK)
    monkeypatch.setattr(fill, "CHUNK_ROWS_MAX", CHUNK)
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n int, word text)")
    local.sql("CREATE TABLE u (n int, m int)")
    local.sql("CREATE MATERIALIZED VIEW per_n AS SELECT n, count(*) AS c FROM t GROUP BY n")
    local.sql("INSERT INTO t SELECT i, i % 12, 'w' || i % 5 FROM generate_series(1, 600) AS g(i)")
    local.sql("INSERT INTO u SELECT i % 17, i % 6 FROM generate_series(1, 150) AS g(i)")
    local.state.one_epoch_rows_max = 20
    return local


class Changes:
    """Random DML on `t` and `u`, updates that move keys and rows that leave and return among it."""

    def __init__(self, local: Local, seed: int) -> None:
        print("seed", seed)
        self.session = local.connect()
        self.chance = random.Random(seed)

    def one(self) -> None:
        c = self.chance
        at = c.randrange(1, 700)
        texts = (
            f"INSERT INTO t VALUES ({at}, {c.randrange(12)}) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
            f"DELETE FROM t WHERE id BETWEEN {at} AND {at + c.randrange(9)}",
            f"UPDATE t SET n = n + 1, word = NULL WHERE id % 40 = {at % 40}",
            f"UPDATE t SET id = id + 1000 WHERE id BETWEEN {at} AND {at + 5}",
            f"INSERT INTO u VALUES ({c.randrange(17)}, {c.randrange(6)}), ({c.randrange(17)}, NULL)",
            f"DELETE FROM u WHERE n = {c.randrange(17)} AND m = {c.randrange(6)}",
            f"UPDATE u SET m = m + 1 WHERE n = {c.randrange(17)}",
        )
        with contextlib.suppress(SqlError):
            self.session.sql(c.choice(texts))

    def until(self, outcome: object) -> int:
        """Changes until the outcome is there; how many."""
        assert isinstance(outcome, Future)
        count = 0
        while not outcome.done():
            self.one()
            count += 1
        return count


@pytest.mark.parametrize("name", QUERIES)
def test_a_view_is_filled_while_its_inputs_change(small: Local, name: str) -> None:
    query = QUERIES[name]
    changes = Changes(small, random.randrange(1 << 30))
    creation = small.session.submit(f"CREATE MATERIALIZED VIEW v AS {query}")
    count = changes.until(creation)
    small.session.wait(creation)
    assert count > 1 or name == "of_view"
    compared = query if name != "errors" else query + " WHERE n <> 3"
    small.equal("v", compared)
    for _ in range(20):
        changes.one()
    small.equal("v", compared)
    small.crash()
    small.equal("v", compared)
    small.sql("UPDATE t SET n = n + 2 WHERE id % 3 = 0")
    small.sql("DELETE FROM u WHERE m = 2")
    small.equal("v", compared)
    if name == "errors":
        wrong = small.sql("SELECT count(*) FROM t WHERE n = 3")
        assert small.sql("SELECT coalesce(sum(count), 0)::bigint FROM millpond.errors") == wrong
    used = set(small.state.tables).union(*map(small.state.dataflow.tables, small.state.dataflow.views))
    assert set(small.state.storage.names()) == used


@pytest.mark.parametrize("name", ["rows", "joined", "outer", "of_bag", "two_levels"])
def test_chunks_come_with_the_changes_of_clients_epochs(
    small: Local, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a chunk are those that the epoch leaves, whatever it did to them."""
    together: list[int] = []
    real = fill.Fill._step

    def step(self: fill.Fill, context: object, deltas: dict[str, list[ZSet]], seconds: float | None) -> None:
        if seconds is not None and deltas:
            together.append(sum(len(delta) for parts in deltas.values() for delta in parts))
        real(self, context, deltas, seconds)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(fill.Fill, "_step", step)
    monkeypatch.setattr(pace, "PAUSE_S", 1e-6)
    monkeypatch.setattr(pace, "GIVE_WAY_S", 60.0)
    query = QUERIES[name]
    changes = Changes(small, random.randrange(1 << 30))
    creation = small.session.submit(f"CREATE MATERIALIZED VIEW v AS {query}")
    changes.until(creation)
    small.session.wait(creation)
    assert together
    small.equal("v", query)
    small.crash()
    small.equal("v", query)


def begun(small: Local, query: str = QUERIES["joined"], name: str = "v") -> Future:
    """A creation at work in another session."""
    creation = small.connect().submit(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    assert isinstance(creation, Future)
    return creation


@pytest.fixture
def slow(small: Local, monkeypatch: pytest.MonkeyPatch) -> Local:
    """Chunks take their time."""
    real = fill.Fill._step

    def step(self: fill.Fill, context: object, deltas: object, seconds: float | None) -> None:
        if seconds is not None:
            time.sleep(0.01)
        real(self, context, deltas, seconds)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(fill.Fill, "_step", step)
    return small


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


def test_an_orderly_end_leaves_nothing_of_what_a_client_waits_for(slow: Local) -> None:
    names = set(slow.state.storage.names())
    creation = begun(slow, QUERIES["errors"])
    under_way(slow)
    slow.restart()
    with pytest.raises(SqlError):
        creation.result(0)
    with pytest.raises(UndefinedTable):
        slow.sql("SELECT * FROM v")
    slow.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    assert set(slow.state.storage.names()) == names
    assert slow.sql("SELECT count(*) FROM millpond.errors") == [(0,)]
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['joined']}")
    slow.equal("v", QUERIES["joined"])


def finished(local: Local) -> None:
    """Waits until there is no job."""
    deadline = time.monotonic() + 60
    while local.sql("SELECT 1 FROM millpond.jobs WHERE job IS NOT NULL"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def under_way(local: Local) -> None:
    """Waits until the first chunk is in."""
    deadline = time.monotonic() + 30
    while not progress(local):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def progress(local: Local) -> int:
    """Rows of inputs that the first job has fed."""
    found = local.sql("SELECT rows FROM millpond.jobs WHERE job IS NOT NULL AND state = 'running'")
    return found[0][0] if found else 0


@pytest.mark.parametrize(("name", "background"), [(name, i % 2 == 0) for i, name in enumerate(QUERIES)])
def test_a_fill_goes_on_after_a_crash(slow: Local, name: str, background: bool) -> None:
    """Several times, with changes before and after; the rows that were fed are not fed again."""
    changes = Changes(slow, random.randrange(1 << 30))
    slow.sql(f"SET background_ddl = {background}")
    if background:
        slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES[name]}")
    else:
        creation = begun(slow, QUERIES[name])
        while not progress(slow) and not creation.done():
            time.sleep(0.001)
    for _ in range(3):
        deadline = time.monotonic() + 10
        target = progress(slow) + 40
        while 0 < progress(slow) < target and time.monotonic() < deadline:
            changes.one()
        before = progress(slow)
        slow.crash()
        changes = Changes(slow, random.randrange(1 << 30))
        after = progress(slow)
        # A chunk that was fed and not yet committed is fed again.
        assert after >= before - CHUNK or not slow.sql("SELECT 1 FROM millpond.jobs WHERE job IS NOT NULL")
        for _ in range(3):
            changes.one()
    finished(slow)
    compared = QUERIES[name] if name != "errors" else QUERIES[name] + " WHERE n <> 3"
    slow.equal("v", compared)
    for _ in range(10):
        changes.one()
    slow.crash()
    slow.equal("v", compared)
    used = set(slow.state.tables).union(*map(slow.state.dataflow.tables, slow.state.dataflow.views))
    assert set(slow.state.storage.names()) == used


@pytest.mark.parametrize("end", ["restart", "crash"])
def test_a_background_job_goes_on(slow: Local, end: str) -> None:
    slow.sql("SET background_ddl = true")
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['joined']}")
    with pytest.raises(UndefinedTable):
        slow.sql("SELECT * FROM v")
    slow.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    under_way(slow)
    before = progress(slow)
    getattr(slow, end)()
    assert progress(slow) >= before - CHUNK and before > 0
    with pytest.raises(ObjectInUse):
        slow.sql("DROP TABLE u")
    finished(slow)
    slow.equal("v", QUERIES["joined"])
    slow.restart()
    slow.equal("v", QUERIES["joined"])


def test_keys_above_and_below_the_frontier_come_and_go(slow: Local) -> None:
    """By hash (text keys) and by value (numbers, negative ones too), new ones and old ones."""
    slow.sql("CREATE TABLE named (name text, at int, n int, PRIMARY KEY (name, at))")
    slow.sql("INSERT INTO named SELECT 'k' || i, -i, i % 7 FROM generate_series(1, 300) AS g(i)")
    query = "SELECT n, count(*) AS c, sum(at) AS s FROM named GROUP BY n"
    creation = begun(slow, query)
    i = 0
    while not creation.done():
        i += 1
        slow.sql(f"INSERT INTO named VALUES ('x{i}', {i}, {i % 7}), ('k{i % 300}', {i}, 1)")
        slow.sql(f"DELETE FROM named WHERE name IN ('k{(i * 31) % 300}', 'x{i // 2}')")
    assert i > 5
    creation.result(30)
    slow.equal("v", query)


def read_bids(small: Local) -> None:
    """A source `bid`, half of which is there, for fills in chunks of a hundred rows."""
    fill.CHUNK_ROWS_FIRST = fill.CHUNK_ROWS_MAX = 100
    small.sql(
        "CREATE SOURCE bid WITH (connector = 'nexmark', nexmark.table.type = 'Bid', "
        "nexmark.event.num = '20000', nexmark.min.event.gap.in.ns = '1000')"
    )
    while small.sql("SELECT count(*) FROM bid") < [(10000,)]:
        time.sleep(0.01)


def test_a_changed_source_begins_again_where_its_order_is_not_sure(small: Local) -> None:
    """A connector that gives records in any order cannot skip those it gave."""
    read_bids(small)
    query = "SELECT auction % 10 AS a, count(*) AS n, sum(price) AS p FROM bid GROUP BY auction % 10"
    kind = type(small.database.connectors.find("nexmark"))
    for stable in (True, False):
        name = f"v_{stable}"
        small.sql("SET background_ddl = true")
        small.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        while progress(small) < 500:
            time.sleep(0.005)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "stable_replay", stable)
            before = progress(small)
            small.crash()
            after = progress(small)
        assert (after >= before) == stable
        finished(small)
        small.equal(name, query)


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


def test_a_view_whose_state_is_lost_is_filled_by_a_job_at_the_start(
    slow: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    slow.sql("CREATE MATERIALIZED VIEW w AS SELECT sum(c) AS c FROM v")
    real = recovery.recover

    def forgetful(storage: Storage, connectors: Connectors, time_us: int, **_: object) -> State:
        storage.begin()
        for name in storage.names():
            if name.startswith("Aggregate"):
                storage.drop(name)
        storage.commit({})
        return real(storage, connectors, time_us, one_epoch_rows_max=20)

    monkeypatch.setattr(database, "recover", forgetful)
    slow.crash()
    monkeypatch.setattr(database, "recover", real)
    slow.sql("INSERT INTO t VALUES (5000, 1, 'z')")
    finished(slow)
    for _ in range(2):
        slow.equal("v", QUERIES["grouped"])
        slow.equal("w", "SELECT sum(c) FROM per_n")
        slow.sql("UPDATE t SET n = n + 1")
        slow.crash()


def test_a_failing_view_ends_its_own_job_only(slow: Local) -> None:
    real, calls = _Aggregate.update, []

    def broken(self: _Aggregate, delta: object, context: object) -> object:
        if "sum" in self.schema.names:
            calls.append(1)
            if len(calls) > 5:
                raise RuntimeError("out of luck")
        return real(self, delta, context)  # pyright: ignore[reportArgumentType]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Aggregate, "update", broken)
        with pytest.raises(InternalError, match="out of luck"):
            slow.sql("CREATE MATERIALIZED VIEW v AS SELECT n, sum(id) AS s FROM t GROUP BY n")
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    slow.equal("v", QUERIES["grouped"])
    slow.equal("per_n", "SELECT n, count(*) FROM t GROUP BY n")


def test_an_input_may_have_no_rows(small: Local) -> None:
    small.sql("CREATE TABLE nothing (n int, word text, PRIMARY KEY (n, word))")
    query = "SELECT t.id, x.word FROM t LEFT JOIN nothing x ON x.n = t.n"
    small.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    small.equal("v", query)
    small.sql("INSERT INTO nothing VALUES (1, 'one'), (3, 'three')")
    small.equal("v", query)


def test_a_fault_in_a_chunk_ends_its_job_only(small: Local) -> None:
    def broken(self: TableInput, rows: int) -> ZSet:
        raise ValueError("out of luck")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableInput, "chunk", broken)
        with pytest.raises(InternalError, match="out of luck"):
            small.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    small.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    small.equal("v", QUERIES["grouped"])


def test_a_full_disk_delays_a_fill(slow: Local) -> None:
    creation = begun(slow)
    while not progress(slow):
        time.sleep(0.001)
    for _ in range(3):
        slow.disk.space = 0
        time.sleep(0.1)
        slow.disk.space = None
        slow.sql("UPDATE t SET n = n + 1 WHERE id % 3 = 0")
    creation.result(60)
    slow.equal("v", QUERIES["joined"])


def test_a_source_is_read_again_in_chunks(small: Local) -> None:
    small.sql(
        "CREATE SOURCE bid WITH (connector = 'nexmark', nexmark.table.type = 'Bid', "
        "nexmark.event.num = '60000', nexmark.min.event.gap.in.ns = '1000')"
    )
    while small.sql("SELECT count(*) FROM bid") < [(1000,)]:
        time.sleep(0.01)
    query = "SELECT auction % 10 AS a, count(*) AS n, sum(price) AS p FROM bid GROUP BY auction % 10"
    fill.CHUNK_ROWS_FIRST = fill.CHUNK_ROWS_MAX = 1500
    small.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    small.equal("v", query)
    joined = "SELECT t.id, count(*) AS n FROM bid JOIN t ON t.id = bid.auction % 600 GROUP BY t.id"
    creation = small.session.submit(f"CREATE MATERIALIZED VIEW j AS {joined}")
    Changes(small, 5).until(creation)
    small.session.wait(creation)
    small.equal("j", joined)
    small.crash()
    small.equal("v", query)
    small.equal("j", joined)
