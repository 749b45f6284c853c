"""COPY TO: rows in text, csv or binary format, and what both directions share (`copy_decoder.py`).

Each column becomes text (or binary) values, then compiled passes quote them and frame every row as one
CopyData message: clients take one message for one row, since PostgreSQL sends them so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage.binaryform import encode_binary
from ..storage.kernels_copy_out import add_csv_sizes, add_text_sizes, fill_csv, fill_text
from ..storage.kernels_wire import frame_rows
from ..storage.textform import TextSettings, format_text
from .backend import CopyOptions, ResultColumn
from .datarow import Values, frame_values, row_starts, variable_values
from .messages import BINARY, TEXT, message

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
BINARY_HEADER = SIGNATURE + bytes(8)
BINARY_TRAILER = b"\xff\xff"

_COPY_DATA = ord("d")
_NEWLINE = 10
_NO_BYTES = np.empty(0, dtype=np.uint8)

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]


def bytes_array(raw: bytes) -> U8:
    return np.frombuffer(raw, dtype=np.uint8) if raw else _NO_BYTES


def column_flags(names: Sequence[str] | bool, columns: Sequence[ResultColumn]) -> list[bool]:
    """Which columns a FORCE_… option names; True stands for all."""
    if isinstance(names, bool):
        return [names] * len(columns)
    return [column.name in names for column in columns]


class CopyEncoder:
    """Rows to CopyData messages, one a row. The header goes with the first."""

    __slots__ = ("_columns", "_force_quote", "_header_due", "_letters", "_null", "_options", "_prefix",
                 "_settings", "format_code")  # fmt: skip

    def __init__(self, options: CopyOptions, columns: Sequence[ResultColumn], settings: TextSettings) -> None:
        self._options = options
        self._columns = columns
        self._settings = settings
        self.format_code = BINARY if options.format == "binary" else TEXT
        self._null = bytes_array(options.null.encode())
        self._force_quote = column_flags(options.force_quote, columns)
        self._letters = _escape_letters(options.delimiter)
        self._header_due = options.header
        self._prefix = BINARY_HEADER if self.format_code == BINARY else b""

    def encode(self, columns: Sequence[pa.Array], size: int) -> bytes:
        """`size` rows."""
        if self.format_code == BINARY:
            values = [
                variable_values(encode_binary(column.type, array))
                for column, array in zip(self._columns, columns, strict=True)
            ]
            framed = frame_values(values, size, _COPY_DATA, counted=True).tobytes()
            return self._with_header(framed)
        values = [
            variable_values(format_text(column.type, array, self._settings))
            for column, array in zip(self._columns, columns, strict=True)
        ]
        rows = (
            self._csv_rows(values, size) if self._options.format == "csv" else self._text_rows(values, size)
        )
        return self._header_line() + rows

    def finish(self) -> bytes:
        """What follows the last row, headers too if there was none."""
        if self.format_code == BINARY:
            return self._with_header(message(b"d", BINARY_TRAILER))
        return self._header_line()

    def _with_header(self, framed: bytes) -> bytes:
        """PostgreSQL sends the binary header in the message of the first row; clients rely on it."""
        prefix, self._prefix = self._prefix, b""
        if not prefix:
            return framed
        size = int.from_bytes(framed[1:5], "big")
        return b"d" + (size + len(prefix)).to_bytes(4, "big") + prefix + framed[5:]

    def _header_line(self) -> bytes:
        if not self._header_due:
            return b""
        names = [pa.array([column.name], pa.string()) for column in self._columns]
        values = [variable_values(name) for name in names]
        self._header_due = False
        forced, self._force_quote = self._force_quote, [False] * len(names)
        line = self._csv_rows(values, 1) if self._options.format == "csv" else self._text_rows(values, 1)
        self._force_quote = forced
        return line

    def _text_rows(self, columns: Sequence[Values], size: int) -> bytes:
        if not columns:
            return message(b"d", b"\n") * size
        sizes = np.full(size, 5, dtype=np.int64)
        for offsets, data, validity, bit in columns:
            add_text_sizes(sizes, offsets, data, validity, bit, self._letters, len(self._null))
        out, cursor = _framed(sizes)
        for position, (offsets, data, validity, bit) in enumerate(columns):
            fill_text(out, cursor, offsets, data, validity, bit, self._letters, self._null,
                      self._terminator(position))  # fmt: skip
        return out.tobytes()

    def _csv_rows(self, columns: Sequence[Values], size: int) -> bytes:
        if not columns:
            return message(b"d", b"\n") * size
        options = self._options
        sizes = np.full(size, 5, dtype=np.int64)
        # Alone on a line it would end the data.
        marker = bytes_array(b"\\.") if len(columns) == 1 else _NO_BYTES
        quoted = np.empty((len(columns), size), dtype=np.uint8)
        marks: list[U8] = []
        for position, (offsets, data, validity, bit) in enumerate(columns):
            signs = (options.delimiter + options.quote + options.escape).encode()
            marks.append(bytes_array(signs + bytes([self._force_quote[position]])))
            add_csv_sizes(
                sizes, quoted[position], offsets, data, validity, bit, marks[-1], self._null, marker
            )
        out, cursor = _framed(sizes)
        for position, (offsets, data, validity, bit) in enumerate(columns):
            fill_csv(out, cursor, offsets, data, validity, bit, quoted[position], marks[position], self._null,
                     self._terminator(position))  # fmt: skip
        return out.tobytes()

    def _terminator(self, position: int) -> int:
        return _NEWLINE if position == len(self._columns) - 1 else ord(self._options.delimiter)


def _escape_letters(delimiter: str) -> U8:
    """For each byte what follows the backslash in COPY's text format, 0 where none is needed."""
    letters = np.zeros(256, dtype=np.uint8)
    for plain, letter in zip("\b\f\n\r\t\v\\", "bfnrtv\\", strict=True):
        letters[ord(plain)] = ord(letter)
    letters[ord(delimiter)] = ord(delimiter) if delimiter != "\t" else ord("t")
    return letters


def _framed(sizes: I64) -> tuple[U8, I64]:
    """Output and cursors for CopyData rows of these sizes (5 bytes of frame included)."""
    starts = row_starts(sizes)
    out = np.empty(int(starts[-1]), dtype=np.uint8)
    cursor = np.empty(len(sizes), dtype=np.int64)
    frame_rows(out, cursor, starts, _COPY_DATA, -1)
    return out, cursor
