"""Compiled loops of COPY TO: quoting values into text and csv rows.

As in `kernels_wire.py` row sizes are summed column by column, then each column writes at its row's cursor.
"""

# Plain loops and comparisons are what compiles to good code.
# ruff: noqa: SIM109

# pyright: basic
from __future__ import annotations

from numba import types

from .kernels_copy import _BYTE, _equals
from .kernels_lazy import njit
from .kernels_wire import _I32, _INT, _OUT, _OUT64, _U8


@njit(types.void(_OUT64, _I32, _U8, _U8, _INT, _U8, _INT), cache=True, nogil=True)
def add_text_sizes(sizes, offsets, data, validity, bit, letters, null_size):
    """Adds the size of each value in COPY's text format and one for what ends it. `letters[byte]` is not 0
    where the byte needs a backslash: the byte that follows it."""
    for i in range(sizes.shape[0]):
        size = null_size
        if validity.shape[0] == 0 or (validity[(bit + i) >> 3] >> ((bit + i) & 7)) & 1:
            size = offsets[i + 1] - offsets[i]
            for k in range(offsets[i], offsets[i + 1]):
                if letters[data[k]] != 0:
                    size += 1
        sizes[i] += size + 1


@njit(types.void(_OUT, _OUT64, _I32, _U8, _U8, _INT, _U8, _U8, _BYTE), cache=True, nogil=True)
def fill_text(out, cursor, offsets, data, validity, bit, letters, null, terminator):
    """Writes each value with backslashes, then `terminator` (delimiter or line end)."""
    for i in range(cursor.shape[0]):
        at = cursor[i]
        if validity.shape[0] == 0 or (validity[(bit + i) >> 3] >> ((bit + i) & 7)) & 1:
            for k in range(offsets[i], offsets[i + 1]):
                byte = data[k]
                if letters[byte] != 0:
                    out[at] = 92
                    at += 1
                    byte = letters[byte]
                out[at] = byte
                at += 1
        else:
            for k in range(null.shape[0]):
                out[at] = null[k]
                at += 1
        out[at] = terminator
        cursor[i] = at + 1


@njit(types.void(_OUT64, _OUT, _I32, _U8, _U8, _INT, _U8, _U8, _U8), cache=True, nogil=True)
def add_csv_sizes(sizes, quoted, offsets, data, validity, bit, marks, null, extra):
    """Adds the size of each value as CSV and one for what ends it; sets `quoted`. `marks`: delimiter,
    quote, escape, whether to quote always; `extra`: a value that must be quoted too (`\\.` in a first
    and only column)."""
    delimiter, quote, escape, force = marks[0], marks[1], marks[2], marks[3]
    for i in range(sizes.shape[0]):
        quoted[i] = 0
        if not (validity.shape[0] == 0 or (validity[(bit + i) >> 3] >> ((bit + i) & 7)) & 1):
            sizes[i] += null.shape[0] + 1
            continue
        begin, end = offsets[i], offsets[i + 1]
        size = end - begin
        doubled = 0
        needs = force == 1 or _equals(data, begin, end, null)
        if extra.shape[0] > 0 and _equals(data, begin, end, extra):
            needs = True
        for k in range(begin, end):
            byte = data[k]
            if byte == quote or byte == escape:
                doubled += 1
            if byte == delimiter or byte == quote or byte == 10 or byte == 13:
                needs = True
        if needs:
            quoted[i] = 1
            size += doubled + 2
        sizes[i] += size + 1


@njit(types.void(_OUT, _OUT64, _I32, _U8, _U8, _INT, _U8, _U8, _U8, _BYTE), cache=True, nogil=True)
def fill_csv(out, cursor, offsets, data, validity, bit, quoted, marks, null, terminator):
    """Writes each value, quoted where `quoted` says so, then `terminator`."""
    quote, escape = marks[1], marks[2]
    for i in range(cursor.shape[0]):
        at = cursor[i]
        if validity.shape[0] == 0 or (validity[(bit + i) >> 3] >> ((bit + i) & 7)) & 1:
            if quoted[i] == 1:
                out[at] = quote
                at += 1
            for k in range(offsets[i], offsets[i + 1]):
                byte = data[k]
                if quoted[i] == 1 and (byte == quote or byte == escape):
                    out[at] = escape
                    at += 1
                out[at] = byte
                at += 1
            if quoted[i] == 1:
                out[at] = quote
                at += 1
        else:
            for k in range(null.shape[0]):
                out[at] = null[k]
                at += 1
        out[at] = terminator
        cursor[i] = at + 1
