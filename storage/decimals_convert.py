"""Conversions of numeric columns: from and to integers, floats, text, Decimals and 64-bit limbs, and from one
precision and scale to another.

Both physical forms, as `decimals.py` computes on them. NULL in, NULL out. Errors carry `rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import decimals_limbs as limbs
from . import decimals_value as value
from .arrow_compute import pc
from .decimals_limbs import Limbs
from .textform_rows import SMALL, convert_each, fixed_values, from_values, raise_at, valid_mask
from .types import NUMERIC_PRECISION, Type, numeric_modifier

Int64s = npt.NDArray[np.int64]


def parse_numeric(type_: Type, text: str) -> Decimal | str:
    """One value in the physical form of `type_`. Raises 22P02 and 22003."""
    parsed = value.fit(type_, value.read(text))
    return value.to_text(parsed) if type_.scale is None else parsed


def to_decimals(array: pa.Array, type_: Type) -> list[Decimal | None]:
    """Each value as Decimal, whichever form the column has."""
    if type_.scale is not None:
        return array.to_pylist()
    return [None if text is None else Decimal(text) for text in array.to_pylist()]


def from_decimals(values: list[Decimal | None], type_: Type) -> pa.Array:
    """A column of `type_` from values of its scale. Raises 22003 beyond 38 digits."""
    if type_.scale is None:
        return pa.array([None if v is None else value.to_text(v) for v in values], pa.string())
    try:
        return pa.array(values, type_.arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        scale = type_.scale
        wrong = [i for i, v in enumerate(values) if v is not None and _unfit(v, scale)]
        raise_at(value.overflow(), wrong)
        raise


def _unfit(number: Decimal, scale: int) -> bool:
    return not number.is_finite() or (bool(number) and number.adjusted() + scale >= NUMERIC_PRECISION)


def from_integers(array: pa.Array) -> pa.Array:
    """int2/4/8 as `fixed_numeric(0)`."""
    if len(array) <= SMALL:
        return pa.array(array.to_pylist(), pa.decimal128(NUMERIC_PRECISION, 0))
    return limbs.to_array(limbs.of_int64(fixed_values(array, array.type.to_pandas_dtype())), 0, array)


def to_integers(array: pa.Array, type_: Type, target: Type) -> pa.Array:
    """Rounded to int2/4/8, ties away from zero. Raises 22003, 0A000 for NaN."""
    bits = target.info.size * 8
    sql_name = target.info.sql_name
    if type_.scale is not None and len(array) > SMALL:
        narrow = limbs.scale_down(limbs.of_array(array), type_.scale).narrow()
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if narrow is not None and (bits == 64 or bool(((narrow >= low) & (narrow <= high)).all())):
            return from_values(narrow.astype(target.arrow.to_pandas_dtype()), target.arrow, array)
    numbers = to_decimals(array, type_)
    return pa.array(convert_each(numbers, lambda v: value.to_integer(v, sql_name, bits)), target.arrow)


def from_floats(array: pa.Array) -> pa.Array:
    """float4/float8 in text form, at 6 or 15 significant digits, as PostgreSQL casts them."""
    digits = 6 if pa.types.is_float32(array.type) else 15
    texts = convert_each(array.to_pylist(), lambda v: value.to_text(value.from_float(v, digits)))
    return pa.array(texts, pa.string())


def to_floats(array: pa.Array, type_: Type, target: Type) -> pa.Array:
    """As float8 or float4. Raises 22003 when out of range."""
    if len(array) > SMALL and target.name == "float8":
        texts = pc.cast(array, pa.string())
        result = pc.cast(texts, pa.float64())
        found = fixed_values(result, np.float64)
        if bool((np.isfinite(found) & (found != 0) | ~valid_mask(array)).all()):
            return result
    numbers = to_decimals(array, type_)
    floats = convert_each(numbers, lambda v: value.to_float(v, target.name))
    return pc.cast(pa.array(floats, pa.float64()), target.arrow)


def rescale(array: pa.Array, source: Type, target: Type) -> pa.Array:
    """A numeric as another numeric type: rounded to its scale, checked against its precision (22003)."""
    if source.scale is not None and target.scale is not None and len(array) > SMALL:
        change = target.scale - source.scale
        found = limbs.of_array(array)
        if change < 0:
            found = limbs.scale_down(found, -change)
            wrong = np.zeros(len(array), dtype=bool)
        else:
            found, wrong = limbs.scale_up(found, change)
        if not (wrong.any() or _beyond(found, target).any()):
            return limbs.to_array(found, target.scale, array)
    elif source.scale is None and target.scale is None and target.typmod < 0:
        return array
    return from_decimals(convert_each(to_decimals(array, source), lambda v: value.fit(target, v)), target)


def _beyond(found: Limbs, target: Type) -> npt.NDArray[np.bool_]:
    if target.typmod < 0:
        return limbs.too_long(found)
    precision, _ = numeric_modifier(target.typmod)
    bound = limbs.POWERS[precision]
    size = limbs.magnitude(found)
    limit = limbs.of_list([bound])
    return limbs.compare(size, Limbs(limit.high, limit.low)) >= 0


def map_each(array: pa.Array, type_: Type, operation: Callable[[Decimal], Decimal], result: Type) -> pa.Array:
    """The operation on each value by itself, as a column of type `result`."""
    return from_decimals(convert_each(to_decimals(array, type_), operation), result)


def check_fit(wrong: npt.NDArray[np.bool_], like: pa.Array | None) -> None:
    """Raises 22003 with `rows` those that are `wrong`, but for those that are NULL in `like`."""
    if wrong.any():
        if like is not None:
            wrong = wrong & valid_mask(like)
        if wrong.any():
            raise_at(value.overflow(), np.flatnonzero(wrong))
