"""How two values of one type compare: `sign` gives −1, 0 or 1 a row, as PostgreSQL orders them.

It serves comparison operators, IS DISTINCT FROM, GREATEST, NULLIF and min/max of the types that
Arrow would order otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import decimals
from ...storage.arrow_compute import pc
from ...storage.textform import DEFAULT_SETTINGS
from ...storage.textform_numbers import format_numerics
from ...storage.types import NUMERIC, Type, fixed_numeric
from .vector import values

if TYPE_CHECKING:
    from ..node import EpochContext

Signs = npt.NDArray[np.int8]
DAY_US = 86_400_000_000


def sign(left: pa.Array, right: pa.Array, left_type: Type, right_type: Type, context: EpochContext) -> Signs:
    """−1, 0 or 1 as each row of `left` is below, equal to or above that of `right` (no NULLs)."""
    if left_type.name == "anyarray" or left_type.element is not None:
        return _array_sign(left, right)
    compare = _SIGNS.get(left_type.name)
    if compare is None:
        return _arrow_sign(left, right)
    if left_type.name != right_type.name and left_type.category == "D":
        return _moment_sign(left, right, left_type, right_type, context)
    return compare(left, right)


def _arrow_sign(left: pa.Array, right: pa.Array) -> Signs:
    above = pc.greater(left, right).to_numpy(zero_copy_only=False).astype(np.int8)
    below = pc.less(left, right).to_numpy(zero_copy_only=False).astype(np.int8)
    return above - below


def _float_sign(left: pa.Array, right: pa.Array) -> Signs:
    a, b = values(left), values(right)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    plain = (a > b).astype(np.int8) - (a < b).astype(np.int8)
    return plain + nan_a.astype(np.int8) * ~nan_b - nan_b.astype(np.int8) * ~nan_a


def _blank_sign(left: pa.Array, right: pa.Array) -> Signs:
    return _arrow_sign(pc.utf8_rtrim(left, " "), pc.utf8_rtrim(right, " "))


def interval_fields(
    array: pa.Array,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(µs, days, months) of each interval; garbage behind NULLs."""
    buffer = array.buffers()[1]
    parts = np.dtype([("us", "<i8"), ("days", "<i4"), ("months", "<i4")])
    if buffer is None:
        parts_array = np.zeros(len(array), parts)
    else:
        parts_array = np.frombuffer(buffer, parts, len(array), array.offset * 16)
    return parts_array["us"], parts_array["days"], parts_array["months"]


def interval_order(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(days, µs within the day): the length of each interval with months of 30 days."""
    us, days, months = interval_fields(array)
    whole = us // DAY_US
    return whole + days.astype(np.int64) + months.astype(np.int64) * 30, us - whole * DAY_US


def _interval_sign(left: pa.Array, right: pa.Array) -> Signs:
    days_a, us_a = interval_order(left)
    days_b, us_b = interval_order(right)
    days = np.sign(days_a - days_b)
    return np.where(days != 0, days, np.sign(us_a - us_b)).astype(np.int8)


def _numeric_sign(left: pa.Array, right: pa.Array) -> Signs:
    if pa.types.is_decimal(left.type) and left.type == right.type:
        return _arrow_sign(left, right)
    return decimals.compare(left, right, numeric_of(left), numeric_of(right))


def numeric_of(array: pa.Array) -> Type:
    """The numeric type whose physical form a column has."""
    return fixed_numeric(array.type.scale) if pa.types.is_decimal(array.type) else NUMERIC


def numeric_text(array: pa.Array) -> pa.Array:
    """A numeric column in its text form."""
    return (
        format_numerics(numeric_of(array), array, DEFAULT_SETTINGS)
        if pa.types.is_decimal(array.type)
        else array
    )


def _moment_sign(
    left: pa.Array, right: pa.Array, left_type: Type, right_type: Type, context: EpochContext
) -> Signs:
    from .casts import cast_array

    wider = left_type if _MOMENTS.index(left_type.name) > _MOMENTS.index(right_type.name) else right_type
    a = cast_array(left, left_type, wider, context)
    b = cast_array(right, right_type, wider, context)
    return _arrow_sign(a, b)


_MOMENTS = ("date", "timestamp", "timestamptz")


def value_sign(a: Any, b: Any) -> int:
    """Compares two Python values of an array element; None is above everything (as in arrays)."""
    if a is None or b is None:
        return (a is None) - (b is None)
    if isinstance(a, list):
        for x, y in zip(a, b, strict=False):
            found = value_sign(x, y)
            if found:
                return found
        return (len(a) > len(b)) - (len(a) < len(b))
    if isinstance(a, float):
        return ((a != a) - (b != b)) or (a > b) - (a < b)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return (a > b) - (a < b)


def _array_sign(left: pa.Array, right: pa.Array) -> Signs:
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return np.array([value_sign(a, b) for a, b in pairs], np.int8)


def _jsonb_sign(left: pa.Array, right: pa.Array) -> Signs:
    from ...storage.jsons import compare_key

    def one(a: str, b: str) -> int:
        if a == b:
            return 0
        x, y = compare_key(a), compare_key(b)
        return (x > y) - (x < y)

    return np.array([one(a, b) for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)], np.int8)


_SIGNS: dict[str, Callable[[pa.Array, pa.Array], Signs]] = {
    "float4": _float_sign, "float8": _float_sign, "bpchar": _blank_sign, "interval": _interval_sign,
    "numeric": _numeric_sign, "jsonb": _jsonb_sign, "date": _arrow_sign, "timestamp": _arrow_sign,
    "timestamptz": _arrow_sign,
}  # fmt: skip

value_key = cmp_to_key(value_sign)
