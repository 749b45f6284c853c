"""CSV files, cut into fields by the compiled loops of COPY, PostgreSQL's rules for quotes and NULL included.

With a header line the columns are found by name, whatever their order, and others are passed over. Without,
a row has the source's columns in their order.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...runtime.source import SourceError
from ...storage.errors import BadCopyFormat, CharacterNotInRepertoire, SqlError, UndefinedColumn
from ...storage.kernels_copy import (
    END_MARKER,
    EXTRA,
    MISSING,
    MORE,
    NEWLINE,
    RETURN_NEWLINE,
    extract_csv,
    measure_csv,
    scan_csv,
)
from ...storage.schema import Schema
from .file_text import BOM, Decoded, TextFiles
from .rows import Rows, source_error

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]

_NO_NULL = np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """Of one file: fields in a row, which of them are the source's columns, and the kind of line ends."""

    width: int
    positions: tuple[int, ...]
    line_end: int


@dataclass(slots=True)
class _Cut:
    """Fields found so far in `data`: row-major bounds, `rows` of them, and where the next row begins."""

    data: U8
    starts: I64
    ends: I64
    rows: int = 0
    at: int = 0
    open_quote: bool = False


class CsvFormat(TextFiles[CsvLayout]):
    """`FileFormat` of CSV with this delimiter; NULL is a field with nothing in it, not even quotes."""

    def __init__(self, schema: Schema, header: bool, delimiter: str) -> None:
        super().__init__()
        self._schema = schema
        self._header = header
        self._delimiter = delimiter
        # Delimiter, quote, escape (0: the quote), an unquoted NULL is one, a quoted one is not.
        self._marks = np.array([ord(delimiter), 34, 0, 1, 0, 0], np.uint8)

    def layout(self, head: bytes, path: str) -> tuple[CsvLayout, int] | None:
        begin = len(BOM) if head.startswith(BOM) else 0
        end = _row_end(head, begin)
        if end < 0:
            return None
        line_end = RETURN_NEWLINE if head[end - 1 : end] == b"\r" else NEWLINE
        count = len(self._schema)
        if not self._header:
            return CsvLayout(count, tuple(range(count)), line_end), begin
        line = head[begin:end].decode(errors="replace")
        names = next(csv.reader([line.rstrip("\r")], delimiter=self._delimiter), [])
        return CsvLayout(len(names), find_columns(self._schema, names, path), line_end), end + 1

    def decode(self, data: bytes, layout: CsvLayout, path: str, first_line: int) -> Decoded:
        cut, broken = self._cut(data, layout)
        rows = Rows(cut.rows)
        width = layout.width
        checked = data.isascii()
        columns: list[pa.Array] = []
        for column, position in zip(self._schema, layout.positions, strict=True):
            begins = np.ascontiguousarray(cut.starts[position : cut.rows * width : width])
            stops = np.ascontiguousarray(cut.ends[position : cut.rows * width : width])
            texts = self._texts(cut.data, begins, stops)
            columns.append(rows.parse(column, texts if checked else _valid_texts(texts, rows)))

        for row, error in rows.bad.items():
            broken.append((int(cut.starts[row * width]), int(cut.ends[row * width + width - 1]), error))
        errors = _errors(cut.data, broken, path, first_line)
        return Decoded(rows.kept(columns), cut.at, errors, cut.open_quote)

    def _cut(self, data: bytes, layout: CsvLayout) -> tuple[_Cut, list[tuple[int, int, SqlError]]]:
        """The fields of all whole rows, and the lines that are no rows: (begin, end, why)."""
        most = data.count(b"\n") + 1
        cells = most * layout.width
        array = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
        cut = _Cut(array, np.empty(cells, np.int64), np.empty(cells, np.int64))
        newlines = np.empty(most + 1, np.int64)
        broken: list[tuple[int, int, SqlError]] = []
        while True:
            code, field = self._scan(cut, layout, newlines)
            if code == MORE:
                return cut, broken
            # Only its first line is given up: what follows may be rows that an open quote swallowed.
            end = data.find(b"\n", cut.at)
            if end < 0:
                return cut, broken
            if data[cut.at : end].strip(b"\r"):
                broken.append((cut.at, end, self._problem(code, field, layout)))
            cut.at = end + 1

    def _scan(self, cut: _Cut, layout: CsvLayout, newlines: I64) -> tuple[int, int]:
        """Cuts on from `cut.at`; (code, field) of what ended it."""
        first = cut.rows * layout.width
        report = np.zeros(4, np.int64)
        rest, begin = cut.data[cut.at :], cut.at
        starts, ends = cut.starts[first:], cut.ends[first:]
        scan_csv(rest, self._marks, layout.line_end, layout.width, starts, ends, newlines, report)
        rows, consumed, code, field = report.tolist()
        last = first + rows * layout.width
        cut.starts[first:last] += begin
        cut.ends[first:last] += begin
        cut.rows += rows
        if code == END_MARKER:
            consumed = (
                int(cut.ends[last - 1]) + 1 + (layout.line_end == RETURN_NEWLINE) - begin if rows else 0
            )
        cut.at = begin + consumed
        cut.open_quote = code == MORE and bool(field)
        return code, field

    def _problem(self, code: int, field: int, layout: CsvLayout) -> SqlError:
        if code == EXTRA:
            return BadCopyFormat("extra data after last expected column")
        if code == MISSING:
            at = layout.positions.index(field) if field in layout.positions else -1
            name = self._schema[at].name if at >= 0 else str(field + 1)
            return BadCopyFormat(f'missing data for column "{name}"')
        if code == END_MARKER:
            return BadCopyFormat("end-of-copy marker in a file")
        return BadCopyFormat("line end of another kind than that of the first line")

    def _texts(self, data: U8, starts: I64, ends: I64) -> pa.Array:
        """One column's fields as strings."""
        rows = len(starts)
        lengths, valid = np.zeros(rows + 1, np.int64), np.empty(rows, np.uint8)
        measure_csv(data, starts, ends, self._marks, _NO_NULL, lengths, valid)
        offsets = np.zeros(rows + 1, np.int32)
        _ = np.cumsum(lengths[:-1], out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        extract_csv(data, starts, ends, self._marks, valid, offsets, out)
        bitmap = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.Array.from_buffers(pa.string(), rows, [bitmap, pa.py_buffer(offsets), pa.py_buffer(out)])


def find_columns(schema: Schema, names: list[str], path: str) -> tuple[int, ...]:
    """Position of each column among the names in a file; case matters only where names differ by it alone.

    Raises UndefinedColumn for a column that the file does not have.
    """
    folded = [name.lower() for name in names]
    positions: list[int] = []
    for column in schema:
        if column.name in names:
            positions.append(names.index(column.name))
        elif column.name.lower() in folded:
            positions.append(folded.index(column.name.lower()))
        else:
            hint = f"It has: {', '.join(names)[:500]}."
            raise UndefinedColumn(f'file "{path}" has no column "{column.name}"', hint=hint)
    return tuple(positions)


def _valid_texts(texts: pa.Array, rows: Rows) -> pa.Array:
    """The texts with NULL where the bytes are no UTF-8, those rows noted."""
    try:
        texts.validate(full=True)
        return texts
    except pa.ArrowInvalid:
        pass
    values: list[str | None] = []
    raws: list[bytes | None] = texts.cast(pa.binary()).to_pylist()
    for row, raw in enumerate(raws):
        try:
            values.append(None if raw is None else raw.decode())
        except UnicodeDecodeError as error:
            assert raw is not None
            seen = " ".join(f"0x{byte:02x}" for byte in raw[error.start : max(error.end, error.start + 1)])
            rows.bad[row] = CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {seen}')
            values.append(None)
    return pa.array(values, pa.string())


def _row_end(data: bytes, at: int) -> int:
    """Where the line end (its newline) of the row at `at` stands, outside quotes; −1 nowhere."""
    end = data.find(b"\n", at)
    quotes = data.count(b'"', at, end) if end >= 0 else 0
    while end >= 0 and quotes % 2:
        following = data.find(b"\n", end + 1)
        quotes += data.count(b'"', end, following) if following >= 0 else 0
        end = following
    return end


def _errors(
    data: U8, broken: list[tuple[int, int, SqlError]], path: str, first_line: int
) -> list[SourceError]:
    """Bad rows, given as (begin, end, why), in the order of the file."""
    if not broken:
        return []
    broken.sort(key=lambda bad: bad[0])
    newlines = np.flatnonzero(data == 10)
    lines = first_line + np.searchsorted(newlines, [begin for begin, _, _ in broken])
    return [
        source_error(error, f"{path}:{line}", data[begin:end].tobytes().decode(errors="replace").rstrip("\r"))
        for (begin, end, error), line in zip(broken, lines.tolist(), strict=True)
    ]
