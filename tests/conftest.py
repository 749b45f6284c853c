"""For all tests: a real PostgreSQL as oracle, started once a test process; a line on what was not run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pgserver
import psycopg
import pytest

# Machines that run tests are crowded: a standby that starts is not to hold itself back for that.
_ = os.environ.setdefault("MILLPOND_START_SHARE", "100")

NO_BROKER = "no Kafka broker"
"""Begins the reason for which a test of Kafka is skipped."""


SLOW_S_MAX = 5400
"""What a test of `make test-all` may take, on a crowded machine; others have the time in pyproject.toml."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.timeout(SLOW_S_MAX))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One loud line when tests of Kafka were skipped."""
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    without = [reason for reason in skipped if NO_BROKER in reason]
    if without:
        _, _, why = without[0].partition(f"{NO_BROKER}: ")
        terminalreporter.write_line(
            f"KAFKA IS NOT TESTED: {len(without)} tests were skipped, {why.rstrip(chr(39) + ')')}",
            red=True,
            bold=True,
        )


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """The address of an empty PostgreSQL database, UTF8 with C collation, time zone UTC."""
    folder = Path(tempfile.mkdtemp(prefix="millpond-oracle-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE oracle TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        yield server.get_uri(database="oracle")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_uri: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the oracle, with a schema of its own that goes with the test."""
    schema = f"test_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}, public")
        connection.execute("SET timezone = 'UTC'")
        yield connection
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
