"""TPC-H: views under random inserts, updates and deletes equal PostgreSQL's answers at random moments."""

from __future__ import annotations

import random
import re
from pathlib import Path

import psycopg
import pytest

from .server_process import ServerProcess
from .tpch import QUERIES, TABLES, generate

Rows = list[tuple[object, ...]]

KEYS = {
    table: [c.split()[0] for c in columns.split(", ") if "PRIMARY KEY" in c]
    for table, columns in TABLES.items()
}
KEYS["lineitem"] = ["l_orderkey", "l_linenumber"]
CHANGED = {
    "region": "r_comment = r_comment || 'x'",
    "nation": "n_regionkey = (n_regionkey + 1) %% 5",
    "supplier": "s_nationkey = (s_nationkey + 7) %% 25",
    "customer": "c_mktsegment = CASE WHEN c_mktsegment = 'BUILDING' THEN 'MACHINERY' ELSE 'BUILDING' END",
    "part": "p_type = CASE WHEN p_type LIKE 'PROMO%%' THEN 'ECONOMY TIN' ELSE 'PROMO TIN' END",
    "orders": "o_orderdate = o_orderdate - 30, o_custkey = o_custkey + 1",
    "lineitem": "l_discount = 0.06, l_shipdate = l_shipdate + 15, l_quantity = l_quantity + 1",
}


def load(connection: psycopg.Connection, files: dict[str, Path]) -> None:
    for table, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {table} ({columns})")
        with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(files[table].read_bytes())


class RandomWrites:
    """Statements that insert, change and delete random rows, the same for both databases."""

    def __init__(self, oracle: psycopg.Connection, seed: int) -> None:
        self._random = random.Random(seed)
        self._keys: dict[str, Rows] = {
            table: oracle.execute(f"SELECT {', '.join(KEYS[table])} FROM {table}").fetchall()
            for table in TABLES
        }
        self._next = 10_000_000
        self._deleted: dict[str, Rows] = {table: [] for table in TABLES}

    def statement(self) -> tuple[str, tuple[object, ...]]:
        """One statement with its parameters."""
        table = self._random.choices(list(TABLES), [1, 2, 3, 8, 4, 20, 40])[0]
        keys = self._keys[table]
        where = " AND ".join(f"{column} = %s" for column in KEYS[table])
        kind = self._random.random()
        at = self._random.randrange(len(keys))
        if kind < 0.5:
            return f"UPDATE {table} SET {CHANGED[table]} WHERE {where}", keys[at]
        if kind < 0.75 and table not in ("region", "nation"):
            keys[at], keys[-1] = keys[-1], keys[at]
            return f"DELETE FROM {table} WHERE {where}", keys.pop()
        return self._copied(table, where, keys[at])

    def _copied(self, table: str, where: str, key: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
        """An INSERT of a copy of a row under a new key."""
        columns = re.findall(r"(?:^|, )([a-z]+_[a-z]+) ", TABLES[table])
        self._next += 1
        fresh = KEYS[table][-1]
        chosen = ["%s" if column == fresh else column for column in columns]
        self._keys[table].append((*key[:-1], self._next))
        names, values = ", ".join(columns), ", ".join(chosen)
        return f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} WHERE {where}", (self._next, *key)


def contents(connection: psycopg.Connection, query: str) -> list[str]:
    return sorted(repr(row) for row in connection.execute(query).fetchall())


def run(
    server: ServerProcess, oracle: psycopg.Connection, folder: Path, scale: float, writes: int, moments: int
) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    files = generate(folder, scale)
    with server.connect() as ours:
        load(oracle, files)
        load(ours, files)
        for name, query in QUERIES.items():
            ours.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        source = RandomWrites(oracle, seed)
        looks = set(random.Random(seed).sample(range(writes), moments)) | {writes - 1}
        done = 0
        while done < writes:
            size = random.Random(seed + done).randint(1, 8)
            with ours.transaction(), oracle.transaction():
                for _ in range(min(size, writes - done)):
                    statement, parameters = source.statement()
                    changed = ours.execute(statement, parameters).rowcount
                    assert changed == oracle.execute(statement, parameters).rowcount, statement
            for name, query in QUERIES.items() if looks & set(range(done, done + size)) else ():
                assert contents(ours, f"SELECT * FROM {name}") == contents(oracle, query), (name, seed, done)
            done += size


def test_views_equal_postgres_under_random_writes(
    server: ServerProcess, postgres: psycopg.Connection, tmp_path: Path
) -> None:
    run(server, postgres, tmp_path / "tpch", 0.01, 200, 8)


@pytest.mark.slow
def test_views_equal_postgres_at_scale(
    server: ServerProcess, postgres: psycopg.Connection, tmp_path: Path
) -> None:
    run(server, postgres, tmp_path / "tpch", 0.1, 1000, 50)
