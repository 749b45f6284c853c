"""What a query read is let go when it is answered: nothing of it waits for a garbage collection."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from millpond.storage.errors import DivisionByZero, SqlError, forget_frames

from ..runtime.local import Local


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT n, count(*) FROM t GROUP BY n",
        "SELECT * FROM t x JOIN t y USING (id) LIMIT 1",
        "SELECT id + 1 FROM t WHERE n > 2",
        "DELETE FROM t WHERE n > 7",
        "UPDATE t SET n = n + 1",
    ],
)
def test_snapshots_go_with_their_query(query: str) -> None:
    local = Local()
    local.sql("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)")
    local.sql("INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 3000) i")
    [held] = (weakref.ref(t._rows) for t in local.database.engine.published.tables.values() if len(t) == 3000)
    local.sql(query)
    local.sql("TRUNCATE t")
    assert held() is None
    local.close()


@pytest.mark.usefixtures("uncollected")
def test_an_error_that_was_answered_holds_no_rows() -> None:
    class Row:
        pass

    held: list[weakref.ref[Row]] = []

    def fail() -> None:
        row = Row()
        held.append(weakref.ref(row))
        try:
            _ = 1 // 0
        except ZeroDivisionError as error:
            raise DivisionByZero("division by zero") from error

    kept: SqlError | None = None
    try:
        fail()
    except SqlError as error:
        kept = error
    assert held[0]() is not None and kept is not None
    forget_frames(kept)
    assert held[0]() is None
