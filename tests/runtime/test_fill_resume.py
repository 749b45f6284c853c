"""Fills over crashes, restarts, lost state, full disks and faults."""

from __future__ import annotations

import random
import time

import pytest

from millpond.operators.aggregate import _Aggregate
from millpond.operators.zset import ZSet
from millpond.runtime import recovery
from millpond.runtime.fill_inputs import TableInput
from millpond.runtime.source import Connectors
from millpond.runtime.state import State
from millpond.server import database
from millpond.storage.commit import Storage
from millpond.storage.errors import (
    InternalError,
    ObjectInUse,
    SqlError,
    UndefinedTable,
)

from .filling import CHUNK, QUERIES, Changes, begun, finished, progress, read_bids, under_way
from .local import Local


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
