"""Messages written from columns are read as those of pyarrow."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage.columns import growing_column
from millpond.storage.row_message import BYTES_MAX, ROWS_MAX, RowMessage, WrittenRows, can_write

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int16(): [1, -2, 3],
    pa.int64(): [1, -(2**62), 3],
    pa.float64(): [1.5, -0.0, float("inf")],
    pa.bool_(): [True, False],
    pa.string(): ["", "ü", "a longer text"],
    pa.binary(): [b"", b"\0\xff"],
    pa.binary(16): [bytes(16), b"0123456789abcdef"],
    pa.decimal128(20, 2): [Decimal("1.50"), Decimal("-7.00")],
    pa.timestamp("us", "UTC"): [0, 86_400_000_000],
}


def random_array(random: Random, type_: pa.DataType, count: int, nulls: bool) -> pa.Array:
    drawn = [random.choice([*VALUES[type_], *([None] if nulls else [])]) for _ in range(count)]
    return pa.array(drawn, type_)


@pytest.mark.parametrize("seed", range(40))
def test_a_message_is_read_as_the_rows_it_was_written_from(seed: int) -> None:
    random = Random(seed)
    types = [random.choice(list(VALUES)) for _ in range(random.randint(1, 5))]
    weighed = random.random() < 0.5
    fields = [pa.field(str(i), type_) for i, type_ in enumerate(types)]
    schema = pa.schema([*fields, pa.field("weight", pa.int64())] if weighed else fields)
    assert can_write(schema)
    writer = RowMessage(schema)
    columns = [growing_column(type_) for type_ in types]
    start = 0
    for _ in range(4):
        count = random.choice([1, 2, 7, 8, 9, 100])
        arrays = [random_array(random, type_, count, random.random() < 0.5) for type_ in types]
        for column, array in zip(columns, arrays, strict=True):
            column.append(array, start)
        weights = np.arange(count) - 3
        message = writer.encode(WrittenRows(columns, start, start + count), weights if weighed else None)
        assert message is not None
        found = pa.ipc.read_record_batch(pa.py_buffer(message), schema)
        found.validate(full=True)
        wanted = [*arrays, pa.array(weights)] if weighed else arrays
        assert found.equals(pa.RecordBatch.from_arrays(wanted, schema=schema))
        start += count


def test_many_rows_and_lists_are_left_to_pyarrow() -> None:
    schema = pa.schema([pa.field("0", pa.string())])
    column = growing_column(pa.string())
    column.append(pa.array(["x" * (BYTES_MAX - 8)] + ["y"] * ROWS_MAX), 0)
    writer = RowMessage(schema)
    assert writer.encode(WrittenRows([column], 0, 1 + ROWS_MAX), None) is None
    assert writer.encode(WrittenRows([column], 0, 1), None) is not None
    assert writer.encode(WrittenRows([column], 0, 2), None) is None
    assert not can_write(pa.schema([pa.field("0", pa.list_(pa.int64()))])) and not can_write(pa.schema([]))


def test_written_rows_are_arrays_when_asked_for() -> None:
    column = growing_column(pa.int64())
    column.append(pa.array([1, 2, 3]), 0)
    rows = WrittenRows([column, column], 1, 3)
    assert (
        [array.to_pylist() for array in rows]
        == [[2, 3], [2, 3]]
        == [rows[0].to_pylist(), rows[1].to_pylist()]
    )
    assert [array.to_pylist() for array in rows[1:]] == [[2, 3]] and len(rows) == 2
