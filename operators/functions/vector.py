"""Arrow arrays seen as numpy, and the three ways a kernel may be called.

A kernel registered as it is may assume that no argument holds a NULL (for strict functions):
`evaluate` hands it the rows without NULL and puts the results back in their places. Two marks make
calls cheaper where a kernel can do more by itself:

* `null_safe`: NULLs in, NULLs out, and the garbage behind a NULL never fails. Called directly.
* `native`: null-safe, and takes a `pa.Scalar` in place of an array for a constant argument (but
  never for all of them). What Arrow's own compute functions do.

For rare functions there is `each`: a plain Python function of values, called on distinct ones.
A kernel marked `typed` is given the SQL types of its arguments besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage.arrow_compute import pc
from ...storage.errors import QueryCanceled, SqlError
from ...storage.room import check_column, check_value
from .polling import CALLS_BETWEEN_POLLS, polled
from .registry import Kernel

if TYPE_CHECKING:
    from ..node import EpochContext

PLAIN, NULL_SAFE, NATIVE = 0, 1, 2
"""How a kernel may be called, least to most able; the attribute `calling` of a kernel."""

_DTYPES: dict[str, Any] = {
    "int16": np.int16, "int32": np.int32, "int64": np.int64, "float": np.float32, "double": np.float64,
    "date32[day]": np.int32, "time64[us]": np.int64, "timestamp[us]": np.int64,
    "timestamp[us, tz=UTC]": np.int64, "uint8": np.uint8,
}  # fmt: skip
LONG_TEXT = 4096
"""Characters of a text beyond which it is looked how many there are altogether."""

_BY_TYPE: dict[pa.DataType, Any] = {}


def calling(kernel: Kernel) -> int:
    """How `kernel` may be called: PLAIN, NULL_SAFE or NATIVE."""
    return getattr(kernel, "calling", PLAIN)


def null_safe(kernel: Kernel) -> Kernel:
    """Marks a kernel that passes NULLs through by itself and never fails on what lies behind one."""
    kernel.calling = NULL_SAFE  # pyright: ignore[reportFunctionMemberAccess]
    return kernel


def native(kernel: Kernel) -> Kernel:
    """Marks a null-safe kernel that also takes scalars for constants."""
    kernel.calling = NATIVE  # pyright: ignore[reportFunctionMemberAccess]
    return kernel


def dtype_of(type_: pa.DataType) -> Any:
    """The numpy type of one value of a fixed-width Arrow type."""
    found = _BY_TYPE.get(type_)
    if found is None:
        found = _BY_TYPE[type_] = np.dtype(_DTYPES[str(type_)])
    return found


def values(array: pa.Array) -> npt.NDArray[Any]:
    """The values of a fixed-width or boolean array, zero-copy where possible; garbage behind NULLs."""
    if pa.types.is_boolean(array.type):
        if array.null_count:
            array = pc.fill_null(array, False)
        return array.to_numpy(zero_copy_only=False)
    buffer = array.buffers()[1]
    dtype = dtype_of(array.type)
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def from_numpy(data: npt.NDArray[Any], type_: pa.DataType, like: Sequence[pa.Array] = ()) -> pa.Array:
    """An array of a fixed-width type, NULL wherever one of `like` is."""
    valid = valid_of(like)
    if pa.types.is_boolean(type_):
        return pa.array(data, pa.bool_(), mask=None if valid is None else ~valid)
    wanted = dtype_of(type_)
    data = np.ascontiguousarray(data if data.dtype == wanted else data.astype(wanted))
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(data), [bits, pa.py_buffer(data)])


def masked(data: npt.NDArray[Any], type_: pa.DataType, valid: npt.NDArray[np.bool_] | None) -> pa.Array:
    """An array of a fixed-width or boolean type, NULL where `valid` is false."""
    if valid is None:
        return from_numpy(data, type_)
    if pa.types.is_boolean(type_):
        return pa.array(data, pa.bool_(), mask=~valid)
    data = np.ascontiguousarray(data, dtype_of(type_))
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(data), [bits, pa.py_buffer(data)])


def valid_of(arrays: Sequence[pa.Array]) -> npt.NDArray[np.bool_] | None:
    """Where none of the arrays is NULL; None when no NULL is anywhere."""
    valid: npt.NDArray[np.bool_] | None = None
    for array in arrays:
        if array.null_count:
            here = array.is_valid().to_numpy(zero_copy_only=False)
            valid = here if valid is None else valid & here
    return valid


def as_array(argument: pa.Array | pa.Scalar, length: int) -> pa.Array:
    """An argument of a native kernel as an array."""
    return pa.repeat(argument, length) if isinstance(argument, pa.Scalar) else argument


def fail(kind: type[SqlError], message: str, bad: npt.NDArray[np.bool_], **fields: str) -> None:
    """Raises `kind` for the rows where `bad` is true, if there are any."""
    if bad.any():
        raise kind(message, rows=np.flatnonzero(bad), **fields)  # pyright: ignore[reportArgumentType]


def typed(kernel: Callable[..., pa.Array]) -> Kernel:
    """Marks a kernel of polymorphic arguments that wants to know their types: `types=` is passed to it."""
    kernel.typed = True  # pyright: ignore[reportFunctionMemberAccess]
    return kernel


def is_typed(kernel: Kernel) -> bool:
    return getattr(kernel, "typed", False)


def each(function: Callable[..., Any], type_: pa.DataType) -> Kernel:
    """A strict kernel that calls a plain Python function on the values of each row.

    With one column among constants, the function is called once a distinct value. A SqlError of the
    function is raised with the positions of all failing rows and the message of the first.
    """

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        columns = [i for i, arg in enumerate(args) if isinstance(arg, pa.Array)]
        if any(isinstance(arg, pa.Scalar) and not arg.is_valid for arg in args):
            return pa.nulls(length, type_)
        if len(columns) == 1:
            at = columns[0]
            fixed = [arg.as_py() if isinstance(arg, pa.Scalar) else None for arg in args]
            return each_distinct(
                lambda v: function(*fixed[:at], v, *fixed[at + 1 :]), args[at], type_, context
            )
        items = [[a.as_py()] * length if isinstance(a, pa.Scalar) else a.to_pylist() for a in args]
        if any(args[i].null_count for i in columns):
            return pa.array(
                call_each(
                    lambda *row: None if None in row else function(*row), zip(*items, strict=True), context
                ),
                type_,
            )
        return pa.array(call_each(function, zip(*items, strict=True), context), type_)

    kernel.__doc__ = function.__doc__
    return kernel


def rowwise(function: Callable[..., Any], type_: pa.DataType) -> Kernel:
    """A kernel for functions that are not strict: NULL arguments arrive as None."""

    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        rows = zip(*[arg.to_pylist() for arg in args], strict=True) if args else ((),) * length
        return pa.array(call_each(function, rows, context), type_)

    kernel.__doc__ = function.__doc__
    return kernel


def call_each(function: Callable[..., Any], rows: Any, context: EpochContext | None = None) -> list[Any]:
    """`function(*row)` for every row; a SqlError names every row that fails. Polls `context`."""
    done: list[Any] = []
    failed: list[int] = []
    first: SqlError | None = None
    held = 0
    with polled(context) as poll:
        for position, row in enumerate(rows):
            if poll is not None and position % CALLS_BETWEEN_POLLS == 0:
                poll()
            try:
                value = function(*row)
            except QueryCanceled:
                raise
            except SqlError as error:
                first = first or error
                failed.append(position)
                value = None
            done.append(value)
            if isinstance(value, str) and len(value) > LONG_TEXT:
                check_value(len(value))
                held += len(value)
                check_column(held)
    if first is not None:
        first.rows = np.array(failed, np.int64)
        raise first
    return done


def each_distinct(
    function: Callable[[Any], Any], array: pa.Array, type_: pa.DataType, context: EpochContext | None = None
) -> pa.Array:
    """`function` of each value of one column, computed once a distinct value; NULL gives NULL."""
    if len(array) < 16:
        items = array.to_pylist()
        rows = ((v,) for v in items)
        return pa.array(call_each(lambda v: None if v is None else function(v), rows, context), type_)
    encoded = array.dictionary_encode()
    codes = encoded.indices
    try:
        done = call_each(function, ((v,) for v in encoded.dictionary.to_pylist()), context)
    except SqlError as error:
        bad = np.isin(values(codes), [] if error.rows is None else error.rows)
        if array.null_count:
            bad &= array.is_valid().to_numpy(zero_copy_only=False)
        error.rows = np.flatnonzero(bad)
        raise
    return pa.array(done, type_).take(codes)
