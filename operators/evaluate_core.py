"""The evaluators of columns, constants, casts and calls, and what all evaluators share.

Every kind of expression has one evaluator of the signature `(expr, columns, length, context)`,
found by class in `EVALUATORS`. It returns one Arrow array of `expr.type.arrow` and `length` rows.
A one-row batch costs a few µs a call: no Table, no RecordBatch, no group-by in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage.arrow_compute import pc
from ..storage.errors import SqlError
from ..storage.room import check_column
from ..storage.types import INTEGERS, Type
from .expr import Call, Cast, ColumnRef, Expr, Literal, Now
from .functions.casts import cast_array
from .functions.vector import NATIVE, NULL_SAFE, calling, is_typed, values
from .shared_values import keep, shared_name

if TYPE_CHECKING:
    from .node import EpochContext

Columns = Sequence[pa.Array]
Evaluator = Callable[[Any, Columns, int, "EpochContext"], pa.Array]
EVALUATORS: dict[type[Expr], Evaluator] = {}

CACHE_ENTRIES_MAX = 8192
"""Entries of each memo of facts about expressions; a full memo is emptied."""

_TEXTS = (pa.StringScalar, pa.BinaryScalar)

_scalars: dict[int, tuple[Literal, pa.Scalar, pa.Array]] = {}


def evaluate(expr: Expr, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    """The value of `expr` on each of `length` rows, as one array of `expr.type.arrow`.

    `columns` are the columns of the input row; one that `expr` does not read may be anything.
    Raises a SqlError, with `rows` where the failing rows are known.
    """
    return EVALUATORS[type(expr)](expr, columns, length, context)


def predicate_mask(expr: Expr, columns: Columns, length: int, context: EpochContext) -> npt.NDArray[np.bool_]:
    """Whether the condition is true on each row; NULL counts as false."""
    if type(expr) is Call and length and _compares_integers(expr):
        return _compared(expr, columns, length, context)
    return truth(evaluate(expr, columns, length, context))


def _compares_integers(expr: Call) -> bool:
    return (
        len(expr.args) == 2
        and expr.args[0].type.name in INTEGERS
        and hasattr(expr.function.kernel, "ufunc")
        and not any(type(arg) is Literal and arg.value is None for arg in expr.args)
    )


def _compared(expr: Call, columns: Columns, length: int, context: EpochContext) -> npt.NDArray[np.bool_]:
    """A comparison of integers without the array of its results, which costs more than comparing a few."""
    arrays = [evaluate(arg, columns, length, context) for arg in expr.args if type(arg) is not Literal]
    given = iter(arrays)
    left, right = (arg.value if type(arg) is Literal else values(next(given)) for arg in expr.args)
    mask = expr.function.kernel.ufunc(left, right)  # pyright: ignore[reportFunctionMemberAccess]
    if not arrays:
        return np.full(length, mask)
    for array in arrays:
        if array.null_count:
            mask &= array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def truth(array: pa.Array) -> npt.NDArray[np.bool_]:
    """A boolean array as numpy, NULL as false."""
    if array.null_count:
        array = pc.fill_null(array, False)
    return array.to_numpy(zero_copy_only=False)


def literal_scalar(expr: Literal) -> pa.Scalar:
    """The constant as an Arrow scalar."""
    return _constant(expr)[1]


def _constant(expr: Literal) -> tuple[Literal, pa.Scalar, pa.Array]:
    entry = _scalars.get(id(expr))
    if entry is None or entry[0] is not expr:
        array = pa.array([expr.value], expr.type.arrow)
        if len(_scalars) >= CACHE_ENTRIES_MAX:
            _scalars.clear()
        entry = _scalars[id(expr)] = (expr, array[0], array)
    return entry


def _literal(expr: Literal, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    _, scalar, array = _constant(expr)
    if length == 1:
        return array
    return broadcast(scalar, length)


def broadcast(scalar: pa.Scalar, length: int) -> pa.Array:
    """The same value on `length` rows."""
    if length > 1 and scalar.is_valid and isinstance(scalar, _TEXTS):
        check_column(scalar.as_buffer().size * length)
    # `repeat` takes no list zero times.
    return pa.repeat(scalar, length) if scalar.is_valid and length else pa.nulls(length, scalar.type)


def _column(expr: ColumnRef, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    return columns[expr.index]


def _now(expr: Now, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    return pa.repeat(pa.scalar(context.now_us, pa.int64()), length).view(expr.type.arrow)


def _cast(expr: Cast, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    array = evaluate(expr.arg, columns, length, context)
    return cast_array(array, expr.arg.type, expr.type, context, expr.explicit)


def _call(expr: Call, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    if not length:
        return pa.array([], expr.type.arrow)
    name = shared_name(expr, columns, length, context)
    if name is None:
        return _called(expr, columns, length, context)
    found = context.computed.get(name)
    if found is None:
        found = keep(context, name, columns, _called(expr, columns, length, context))
    return found[0]


def _called(expr: Call, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    function = expr.function
    if length > 1 and function.volatility != "volatile" and all(type(arg) is Literal for arg in expr.args):
        return _constant_call(expr, columns, length, context)
    if calling(function.kernel) == NATIVE:
        args = [
            literal_scalar(arg) if type(arg) is Literal else evaluate(arg, columns, length, context)
            for arg in expr.args
        ]
        if length == 1 and all(isinstance(arg, pa.Scalar) for arg in args):
            args = [evaluate(arg, columns, length, context) for arg in expr.args]
    else:
        args = [evaluate(arg, columns, length, context) for arg in expr.args]
    kernel = function.kernel
    if is_typed(kernel):
        kernel = _with_types(kernel, tuple(arg.type for arg in expr.args))
    result = call_kernel(kernel, function.strict, args, length, expr.type.arrow, context)
    assert result.type == expr.type.arrow, (function.name, result.type, expr.type)
    return result


def _with_types(kernel: Any, types: tuple[Type, ...]) -> Any:
    """The kernel of a polymorphic function for arguments of these types, callable as the original."""
    bound = partial(kernel, types=types)
    bound.calling = calling(kernel)  # pyright: ignore[reportAttributeAccessIssue]
    return bound


def _constant_call(expr: Call, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    """A call on constants is made once; when it fails, it fails on every row."""
    try:
        return broadcast(_call(expr, columns, 1, context)[0], length)
    except SqlError as error:
        error.rows = np.arange(length)
        raise


def call_kernel(
    kernel: Any, strict: bool, args: Sequence[Any], length: int, result: pa.DataType, context: EpochContext
) -> pa.Array:
    """Calls a kernel as `vector.py` says it may be called; `result` is the type of a NULL result."""
    if not strict or calling(kernel) >= NULL_SAFE:
        return kernel(args, length, context)
    if not any(arg.null_count for arg in args):
        return kernel(args, length, context)
    valid: npt.NDArray[np.bool_] = np.ones(length, np.bool_)
    for arg in args:
        if arg.null_count:
            valid &= arg.is_valid().to_numpy(zero_copy_only=False)
    positions = np.flatnonzero(valid)
    if not len(positions):
        return pa.nulls(length, result)
    indices = pa.array(positions)
    try:
        dense = kernel([arg.take(indices) for arg in args], len(positions), context)
    except SqlError as error:
        if error.rows is not None:
            error.rows = positions[error.rows]
        raise
    return dense.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


EVALUATORS.update({ColumnRef: _column, Literal: _literal, Now: _now, Cast: _cast, Call: _call})
