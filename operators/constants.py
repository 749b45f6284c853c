"""`plain_value`: one value of an array as `Literal.value` holds it."""

from __future__ import annotations

import pyarrow as pa

from ..storage.types import Type

_TICKS = {"date": pa.int32(), "time": pa.int64(), "timestamp": pa.int64(), "timestamptz": pa.int64()}


def plain_value(type_: Type, array: pa.Array) -> object:
    """The first value: dates and times as integers, because Python's own end with the year 9999."""
    if array.null_count:
        return None
    ticks = _TICKS.get((type_.element or type_).name)
    if ticks is None:
        return array.to_pylist()[0] if len(array) == 1 else array[0].as_py()
    if type_.element is None:
        return array.view(ticks)[0].as_py()
    return array.slice(0, 1).flatten().view(ticks).to_pylist()
