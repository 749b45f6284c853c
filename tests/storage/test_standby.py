"""Followers in bad moments; in good ones they are shown by `tests/simulation` and `tests/end_to_end`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millpond.storage import standby
from millpond.storage.commit import Storage, StorageLimits
from millpond.storage.disk import REAL
from millpond.storage.errors import IoError
from millpond.storage.log import LogEpoch
from millpond.storage.replay import follow
from millpond.storage.schema import Schema
from millpond.storage.standby import Advance, Follower
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8

SPEC = TableSpec(Schema.of(id=INT8), (0,))


def write(storage: Storage, name: str, value: int) -> None:
    storage.begin()
    storage.table(name, SPEC).upsert([pa.array([value])])
    storage.commit({})


@pytest.fixture
def primary(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage.open(tmp_path / "primary", tmp_path / "log")
    for name in ("a", "b"):
        write(storage, name, 0)
    yield storage
    storage.close()


@pytest.fixture
def follower(primary: Storage, tmp_path: Path) -> Iterator[Follower]:
    follower = Follower.open(tmp_path / "own", tmp_path / "log")
    for name in ("a", "b"):
        follower.table(name, SPEC)
    yield follower
    follower.close()


def test_what_was_applied_before_an_error_is_told_when_it_has_passed(
    primary: Storage, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else readers would see one table as of the new epoch, and another as it was."""
    monkeypatch.setattr(standby, "follow", partial(follow, bytes_max=1))
    write(primary, "a", 1)
    write(primary, "b", 2)
    read = follower.reader.read

    def interrupted(*arguments: Any) -> Iterator[LogEpoch]:
        for number, epoch in enumerate(read(*arguments)):
            if number == 1:
                # The first is given on when the next one comes.
                yield epoch
                raise FileNotFoundError("a segment has just been removed")
            yield epoch

    monkeypatch.setattr(follower.reader, "read", interrupted)
    with pytest.raises(FileNotFoundError):
        follower.catch_up()
    monkeypatch.setattr(follower.reader, "read", read)
    assert follower.epoch == 3
    assert follower.catch_up() == Advance({"a", "b"})
    assert follower.epoch == 4 and follower.catch_up() is None


def test_a_takeover_that_fails_leaves_the_log_to_others(
    primary: Storage, follower: Follower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary.release_log()
    lock = REAL.lock(tmp_path / "log" / "LOCK")
    assert lock is not None

    def unreadable(*_: object) -> None:
        raise IoError("could not read the store")

    monkeypatch.setattr(follower, "catch_up", unreadable)
    with pytest.raises(IoError):
        follower.take_over(lock)
    again = REAL.lock(tmp_path / "log" / "LOCK")
    assert again is not None
    again.release()


def test_a_base_that_is_in_the_store_in_part_is_completed_first(tmp_path: Path) -> None:
    """Tables that nobody has opened are read from the store later."""
    limits = StorageLimits(compact_bytes=0, checkpoint_s=1e9)
    primary = Storage.open(tmp_path / "primary", tmp_path / "log", limits=limits)
    for name in ("a", "b", "c"):
        write(primary, name, 0)
    follower = Follower.open(tmp_path / "own", tmp_path / "log")
    _ = follower.table("a", SPEC)
    checkpointer = follower._checkpointer
    checkpointer.run(follower.position, None)
    write(primary, "a", 1)
    _ = follower.catch_up()
    primary.checkpoint(wait=True)
    write(primary, "a", 2)
    primary.close()

    steps = 0
    while not follower._mirror.torn:
        steps += 1
        left = steps

        def abandon() -> None:
            nonlocal left
            left -= 1
            checkpointer._abandoned = not left

        checkpointer.pause_with(abandon)
        checkpointer.run(follower.position, None)
        assert checkpointer.error is not None, "there was no step in the middle of the base"
    checkpointer.pause_with(lambda: None)
    lock = REAL.lock(tmp_path / "log" / "LOCK")
    assert lock is not None
    log, _ = follower.take_over(lock)
    storage = follower.become(log)
    found = {name: storage.table(name, SPEC).scan()[0][0].to_pylist() for name in ("a", "b", "c")}
    assert found == {"a": [0, 1, 2], "b": [0], "c": [0]}
    storage.close()
