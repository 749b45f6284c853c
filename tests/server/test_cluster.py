"""How far a standby says that it is behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from millpond.server.cluster import Cluster
from millpond.storage.commit import Storage
from millpond.storage.disk import REAL
from millpond.storage.limits import StorageLimits
from millpond.storage.presence import FilePresence, PrimaryBeat
from millpond.storage.schema import Schema
from millpond.storage.standby import Follower, Lag
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8

SPEC = TableSpec(Schema.of(id=INT8), (0,))


def write(storage: Storage, ids: range, gone: int = 0) -> None:
    storage.begin()
    table = storage.table("t", SPEC)
    table.upsert([pa.array(np.array(ids))])
    if gone:
        table.delete(table.lookup([pa.array(np.arange(gone))], gone))
    storage.commit({"s": b"at"})


def test_records_are_counted_over_restarts_bases_and_standbys(tmp_path: Path) -> None:
    limits = StorageLimits(compact_bytes=0, checkpoint_s=1e9)
    storage = Storage.open(tmp_path / "a", limits=limits)
    write(storage, range(100))
    write(storage, range(100, 130), gone=20)
    assert storage.records == 150
    storage.begin()
    storage.table("t", SPEC).upsert([pa.array([1000])])
    storage.rollback()
    storage.checkpoint(wait=True)
    follower = Follower.open(tmp_path / "b", tmp_path / "a" / "log")
    assert follower.records == 150
    write(storage, range(200, 207))
    assert (storage.records, follower.records) == (157, 150)
    _ = follower.catch_up()
    assert follower.records == 157
    storage.close()
    storage = Storage.open(tmp_path / "a", limits=limits)
    assert storage.records == 157
    storage.close()
    follower.close()


def test_a_standby_tells_how_many_records_it_is_behind(tmp_path: Path) -> None:
    presence = FilePresence(tmp_path, REAL)
    standby = Cluster(presence, "b", "here:1")
    standby.records = lambda: 150
    assert standby.lag_records(Lag(None, None)) is None
    assert standby.lag_records(Lag(2, 1.0)) is None  # No primary has said anything.
    presence.announce_primary(PrimaryBeat("a", "there:1", 1, 9, 1, 0, 1150))
    assert standby.lag_records(Lag(2, 1.0)) == 1000
    assert standby.lag_records(Lag(0, 1.0)) == 0
    standby.records = lambda: 2000  # It has read on since.
    assert standby.lag_records(Lag(1, 1.0)) == 0
    standby.lag = lambda: Lag(3, 5.0)
    standby.records = lambda: 1100
    standby.beat()
    shown = [row for row in standby.rows() if row[2] == "standby"]
    assert [row[5:8] for row in shown] == [(3, 50, 5.0)]
    standby.presence.withdraw_replica("b")
