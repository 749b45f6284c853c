"""`millpond check`: clean directories, damaged ones, views that are not what their query says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from millpond.runtime.state import CATALOG_SPEC
from millpond.storage.commit import Storage
from millpond.storage.schema import Column, Schema
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8

from .server_process import ServerProcess

STATEMENTS = (
    "CREATE TABLE t (id int PRIMARY KEY, k text, v float8)",
    "CREATE SOURCE s WITH (connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = '5000', "
    "nexmark.min.event.gap.in.ns = '0')",
    "CREATE MATERIALIZED VIEW by_k AS SELECT k, count(*) AS n, sum(v) AS v FROM t GROUP BY k",
    "CREATE MATERIALIZED VIEW most AS SELECT max(n) AS n FROM by_k",
    "CREATE MATERIALIZED VIEW bids AS SELECT bidder, count(*) AS n, avg(price) AS p FROM s GROUP BY bidder",
    "INSERT INTO t SELECT i, (i % 7)::text, i / 3.0 FROM generate_series(1, 500) AS g(i)",
    "DELETE FROM t WHERE id % 5 = 0",
    "UPDATE t SET v = v * 2, k = 'x' WHERE id % 3 = 0",
)


def check(data: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "millpond.server", "check", str(data)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def test_check(server: ServerProcess, tmp_path: Path) -> None:
    with server.connect() as connection:
        for statement in STATEMENTS:
            connection.execute(statement)
    code, text = check(server.data)
    assert code == 1 and "in use" in text
    server.kill()
    assert check(server.data) == (0, f"{server.data} is sound: log and store agree, "
                                  "3 materialized view(s) equal their queries\n")  # fmt: skip
    server.start()
    assert server.stop() == 0
    before = sorted((p, p.stat().st_size) for p in (server.data / "log").rglob("*") if p.is_file())
    assert check(server.data)[0] == 0
    assert sorted((p, p.stat().st_size) for p in (server.data / "log").rglob("*") if p.is_file()) == before
    _spoil_view(server.data)
    code, text = check(server.data)
    assert code == 1
    assert 'view "most" differs from its query: 1 row(s) too many, 1 missing' in text
    assert "by_k" not in text
    assert check(tmp_path / "nothing")[0] == 1


def _spoil_view(data: Path) -> None:
    """Changes a view's stored row behind the engine's back."""
    storage = Storage.open(data)
    catalog = storage.table("system/catalog", CATALOG_SPEC)
    columns, _ = catalog.scan()
    names = dict(zip(columns[3].to_pylist(), columns[0].to_pylist(), strict=True))
    storage.begin()
    # Behind the view's column is the number of rows that it is of.
    shape = Schema((Column("n", INT8), Column("rows", INT8, False)))
    view = storage.table(f"r{names['most']}", TableSpec(shape, ()))
    assert len(view) == 1
    view.upsert([pa.array([12345]), pa.array([7])])
    storage.commit({})
    storage.close()
