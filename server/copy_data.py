"""What COPY FROM asks of its data whatever the state of one COPY (`copy_decoder.py`): where lines end,
what is wrong with them, how long a binary header is; and arrays of the bytes that were extracted.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..storage.errors import BadCopyFormat, SqlError
from ..storage.kernels_copy import NEWLINE, RETURN, RETURN_NEWLINE, STRAY_NEWLINE, STRAY_RETURN
from .backend import CopyOptions
from .copy_codec import BINARY_HEADER, I64, SIGNATURE, U8

VALUE_SHOWN_MAX = 100
"""Characters of a value or a line that an error's context shows."""


def find_line_end(data: bytes, last: bool, options: CopyOptions) -> int:
    """The kind of the first line end, as PostgreSQL decides it for the whole input; −1: unknown yet."""
    newline, carriage = unquoted(data, b"\n", options), unquoted(data, b"\r", options)
    if carriage < 0 or 0 <= newline < carriage:
        return NEWLINE if newline >= 0 or last else -1
    if newline == carriage + 1:
        return RETURN_NEWLINE
    return RETURN if carriage + 1 < len(data) or last else -1


def unquoted(data: bytes, mark: bytes, options: CopyOptions) -> int:
    """Where `mark` first stands, in csv outside quotes; −1 nowhere."""
    at = data.find(mark)
    quote = options.quote.encode()
    while at >= 0 and options.format == "csv" and data.count(quote, 0, at) % 2:
        at = data.find(mark, at + 1)
    return at


def first_invalid(texts: pa.Array) -> int:
    """The first value that is no UTF-8 or holds a zero byte (numeric escapes can make them), −1 if none."""
    data = texts.buffers()[2]
    raw = data.to_pybytes() if data is not None else b""
    try:
        if 0 not in raw and (raw.isascii() or texts.validate(full=True) is None):
            return -1
    except pa.ArrowInvalid:
        pass
    for row, value in enumerate(texts.cast(pa.binary()).to_pylist()):
        if value is not None and (b"\0" in value or value.decode(errors="ignore").encode() != value):
            return row
    return -1


def shown(text: str) -> str:
    """As an error's context shows it."""
    return text if len(text) <= VALUE_SHOWN_MAX else text[:VALUE_SHOWN_MAX] + "..."


def stray(code: int, csv: bool) -> SqlError:
    """The error of a line end that is not of the input's kind."""
    what = {STRAY_RETURN: "carriage return", STRAY_NEWLINE: "newline"}[code]
    if csv:
        return BadCopyFormat(
            f"unquoted {what} found in data", hint=f"Use quoted CSV field to represent {what}."
        )
    letter = "r" if code == STRAY_RETURN else "n"
    return BadCopyFormat(f"literal {what} found in data", hint=f'Use "\\{letter}" to represent {what}.')


def binary_header_size(data: bytes) -> int:
    """Bytes of the header with its extension; −1 when too little has come. Raises BadCopyFormat."""
    if data[: len(SIGNATURE)] != SIGNATURE[: len(data)]:
        raise BadCopyFormat("COPY file signature not recognized")
    if len(data) < len(BINARY_HEADER):
        return -1
    flags = int.from_bytes(data[11:15], "big")
    if flags & 0x00010000:
        raise BadCopyFormat("invalid COPY file header (WITH OIDS)")
    if flags & 0xFFFF0000:
        raise BadCopyFormat("unrecognized critical flags in COPY file header")
    return len(BINARY_HEADER) + int.from_bytes(data[15:19], "big")


def allocate(lengths: I64) -> tuple[np.ndarray, U8]:
    """(int32 offsets, uninitialised bytes) for values of these lengths; the last entry is not one."""
    offsets = np.zeros(len(lengths), dtype=np.int32)
    _ = np.cumsum(lengths[:-1], out=offsets[1:])
    return offsets, np.empty(int(offsets[-1]), dtype=np.uint8)


def variable_array(arrow: pa.DataType, offsets: np.ndarray, data: U8, valid: U8) -> pa.Array:
    """The array of these int32 offsets, bytes and 0 or 1 a value."""
    rows = len(valid)
    nulls = rows - int(np.count_nonzero(valid))
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    return pa.Array.from_buffers(arrow, rows, [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)], nulls)
