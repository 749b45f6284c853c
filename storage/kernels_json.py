"""Compiled loops over JSON records: where the values of wanted members lie, without building objects.

One pass checks the whole grammar (RFC 8259) and notes the bounds and the kind of each wanted member. A
record it does not fully understand (bad syntax, escapes in a member's name, very deep nesting) is
only marked: an exact decoder looks at it then, and has the words for what is wrong.
"""

# pyright: basic
from __future__ import annotations

import numpy as np
from numba import types

from .kernels_lazy import njit

_U8 = types.Array(types.uint8, 1, "C", readonly=True)
_I64 = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.uint8, 1, "C")
_OUT64 = types.Array(types.int64, 1, "C")
_I32_OUT = types.Array(types.int32, 1, "C")
_INT = types.int64

MISSING, NULL, NUMBER, LITERAL, STRING, ESCAPED, NESTED = range(7)
"""Kinds of a member: absent, null, a number, true or false, a string (bounds without its quotes), a
string with escapes in it, an object or array."""

DEPTH_MAX = 64
_BLOCK = 16


@njit(types.int64(_U8, _INT, _INT), cache=True, nogil=True)
def _space(data, at, end):
    """The first position that is no white space."""
    while at < end and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@njit(types.UniTuple(types.int64, 2)(_U8, _INT, _INT), cache=True, nogil=True)
def _string(data, at, end):
    """(position behind the closing quote, whether there are escapes) of a string that begins at `at`,
    behind its opening quote; (−1, _) if it is none."""
    escaped = 0
    while at < end:
        # Blocks without anything of note, in a loop the compiler turns into a few vector instructions.
        while at + _BLOCK <= end:
            noted = 0
            for i in range(_BLOCK):
                byte = data[at + i]
                noted |= (byte == 34) | (byte == 92) | (byte < 32)
            if noted:
                break
            at += _BLOCK
        if at >= end:
            return -1, escaped
        byte = data[at]
        if byte == 34:
            return at + 1, escaped
        if byte < 32:
            return -1, escaped
        if byte == 92:
            escaped = 1
            at += 1
            if at >= end:
                return -1, escaped
            byte = data[at]
            if byte == 117:
                if at + 4 >= end:
                    return -1, escaped
                for i in range(1, 5):
                    digit = data[at + i]
                    hexadecimal = (48 <= digit <= 57) or (65 <= digit <= 70) or (97 <= digit <= 102)
                    if not hexadecimal:
                        return -1, escaped
                at += 4
            elif not (
                byte == 34 or byte == 92 or byte == 47 or byte == 98
                or byte == 102 or byte == 110 or byte == 114 or byte == 116
            ):  # fmt: skip
                return -1, escaped
        at += 1
    return -1, escaped


@njit(types.int64(_U8, _INT, _INT), cache=True, nogil=True)
def _digits(data, at, end):
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@njit(types.int64(_U8, _INT, _INT), cache=True, nogil=True)
def _number(data, at, end):
    """The position behind the number at `at`, −1 if there is none."""
    if at < end and data[at] == 45:
        at += 1
    first = at
    at = _digits(data, at, end)
    if at == first or (data[first] == 48 and at > first + 1):
        return -1
    if at < end and data[at] == 46:
        behind = _digits(data, at + 1, end)
        if behind == at + 1:
            return -1
        at = behind
    if at < end and (data[at] == 101 or data[at] == 69):
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        behind = _digits(data, at, end)
        if behind == at:
            return -1
        at = behind
    return at


@njit(types.UniTuple(types.int64, 2)(_U8, _INT, _INT), cache=True, nogil=True)
def _scalar(data, at, end):
    """(position behind, kind) of the number, true, false or null at `at`; (−1, _) if it is none."""
    byte = data[at]
    if byte == 116:
        good = at + 4 <= end and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101
        return (at + 4 if good else -1), LITERAL
    if byte == 110:
        good = at + 4 <= end and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108
        return (at + 4 if good else -1), NULL
    if byte == 102:
        good = at + 5 <= end and data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115
        return (at + 5 if good and data[at + 4] == 101 else -1), LITERAL
    return _number(data, at, end), NUMBER


_VALUE, _VALUE_OR_CLOSE, _NAME, _NAME_OR_CLOSE, _AFTER = range(5)


@njit(types.int64(_U8, _INT, _INT, _OUT), cache=True, nogil=True)
def _nested(data, at, end, stack):
    """The position behind the object or array at `at`, −1 if it is none or too deep. `stack`: scratch."""
    depth = 0
    expect = _VALUE
    while True:
        at = _space(data, at, end)
        if at >= end:
            return -1
        byte = data[at]
        closed = False
        if expect == _AFTER:
            if byte == 44:
                expect = _NAME if stack[depth - 1] else _VALUE
                at += 1
            elif byte == (125 if stack[depth - 1] else 93):
                closed = True
            else:
                return -1
        elif (expect == _NAME_OR_CLOSE and byte == 125) or (expect == _VALUE_OR_CLOSE and byte == 93):
            closed = True
        elif expect == _NAME or expect == _NAME_OR_CLOSE:  # noqa: SIM109 - faster compiled
            if byte != 34:
                return -1
            at, _ = _string(data, at + 1, end)
            if at < 0:
                return -1
            at = _space(data, at, end)
            if at >= end or data[at] != 58:
                return -1
            at += 1
            expect = _VALUE
        elif byte == 123 or byte == 91:
            if depth == stack.shape[0]:
                return -1
            stack[depth] = 1 if byte == 123 else 0
            depth += 1
            at += 1
            expect = _NAME_OR_CLOSE if byte == 123 else _VALUE_OR_CLOSE
        else:
            at = _string(data, at + 1, end)[0] if byte == 34 else _scalar(data, at, end)[0]
            if at < 0:
                return -1
            expect = _AFTER
        if closed:
            depth -= 1
            at += 1
            if depth == 0:
                return at
            expect = _AFTER


@njit(types.int64(_U8, _INT, _INT, _U8, _I64, _INT, _INT), cache=True, nogil=True)
def _column(data, begin, end, names, bounds, columns, hint):
    """The wanted column called data[begin:end]: 2 × its number, + 1 if only the case differs; −1 none.
    `hint` is tried first: members mostly come in the same order."""
    length = end - begin
    folded = -1
    for step in range(columns):
        column = hint + step
        if column >= columns:
            column -= columns
        at = bounds[column]
        if bounds[column + 1] - at != length:
            continue
        exact, near = True, True
        for i in range(length):
            a, b = data[begin + i], names[at + i]
            if a != b:
                exact = False
                if 65 <= a <= 90:
                    a += 32
                if 65 <= b <= 90:
                    b += 32
                if a != b:
                    near = False
                    break
        if exact:
            return 2 * column
        if near and folded < 0:
            folded = 2 * column + 1
    return folded


@njit(types.boolean(_U8, _INT, _INT, _U8, _I64, _INT, _OUT64, _OUT64, _OUT, _OUT), cache=True, nogil=True)
def _object(data, at, end, names, bounds, cell, starts, ends, kinds, stack):
    """One record; its values go to the cells from `cell` on. False: it is not understood."""
    columns = bounds.shape[0] - 1
    at = _space(data, at, end)
    if at >= end or data[at] != 123:
        return False
    at = _space(data, at + 1, end)
    if at < end and data[at] == 125:
        return _space(data, at + 1, end) == end
    hint = 0
    while True:
        if at >= end or data[at] != 34:
            return False
        name = at + 1
        at, escaped = _string(data, name, end)
        if at < 0 or escaped:
            return False
        found = _column(data, name, at - 1, names, bounds, columns, hint)
        at = _space(data, at, end)
        if at >= end or data[at] != 58:
            return False
        at = _space(data, at + 1, end)
        if at >= end:
            return False
        begin, stop = at, at
        if data[at] == 34:
            begin = at + 1
            at, escaped = _string(data, begin, end)
            stop = at - 1
            kind = ESCAPED if escaped else STRING
        elif data[at] == 123 or data[at] == 91:
            at = _nested(data, at, end, stack)
            stop, kind = at, NESTED
        else:
            at, kind = _scalar(data, at, end)
            stop = at
        if at < 0:
            return False
        if found >= 0:
            place = cell + (found >> 1)
            # A member of the exact name beats one that differs in case; of equals the last one counts.
            if found & 1 == 0 or kinds[place] == MISSING:
                starts[place], ends[place], kinds[place] = begin, stop, kind
            hint = (found >> 1) + 1
            if hint == columns:
                hint = 0
        at = _space(data, at, end)
        if at >= end:
            return False
        if data[at] == 125:
            return _space(data, at + 1, end) == end
        if data[at] != 44:
            return False
        at = _space(data, at + 1, end)


@njit(types.void(_U8, _I64, _I64, _U8, _I64, _OUT64, _OUT64, _OUT, _OUT), cache=True, nogil=True)
def scan_json(data, begins, stops, names, bounds, starts, ends, kinds, strange):
    """Finds the members `names[bounds[c]:bounds[c + 1]]` of the objects data[begins[r]:stops[r]].

    `starts`, `ends`, `kinds` have a cell for each record and column, row by row, and begin as zeros
    (MISSING). `strange[r]` becomes 1 for a record that needs an exact decoder.
    """
    columns = bounds.shape[0] - 1
    stack = np.empty(DEPTH_MAX, np.uint8)
    for row in range(begins.shape[0]):
        good = _object(
            data, begins[row], stops[row], names, bounds, row * columns, starts, ends, kinds, stack
        )
        strange[row] = 0 if good else 1


@njit(types.void(_U8, _I64, _I64, _I32_OUT, _OUT), cache=True, nogil=True)
def gather_bytes(data, starts, ends, offsets, out):
    """Writes data[starts[i]:ends[i]] one behind the other; `offsets` (n + 1) says where each begins."""
    at = 0
    for i in range(starts.shape[0]):
        for j in range(starts[i], ends[i]):
            out[at] = data[j]
            at += 1
        offsets[i + 1] = at
