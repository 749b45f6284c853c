"""count, and sum and avg of integers and numerics: linear and exact.

Accumulators: the number of values that are not NULL, then the sum in a form that can grow: decimal128 (as a
128-bit integer) for integers and fixed-scale numerics, sums by display scale (`exact_numerics.py`) for
unconstrained ones. Floats are in `aggregates_sums_floats.py`, intervals in `aggregates_sums_intervals.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...storage import kernels_sums
from ...storage import types as t
from ...storage.arrowview import fixed_values, from_fixed
from ...storage.columns import GrowingColumn
from ...storage.errors import NumericOutOfRange
from ...storage.types import Type, fixed_numeric
from . import exact_sums
from .accumulators import (
    COUNT_ARROW,
    COUNT_DTYPE,
    WIDE,
    add_counts,
    add_wide,
    nonempty,
    opened,
    present,
    present_numbers,
)
from .aggregates import AggregateFunction, Int64, State, Types, register
from .exact_numerics import (
    Sums,
    add_sums,
    average,
    decimal_text,
    pack_sums,
    read_numeric,
    total_of,
    unpack_sums,
)
from .vector import fail, masked, values

_DECIMAL = pa.decimal128(38, 0)
_NOTHING = np.empty(0, np.int64)


# count


def _count_all(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    return [pa.array(exact_sums.counts(weights, ids, groups))]


def _count(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    _, weights, ids = present(args[0], weights, ids)
    return [pa.array(exact_sums.counts(weights, ids, groups))]


def _merge_counts(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    return [add_counts(a, b) for a, b in zip(old, part, strict=True)]


def _first(state: Sequence[pa.Array], types: Types) -> pa.Array:
    return state[0]


def _write_counts(
    args: Sequence[pa.Array],
    weights: Int64,
    ids: Int64,
    positions: Int64,
    start: int,
    columns: Sequence[GrowingColumn],
    types: Types,
) -> int:
    if args:
        _, weights, ids = present(args[0], weights, ids)
    counts = opened(columns[0], start, len(positions))
    return int(kernels_sums.write_counts(weights, ids, positions, start, counts))


for _args, _partial in (((), _count_all), ((Type("any"),), _count)):
    register(
        AggregateFunction(
            "count", _args, t.INT8, "linear", lambda types: (t.INT8,), _partial, _merge_counts, _first,
            result_at=0, total=True, write=_write_counts, adds=("count",),
            doc="Number of rows, or of values that are not NULL.",
        )
    )  # fmt: skip


# sum and avg of integers and fixed-scale numerics


def _partial_wide(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    return _advance_wide(args, weights, ids, groups, (), types)


def _advance_wide(
    args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, old: Sequence[pa.Array], types: Types
) -> State:
    data, weights, ids = present_numbers(args[0], weights, ids, np.int64)
    had = fixed_values(old[0], COUNT_DTYPE) if old else _NOTHING
    had_words = exact_sums.words(old[1]) if old else _NOTHING
    counts, words = np.empty(groups, np.int64), np.empty(2 * groups, np.int64)
    kernels_sums.add_by_group(data, weights, ids, had, had_words, counts, words)
    total = pa.Array.from_buffers(_DECIMAL, groups, [None, pa.py_buffer(words)])
    return [from_fixed(COUNT_ARROW, counts), total]


def _write_wide(
    args: Sequence[pa.Array],
    weights: Int64,
    ids: Int64,
    positions: Int64,
    start: int,
    columns: Sequence[GrowingColumn],
    types: Types,
) -> int:
    data, weights, ids = present_numbers(args[0], weights, ids, np.int64)
    counts = opened(columns[0], start, len(positions))
    words = opened(columns[1], start, len(positions)).view(np.int64)
    return int(kernels_sums.write_sums(data, weights, ids, positions, start, counts, words))


def _partial_fixed(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    rest, high = exact_sums.sum_decimals(array, weights, ids, groups)
    count = pa.array(exact_sums.counts(weights, ids, groups))
    return [count, exact_sums.to_decimal(rest, array.type.scale), exact_sums.to_decimal(high, 0)]


def _merge_wide(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    return [add_counts(old[0], part[0]), *(add_wide(a, b) for a, b in zip(old[1:], part[1:], strict=True))]


def _finish_bigint(state: Sequence[pa.Array], types: Types) -> pa.Array:
    low, high = exact_sums.from_decimal(state[1])
    data = np.ascontiguousarray(low).view(np.int64)
    fail(NumericOutOfRange, "bigint out of range", high != data >> 63)
    return masked(data, pa.int64(), nonempty(state[0]))


def _finish_wide(state: Sequence[pa.Array], types: Types) -> pa.Array:
    """The sum of int8 values: 2^63 values of 63 bits have less than 38 digits and 128 bits."""
    valid = nonempty(state[0])
    return state[1] if valid is None else exact_sums.to_decimal(exact_sums.from_decimal(state[1]), 0, valid)


def _finish_fixed(state: Sequence[pa.Array], types: Types) -> pa.Array:
    rest, high = (exact_sums.from_decimal(column) for column in state[1:])
    total, unfit = exact_sums.join_parts(rest, high)
    fail(NumericOutOfRange, "value overflows numeric format", unfit)
    return exact_sums.to_decimal(total, state[1].type.scale, nonempty(state[0]))


def sums_of(state: Sequence[pa.Array]) -> list[int]:
    """The unscaled sums of an exact state as Python integers."""
    parts = [exact_sums.to_ints(exact_sums.from_decimal(column)) for column in state[1:]]
    return parts[0] if len(parts) == 1 else [r + (h << 64) for r, h in zip(*parts, strict=True)]


def _finish_average(state: Sequence[pa.Array], types: Types) -> pa.Array:
    scale = state[1].type.scale
    pairs = zip(sums_of(state), values(state[0]).tolist(), strict=True)
    return pa.array([average(total, scale, n) if n > 0 else None for total, n in pairs], pa.string())


def _wide_accumulators(types: Types) -> Types:
    return (t.INT8, WIDE)


# sum and avg of unconstrained numerics


def _partial_text(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    sums: list[Sums] = [{} for _ in range(groups)]
    for text, weight, group in zip(array.to_pylist(), weights.tolist(), ids.tolist(), strict=True):
        key, unscaled = read_numeric(text)
        add_sums(sums[group], key, weight, weight * unscaled)
    count = pa.array(exact_sums.counts(weights, ids, groups))
    return [count, pa.array([pack_sums(s) for s in sums], pa.string())]


def _merge_text(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    done: list[str] = []
    for a, b in zip(old[1].to_pylist(), part[1].to_pylist(), strict=True):
        sums = unpack_sums(a)
        for key, (count, total) in unpack_sums(b).items():
            add_sums(sums, key, count, total)
        done.append(pack_sums(sums))
    return [add_counts(old[0], part[0]), pa.array(done, pa.string())]


def _finish_text(combine: Callable[[int, int, int], str]) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        done: list[str | None] = []
        for count, text in zip(values(state[0]).tolist(), state[1].to_pylist(), strict=True):
            total = total_of(unpack_sums(text)) if count > 0 else None
            done.append(combine(*total, count) if isinstance(total, tuple) else total)
        return pa.array(done, pa.string())

    return finish


# numeric: the two physical forms behind one entry


def _fixed(types: Types) -> bool:
    return types[0].scale is not None


def _numeric_accumulators(types: Types) -> Types:
    scale = types[0].scale
    return (t.INT8, t.TEXT) if scale is None else (t.INT8, fixed_numeric(scale), WIDE)


def _numeric(name: str, result: Any, finish_fixed: Any, finish_text: Any, doc: str) -> AggregateFunction:
    return AggregateFunction(
        name, (t.NUMERIC,), result, "linear",
        _numeric_accumulators,
        lambda a, w, i, g, types: (_partial_fixed if _fixed(types) else _partial_text)(a, w, i, g, types),
        lambda old, part, types: (_merge_wide if _fixed(types) else _merge_text)(old, part, types),
        lambda state, types: (finish_fixed if _fixed(types) else finish_text)(state, types),
        doc=doc,
    )  # fmt: skip


def _register_exact() -> None:
    doc = "Sum of the values that are not NULL; NULL when there are none."
    doc_avg = "Average of the values that are not NULL."
    for type_ in (t.INT2, t.INT4, t.INT8):
        small = type_ != t.INT8
        register(
            AggregateFunction(
                "sum", (type_,), t.INT8 if small else WIDE, "linear", _wide_accumulators, _partial_wide,
                _merge_wide, _finish_bigint if small else _finish_wide, total=not small,
                advance=_advance_wide, write=_write_wide, shows=None if small else 1, adds=("count", "sum"),
                doc=doc,
            )
        )  # fmt: skip
        register(
            AggregateFunction(
                "avg", (type_,), t.NUMERIC, "linear", _wide_accumulators, _partial_wide, _merge_wide,
                _finish_average, total=True, advance=_advance_wide, write=_write_wide,
                adds=("count", "sum"), doc=doc_avg,
            )
        )  # fmt: skip
    register(
        _numeric(
            "sum",
            lambda types: t.NUMERIC if types[0].scale is None else fixed_numeric(types[0].scale),
            _finish_fixed,
            _finish_text(lambda total, scale, count: decimal_text(total, scale)),
            doc,
        )
    )
    register(_numeric("avg", t.NUMERIC, _finish_average, _finish_text(average), doc_avg))


_register_exact()
