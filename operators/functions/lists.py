"""Array columns as offsets over one column of elements, taken apart and put together in numpy.

Elements never become Python values on the way, so every type passes unharmed (infinite timestamps do
not fit a `datetime`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .vector import values

Int64 = npt.NDArray[np.int64]


class Lists(NamedTuple):
    """Row r has the elements starts[r] … starts[r] + lengths[r] − 1; a NULL row has length 0."""

    starts: Int64
    lengths: Int64
    elements: pa.Array
    valid: npt.NDArray[np.bool_]

    @property
    def rows(self) -> Int64:
        """The row of each element of `flat`."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def flat(self) -> Int64:
        """Positions in `elements` of all elements of all rows, in order."""
        before = np.cumsum(self.lengths) - self.lengths
        return np.arange(int(self.lengths.sum())) + np.repeat(self.starts - before, self.lengths)

    @property
    def within(self) -> Int64:
        """The 0-based number, in its row, of each element of `flat`."""
        before = np.cumsum(self.lengths) - self.lengths
        return np.arange(int(self.lengths.sum())) - np.repeat(before, self.lengths)


def lists_of(array: pa.Array) -> Lists:
    """An array column taken apart."""
    count = len(array)
    offsets = np.frombuffer(array.buffers()[1], np.int32, count + 1, 4 * array.offset).astype(np.int64)
    lengths = np.diff(offsets)
    if array.null_count:
        valid = values(array.is_valid())
        lengths = np.where(valid, lengths, 0)
    else:
        valid = np.ones(count, np.bool_)
    return Lists(offsets[:-1], lengths, array.values, valid)


def build(
    length: int,
    rows: Int64,
    elements: pa.Array,
    type_: pa.DataType,
    valid: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """An array column of elements given with their rows, ascending."""
    offsets = np.zeros(length + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=length), out=offsets[1:])
    mask = None if valid is None or valid.all() else pa.array(~valid)
    if elements.type != type_.value_type:
        elements = elements.cast(type_.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=type_, mask=mask)


def interleave(
    length: int,
    parts: list[tuple[Int64, pa.Array]],
    type_: pa.DataType,
    valid: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """An array column in which each row has its elements of the first part, then of the second …"""
    rows = np.concatenate([rows for rows, _ in parts])
    order = np.argsort(rows, kind="stable")
    pool = pa.concat_arrays([elements for _, elements in parts])
    return build(length, rows[order], pool.take(pa.array(order)), type_, valid)
