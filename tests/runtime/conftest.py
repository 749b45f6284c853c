"""A database in this process for each test that asks for one, and what fills need of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from millpond.runtime import fill

from .filling import CHUNK
from .local import Local


@pytest.fixture
def local() -> Iterator[Local]:
    database = Local()
    yield database
    database.close()


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
