"""A database in this process for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .local import Local


@pytest.fixture
def local() -> Iterator[Local]:
    database = Local()
    yield database
    database.close()
