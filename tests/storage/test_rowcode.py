"""Rows as bytes and back, over all Arrow types a column can have, slices and NULLs included."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage.kernels_pieces import copy_pieces
from millpond.storage.rowcode import RowCode, Rows

SAMPLES = {
    "bool": pa.array([True, None, False, True, None]),
    "int2": pa.array([1, None, -3, 4, 0], pa.int16()),
    "int8": pa.array([1 << 62, -1, None, 0, 5]),
    "float4": pa.array([1.5, None, float("nan"), -0.0, 3], pa.float32()),
    "text": pa.array(["a", None, "", "zzz" * 100, "ä€"]),
    "bytea": pa.array([b"", b"\0\xff", None, b"7", b""], pa.binary()),
    "numeric": pa.array([Decimal("1.10"), None, Decimal("0.00"), Decimal("-3.33"), Decimal(10**20)],
                        pa.decimal128(38, 2)),
    "uuid": pa.array([b"x" * 16, None, b"y" * 16, b"z" * 16, bytes(16)], pa.binary(16)),
    "date": pa.array([datetime.date(2020, 1, 1), None, None, datetime.date(1, 1, 1), datetime.date.max]),
    "time": pa.array([1, None, 0, 5, 86_399_999_999], pa.time64("us")),
    "timestamptz": pa.array([1, None, -5, 0, 1 << 50], pa.timestamp("us", "UTC")),
    "int4[]": pa.array([[1, 2], None, [], [3, None], [0]], pa.list_(pa.int32())),
    "text[]": pa.array([["a", None, "bcd"], [], None, ["x"], [""]], pa.list_(pa.string())),
    "text[][]": pa.array([[["a"], []], [], None, [None, ["x", None]], [[]]], pa.list_(pa.list_(pa.string()))),
}  # fmt: skip


def round_trip(columns: list[pa.Array]) -> list[pa.Array]:
    code = RowCode([column.type for column in columns])
    return code.decode(Rows.of(code.encode(columns, len(columns[0])).to_list()))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("start,stop", [(0, 5), (1, 4), (2, 2), (3, 5)])
def test_a_column_comes_back(name: str, start: int, stop: int) -> None:
    column = SAMPLES[name].slice(start, stop - start)
    [back] = round_trip([column])
    back.validate(full=True)
    if name == "float4":
        assert str(back.to_pylist()) == str(column.to_pylist())
    else:
        assert back.equals(column)


def test_all_columns_together_come_back() -> None:
    columns = [column for name, column in SAMPLES.items() if name != "float4"]
    for back, column in zip(round_trip(columns), columns, strict=True):
        assert back.equals(column)


def test_equal_rows_have_equal_bytes_whatever_lies_under_a_null() -> None:
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([77, 5]).data)], null_count=1
    )
    code = RowCode([pa.int64()])
    plain = pa.array([None, 5], pa.int64())
    assert code.encode([hidden], 2).to_list() == code.encode([plain], 2).to_list()


def test_rows_without_columns_have_a_length() -> None:
    rows = RowCode([]).encode([], 3)
    assert rows.to_list() == [b"", b"", b""]


@pytest.mark.parametrize("seed", range(10))
def test_pieces_are_copied(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, 5000).astype(np.uint8)
    lengths = rng.integers(0, [1, 4, 40, 600][seed % 4], 50)
    starts = rng.integers(0, 5000 - lengths)
    places = np.cumsum(lengths) - lengths + np.arange(50)
    out = np.full(int(lengths.sum()) + 50, 7, np.uint8)
    copy_pieces(data, starts, lengths, out, places)
    wanted = np.full_like(out, 7)
    for start, length, place in zip(starts, lengths, places, strict=True):
        wanted[place : place + length] = data[start : start + length]
    assert (out == wanted).all()


@pytest.mark.parametrize("name", ["int8", "text", "text[][]"])
def test_bytes_that_are_no_rows_are_refused(name: str) -> None:
    """Whatever the damage: nothing outside of the bytes given is read."""
    column = SAMPLES[name]
    code = RowCode([column.type])
    rows = code.encode([column], len(column)).to_list()
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(500):
        damaged = list(rows)
        which = int(rng.integers(len(rows)))
        row = bytearray(damaged[which])
        if rng.random() < 0.3:
            del row[int(rng.integers(len(row))) :]
        else:
            row[int(rng.integers(len(row)))] ^= 1 << int(rng.integers(8))
        damaged[which] = bytes(row)
        try:
            [back] = code.decode(Rows.of(damaged))
            assert len(back) == len(column)
        except ValueError:
            refused += 1
    assert refused > 50
