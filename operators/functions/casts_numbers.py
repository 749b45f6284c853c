"""Casts among booleans, integers, floats and numerics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...storage import decimals_convert
from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import NumericOutOfRange
from ...storage.types import NAMED_OIDS, Type
from .casts import cast
from .numeric import fail_valid, out_of_range
from .ordering import numeric_of, numeric_text
from .vector import from_numpy, values

if TYPE_CHECKING:
    from ..node import EpochContext

_NUMBERS = ("int2", "int4", "int8")
_ALIKE = ({"regproc", "regprocedure"}, {"regoper", "regoperator"})
_OIDS = ("oid", *sorted(NAMED_OIDS))


def _integer(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    try:
        return array.cast(target.arrow)
    except pa.ArrowInvalid:
        data = values(array)
        info = np.iinfo(values(pa.array([], target.arrow)).dtype)
        fail_valid(NumericOutOfRange, out_of_range(target), (data < info.min) | (data > info.max), [array])
        raise


def _to_float(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return from_numpy(values(array), target.arrow, [array])


def _float_to_integer(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    """Rounded to the nearest, ties to even."""
    data = np.rint(values(array).astype(np.float64))
    bits = target.info.size * 8 - 1
    with np.errstate(invalid="ignore"):
        unfit = ~((data >= -(2.0**bits)) & (data < 2.0**bits))
    fail_valid(NumericOutOfRange, out_of_range(target), unfit, [array])
    return from_numpy(np.where(unfit, 0, data), target.arrow, [array])


def _narrow_float(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    data = values(array)
    with np.errstate(all="ignore"):
        result = data.astype(np.float32)
    lost = np.isinf(result) & ~np.isinf(data)
    fail_valid(NumericOutOfRange, "value out of range: overflow", lost, [array])
    gone = (result == 0) & (data != 0)
    fail_valid(NumericOutOfRange, "value out of range: underflow", gone, [array])
    return from_numpy(result, pa.float32(), [array])


def _integer_to_numeric(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    if target.scale is None and target.typmod < 0:
        return array.cast(pa.string())
    whole = decimals_convert.from_integers(array)
    return (
        whole
        if target.scale == 0 and target.typmod < 0
        else decimals_convert.rescale(whole, t.fixed_numeric(0), target)
    )


def _float_to_numeric(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    return decimals_convert.rescale(decimals_convert.from_floats(array), t.NUMERIC, target)


def _numeric_to_integer(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    return decimals_convert.to_integers(array, numeric_of(array), target)


def _numeric_to_float(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    return decimals_convert.to_floats(array, numeric_of(array), target)


def to_numeric(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    if source.scale == target.scale and target.typmod < 0:
        return array
    if target.scale is None and target.typmod < 0:
        return numeric_text(array)
    return decimals_convert.rescale(array, numeric_of(array), target)


def _from_bool(
    array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
) -> pa.Array:
    return array.cast(target.arrow)


def _to_bool(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return pc.not_equal(array, 0)


def _oid(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """To an OID; a negative int4 is the unsigned number of the same bits."""
    data = values(array).astype(np.int64)
    if source.name != "int8":
        return from_numpy(data & 0xFFFFFFFF, pa.int64(), [array])
    fail_valid(NumericOutOfRange, "OID out of range", (data < 0) | (data > 0xFFFFFFFF), [array])
    return array


def _from_oid(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    if target.name == "int8":
        return array
    return from_numpy(values(array).astype(np.uint32).view(np.int32), pa.int32(), [array])


def _register() -> None:
    for i, a in enumerate(_NUMBERS):
        for j, b in enumerate(_NUMBERS):
            if i != j:
                cast(a, b, "implicit" if i < j else "assignment")(_integer)
        for b in ("float4", "float8"):
            cast(a, b, "implicit")(_to_float)
            cast(b, a, "assignment")(_float_to_integer)
        cast(a, "numeric", "implicit")(_integer_to_numeric)
        cast("numeric", a, "assignment")(_numeric_to_integer)
        for b in _OIDS:
            cast(a, b, "implicit")(_oid)
            if a != "int2":
                cast(b, a, "assignment")(_from_oid)
    for a in _OIDS:
        for b in _OIDS:
            if a != b and ("oid" in (a, b) or {a, b} in _ALIKE):
                cast(a, b, "implicit")(_same)
    cast("float4", "float8", "implicit")(_to_float)
    cast("float8", "float4", "assignment")(_narrow_float)
    for b in ("float4", "float8"):
        cast(b, "numeric", "assignment")(_float_to_numeric)
        cast("numeric", b, "implicit")(_numeric_to_float)
    cast("numeric", "numeric", "implicit")(to_numeric)
    cast("bool", "int4", "explicit")(_from_bool)
    cast("int4", "bool", "explicit")(_to_bool)


def _same(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    return array


_register()
