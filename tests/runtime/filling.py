"""What tests of fills share: queries over a few relations, changes to these, and looks at jobs."""

from __future__ import annotations

import contextlib
import random
import time
from concurrent.futures import Future

from millpond.runtime import fill
from millpond.storage.errors import (
    SqlError,
)

from .local import Local

QUERIES = {
    "rows": "SELECT id, n, word FROM t",
    "grouped": "SELECT n, count(*) AS c, sum(id) AS s, min(word) AS w FROM t GROUP BY n",
    "total": "SELECT count(*) AS c, sum(n) AS s FROM t",
    "joined": "SELECT t.id, t.n, u.m FROM t JOIN u ON u.n = t.n",
    "outer": "SELECT t.id, u.m FROM t LEFT JOIN u ON u.n = t.n AND u.m > 3",
    "missing": "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.n = t.n)",
    "self": "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.n = b.n WHERE a.id % 7 = 0",
    "top": "SELECT id, n FROM t ORDER BY n DESC, id LIMIT 5",
    "ranked": "SELECT id, n, row_number() OVER (PARTITION BY n % 3 ORDER BY n, id) AS r FROM t",
    "distinct": "SELECT DISTINCT n, m FROM (SELECT n, n % 2 AS m FROM t UNION ALL SELECT n, m FROM u) AS b",
    "of_bag": "SELECT m, count(*) AS c, max(n) AS x FROM u GROUP BY m",
    "of_view": "SELECT c, count(*) AS k FROM per_n GROUP BY c",
    "two_levels": "SELECT u.m, p.c FROM u JOIN per_n p ON p.n = u.n",
    "scalar": "SELECT id FROM t WHERE n > (SELECT avg(n) FROM t)",
    "errors": "SELECT id, 100 / (n - 3) AS q FROM t",
}

CHUNK = 9
"""Rows."""


class Changes:
    """Random DML on `t` and `u`, updates that move keys and rows that leave and return among it."""

    def __init__(self, local: Local, seed: int) -> None:
        print("seed", seed)
        self.session = local.connect()
        self.chance = random.Random(seed)

    def one(self) -> None:
        c = self.chance
        at = c.randrange(1, 700)
        texts = (
            f"INSERT INTO t VALUES ({at}, {c.randrange(12)}) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
            f"DELETE FROM t WHERE id BETWEEN {at} AND {at + c.randrange(9)}",
            f"UPDATE t SET n = n + 1, word = NULL WHERE id % 40 = {at % 40}",
            f"UPDATE t SET id = id + 1000 WHERE id BETWEEN {at} AND {at + 5}",
            f"INSERT INTO u VALUES ({c.randrange(17)}, {c.randrange(6)}), ({c.randrange(17)}, NULL)",
            f"DELETE FROM u WHERE n = {c.randrange(17)} AND m = {c.randrange(6)}",
            f"UPDATE u SET m = m + 1 WHERE n = {c.randrange(17)}",
        )
        with contextlib.suppress(SqlError):
            self.session.sql(c.choice(texts))

    def until(self, outcome: object) -> int:
        """Changes until the outcome is there; how many."""
        assert isinstance(outcome, Future)
        count = 0
        while not outcome.done():
            self.one()
            count += 1
        return count


def begun(small: Local, query: str = QUERIES["joined"], name: str = "v") -> Future:
    """A creation at work in another session."""
    creation = small.connect().submit(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    assert isinstance(creation, Future)
    return creation


def finished(local: Local) -> None:
    """Waits until there is no job."""
    deadline = time.monotonic() + 60
    while local.sql("SELECT 1 FROM millpond.jobs WHERE job IS NOT NULL"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def under_way(local: Local) -> None:
    """Waits until the first chunk is in."""
    deadline = time.monotonic() + 30
    while not progress(local):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def progress(local: Local) -> int:
    """Rows of inputs that the first job has fed."""
    found = local.sql("SELECT rows FROM millpond.jobs WHERE job IS NOT NULL AND state = 'running'")
    return found[0][0] if found else 0


def read_bids(small: Local) -> None:
    """A source `bid`, half of which is there, for fills in chunks of a hundred rows."""
    fill.CHUNK_ROWS_FIRST = fill.CHUNK_ROWS_MAX = 100
    small.sql(
        "CREATE SOURCE bid WITH (connector = 'nexmark', nexmark.table.type = 'Bid', "
        "nexmark.event.num = '20000', nexmark.min.event.gap.in.ns = '1000')"
    )
    while small.sql("SELECT count(*) FROM bid") < [(10000,)]:
        time.sleep(0.01)
