"""One real broker for all tests of this folder; they are skipped, loudly, where none can run."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..end_to_end.server_process import ServerProcess
from .broker import Broker, missing

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    why = missing()
    if why:
        warnings.warn(f"KAFKA TESTS ARE NOT RUN: {why}", stacklevel=1)
        pytest.skip(f"no Kafka broker: {why}")
    with Broker() as running:
        yield running


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """A broker that a test may stop."""
    why = missing()
    if why:
        pytest.skip(f"no Kafka broker: {why}")
    with Broker() as running:
        yield running


@pytest.fixture
def topic() -> str:
    """A name no other test has used."""
    return f"topic{next(_NUMBERS)}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "data")
    process.start()
    yield process
    process.stop()
