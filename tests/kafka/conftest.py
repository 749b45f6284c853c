"""One real broker for all tests of this folder.

Where none can run they are skipped, and the run ends with a loud line (`tests/conftest.py`). With
MILLPOND_REQUIRE_KAFKA=1, as in continuous integration, they fail instead.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import NO_BROKER
from ..end_to_end.server_process import ServerProcess
from .broker import Broker, missing

_NUMBERS = itertools.count()


def require_broker() -> None:
    """Skips the test, or fails it where a broker is required, when none can be started."""
    why = missing()
    if not why:
        return
    if os.environ.get("MILLPOND_REQUIRE_KAFKA"):
        pytest.fail(f"{NO_BROKER}: {why}", pytrace=False)
    pytest.skip(f"{NO_BROKER}: {why}")


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    require_broker()
    with Broker() as running:
        yield running


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """A broker that a test may stop."""
    require_broker()
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
