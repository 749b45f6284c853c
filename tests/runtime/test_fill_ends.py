"""Fills that end before their views are complete: what is stored of them goes, and of nothing else."""

from __future__ import annotations

import threading
import time

import pytest

from millpond.runtime import pace, recovery
from millpond.runtime.engine import Engine
from millpond.runtime.epoch import Epoch
from millpond.runtime.job import Job
from millpond.runtime.source import Connectors
from millpond.runtime.state import State
from millpond.server import database
from millpond.storage.commit import Storage
from millpond.storage.errors import ObjectInUse, SqlError

from .filling import QUERIES, begun, finished, progress, read_bids, under_way
from .local import Local

HALF = "SELECT id, n FROM t WHERE id % {} = 1"
GROUPED = "SELECT n, count(*) AS c FROM ({}) AS half GROUP BY n"


def stored(local: Local) -> list[str]:
    """How far fills are, as committed."""
    return [name for name in local.state.offsets if name.startswith("filling/")]


def row_errors(local: Local) -> list[tuple]:
    return local.sql("SELECT coalesce(sum(count), 0)::bigint FROM millpond.errors")


def test_an_orderly_end_after_an_epoch_that_failed(slow: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs are then written down again: not in the epoch that forgets them."""
    monkeypatch.setattr(pace, "GIVE_WAY_S", 60.0)
    monkeypatch.setattr(pace, "PAUSE_S", 1e-6)
    creation = begun(slow)
    while not progress(slow):
        slow.sql("INSERT INTO u VALUES (1, 1)")
    with pytest.raises(ObjectInUse):
        slow.sql("DROP TABLE u")
    slow.restart()
    with pytest.raises(SqlError):
        creation.result(0)
    assert stored(slow) == []


def test_a_view_defined_anew_while_its_job_is_cancelled(slow: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come during one epoch, and a write behind them begins the new job."""
    monkeypatch.setattr(pace, "GIVE_WAY_S", 60.0)
    monkeypatch.setattr(pace, "PAUSE_S", 1e-6)
    slow.sql("SET background_ddl = true")
    slow.sql(f"CREATE VIEW half AS {HALF.format(2)}")
    slow.sql("CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM half GROUP BY n")
    while slow.sql("SELECT 1 FROM millpond.jobs WHERE job IS NOT NULL"):
        slow.sql("INSERT INTO u VALUES (1, 1)")
    slow.sql(f"CREATE OR REPLACE VIEW half AS {HALF.format(5)}")
    while not progress(slow):
        slow.sql("INSERT INTO u VALUES (1, 1)")
    number = slow.sql("SELECT job FROM millpond.jobs WHERE job IS NOT NULL")[0][0]
    at_work, go_on, real = threading.Event(), threading.Event(), Epoch.step

    def step(self: Epoch) -> None:
        real(self)
        if not at_work.is_set():
            at_work.set()
            go_on.wait(10)

    monkeypatch.setattr(Epoch, "step", step)
    sessions = [slow.connect() for _ in range(3)]
    sent = [sessions[0].submit("INSERT INTO u VALUES (1, 1)")]
    assert at_work.wait(10)
    slow.sql(f"CANCEL JOBS {number}")
    sent.append(sessions[1].submit(f"CREATE OR REPLACE VIEW half AS {HALF.format(3)}"))
    sent.append(sessions[2].submit("INSERT INTO u VALUES (1, 1)"))
    go_on.set()
    sessions[0].wait(sent[0])
    sessions[2].wait(sent[2])
    for _ in range(3):
        slow.sql("INSERT INTO u VALUES (1, 1)")
    monkeypatch.setattr(pace, "GIVE_WAY_S", 0.0)
    slow.crash()
    finished(slow)
    slow.equal("v", GROUPED.format(HALF.format(3)))
    slow.sql("UPDATE t SET n = n + 1")
    slow.equal("v", GROUPED.format(HALF.format(3)))
    assert stored(slow) == []


def test_a_job_cancelled_right_before_an_orderly_end(slow: Local) -> None:
    slow.sql("SET background_ddl = true")
    slow.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['errors']}")
    under_way(slow)
    engine = slow.database.engine
    assert isinstance(engine, Engine)
    real = engine._end_job

    def end(job: Job, error: SqlError) -> None:
        real(job, error)
        engine._queue.close()

    engine._end_job = end
    slow.sql("CANCEL JOBS " + str(slow.sql("SELECT job FROM millpond.jobs WHERE job IS NOT NULL")[0][0]))
    engine._thread.join(10)
    slow.restart()
    assert slow.sql("SELECT job FROM millpond.jobs WHERE job IS NOT NULL") == []
    assert (stored(slow), row_errors(slow)) == ([], [(0,)])


def test_rows_that_fail_are_told_once_when_a_job_begins_anew(small: Local) -> None:
    read_bids(small)
    small.sql("SET background_ddl = true")
    small.sql("CREATE MATERIALIZED VIEW v AS SELECT 1 / (auction % 10) AS q FROM bid")
    while progress(small) < 2000:
        time.sleep(0.005)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(small.database.connectors.find("nexmark")), "stable_replay", False)
        small.crash()
    finished(small)
    assert row_errors(small) == small.sql("SELECT count(*) FROM bid WHERE auction % 10 = 0")


@pytest.mark.parametrize("one_epoch_rows_max", [20, 1_000_000])
def test_rows_that_fail_are_told_once_when_a_view_is_computed_anew(
    small: Local, monkeypatch: pytest.MonkeyPatch, one_epoch_rows_max: int
) -> None:
    small.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['errors']}")
    real, view = recovery.recover, small.state.catalog.resolve(("v",), ("public",)).id

    def forgetful(storage: Storage, connectors: Connectors, time_us: int, **_: object) -> State:
        storage.begin()
        storage.drop(view)
        storage.commit({})
        return real(storage, connectors, time_us, one_epoch_rows_max=one_epoch_rows_max)

    monkeypatch.setattr(database, "recover", forgetful)
    small.crash()
    monkeypatch.setattr(database, "recover", real)
    finished(small)
    small.equal("v", QUERIES["errors"] + " WHERE n <> 3")
    assert row_errors(small) == small.sql("SELECT count(*) FROM t WHERE n = 3")
