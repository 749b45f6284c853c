"""Nothing grows without end: what a transaction writes, what is read ahead, what waits for the engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from millpond.runtime.engine import Engine
from millpond.runtime.source import READ_AHEAD_BATCHES, ReadAhead, SourceBatch
from millpond.runtime.works import CallWork
from millpond.sql.entries import Source
from millpond.storage.errors import OutOfMemory
from millpond.storage.schema import Schema
from millpond.storage.types import INT8

from .local import Local

MB = 1 << 20


@pytest.fixture
def tight(local: Local) -> Local:
    """A megabyte of rows a transaction."""
    local.state.write_bytes_max = MB
    local.sql("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)")
    return local


def test_a_statement_that_writes_too_much_is_refused_whole(tight: Local) -> None:
    with pytest.raises(OutOfMemory) as refused:
        tight.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 1000000) AS g(i)")
    assert "--write-mb-max" in (refused.value.hint or "")
    assert tight.sql("SELECT count(*) FROM t") == [(0,)]
    with pytest.raises(OutOfMemory):
        tight.sql("CREATE TABLE u AS SELECT i FROM generate_series(1, 1000000) AS g(i)")
    tight.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 20000) AS g(i)")
    assert tight.sql("SELECT count(*) FROM t") == [(20_000,)]


def test_a_block_that_writes_too_much_is_refused_and_can_be_rolled_back(tight: Local) -> None:
    tight.sql("BEGIN")
    i = 0
    with pytest.raises(OutOfMemory):
        for i in range(1000):
            tight.sql(f"INSERT INTO t SELECT i, i FROM generate_series({i * 1000}, {i * 1000 + 999}) AS g(i)")
    assert 0 < i < 100
    tight.sql("ROLLBACK")
    tight.sql("BEGIN")
    tight.sql("INSERT INTO t VALUES (1, 1)")
    tight.sql("COMMIT")
    assert tight.sql("SELECT count(*) FROM t") == [(1,)]


def test_savepoints_count_what_they_remember(tight: Local) -> None:
    tight.sql("BEGIN")
    tight.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 2000) AS g(i)")
    i = 0
    with pytest.raises(OutOfMemory):
        for i in range(1000):
            tight.sql(f"SAVEPOINT s{i}")
    assert 0 < i < 100
    tight.sql("ROLLBACK")


class Endless:
    """A reader that always has more, and counts."""

    def __init__(self) -> None:
        self.polls = 0

    def poll(self, offset: bytes | None, rows_max: int) -> SourceBatch:
        self.polls += 1
        return SourceBatch([pa.array(range(rows_max), pa.int64())], b"%d" % self.polls)

    def replay(self, until: bytes) -> Iterator[SourceBatch]:
        yield from ()

    def close(self) -> None: ...


def test_a_source_is_read_ahead_by_a_few_batches_only() -> None:
    reader = Endless()
    entry = Source(1, "public", "s", schema=Schema.of(n=INT8))
    ahead = ReadAhead(entry, reader, None, 100, lambda: None)
    try:
        time.sleep(0.3)
        # Two in the queue, one in the hand of the thread that waits to put it there.
        assert reader.polls == READ_AHEAD_BATCHES + 1
        for taken in range(1, 6):
            assert ahead.peek() is not None
            ahead.pop()
            time.sleep(0.1)
            assert reader.polls <= READ_AHEAD_BATCHES + 1 + taken
    finally:
        ahead.close()


def test_one_work_a_client_waits_for_a_slow_engine(local: Local) -> None:
    """Clients that write as fast as they can: each waits for its own commit."""
    local.sql("CREATE TABLE t (id bigint PRIMARY KEY)")
    engine = local.database.engine
    assert isinstance(engine, Engine)
    go, ended = threading.Event(), threading.Event()
    engine.submit(CallWork(function=lambda epoch: go.wait(20)))

    def client(first: int) -> None:
        session = local.connect()
        i = first
        while not ended.is_set():
            session.sql(f"INSERT INTO t VALUES ({i})")
            i += 1

    clients = [threading.Thread(target=client, args=(number << 32,)) for number in range(5)]
    for one in clients:
        one.start()
    longest = 0
    for _ in range(50):
        time.sleep(0.01)
        longest = max(longest, engine.queued)
    go.set()
    for _ in range(50):
        time.sleep(0.01)
        longest = max(longest, engine.queued)
    ended.set()
    for one in clients:
        one.join(20)
    assert longest == len(clients)
