"""A real `millpond serve` process for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .server_process import ServerProcess


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A running server on an empty data directory."""
    process = ServerProcess(tmp_path / "data")
    process.start()
    yield process
    process.stop()
