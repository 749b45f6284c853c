"""Fixtures for all tests: a real PostgreSQL, started once a test process, as oracle."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pgserver
import psycopg
import pytest


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
