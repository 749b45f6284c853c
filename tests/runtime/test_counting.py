"""count(*) of a whole relation: no row is read for it."""

from __future__ import annotations

import pytest

from millpond.operators.scan import Scan
from millpond.sql.entries import Table
from millpond.storage.snapshot import TableSnapshot

from .local import Local

RELATIONS = {
    "keyed": "CREATE TABLE keyed (id int PRIMARY KEY, n int)",
    "plain": "CREATE TABLE plain (id int, n int)",
    "bag": "CREATE MATERIALIZED VIEW bag AS SELECT n FROM keyed",
    "groups": "CREATE MATERIALIZED VIEW groups AS SELECT n, count(*) AS c FROM keyed GROUP BY n",
    "nothing": "CREATE TABLE nothing (id int)",
}


@pytest.fixture
def filled(local: Local) -> Local:
    for text in RELATIONS.values():
        local.sql(text)
    local.sql("INSERT INTO keyed SELECT i, i % 7 FROM generate_series(1, 100) AS g(i)")
    local.sql("INSERT INTO plain SELECT i % 50, i % 7 FROM generate_series(1, 100) AS g(i)")
    return local


@pytest.mark.parametrize("name", RELATIONS)
def test_it_is_the_number_of_rows(filled: Local, name: str) -> None:
    def check() -> None:
        rows = len(filled.sql(f"SELECT * FROM {name}"))
        assert filled.sql(f"SELECT count(*) FROM {name}") == [(rows,)]
        assert filled.sql(f"SELECT count(*) + 1, count(*) FROM {name}") == [(rows + 1, rows)]
        assert filled.sql(f"SELECT count(*) FROM {name} HAVING count(*) > 5") == [(rows,)] * (rows > 5)
        assert filled.sql(f"SELECT count(*) FROM {name} a, nothing b") == [(0,)]
        assert filled.sql(f"SELECT count(*) FILTER (WHERE true) FROM {name}") == [(rows,)]

    filled.sql(f"CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS c FROM {name}")
    check()
    filled.sql("DELETE FROM keyed WHERE id % 3 = 0")
    filled.sql("UPDATE keyed SET n = n + 1 WHERE n < 3")
    filled.sql("DELETE FROM plain WHERE id < 10")
    check()
    assert filled.sql("SELECT c FROM counted") == filled.sql(f"SELECT count(*) FROM {name}")
    filled.crash()
    check()
    assert filled.sql("SELECT c FROM counted") == filled.sql(f"SELECT count(*) FROM {name}")


def test_a_transactions_own_rows_count(filled: Local) -> None:
    other = filled.connect()
    filled.sql("BEGIN")
    filled.sql("DELETE FROM keyed WHERE id <= 10")
    filled.sql("INSERT INTO keyed VALUES (1000, 1), (1001, NULL)")
    assert filled.sql("SELECT count(*) FROM keyed") == [(92,)]
    assert other.sql("SELECT count(*) FROM keyed") == [(100,)]
    filled.sql("ROLLBACK")
    assert filled.sql("SELECT count(*) FROM keyed") == [(100,)]


def test_rows_of_a_keyed_table_are_not_read(filled: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = Scan.spread

    def spread(self: Scan, columns: list[object], weights: list[int]) -> object:
        asked.append(len(weights))
        return real(self, columns, weights)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Scan, "spread", spread)
    assert filled.sql("SELECT count(*) FROM keyed") == [(100,)]
    assert asked == [1]
    assert filled.sql("EXPLAIN SELECT count(*) FROM keyed")[1] == ("  -> Scan keyed (number of rows)",)


def test_a_snapshot_counts_what_it_shows(filled: Local) -> None:
    keyed = next(entry for entry in filled.state.catalog.of(Table) if entry.name == "keyed")
    before = filled.state.tables[keyed.id].snapshot()
    filled.sql("DELETE FROM keyed WHERE id > 40")

    def counted(snapshot: TableSnapshot) -> int:
        return sum(int(weights.sum()) for _, weights in snapshot.parts([]))

    assert counted(before) == 100
    assert len(before.scan()[1]) == 100
