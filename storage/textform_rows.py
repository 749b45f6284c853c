"""What the families of text forms share: bulk conversion with a plain path for the unusual rows.

A column is converted in bulk where Arrow agrees with PostgreSQL; the rows whose spelling Arrow does
not know go one by one through a plain function. Columns of at most `SMALL` rows take the plain
function throughout, because an Arrow kernel call costs more than a few rows of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .arrow_compute import pc
from .errors import SqlError

"""Arrow's kernels. Its module makes most of them when imported, so a type checker does not see them."""

SMALL = 16
SPACE = " \t\n\v\f\r"
"""What C's isspace takes as white space; str.strip would take more."""

Convert = Callable[[str], Any]


def raise_at(error: SqlError, rows: Sequence[int] | npt.NDArray[np.int64]) -> None:
    """Raises `error` with the positions of all failing rows."""
    error.rows = np.asarray(rows, dtype=np.int64)
    raise error


def convert_each(values: Sequence[Any], convert: Callable[[Any], Any]) -> list[Any]:
    """`convert` over the values that are not None.

    Raises the first row's SqlError, `rows` naming every failing position.
    """
    try:
        return [None if value is None else convert(value) for value in values]
    except SqlError as error:
        if len(values) == 1:
            raise_at(error, [0])
    return _collect_failures(values, convert)


def _collect_failures(values: Sequence[Any], convert: Callable[[Any], Any]) -> list[Any]:
    first: SqlError | None = None
    rows: list[int] = []
    for position, value in enumerate(values):
        if value is None:
            continue
        try:
            convert(value)
        except SqlError as error:
            first = first or error
            rows.append(position)
    assert first is not None
    raise_at(first, rows)
    raise AssertionError("unreachable")


def parse_each(texts: pa.Array, convert: Convert, arrow: pa.DataType) -> pa.Array:
    """One array of `arrow`, each text through `convert`."""
    return pa.array(convert_each(texts.to_pylist(), convert), type=arrow)


def parse_distinct(texts: pa.Array, convert: Convert, arrow: pa.DataType) -> pa.Array:
    """Like `parse_each`, calling `convert` once for each distinct text."""
    encoded = texts.dictionary_encode()
    try:
        values = parse_each(encoded.dictionary, convert, arrow)
    except SqlError as error:
        assert error.rows is not None
        codes = encoded.indices.fill_null(-1).to_numpy()
        error.rows = np.flatnonzero(np.isin(codes, error.rows))
        raise
    return values.take(encoded.indices)


def parse_mixed(
    texts: pa.Array, plain: npt.NDArray[np.bool_], bulk: Callable[[pa.Array], pa.Array], convert: Convert
) -> pa.Array:
    """`bulk` over the rows marked plain (the others are NULL to it), `convert` over the rest."""
    if plain.all():
        return bulk(texts)
    result = bulk(pc.if_else(pa.array(plain), texts, pa.scalar(None, texts.type)))
    return patch_rows(texts, np.flatnonzero(~plain), result, convert)


def patch_rows(
    values: pa.Array, rows: npt.NDArray[np.intp], result: pa.Array, convert: Callable[[Any], Any]
) -> pa.Array:
    """`result` with `rows` replaced by `convert(values[row])`."""
    if not len(rows):
        return result
    try:
        patch = parse_each(values.take(pa.array(rows)), convert, result.type)
    except SqlError as error:
        assert error.rows is not None
        error.rows = rows[error.rows].astype(np.int64)
        raise
    mask = np.zeros(len(values), dtype=bool)
    mask[rows] = True
    return pc.replace_with_mask(result, pa.array(mask), patch)


def matches(texts: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    """Whether each text matches; NULL counts as matching, since it needs no special care."""
    return to_mask(pc.match_substring_regex(texts, pattern).fill_null(True))


def to_mask(array: pa.Array) -> npt.NDArray[np.bool_]:
    """A boolean array without NULLs as numpy."""
    return array.to_numpy(zero_copy_only=False)


def text_bytes(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """All bytes of a string column, NULL rows' included."""
    buffers = texts.buffers()
    if not len(texts) or buffers[2] is None:
        return np.empty(0, np.uint8)
    offsets = np.frombuffer(buffers[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(buffers[2], np.uint8)[offsets[0] : offsets[-1]]


def fixed_values(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The values of a fixed-width column as numpy without copying; NULL rows hold anything."""
    width = np.dtype(dtype).itemsize
    buffer = array.buffers()[1]
    if not len(array) or buffer is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, len(array), array.offset * width)


def from_values(values: npt.NDArray[Any], arrow: pa.DataType, like: pa.Array | None = None) -> pa.Array:
    """A fixed-width column of these values, NULL where `like` is."""
    return pa.Array.from_buffers(
        arrow, len(values), [validity_of(like), pa.py_buffer(np.ascontiguousarray(values))]
    )


def validity_of(like: pa.Array | None) -> pa.Buffer | None:
    """The validity bitmap of a column, re-aligned to offset zero; None when nothing is NULL."""
    if like is None or not like.null_count:
        return None
    return pa.array(to_mask(like.is_valid())).buffers()[1]


def valid_mask(array: pa.Array) -> npt.NDArray[np.bool_]:
    """True where a row is not NULL."""
    if not array.null_count:
        return np.ones(len(array), dtype=bool)
    return to_mask(array.is_valid())
