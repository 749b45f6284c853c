"""Runs the golden scripts: SQL in process and over the wire, plans, wire conversations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from .golden import run_script
from .golden_plans import run_plans
from .golden_targets import InProcess, Loop, OverWire, Postgres
from .golden_wire import run_conversation

FOLDER = Path(__file__).parent / "golden"
WRITE = os.environ.get("MILLPOND_GOLDEN_WRITE") == "1"


def scripts(folder: str, pattern: str) -> list[str]:
    return sorted(path.relative_to(FOLDER).as_posix() for path in (FOLDER / folder).rglob(pattern))


@pytest.fixture(scope="session")
def loop() -> Loop:
    return Loop()


@pytest.fixture(scope="session")
def oracle_uri(postgres_uri: str) -> str:
    """A database of PostgreSQL for the scripts alone."""
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE DATABASE golden TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
    return postgres_uri.replace("/oracle?", "/golden?")


@pytest.fixture
def oracle(oracle_uri: str) -> Iterator[Postgres]:
    postgres = Postgres(oracle_uri)
    yield postgres
    postgres.close()


def asks_for_oracle(name: str) -> bool:
    return "\noracle\n" in "\n" + (FOLDER / name).read_text()


@pytest.mark.parametrize("name", scripts("sql", "*.slt"))
def test_sql_in_process(name: str, request: pytest.FixtureRequest) -> None:
    """Beside PostgreSQL where the script names it as its oracle."""
    oracle = request.getfixturevalue("oracle") if asks_for_oracle(name) else None
    target = InProcess()
    try:
        failures = run_script(FOLDER / name, target, oracle, WRITE)
    finally:
        target.close()
    assert not failures, "\n\n" + "\n\n".join(failures)


@pytest.mark.parametrize("name", scripts("sql", "*.slt"))
def test_sql_over_the_wire(name: str, loop: Loop) -> None:
    target = OverWire(loop)
    try:
        failures = run_script(FOLDER / name, target, None, write=False)
    finally:
        target.close()
    assert not failures, "\n\n" + "\n\n".join(failures)


@pytest.mark.parametrize("name", scripts("plans", "*.sql"))
def test_plans(name: str) -> None:
    target = InProcess()
    try:
        failures = run_plans(FOLDER / name, target, WRITE)
    finally:
        target.close()
    assert not failures, "\n\n" + "\n\n".join(failures)


@pytest.mark.parametrize("name", scripts("wire", "*.txt"))
def test_wire(name: str, loop: Loop) -> None:
    target = OverWire(loop)
    try:
        failures = run_conversation(FOLDER / name, target.listener.port, WRITE)
    finally:
        target.close()
    assert not failures, "\n\n" + "\n\n".join(failures)
