"""COPY FROM: text, csv and binary data, cut anywhere, to batches of rows.

Compiled passes cut the data into fields (`kernels_copy.py`), each column becomes one string or binary array
and is parsed at once. Of several faults the first in the data is reported, with line and column in
PostgreSQL's words; data before it has been decoded, nothing behind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ..storage.binaryform import decode_binary
from ..storage.errors import BadCopyFormat, CharacterNotInRepertoire, SqlError
from ..storage.kernels_copy import (
    BAD_LENGTH,
    END_MARKER,
    EXTRA,
    FIELD_COUNT,
    MISSING,
    MORE,
    NEWLINE,
    RETURN,
    RETURN_NEWLINE,
    extract_bytes,
    extract_csv,
    extract_text,
    measure_csv,
    measure_text,
    scan_binary,
    scan_csv,
    scan_text,
)
from ..storage.textform import TextSettings, parse_text
from .backend import CopyOptions, ResultColumn
from .copy_codec import I64, U8, bytes_array, column_flags
from .copy_data import (
    allocate,
    binary_header_size,
    find_line_end,
    first_invalid,
    shown,
    stray,
    unquoted,
    variable_array,
)
from .messages import BINARY, TEXT

_LINE_ENDS = {NEWLINE: b"\n", RETURN_NEWLINE: b"\r\n", RETURN: b"\r"}
_BACKSLASH = ord("\\")
_NO_LINES = np.empty(0, dtype=np.int64)


class CopyDecoder:
    """Decodes one COPY. Errors are SqlErrors with `context` set."""

    __slots__ = ("_columns", "_ended", "_force_not_null", "_force_null", "_header_due", "_line", "_line_end",
                 "_null", "_options", "_relation", "_settings", "_tail", "format_code")  # fmt: skip

    def __init__(
        self, options: CopyOptions, columns: Sequence[ResultColumn], relation: str, settings: TextSettings
    ) -> None:
        assert columns
        self._options = options
        self._columns = columns
        self._relation = relation
        self._settings = settings
        self.format_code = BINARY if options.format == "binary" else TEXT
        self._header_due = options.header or self.format_code == BINARY
        self._force_null = column_flags(options.force_null, columns)
        self._force_not_null = column_flags(options.force_not_null, columns)
        self._null = bytes_array(options.null.encode())
        self._ended = False
        self._tail = b""
        self._line = 0
        """Lines (rows, in binary) of the data so far."""
        self._line_end = -1

    def decode(self, data: bytes, last: bool) -> Iterator[list[pa.Array]]:
        """The whole rows in what has come so far. `last`: nothing follows."""
        if self._ended:
            if data and self.format_code == BINARY:
                raise self._at(BadCopyFormat("received copy data after EOF marker"))
            return
        data, self._tail = self._tail + data, b""
        if self.format_code == BINARY:
            yield from self._decode_binary(data, last)
        else:
            yield from self._decode_lines(data, last)

    # Text and csv.

    def _decode_lines(self, data: bytes, last: bool) -> Iterator[list[pa.Array]]:
        if self._line_end < 0:
            self._line_end = find_line_end(data, last, self._options)
        padding = b""
        if last and data and not data.endswith((b"\n", b"\r")):
            padding = _LINE_ENDS[self._line_end]
            data = self._without_lone_backslash(data) + padding
        if self._line_end >= 0 and self._header_due:
            data = self._without_header(data)
        if self._line_end < 0 or self._header_due:
            self._tail = data
            return
        array = bytes_array(data)
        starts, ends, lines, report = self._scan(array)
        rows, consumed = int(report[0]), int(report[1])
        self._check_encoding(data[:consumed])
        if rows:
            yield self._parse_rows(array, starts, ends, lines, rows)
            self._line += rows + (int(lines[rows - 1]) if len(lines) else 0)
        rest = data[consumed:]
        if report[2] == MORE and report[3] and last:
            rest = rest.removesuffix(padding)
            rows, lines = 0, self._scan(bytes_array(rest))[2]
        if len(lines) and report[2] != END_MARKER and (last or report[2] != MORE):
            self._line += int(lines[rows] - (lines[rows - 1] if rows else 0))
        self._check_scan(rest, int(report[2]), int(report[3]), last)

    def _without_lone_backslash(self, data: bytes) -> bytes:
        """Text without a backslash at its very end, which protects nothing."""
        count = len(data) - len(data.rstrip(b"\\"))
        return data[:-1] if count % 2 and self._options.format == "text" else data

    def _without_header(self, data: bytes) -> bytes:
        """`data` behind the header line, or unchanged while that is incomplete."""
        mark = _LINE_ENDS[self._line_end]
        at = unquoted(data, mark, self._options)
        if at < 0:
            return data
        self._header_due = False
        self._line += 1
        return data[at + len(mark) :]

    def _scan(self, data: U8) -> tuple[I64, I64, I64, I64]:
        """(starts, ends, line ends inside quotes up to each row, report) of `scan_text` or `scan_csv`."""
        options, width = self._options, len(self._columns)
        most = int(np.count_nonzero(data == (13 if self._line_end == RETURN else 10))) + 1
        starts, ends = np.empty(most * width, dtype=np.int64), np.empty(most * width, dtype=np.int64)
        report = np.zeros(4, dtype=np.int64)
        if options.format != "csv":
            scan_text(data, ord(options.delimiter), self._line_end, width, starts, ends, report)
            return starts, ends, _NO_LINES, report
        lines = np.empty(most, dtype=np.int64)
        scan_csv(data, self._marks(0), self._line_end, width, starts, ends, lines, report)
        return starts, ends, lines, report

    def _marks(self, column: int) -> U8:
        options = self._options
        escape = "\0" if options.escape == options.quote else options.escape
        flags = bytes([not self._force_not_null[column], self._force_null[column], self._line == 0])
        return bytes_array((options.delimiter + options.quote + escape).encode() + flags)

    def _check_encoding(self, data: bytes, line: str | None = None) -> None:
        if data.isascii() and 0 not in data:
            return
        try:
            _ = data.decode()
            broken = data.find(0)
            seen = "0x00"
        except UnicodeDecodeError as error:
            broken = error.start
            seen = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)])
        if broken >= 0:
            self._line += data.count(b"\n", 0, broken)
            error = CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {seen}')
            raise self._at(error, line=line)

    def _check_scan(self, rest: bytes, code: int, field: int, last: bool) -> None:
        """Keeps an incomplete row, or raises what is wrong with the row behind the decoded ones."""
        if code == END_MARKER:
            self._ended = True
        elif code == EXTRA:
            raise self._at(BadCopyFormat("extra data after last expected column"), line=self._first_row(rest))
        elif code == MISSING:
            name = self._columns[field].name
            self._check_short_row(self._first_row(rest), field)
            raise self._at(BadCopyFormat(f'missing data for column "{name}"'), line=self._first_row(rest))
        elif code != MORE:
            raise self._at(stray(code, self._options.format == "csv"))
        elif last and rest:
            text = "unterminated CSV quoted field" if field else "unexpected end of COPY data"
            raise self._at(BadCopyFormat(text), line=rest.decode(errors="replace"))
        else:
            self._tail = rest

    def _first_row(self, data: bytes) -> str:
        return data[: unquoted(data, _LINE_ENDS[self._line_end], self._options)].decode(errors="replace")

    def _check_short_row(self, line: str, fields: int) -> None:
        """Raises what is wrong with the fields that a row with too few of them has: it comes first."""
        decoder = CopyDecoder(
            replace(self._options, header=False), self._columns[:fields], self._relation, self._settings
        )
        decoder._line, decoder._line_end = self._line, NEWLINE
        for _ in decoder.decode(line.encode() + b"\n", last=True):
            pass

    def _parse_rows(self, data: U8, starts: I64, ends: I64, lines: I64, rows: int) -> list[pa.Array]:
        width = len(self._columns)
        escapes = self._options.format == "text" and bool((data == _BACKSLASH).any())
        texts: list[pa.Array] = []
        for column in range(width):
            begins = np.ascontiguousarray(starts[column : rows * width : width])
            stops = np.ascontiguousarray(ends[column : rows * width : width])
            texts.append(self._field_texts(column, data, begins, stops))
            broken = first_invalid(texts[-1]) if escapes else -1
            if broken >= 0:
                whole = data[starts[broken * width] : ends[broken * width + width - 1]].tobytes()
                self._line += broken
                self._check_encoding(texts[-1].cast(pa.binary())[broken].as_py(), whole.decode())

        def parse(column: int) -> pa.Array:
            return parse_text(self._columns[column].type, texts[column], self._settings)

        def value(column: int, row: int) -> str:
            text = texts[column][row].as_py()
            return "null input" if text is None else f'"{shown(text)}"'

        return self._convert(parse, value, lines)

    def _field_texts(self, column: int, data: U8, starts: I64, ends: I64) -> pa.Array:
        rows = len(starts)
        lengths = np.zeros(rows + 1, dtype=np.int64)
        valid = np.empty(rows, dtype=np.uint8)
        if self._options.format == "csv":
            marks = self._marks(column)
            measure_csv(data, starts, ends, marks, self._null, lengths, valid)
            offsets, out = allocate(lengths)
            extract_csv(data, starts, ends, marks, valid, offsets, out)
            return variable_array(pa.string(), offsets, out, valid)
        measure_text(data, starts, ends, self._null, lengths, valid)
        offsets, out = allocate(lengths)
        extract_text(data, starts, ends, valid, offsets, out)
        return variable_array(pa.string(), offsets, out, valid)

    # Binary.

    def _decode_binary(self, data: bytes, last: bool) -> Iterator[list[pa.Array]]:
        if self._header_due:
            size = binary_header_size(data)
            if size < 0 or size > len(data):
                if last:
                    raise self._at(BadCopyFormat("COPY file signature not recognized"))
                self._tail = data
                return
            self._header_due, data = False, data[size:]
        array, width = bytes_array(data), len(self._columns)
        most = len(data) // (2 + 4 * width) + 1
        starts, ends = np.empty(most * width, dtype=np.int64), np.empty(most * width, dtype=np.int64)
        report = np.zeros(4, dtype=np.int64)
        scan_binary(array, width, starts, ends, report)
        rows, consumed, code, detail = report.tolist()
        if rows:
            yield self._binary_rows(array, starts, ends, rows)
            self._line += rows
        if code == FIELD_COUNT:
            raise self._at(BadCopyFormat(f"row field count is {detail}, expected {width}"))
        if code == BAD_LENGTH:
            raise self._at(BadCopyFormat("invalid field size"), column=detail)
        if code == END_MARKER:
            self._ended = True
            if consumed < len(data):
                raise self._at(BadCopyFormat("received copy data after EOF marker"))
        elif last and consumed < len(data):
            raise self._at(BadCopyFormat("unexpected EOF in COPY data"))
        else:
            self._tail = data[consumed:]

    def _binary_rows(self, data: U8, starts: I64, ends: I64, rows: int) -> list[pa.Array]:
        width = len(self._columns)

        def parse(column: int) -> pa.Array:
            begins = np.ascontiguousarray(starts[column : rows * width : width])
            stops = np.ascontiguousarray(ends[column : rows * width : width])
            lengths = np.zeros(rows + 1, dtype=np.int64)
            lengths[:rows] = np.where(stops < 0, 0, stops - begins)
            offsets, out = allocate(lengths)
            extract_bytes(data, begins, stops, offsets, out)
            values = variable_array(pa.binary(), offsets, out, (stops >= 0).astype(np.uint8))
            return decode_binary(self._columns[column].type, values)

        return self._convert(parse, None, _NO_LINES)

    # Errors.

    def _convert(
        self,
        parse: Callable[[int], pa.Array],
        value: Callable[[int, int], str] | None,
        lines: I64,
    ) -> list[pa.Array]:
        """Parses each column. Of the errors the one that comes first in the data is raised."""
        arrays: list[pa.Array] = []
        first: tuple[int, int, SqlError] | None = None
        for column in range(len(self._columns)):
            try:
                arrays.append(parse(column))
            except SqlError as error:
                row = int(error.rows[0]) if error.rows is not None and len(error.rows) else 0
                if first is None or row < first[0]:
                    first = (row, column, error)
        if first is None:
            return arrays
        row, column, error = first
        self._line += row + (int(lines[row]) if len(lines) else 0)
        raise self._at(error, column=column, value=value(column, row) if value is not None else "")

    def _at(self, error: SqlError, column: int = -1, value: str = "", line: str | None = None) -> SqlError:
        """`error` with the context of the line behind those that are done."""
        error.rows = None
        context = f"COPY {self._relation}, line {self._line + 1}"
        if column >= 0:
            context += f", column {self._columns[column].name}"
        if value:
            context += f": {value}"
        elif line is not None:
            context += f': "{shown(line)}"'
        error.context = context
        return error
