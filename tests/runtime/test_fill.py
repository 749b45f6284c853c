"""Views filled over several epochs, while their inputs change."""

from __future__ import annotations

import random
import time

import pytest

from millpond.operators.zset import ZSet
from millpond.runtime import fill, pace

from .filling import QUERIES, Changes, begun
from .local import Local


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


def test_an_input_may_have_no_rows(small: Local) -> None:
    small.sql("CREATE TABLE nothing (n int, word text, PRIMARY KEY (n, word))")
    query = "SELECT t.id, x.word FROM t LEFT JOIN nothing x ON x.n = t.n"
    small.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    small.equal("v", query)
    small.sql("INSERT INTO nothing VALUES (1, 'one'), (3, 'three')")
    small.equal("v", query)


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
