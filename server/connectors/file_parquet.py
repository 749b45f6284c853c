"""Parquet files: read by row groups, counted by rows. A file is complete when it appears and never grows."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from ...storage.errors import DataException, SqlError
from ...storage.schema import Column, Schema
from ...storage.textform import parse_text
from ...storage.types import Type
from .file_csv import find_columns
from .file_progress import START, Piece, Progress
from .json_values import Number, array_text, json_text
from .rows import Rows, source_error

FOOTER_BYTES = 256
_NUMBERS = ("int2", "int4", "int8", "float4", "float8", "bool")
_TIMES = ("timestamp", "timestamptz", "date", "time")


@dataclass(slots=True)
class _Opened:
    """A file's row groups as (first row, rows), what identifies it, and the group read last."""

    stamp: tuple[int, int]
    groups: list[tuple[int, int]]
    names: list[str]
    checksum: int
    current: int = -1
    table: pa.Table | None = None

    @property
    def rows(self) -> int:
        return sum(count for _, count in self.groups)


class ParquetFormat:
    """`FileFormat` of Parquet, columns found by name."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known: dict[str, _Opened] = {}

    def end(self, path: str) -> int:
        return self._open(path).rows

    def _open(self, path: str) -> _Opened:
        status = os.stat(path)
        stamp = (status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known.stamp != stamp:
            known = self._known[path] = _opened(path, stamp)
        return known

    def read(self, path: str, progress: Progress, end: int, rows_max: int) -> Piece | None:
        opened = self._open(path)
        if progress.at and progress.checksum != opened.checksum:
            raise DataException(f'file "{path}" is not the file that was read before: its footer differs')
        positions = find_columns(self._schema, opened.names, path)
        group = next(i for i, (first, rows) in enumerate(opened.groups) if progress.at < first + rows)
        first, rows = opened.groups[group]
        if opened.current != group or opened.table is None:
            wanted = [opened.names[position] for position in positions]
            with _readable(path):
                opened.table = parquet.ParquetFile(path).read_row_group(group, columns=wanted)
            opened.current = group
        assert opened.table is not None
        count = min(first + rows, end, progress.at + rows_max) - progress.at
        table = opened.table.slice(progress.at - first, count)
        names = [opened.names[position] for position in positions]
        piece = self._piece(table, names, path, progress, opened.checksum)
        if piece.progress.at == first + rows:
            opened.current, opened.table = -1, None
        return piece

    def _piece(
        self, table: pa.Table, names: list[str], path: str, progress: Progress, checksum: int
    ) -> Piece:
        rows = Rows(len(table))
        columns = [
            _column(column, table[name], rows) for column, name in zip(self._schema, names, strict=True)
        ]
        errors = [
            source_error(rows.bad[row], f"{path}:{progress.at + row + 1}", _shown(table.slice(row, 1)))
            for row in sorted(rows.bad)
        ]
        after = replace(progress, at=progress.at + len(table), checksum=checksum)
        return Piece(rows.kept(columns), after, errors)

    def replay(self, path: str, until: Progress, rows_max: int) -> Iterator[Piece]:
        at = replace(START, checksum=until.checksum)
        while at.at < until.at:
            piece = self.read(path, at, until.at, rows_max)
            assert piece is not None
            at = piece.progress
            yield piece


def _shown(row: pa.Table) -> str:
    """A row as text; one with a time that Python has not is named by its columns only."""
    try:
        return str(row.to_pylist()[0])
    except (OverflowError, ValueError):
        return ", ".join(row.column_names)


def _opened(path: str, stamp: tuple[int, int]) -> _Opened:
    with _readable(path):
        metadata: Any = parquet.read_metadata(path)
    counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    groups = [(sum(counts[:i]), count) for i, count in enumerate(counts)]
    with open(path, "rb") as file:
        file.seek(max(stamp[0] - FOOTER_BYTES, 0))
        checksum = zlib.crc32(file.read())
    return _Opened(stamp, groups, list(metadata.schema.to_arrow_schema().names), checksum)


class _readable:
    """Turns what Parquet's reader raises into an SqlError with the file's name."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, pa.ArrowException) and not isinstance(error, OSError):
            raise DataException(f'file "{self._path}" is no whole Parquet file: {error}') from error


def _column(column: Column, values: pa.ChunkedArray, rows: Rows) -> pa.Array:
    array: pa.Array = pa.concat_arrays(values.chunks) if values.num_chunks != 1 else values.chunk(0)
    return rows.convert(column, array, _conversion(column.type, array.type))


def _conversion(type_: Type, arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """How values of an Arrow type become values of the column's type."""
    if type_.name in _TIMES and pa.types.is_temporal(arrow):
        return lambda values: values.cast(type_.arrow, safe=False)
    if arrow == type_.arrow and not pa.types.is_string(arrow):
        return lambda values: values
    if type_.name in _NUMBERS and (pa.types.is_primitive(arrow) or pa.types.is_decimal(arrow)):
        return lambda values: _cast(type_, values)
    if type_.name == "uuid" and arrow == pa.binary(16):
        return lambda values: values
    if type_.name == "bytea" and (pa.types.is_binary(arrow) or pa.types.is_fixed_size_binary(arrow)):
        return lambda values: values.cast(pa.binary())
    return lambda values: parse_text(type_, _texts(type_, values))


def _cast(type_: Type, values: pa.Array) -> pa.Array:
    """A number as another number where it fits, else by its text, which knows how to complain."""
    try:
        return values.cast(type_.arrow)
    except pa.ArrowInvalid:
        return parse_text(type_, values.cast(pa.string()))


def _texts(type_: Type, values: pa.Array) -> pa.Array:
    """Values as texts that the type reads."""
    nested = pa.types.is_nested(values.type)
    if not nested and type_.name not in ("json", "jsonb"):
        try:
            return values.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _unfit(type_, values, error) from None
    try:
        write = array_text if type_.element is not None else json_text
        return pa.array([None if v is None else write(_plain(v)) for v in values.to_pylist()], pa.string())
    except TypeError as error:
        raise _unfit(type_, values, error) from None


def _plain(value: Any) -> Any:
    """A value of Parquet as one of JSON: what JSON does not know becomes text, decimals stay numbers."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return Number(repr(value)) if np.isfinite(value) else str(value)
    return str(value)


def _unfit(type_: Type, values: pa.Array, error: Exception) -> SqlError:
    return DataException(f"a value of Parquet type {values.type} is none of type {type_}: {error}")
