"""Consumed messages as lists, and a decoder's frame: rows that are good, rows that go, rows that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...runtime.source import SourceError
from ...storage.errors import NotNullViolation
from ...storage.schema import Schema
from .rows import RAW_MAX, Rows, source_error


@dataclass(slots=True)
class Records:
    """Messages column by column; `timestamps` (ms) and `headers` only if wanted."""

    topic: str
    values: list[bytes | None] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    def at(self, positions: Sequence[int]) -> Records:
        """Some of the messages, repeats allowed, without timestamps and headers."""
        return Records(
            self.topic,
            [self.values[i] for i in positions],
            [self.keys[i] for i in positions],
            [self.partitions[i] for i in positions],
            [self.offsets[i] for i in positions],
        )

    def add(self, messages: Sequence[Any], timestamps: bool, headers: bool) -> None:
        self.values += [message.value() for message in messages]
        self.keys += [message.key() for message in messages]
        self.partitions += [message.partition() for message in messages]
        self.offsets += [message.offset() for message in messages]
        if timestamps:
            self.timestamps += [message.timestamp()[1] for message in messages]
        if headers:
            self.headers += [message.headers() for message in messages]

    def error_rows(self, rows: Rows) -> list[SourceError]:
        """What is wrong with the bad rows, each with its place, key and raw value."""
        return [
            source_error(rows.bad[row], self._position(row), shown(self.values[row]))
            for row in sorted(rows.bad)
        ]

    def _position(self, row: int) -> str:
        place = f"topic {self.topic}, partition {self.partitions[row]}, offset {self.offsets[row]}"
        key = self.keys[row]
        return place if key is None else f"{place}, key {shown(key)}"


def shown(data: bytes | None) -> str:
    """Bytes as text, what is no UTF-8 as \\x escapes; a record without value has none."""
    return "" if data is None else data[:RAW_MAX].decode(errors="backslashreplace")


@dataclass(slots=True)
class Decoded:
    """Columns of the good records, which of them delete their key, and what is wrong with the others."""

    columns: list[pa.Array]
    deletes: npt.NDArray[np.bool_] | None
    errors: list[SourceError]


def finish(
    columns: list[pa.Array], deletes: npt.NDArray[np.bool_], skipped: npt.NDArray[np.bool_],
    schema: Schema, key: Sequence[str], rows: Rows, records: Records,
) -> Decoded:  # fmt: skip
    """Checks NOT NULL (of rows that go only in the key) and leaves out bad rows and `skipped` ones."""
    for column, values in zip(schema, columns, strict=True):
        if not column.nullable and values.null_count:
            nulls = values.is_null().to_numpy(zero_copy_only=False) & ~skipped
            if column.name not in key:
                nulls &= ~deletes
            for row in np.flatnonzero(nulls).tolist():
                message = f'null value in column "{column.name}" violates not-null constraint'
                rows.bad.setdefault(row, NotNullViolation(message))
    for row in np.flatnonzero(skipped).tolist():
        rows.bad.pop(row, None)
    errors = records.error_rows(rows)
    keep = ~skipped
    keep[list(rows.bad)] = False
    if not keep.all():
        positions = pa.array(np.flatnonzero(keep))
        columns = [column.take(positions) for column in columns]
        deletes = deletes[keep]
    return Decoded(columns, deletes if deletes.any() else None, errors)
