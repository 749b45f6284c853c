"""Compiled loops of COPY FROM: cutting text, csv and binary data into fields.

Cutting is two passes: `scan_…` finds the fields of whole rows (`starts`, `ends`: row-major, one entry a
field), then each column is measured (length and NULL-ness after unquoting) and extracted into Arrow's
offsets and bytes. An incomplete row at the end is left for the next call.

`scan_…` report through `report`: [rows, bytes consumed, code, column]; codes are the constants here.
"""

# Plain loops and comparisons are what compiles to good code.
# ruff: noqa: SIM110

# pyright: basic
from __future__ import annotations

from numba import types

from .kernels_lazy import njit
from .kernels_wire import _I32, _I64, _INT, _OUT, _OUT64, _U8

MORE, END_MARKER, EXTRA, MISSING, STRAY_RETURN, STRAY_NEWLINE, FIELD_COUNT, BAD_LENGTH = range(8)

NEWLINE, RETURN_NEWLINE, RETURN = range(3)
"""Line ends."""

_BYTE = types.uint8


@njit(types.boolean(_U8, _INT, _INT, _U8), cache=True, nogil=True)
def _equals(data, begin, end, other):
    if end - begin != other.shape[0]:
        return False
    for k in range(other.shape[0]):
        if data[begin + k] != other[k]:
            return False
    return True


@njit(types.int64(_U8, _INT, _INT), cache=True, nogil=True)
def _line_end_width(data, at, line_end):
    """Bytes of the line end at `at`; 0 when only more data can tell; negated STRAY_… if it is not one."""
    if data[at] == 10:
        return 1 if line_end == NEWLINE else -STRAY_NEWLINE
    if line_end == RETURN:
        return 1
    if line_end == NEWLINE:
        return -STRAY_RETURN
    if at + 1 >= data.shape[0]:
        return 0
    return 2 if data[at + 1] == 10 else -STRAY_RETURN


@njit(types.int64(_BYTE, _INT), cache=True, nogil=True)
def _digit(byte, base):
    """Value of an octal or hexadecimal digit, −1 for another byte."""
    value = -1
    if 48 <= byte <= 57:
        value = byte - 48
    elif 97 <= byte <= 102:
        value = byte - 87
    elif 65 <= byte <= 70:
        value = byte - 55
    return value if value < base else -1


@njit(types.UniTuple(types.int64, 2)(_U8, _INT, _INT), cache=True, nogil=True)
def _unescape(data, at, end):
    """(byte, position behind) of what follows a backslash at `at`: \\b \\f \\n \\r \\t \\v, one to three
    octal digits, x with one or two hexadecimal digits, else the byte itself."""
    byte = types.int64(data[at])
    at += 1
    base, most, value = 8, 2, _digit(data[at - 1], 8)
    if byte == 120 and at < end and _digit(data[at], 16) >= 0:
        base, most, value = 16, 1, _digit(data[at], 16)
        at += 1
    if value >= 0:
        while most > 0 and at < end and _digit(data[at], base) >= 0:
            value = value * base + _digit(data[at], base)
            at += 1
            most -= 1
        return value & 255, at
    if byte == 98:
        return 8, at
    if byte == 102:
        return 12, at
    if byte == 110:
        return 10, at
    if byte == 114:
        return 13, at
    if byte == 116:
        return 9, at
    if byte == 118:
        return 11, at
    return byte, at


@njit(types.void(_U8, _BYTE, _INT, _INT, _OUT64, _OUT64, _OUT64), cache=True, nogil=True)
def scan_text(data, delimiter, line_end, columns, starts, ends, report):
    """COPY's text format. Backslash protects the byte behind it; `\\.` alone on a line ends the data."""
    size = data.shape[0]
    row = 0
    at = 0
    line = 0
    field = 0
    begin = 0
    while at < size:
        byte = data[at]
        if byte == 92:
            if at + 1 >= size:
                break
            if at == line and data[at + 1] == 46:
                tail = at + 2
                if tail < size and data[tail] == 13 and line_end == RETURN_NEWLINE:
                    tail += 1
                if tail >= size:
                    break
                if data[tail] == 10 or data[tail] == 13:
                    report[0], report[1], report[2], report[3] = row, size, END_MARKER, 0
                    return
            at += 2
            continue
        if byte == delimiter:
            if field < columns:
                starts[row * columns + field] = begin
                ends[row * columns + field] = at
            field += 1
            begin = at + 1
            at += 1
            continue
        if byte == 10 or byte == 13:
            width = _line_end_width(data, at, line_end)
            if width == 0:
                break
            if width < 0:
                report[0], report[1], report[2], report[3] = row, line, -width, 0
                return
            if field < columns:
                starts[row * columns + field] = begin
                ends[row * columns + field] = at
            field += 1
            if field != columns:
                report[0], report[1], report[2], report[3] = (
                    row,
                    line,
                    EXTRA if field > columns else MISSING,
                    field,
                )
                return
            row += 1
            at += width
            line = at
            begin = at
            field = 0
            continue
        at += 1
    report[0], report[1], report[2], report[3] = row, line, MORE, 0


@njit(types.void(_U8, _U8, _INT, _INT, _OUT64, _OUT64, _OUT64, _OUT64), cache=True, nogil=True)
def scan_csv(data, marks, line_end, columns, starts, ends, newlines, report):
    """CSV. `marks`: delimiter, quote, escape (0 when it is the quote). `newlines[row]`: line ends inside
    quotes up to and with that row, an incomplete one too, so that errors can name the physical line;
    marks[5]: the first row is the first of all, in which PostgreSQL counts carriage returns only.
    report[3] is 1 at an incomplete row inside quotes."""
    size = data.shape[0]
    delimiter, quote, escape = marks[0], marks[1], marks[2]
    row = 0
    at = 0
    line = 0
    field = 0
    begin = 0
    quoted = False
    escaped = False
    embedded = 0
    while at < size:
        byte = data[at]
        if at == line and byte == 92 and not quoted:
            tail = at + 2
            if tail < size and data[at + 1] == 46:
                if data[tail] == 10 or data[tail] == 13:
                    report[0], report[1], report[2], report[3] = row, size, END_MARKER, 0
                    return
            elif tail >= size and (at + 1 >= size or data[at + 1] == 46):
                break
        if quoted and escape != 0 and byte == escape:
            escaped = not escaped
        elif byte == quote and not escaped:
            quoted = not quoted
        else:
            escaped = False
        if quoted:
            if byte == (10 if line_end == NEWLINE and (row > 0 or marks[5] == 0) else 13):
                embedded += 1
            at += 1
            continue
        if byte == delimiter:
            if field < columns:
                starts[row * columns + field] = begin
                ends[row * columns + field] = at
            field += 1
            begin = at + 1
        elif byte == 10 or byte == 13:
            newlines[row] = embedded
            width = _line_end_width(data, at, line_end)
            if width == 0:
                break
            if width < 0:
                report[0], report[1], report[2], report[3] = row, line, -width, 0
                return
            if field < columns:
                starts[row * columns + field] = begin
                ends[row * columns + field] = at
            field += 1
            if field != columns:
                report[0], report[1], report[2], report[3] = (
                    row,
                    line,
                    EXTRA if field > columns else MISSING,
                    field,
                )
                return
            row += 1
            at += width - 1
            line = at + 1
            begin = line
            field = 0
        at += 1
    newlines[row] = embedded
    report[0], report[1], report[2], report[3] = row, line, MORE, 1 if quoted else 0


@njit(types.void(_U8, _INT, _OUT64, _OUT64, _OUT64), cache=True, nogil=True)
def scan_binary(data, columns, starts, ends, report):
    """Binary COPY behind its header. A NULL has end −1. Field count −1 is the trailer (END_MARKER)."""
    size = data.shape[0]
    row = 0
    at = 0
    while at + 2 <= size:
        line = at
        count = (data[at] << 8) | data[at + 1]
        at += 2
        if count == 65535:
            report[0], report[1], report[2], report[3] = row, at, END_MARKER, 0
            return
        if count != columns:
            report[0], report[1], report[2], report[3] = row, line, FIELD_COUNT, count
            return
        whole = True
        for field in range(columns):
            if at + 4 > size:
                whole = False
                break
            length = (
                (types.int64(data[at]) << 24) | (types.int64(data[at + 1]) << 16)
                | (types.int64(data[at + 2]) << 8) | types.int64(data[at + 3])
            )  # fmt: skip
            at += 4
            if length == 4294967295:
                starts[row * columns + field] = at
                ends[row * columns + field] = -1
                continue
            if length > 1073741823:
                report[0], report[1], report[2], report[3] = row, line, BAD_LENGTH, field
                return
            starts[row * columns + field] = at
            at += length
            ends[row * columns + field] = at
            if at > size:
                whole = False
                break
        if not whole:
            report[0], report[1], report[2], report[3] = row, line, MORE, 0
            return
        row += 1
    report[0], report[1], report[2], report[3] = row, at, MORE, 0


@njit(types.void(_U8, _I64, _I64, _U8, _OUT64, _OUT), cache=True, nogil=True)
def measure_text(data, starts, ends, null, lengths, valid):
    """Length without backslashes and validity of each field."""
    for i in range(starts.shape[0]):
        begin, end = starts[i], ends[i]
        if _equals(data, begin, end, null):
            valid[i] = 0
            lengths[i] = 0
            continue
        valid[i] = 1
        length = 0
        at = begin
        while at < end:
            if data[at] == 92 and at + 1 < end:
                _, at = _unescape(data, at + 1, end)
            else:
                at += 1
            length += 1
        lengths[i] = length


@njit(types.void(_U8, _I64, _I64, _U8, _I32, _OUT), cache=True, nogil=True)
def extract_text(data, starts, ends, valid, offsets, out):
    """Writes the fields without backslashes at `offsets`."""
    for i in range(starts.shape[0]):
        if valid[i] == 0:
            continue
        at, end, to = starts[i], ends[i], offsets[i]
        while at < end:
            byte = data[at]
            if byte == 92 and at + 1 < end:
                byte, at = _unescape(data, at + 1, end)
            else:
                at += 1
            out[to] = byte
            to += 1


@njit(types.void(_U8, _I64, _I64, _U8, _U8, _OUT64, _OUT), cache=True, nogil=True)
def measure_csv(data, starts, ends, marks, null, lengths, valid):
    """Length without quotes and validity of each field. `marks`: as `scan_csv`, then two flags: an unquoted
    NULL text is a NULL; a quoted one is."""
    quote, escape = marks[1], marks[2]
    if escape == 0:
        escape = quote
    for i in range(starts.shape[0]):
        at, end = starts[i], ends[i]
        length = 0
        matched = 0
        quoted = False
        saw_quote = False
        while at < end:
            byte = data[at]
            if (
                quoted
                and byte == escape
                and at + 1 < end
                and (data[at + 1] == escape or data[at + 1] == quote)
            ):
                at += 1
                byte = data[at]
            elif byte == quote:
                quoted = not quoted
                saw_quote = True
                at += 1
                continue
            if length == matched and length < null.shape[0] and null[length] == byte:
                matched += 1
            length += 1
            at += 1
        is_null = length == matched and length == null.shape[0] and marks[4 if saw_quote else 3] == 1
        valid[i] = 0 if is_null else 1
        lengths[i] = 0 if is_null else length


@njit(types.void(_U8, _I64, _I64, _U8, _U8, _I32, _OUT), cache=True, nogil=True)
def extract_csv(data, starts, ends, marks, valid, offsets, out):
    """Writes the fields without quotes at `offsets`."""
    quote, escape = marks[1], marks[2]
    if escape == 0:
        escape = quote
    for i in range(starts.shape[0]):
        if valid[i] == 0:
            continue
        at, end, to = starts[i], ends[i], offsets[i]
        quoted = False
        while at < end:
            byte = data[at]
            if (
                quoted
                and byte == escape
                and at + 1 < end
                and (data[at + 1] == escape or data[at + 1] == quote)
            ):
                at += 1
                byte = data[at]
            elif byte == quote:
                quoted = not quoted
                at += 1
                continue
            out[to] = byte
            to += 1
            at += 1


@njit(types.void(_U8, _I64, _I64, _I32, _OUT), cache=True, nogil=True)
def extract_bytes(data, starts, ends, offsets, out):
    """Writes the fields as they are at `offsets`; an end of −1 is skipped."""
    for i in range(starts.shape[0]):
        to = offsets[i]
        for at in range(starts[i], ends[i]):
            out[to] = data[at]
            to += 1
