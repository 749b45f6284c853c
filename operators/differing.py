"""`differing`: where two columns are not the same values, to the bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..storage.arrow_compute import pc
from .batch import BoolArray

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}


def differing(left: pa.Array, right: pa.Array) -> BoolArray:
    """Where the values differ (NULL is NULL, NaN is NaN; 1.0 and 1.00 differ as texts)."""
    null_left, null_right = _nulls(left), _nulls(right)
    different = _values_differ(left, right)
    return (different & ~(null_left | null_right)) | (null_left != null_right)


def differ_once(left: pa.Array, right: pa.Array) -> bool:
    """The same for arrays of one row."""
    return repr(left[0].as_py()) != repr(right[0].as_py())


def _nulls(array: pa.Array) -> BoolArray:
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    return array.is_null().to_numpy(zero_copy_only=False)


def _values_differ(left: pa.Array, right: pa.Array) -> BoolArray:
    """Comparison of what lies under the NULLs too, whatever it is."""
    if pa.types.is_list(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(a) != repr(b) for a, b in pairs], np.bool_)
    if pa.types.is_boolean(left.type) or left.type in (pa.string(), pa.binary()):
        different = pc.call_function("not_equal", [left, right])
        return different.fill_null(False).to_numpy(zero_copy_only=False)
    a, b = _words(left), _words(right)
    return (a != b).reshape(len(left), -1).any(axis=1) if len(left) else np.zeros(0, np.bool_)


def _words(array: pa.Array) -> np.ndarray:
    """The values of a fixed-width column as unsigned words, all words of a value in a row."""
    size = array.type.bit_width // 8
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros((len(array), 1), np.uint8)
    words = np.frombuffer(buffer, _WORDS[size])
    per = size // words.dtype.itemsize
    return words[array.offset * per : (array.offset + len(array)) * per]
