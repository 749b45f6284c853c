"""Which queries are answered in the event loop, and which by a reader thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from millpond.server.backend import Backend
from millpond.server.config import Config
from millpond.server.database import Database


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    database = Database(Config(data=str(tmp_path / "data")))
    database.start()
    session = database.connect({"user": "tester", "_pid": "1"})
    for sql in ("CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 100)"):
        outcome = session.execute(session.prepare(sql), (), True)
        assert isinstance(outcome, Future)
        _ = outcome.result(60)
    yield session
    database.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t, t u, t v",
        "SELECT * FROM generate_series(1, 1000000)",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 1000) SELECT * FROM r",
        "SELECT count(*) FROM pg_class a, pg_class b",
        "SELECT pg_sleep(0.01)",
        "SELECT repeat('x', 3)",
        "SELECT a FROM t WHERE regexp_like(a::text, '1')",
    ],
)
def test_a_query_that_may_be_long_is_handed_over(backend: Backend, sql: str) -> None:
    outcome = backend.execute(backend.prepare(sql), (), True)
    assert isinstance(outcome, Future)
    _ = outcome.result(60)


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", "SELECT * FROM t", "SELECT * FROM t JOIN t u USING (a)", "SELECT * FROM t, (SELECT 1) s"],
)
def test_a_short_query_is_answered_at_once(backend: Backend, sql: str) -> None:
    assert not isinstance(backend.execute(backend.prepare(sql), (), True), Future)
