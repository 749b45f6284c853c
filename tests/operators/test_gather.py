"""Rows gathered by numpy or a loop are those that Arrow takes."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators.zset import gather

COLUMNS = (
    pa.array(["", "a", "é" * 9, "b\0c", "", "x" * 500] * 3),
    pa.array([b"", b"\xff", b"12"] * 6, pa.binary()),
    pa.array([None, "a", ""] * 6),
    pa.array(range(18)),
    pa.array([None, 1, 2] * 6),
    pa.array([Decimal(i) for i in range(18)], pa.decimal128(38, 0)),
    pa.array([True, False] * 9),
    pa.array([[1], [], None] * 6),
    pa.array([bytes([i]) * 16 for i in range(18)], pa.binary(16)),
)


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_those_that_arrow_takes(seed: int) -> None:
    random = Random(seed)
    columns = [column.slice(seed % 4, 12) for column in COLUMNS]
    positions = np.array([random.randrange(12) for _ in range(random.choice([0, 1, 2, 7, 30]))], np.int64)
    for column, rows in zip(columns, gather(columns, positions), strict=True):
        rows.validate(full=True)
        assert rows.equals(column.take(pa.array(positions)))
