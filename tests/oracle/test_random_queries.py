"""Random queries, one-off and as views under random writes, against PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest

from ..golden_targets import InProcess, Outcome, Postgres
from .random_queries import Generator

QUICK_SEEDS = range(5)
SLOW_SEEDS = range(100, 200)
QUERIES = 25
VIEWS = 8
WRITES = 20
FIRST_SEED = int(os.environ.get("MILLPOND_SEED", "0"))


@pytest.fixture(scope="module")
def oracle_uri(postgres_uri: str) -> str:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE DATABASE random TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
    return postgres_uri.replace("/oracle?", "/random?")


@pytest.fixture
def pair(oracle_uri: str) -> Iterator[Pair]:
    both = Pair(InProcess(), Postgres(oracle_uri))
    yield both
    both.ours.close()
    both.theirs.close()


class Pair:
    """Both databases, with the same content."""

    def __init__(self, ours: InProcess, theirs: Postgres) -> None:
        self.ours, self.theirs = ours, theirs
        self.differences: list[str] = []

    def write(self, sql: str) -> None:
        said, outcome = self.theirs.run("main", sql), self.ours.run("main", sql)
        assert (outcome.code, outcome.tag) == (said.code, said.tag), (sql, outcome, said)

    def compare(self, sql: str, what: str = "") -> bool:
        """Whether both answer alike; a difference is noted. A query that PostgreSQL refuses counts."""
        said, outcome = self.theirs.run("main", sql), self.ours.run("main", sql)
        if said.code and "FULL JOIN is only supported" in " ".join(said.message):
            return True  # PostgreSQL cannot run it, so there is nothing to compare with
        if outcome.code == said.code and _bag(outcome) == _bag(said):
            return True
        self.differences.append(f"{what or sql}\nPostgreSQL: {_text(said)}\nmillpond:   {_text(outcome)}")
        return False


def _bag(outcome: Outcome) -> list[tuple[str, ...]]:
    """The rows in order. Of equal numerics (3 and 3.00) DISTINCT may keep either: their scale goes."""
    exact = [column.endswith(" numeric") for column in outcome.columns]
    return sorted(tuple(map(_shown, row, exact)) for row in outcome.rows)


def _shown(value: str | None, exact: bool) -> str:
    if value is None:
        return "NULL"
    return f"={Decimal(value).normalize():f}" if exact else f"={value}"


def _text(outcome: Outcome) -> str:
    return f"{outcome.code} {outcome.message}" if outcome.code else str(_bag(outcome)[:12])


def run(pair: Pair, seed: int) -> None:
    generator = Generator(seed)
    for table in generator.tables:
        pair.write(table.definition())
        pair.write(generator.insert(table, generator.random.choice([8, 12, 40])))
    for _ in range(QUERIES):
        pair.compare(generator.query())
    views: dict[str, str] = {}
    for number in range(VIEWS):
        query, name = generator.query(), f"v{number}"
        said = pair.theirs.run("main", f"CREATE VIEW {name} AS {query}")
        if said.code:
            continue
        outcome = pair.ours.run("main", f"CREATE MATERIALIZED VIEW {name} AS {query}")
        assert not outcome.code, (seed, query, outcome)
        views[name] = query
    for _ in range(WRITES):
        write = generator.write()
        pair.write(write)
        for name, query in list(views.items()):
            if not pair.compare(f"SELECT * FROM {name}", f"view {name}: {query}\nafter {write}"):
                del views[name]
    assert not pair.differences, f"seed {seed}\n\n" + "\n\n".join(pair.differences)


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_queries_and_views_equal_postgres(pair: Pair, seed: int) -> None:
    run(pair, FIRST_SEED + seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW_SEEDS)
def test_many_queries_and_views_equal_postgres(pair: Pair, seed: int) -> None:
    run(pair, FIRST_SEED + seed)
