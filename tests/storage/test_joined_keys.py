"""Keys that begin with known ones are those of whole rows, and numbers encoded by loops those of numpy."""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import keycode_fixed
from millpond.storage.keycode import encode_keys, joined_keys
from millpond.storage.types import DATE, FLOAT4, FLOAT8, INT2, INT8, NUMERIC, TEXT, Type

VALUES: dict[Type, list[Any]] = {
    INT8: [None, 0, -1, 1 << 62, -(1 << 63)],
    INT2: [None, 0, -5, 300],
    FLOAT8: [None, 0.0, -0.0, 0.1, -math.inf, math.inf, math.nan, -3e300],
    FLOAT4: [None, 0.0, -0.0, 0.5, math.nan],
    TEXT: [None, "", "a", "a\0b", "é" * 40],
    NUMERIC: [None, "0", "1.50", "-1e3", "NaN"],
    DATE: [None, 0, -700],
}


@pytest.mark.parametrize("seed", range(40))
def test_a_key_behind_a_known_one_is_that_of_the_whole_row(seed: int) -> None:
    rng = Random(seed)
    types = [rng.choice([*VALUES]) for _ in range(rng.randint(2, 4))]
    width = rng.randint(1, len(types) - 1)
    groups, rows = rng.choice([1, 2, 5, 9]), rng.choice([1, 3, 7, 40])
    ids = np.array([rng.randrange(groups) for _ in range(rows)])
    prefix = [_column(rng, type_, groups) for type_ in types[:width]]
    rest = [_column(rng, type_, rows) for type_ in types[width:]]
    known = encode_keys(prefix, types[:width])
    found = joined_keys(known, ids, rest, types[width:])
    whole = encode_keys([*(column.take(pa.array(ids)) for column in prefix), *rest], types)
    assert (found.width, found.to_bytes_list()) == (whole.width, whole.to_bytes_list())


def _column(rng: Random, type_: Type, count: int) -> pa.Array:
    return pa.array([rng.choice(VALUES[type_]) for _ in range(count)], type_.arrow)


@pytest.mark.parametrize("type_", [INT2, INT8, FLOAT4, FLOAT8])
def test_few_numbers_are_encoded_as_many_are(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(1)
    kind = type_.arrow.to_pandas_dtype()
    data = np.frombuffer(rng.randbytes(np.dtype(kind).itemsize * 500), kind)
    if type_ == FLOAT8:
        payload = struct.unpack("<d", struct.pack("<Q", 0x7FF0_0000_0000_0001))[0]
        data = np.append(data, [payload, -payload, 5e-324, -5e-324, -0.0])
    column = pa.array(data)
    few = encode_keys([column], [type_]).to_bytes_list()
    monkeypatch.setattr(keycode_fixed, "COMPILED_ROWS", 0)
    assert few == encode_keys([column], [type_]).to_bytes_list()
