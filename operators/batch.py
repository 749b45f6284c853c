"""Small conversions between Arrow arrays and numpy, used by several operators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BoolArray = npt.NDArray[np.bool_]
Int64Array = npt.NDArray[np.int64]


def truth(array: pa.Array) -> BoolArray:
    """Where a boolean array is true (NULL counts as false)."""
    if array.null_count:
        array = array.fill_null(False)
    return array.to_numpy(zero_copy_only=False)
