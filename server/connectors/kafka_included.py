"""INCLUDE: columns from what surrounds a record's value."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from ...storage.arrow_compute import pc
from ...storage.schema import Column
from .kafka_options import Include
from .kafka_records import Records
from .rows import Rows
from .text_columns import bytes_column, text_column


def included_column(include: Include, column: Column, records: Records, rows: Rows) -> pa.Array:
    """The column of one INCLUDE; what does not fit the column's type is noted in `rows`."""
    if include.what == "partition":
        return _numbers(column, records.partitions, rows)
    if include.what == "offset":
        return _numbers(column, records.offsets, rows)
    if include.what == "timestamp":
        return _times(column, records.timestamps, rows)
    if include.what == "key":
        values: list[bytes | None] = records.keys
    elif include.what == "payload":
        values = records.values
    elif include.header:
        values = [_header(headers, include.header) for headers in records.headers]
    else:
        values = [_all_headers(headers) for headers in records.headers]
    decode = bytes_column if column.type.name == "bytea" else text_column
    return decode(column, values, rows)


def _numbers(column: Column, values: list[int], rows: Rows) -> pa.Array:
    found = pa.array(values, pa.int64())
    if column.type.name == "int8":
        return found
    if column.type.name == "int4" and max(values, default=0) < 2**31:
        return found.cast(pa.int32())
    return rows.parse(column, found.cast(pa.string()))


def _times(column: Column, millis: list[int], rows: Rows) -> pa.Array:
    found = pa.array([value if value >= 0 else None for value in millis], pa.int64())
    if column.type.name in ("timestamptz", "timestamp"):
        return pc.multiply(found, 1000).cast(column.type.arrow)
    return rows.parse(column, found.cast(pa.string()))


def _header(headers: Any, name: str) -> bytes | None:
    """The last header of that name."""
    found: list[tuple[str, bytes | None]] = headers or []
    return next((value for key, value in reversed(found) if key == name), None)


def _all_headers(headers: Any) -> bytes:
    found: list[dict[str, str | None]] = [
        {"key": key, "value": None if value is None else value.decode(errors="backslashreplace")}
        for key, value in headers or ()
    ]
    return json.dumps(found).encode()
