"""Groups that are there are written by one call, and everything else by the other way: with one result."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from millpond.operators.aggregate_fused import FusedWriter

from .local import Local

QUERIES = (
    "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k",
    "SELECT city, k, count(v) AS n, sum(v * 3) AS s, avg(v) AS m, count(city) AS c FROM t GROUP BY city, k",
    "SELECT k, sum(v) FILTER (WHERE v > 5) AS many, sum(small) AS s, count(*) AS n FROM t GROUP BY k",
    "SELECT city, avg(f) AS mean, max(f) AS high, min(v) AS low, sum(v) AS s, max(city) FROM t GROUP BY city",
    "SELECT k, count(*) FILTER (WHERE v > 5) AS n FROM t GROUP BY k",
    "SELECT flag, sum(v) AS total, count(DISTINCT k) AS ks FROM t GROUP BY flag",
    "SELECT count(*) AS n, sum(v) AS total FROM t",
)


@pytest.mark.parametrize("seed", range(3))
def test_groups_come_to_the_same_whichever_way_they_are_written(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = Counter[bool]()
    write = FusedWriter.write

    def counted(writer: FusedWriter, *arguments: Any) -> Any:
        found = write(writer, *arguments)
        ways[found is not None] += 1
        return found

    monkeypatch.setattr(FusedWriter, "write", counted)
    random = Random(seed)
    local = Local()
    try:
        local.sql(
            "CREATE TABLE t (id bigint PRIMARY KEY, k bigint, city text, v bigint, small int, f float8, "
            "flag boolean)"
        )
        for number, query in enumerate(QUERIES):
            local.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
        for step in range(60):
            local.sql(_change(random, step))
            if step == 30:
                local.restart()
        for number, query in enumerate(QUERIES):
            local.equal(f"v{number}", query)
    finally:
        local.close()
    assert ways[True] > 20 and ways[False] > 20


def _change(random: Random, step: int) -> str:
    if random.random() < 0.25:
        return f"DELETE FROM t WHERE id % 7 = {random.randrange(7)} AND id < {step * 10 - 100}"
    if random.random() < 0.2:
        return f"UPDATE t SET v = v + 1, f = -f WHERE k = {random.randrange(5)}"
    rows = (_row(random, step * 10 + i) for i in range(random.choice([1, 3, 9])))
    return f"INSERT INTO t VALUES {', '.join(rows)}"


def _row(random: Random, number: int) -> str:
    def maybe(value: object) -> object:
        return "NULL" if random.random() < 0.05 else value

    k, city, flag = random.randrange(5), f"'city {random.randrange(4)}'", random.choice(["true", "false"])
    v, f = random.randrange(-9, 20), random.choice(["0.1", "-2.5", "1e300", "'NaN'", "0.25", "3", "0.7"])
    return f"({number}, {maybe(k)}, {maybe(city)}, {maybe(v)}, {maybe(v)}, {maybe(f)}, {maybe(flag)})"
