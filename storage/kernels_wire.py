"""Compiled loops that turn columns of bytes into framed rows (DataRow, CopyData).

Rows are laid out in two passes: the sizes of all rows are summed column by column, then each column
writes its values at a cursor that every row has of its own. A column is Arrow's layout of
variable-width values: int32 offsets (n + 1), bytes, validity bitmap with a bit offset (an empty bitmap:
no NULL).
"""

# pyright: basic
from __future__ import annotations

from numba import types

from .kernels_lazy import njit

_U8 = types.Array(types.uint8, 1, "C", readonly=True)
_I32 = types.Array(types.int32, 1, "C", readonly=True)
_I64 = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.uint8, 1, "C")
_OUT64 = types.Array(types.int64, 1, "C")
_INT = types.int64


@njit(types.void(_OUT64, _I32, _U8, _INT), cache=True, nogil=True)
def add_value_sizes(sizes, offsets, validity, bit):
    """Adds 4 + length of each value; a NULL counts 4."""
    for i in range(sizes.shape[0]):
        if validity.shape[0] == 0 or (validity[(bit + i) >> 3] >> ((bit + i) & 7)) & 1:
            sizes[i] += 4 + offsets[i + 1] - offsets[i]
        else:
            sizes[i] += 4


@njit(types.void(_OUT, _OUT64, _I32, _U8, _U8, _INT), cache=True, nogil=True)
def fill_values(out, cursor, offsets, data, validity, bit):
    """Writes int32 length and bytes of each value at its row's cursor and moves the cursor on."""
    for i in range(cursor.shape[0]):
        at = cursor[i]
        if validity.shape[0] == 0 or (validity[(bit + i) >> 3] >> ((bit + i) & 7)) & 1:
            begin = offsets[i]
            length = offsets[i + 1] - begin
            out[at] = (length >> 24) & 255
            out[at + 1] = (length >> 16) & 255
            out[at + 2] = (length >> 8) & 255
            out[at + 3] = length & 255
            at += 4
            for k in range(length):
                out[at + k] = data[begin + k]
            cursor[i] = at + length
        else:
            out[at] = 255
            out[at + 1] = 255
            out[at + 2] = 255
            out[at + 3] = 255
            cursor[i] = at + 4


@njit(types.void(_OUT, _OUT64, _I64, types.uint8, _INT), cache=True, nogil=True)
def frame_rows(out, cursor, starts, kind, columns):
    """Writes type byte and length of each row at `starts` (n + 1), and the column count unless it is −1.

    Leaves the cursors behind what was written.
    """
    for i in range(cursor.shape[0]):
        at = starts[i]
        length = starts[i + 1] - at - 1
        out[at] = kind
        out[at + 1] = (length >> 24) & 255
        out[at + 2] = (length >> 16) & 255
        out[at + 3] = (length >> 8) & 255
        out[at + 4] = length & 255
        if columns >= 0:
            out[at + 5] = (columns >> 8) & 255
            out[at + 6] = columns & 255
            cursor[i] = at + 7
        else:
            cursor[i] = at + 5
