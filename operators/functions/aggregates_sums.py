"""count, sum and avg: linear and exact for every type.

Accumulators: the number of values that are not NULL, then the sum in a form that can grow: int64 for
count, decimal128 (as a 128-bit integer) for integers and fixed-scale numerics, a superaccumulator
(`exact_floats.py`) for floats, sums by display scale for unconstrained numerics, three integers for
intervals. A float sum is therefore the exact sum, rounded once, and not PostgreSQL's running sum.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import intervals, kernels_sums
from ...storage import types as t
from ...storage.arrowview import fixed_values, from_fixed, one_integer
from ...storage.columns import GrowingColumn, GrowingFixed, GrowingText
from ...storage.errors import NumericOutOfRange
from ...storage.types import Type, fixed_numeric
from . import exact_floats, exact_sums
from .aggregates import AggregateFunction, Int64, State, Types, register
from .ordering import interval_fields
from .vector import fail, masked, values

Rows = tuple[pa.Array, Int64, Int64]
_WIDE = fixed_numeric(0)
INT64 = pa.int64()
_DECIMAL = pa.decimal128(38, 0)
_DTYPE = np.dtype(np.int64)
_NOTHING = np.empty(0, np.int64)


def present(array: pa.Array, weights: Int64, ids: Int64) -> Rows:
    """The rows whose value is not NULL."""
    if not array.null_count:
        return array, weights, ids
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return array.drop_null(), weights[valid], ids[valid]


def opened(column: GrowingColumn, start: int, count: int) -> npt.NDArray[Any]:
    """The values of a column with room for `count` rows from `start` on."""
    assert isinstance(column, GrowingFixed)
    column.open(start, start + count)
    return column.values


def add_counts(old: pa.Array, part: pa.Array) -> pa.Array:
    """Sum of two int64 accumulators."""
    if len(old) == 1:
        return one_integer(old.to_pylist()[0] + part.to_pylist()[0], INT64)
    return pa.array(values(old) + values(part))


def add_wide(old: pa.Array, part: pa.Array) -> pa.Array:
    """Sum of two decimal128 accumulators, as 128-bit integers."""
    return exact_sums.add_decimals(old, part)


def nonempty(count: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Which groups have a value; None when all have."""
    if len(count) == 1 and count.to_pylist()[0] > 0:
        return None
    valid = values(count) > 0
    return None if valid.all() else valid


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
    array, weights, ids = present(args[0], weights, ids)
    had = fixed_values(old[0], _DTYPE) if old else _NOTHING
    had_words = exact_sums.words(old[1]) if old else _NOTHING
    counts, words = np.empty(groups, np.int64), np.empty(2 * groups, np.int64)
    data = values(array).astype(np.int64, copy=False)
    kernels_sums.add_by_group(data, weights, ids, had, had_words, counts, words)
    total = pa.Array.from_buffers(_DECIMAL, groups, [None, pa.py_buffer(words)])
    return [from_fixed(INT64, counts), total]


def _write_wide(
    args: Sequence[pa.Array],
    weights: Int64,
    ids: Int64,
    positions: Int64,
    start: int,
    columns: Sequence[GrowingColumn],
    types: Types,
) -> int:
    array, weights, ids = present(args[0], weights, ids)
    data = values(array).astype(np.int64, copy=False)
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


def average(total: int, scale: int, count: int) -> str:
    """total · 10^−scale / count with the display scale of numeric division (select_div_scale).

    In integers, a quarter of the cost of `decimals_value.divide`: this runs for every changed group.
    """
    weight_a, first_a = _leading(abs(total), scale)
    weight_b, first_b = _leading(count, 0)
    weight = weight_a - weight_b - (first_a <= first_b)
    digits = min(max(16 - weight * 4, scale, 0), 1000)
    numerator = 2 * abs(total) * 10 ** (digits - scale) + count
    whole = numerator // (2 * count)
    return decimal_text(-whole if total < 0 else whole, digits)


def _leading(unscaled: int, scale: int) -> tuple[int, int]:
    """Weight and value of the first base-10000 digit that is not 0."""
    if not unscaled:
        return 0, 0
    text = str(unscaled)
    whole = len(text) - scale
    weight = (whole - 1) // 4
    length = whole - 4 * weight
    return weight, int(text[:length].ljust(length, "0"))


def decimal_text(unscaled: int, scale: int) -> str:
    """PostgreSQL's text of unscaled · 10^−scale, scale ≥ 0."""
    sign = "-" if unscaled < 0 else ""
    text = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{sign}{text[:-scale]}.{text[-scale:]}" if scale else sign + text


def sums_of(state: Sequence[pa.Array]) -> list[int]:
    """The unscaled sums of an exact state as Python integers."""
    parts = [exact_sums.to_ints(exact_sums.from_decimal(column)) for column in state[1:]]
    return parts[0] if len(parts) == 1 else [r + (h << 64) for r, h in zip(*parts, strict=True)]


def _finish_average(state: Sequence[pa.Array], types: Types) -> pa.Array:
    scale = state[1].type.scale
    pairs = zip(sums_of(state), values(state[0]).tolist(), strict=True)
    return pa.array([average(total, scale, n) if n > 0 else None for total, n in pairs], pa.string())


def _wide_accumulators(types: Types) -> Types:
    return (t.INT8, _WIDE)


# sum and avg of unconstrained numerics

_Sums = dict[str, tuple[int, int]]
"""By display scale (or "NaN", "Infinity", "-Infinity"): (number of values, unscaled sum)."""


def read_numeric(text: str) -> tuple[str, int]:
    """(scale as text or the special's name, unscaled value) of a numeric's text."""
    head, _, tail = text.partition(".")
    if head.endswith(("N", "y")):
        return head, 0
    return str(len(tail)), int(head + tail)


def _pack_sums(sums: _Sums) -> str:
    kept = {k: list(v) for k, v in sorted(sums.items()) if v != (0, 0)}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def unpack_sums(text: str) -> _Sums:
    """The inverse of the stored form."""
    return {k: (v[0], v[1]) for k, v in json.loads(text).items()} if text else {}


def _add_sums(into: _Sums, key: str, count: int, total: int) -> None:
    before = into.get(key, (0, 0))
    into[key] = (before[0] + count, before[1] + total)


def _partial_text(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    sums: list[_Sums] = [{} for _ in range(groups)]
    for text, weight, group in zip(array.to_pylist(), weights.tolist(), ids.tolist(), strict=True):
        key, unscaled = read_numeric(text)
        _add_sums(sums[group], key, weight, weight * unscaled)
    count = pa.array(exact_sums.counts(weights, ids, groups))
    return [count, pa.array([_pack_sums(s) for s in sums], pa.string())]


def _merge_text(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    done: list[str] = []
    for a, b in zip(old[1].to_pylist(), part[1].to_pylist(), strict=True):
        sums = unpack_sums(a)
        for key, (count, total) in unpack_sums(b).items():
            _add_sums(sums, key, count, total)
        done.append(_pack_sums(sums))
    return [add_counts(old[0], part[0]), pa.array(done, pa.string())]


def total_of(sums: _Sums) -> tuple[int, int] | str:
    """(unscaled sum, display scale), or the special value that the sum is."""
    plus, minus = sums.get("Infinity", (0, 0))[0], sums.get("-Infinity", (0, 0))[0]
    if sums.get("NaN", (0, 0))[0] or (plus and minus):
        return "NaN"
    if plus or minus:
        return "Infinity" if plus else "-Infinity"
    finite = {int(k): v[1] for k, v in sums.items()}
    scale = max(finite, default=0)
    return sum(total * 10 ** (scale - k) for k, total in finite.items()), scale


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
    return (t.INT8, t.TEXT) if scale is None else (t.INT8, fixed_numeric(scale), _WIDE)


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
                "sum", (type_,), t.INT8 if small else _WIDE, "linear", _wide_accumulators, _partial_wide,
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


# floats


def partial_floats(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    data = values(array).astype(np.float64, copy=False)
    sums = exact_floats.sum_floats(data, weights, ids, groups)
    return [pa.array(exact_sums.counts(weights, ids, groups)), sums]


def _advance_floats(
    args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, old: Sequence[pa.Array], types: Types
) -> State:
    array, weights, ids = present(args[0], weights, ids)
    data = values(array).astype(np.float64, copy=False)
    counts = exact_sums.counts(weights, ids, groups)
    if old:
        counts[: len(old[0])] += fixed_values(old[0], _DTYPE)
    sums = exact_floats.add_floats(old[1] if old else None, data, weights, ids, groups)
    return [from_fixed(INT64, counts), sums]


def _write_floats(
    args: Sequence[pa.Array],
    weights: Int64,
    ids: Int64,
    positions: Int64,
    start: int,
    columns: Sequence[GrowingColumn],
    types: Types,
) -> int | None:
    array, weights, ids = present(args[0], weights, ids)
    data = values(array).astype(np.float64, copy=False)
    counts = opened(columns[0], start, len(positions))
    return exact_floats.write_floats(columns[1], counts, data, weights, ids, positions, start)


def _show_average(columns: Sequence[GrowingColumn], start: int, stop: int, result: GrowingFixed) -> bool:
    counts, sums = columns
    assert isinstance(counts, GrowingFixed) and isinstance(sums, GrowingText)
    found = opened(result, start, stop - start)[start:stop]
    bounds = sums.offsets[start : stop + 1]
    return exact_floats.divide_into(bounds, sums.data, counts.values[start:stop], found)


def merge_floats(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    return [add_counts(old[0], part[0]), exact_floats.merge(old[1], part[1])]


def _finish_floats(divide: bool) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        single = types[0].name == "float4" and not divide
        count = values(state[0])
        divisors = np.maximum(count, 1) if divide else np.ones_like(count)
        data = exact_floats.divided(state[1], divisors)
        finite = data is not None and not single
        if data is None:
            pairs = zip(exact_floats.integers(state[1]), divisors.tolist(), strict=True)
            data = np.array([exact_floats.to_float(total, by) for total, by in pairs], np.float64)
        arrow = pa.float32() if single else pa.float64()
        with np.errstate(over="ignore"):
            data = data.astype(np.float32) if single else data
        if not finite:
            _check_overflow(data, state[1])
        return masked(data, arrow, nonempty(state[0]))

    return finish


def _check_overflow(data: npt.NDArray[Any], sums: pa.Array) -> None:
    """A sum of finite values beyond the largest double is an error, not infinity."""
    infinite = np.isinf(data)
    if not infinite.any():
        return
    special = np.array([any(exact_floats.split_special(s)[1:]) for s in exact_floats.integers(sums)])
    fail(NumericOutOfRange, "value out of range: overflow", infinite & ~special)


for _type in (t.FLOAT4, t.FLOAT8):
    for _name in ("sum", "avg"):
        register(
            AggregateFunction(
                _name, (_type,), _type if _name == "sum" else t.FLOAT8, "linear",
                lambda types: (t.INT8, t.BYTEA), partial_floats, merge_floats,
                _finish_floats(_name == "avg"), total=_name == "avg", advance=_advance_floats,
                write=_write_floats, show=_show_average if _name == "avg" else None,
                doc="Exact sum or average, rounded once.",
            )
        )  # fmt: skip


# intervals


def _partial_intervals(
    args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types
) -> State:
    array, weights, ids = present(args[0], weights, ids)
    sums = [exact_sums.sum_by_group(field, weights, ids, groups) for field in interval_fields(array)]
    count = pa.array(exact_sums.counts(weights, ids, groups))
    return [count, *(exact_sums.to_decimal(s, 0) for s in sums)]


def _merge_intervals(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    return [add_counts(old[0], part[0]), *(add_wide(a, b) for a, b in zip(old[1:], part[1:], strict=True))]


def _finish_intervals(divide: bool) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        count = values(state[0])
        us, days, months = (exact_sums.to_ints(exact_sums.from_decimal(column)) for column in state[1:])
        packed: list[bytes | None] = []
        for n, *fields in zip(count.tolist(), us, days, months, strict=True):
            packed.append(intervals.pack_one(fields[2], fields[1], fields[0]) if n > 0 else None)
        sums = pa.array(packed, pa.binary(16))
        return intervals.divide(sums, pa.array(np.maximum(count, 1).astype(np.float64))) if divide else sums

    return finish


for _name in ("sum", "avg"):
    register(
        AggregateFunction(
            _name, (t.INTERVAL,), t.INTERVAL, "linear", lambda types: (t.INT8, _WIDE, _WIDE, _WIDE),
            _partial_intervals, _merge_intervals, _finish_intervals(_name == "avg"),
            doc="Sum or average of intervals, field by field.",
        )
    )  # fmt: skip
