"""Variance, standard deviation, covariance, correlation and regression; exact until the last division.

The state holds Σ1, Σx, Σx² … as exact integers in the stored form of `exact_floats` (for unconstrained
numerics: sums by display scale), so these are linear and retract exactly. Variance is then
(N Σx² − (Σx)²) / N² or / N(N−1), in integers, rounded once: no cancellation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import decimals_value as exact
from ...storage import types as t
from . import exact_floats, exact_sums
from .accumulators import add_counts, present
from .aggregates import AggregateFunction, Int64, State, Types, register
from .exact_floats import pack_integer, split_special, unpack_integer
from .exact_numerics import read_numeric
from .vector import masked, values

_MASK = 0xFFFFFFFF
_UNIT = exact_floats.UNIT_EXPONENT


def _merge_packed(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    sums = [exact_floats.merge(a, b) for a, b in zip(old[1:], part[1:], strict=True)]
    return [add_counts(old[0], part[0]), *sums]


# Squares, cut into limbs.


def square_limbs(size: npt.NDArray[np.uint64]) -> list[Int64]:
    """The squares of numbers below 2^64 as four limbs of 32 bits."""
    mask, shift = np.uint64(_MASK), np.uint64(32)
    high, low = size >> shift, size & mask
    square, cross, top = low * low, high * low, high * high
    limbs = [square & mask, (square >> shift) + ((cross & mask) << np.uint64(1))]
    limbs += [((cross >> shift) << np.uint64(1)) + (top & mask), top >> shift]
    for k in range(3):
        limbs[k + 1] = limbs[k + 1] + (limbs[k] >> shift)
        limbs[k] = limbs[k] & mask
    return [limb.astype(np.int64) for limb in limbs]


def _integer_sums(data: Int64, weights: Int64, ids: Int64, groups: int) -> tuple[pa.Array, pa.Array]:
    """(Σx, Σx²) of 64-bit integers, packed."""
    zero = np.zeros(len(data), np.int64)
    sign = np.where(data < 0, -1, 1)
    size = np.abs(data).view(np.uint64)
    parts = [
        (size & np.uint64(_MASK)).astype(np.int64) * sign,
        (size >> np.uint64(32)).astype(np.int64) * sign,
    ]
    return (
        exact_floats.sum_limbs(zero, parts, weights, ids, groups),
        exact_floats.sum_limbs(zero, square_limbs(size), weights, ids, groups),
    )


def _python_sums(
    numbers: Sequence[int], weights: Int64, ids: Int64, groups: int
) -> tuple[pa.Array, pa.Array]:
    first, second = [0] * groups, [0] * groups
    for number, weight, group in zip(numbers, weights.tolist(), ids.tolist(), strict=True):
        first[group] += weight * number
        second[group] += weight * number * number
    return tuple(pa.array([pack_integer(v) for v in sums], pa.binary()) for sums in (first, second))


def _partial_integers(
    args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types
) -> State:
    array, weights, ids = present(args[0], weights, ids)
    if pa.types.is_decimal(array.type):
        numbers = exact_sums.to_ints(exact_sums.from_decimal(array))
        sums = _python_sums(numbers, weights, ids, groups)
    elif len(array) <= exact_floats.TINY:
        sums = _python_sums(values(array).tolist(), weights, ids, groups)
    else:
        sums = _integer_sums(values(array).astype(np.int64), weights, ids, groups)
    return [pa.array(exact_sums.counts(weights, ids, groups)), *sums]


def _partial_floats(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    data = values(array).astype(np.float64)
    count = pa.array(exact_sums.counts(weights, ids, groups))
    sums = exact_floats.sum_floats(data, weights, ids, groups)
    finite = np.where(np.isfinite(data), data, 0.0)
    return [count, sums, _float_squares(finite, weights, ids, groups)]


def _float_squares(data: npt.NDArray[np.float64], weights: Int64, ids: Int64, groups: int) -> pa.Array:
    """Σx² of finite doubles in units of 2^−2148."""
    if len(data) <= exact_floats.TINY:
        squares = [exact_floats.to_integer(v) ** 2 for v in data.tolist()]
        return _python_sums(squares, weights, ids, groups)[0]
    bits = data.view(np.int64)
    exponent = (bits >> 52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | ((exponent > 0).astype(np.int64) << 52)
    position = 2 * (np.maximum(exponent, 1) - 1)
    offset = position & 31
    shifted = [limb << offset for limb in square_limbs(mantissa.view(np.uint64))]
    zero = np.zeros_like(offset)
    lows, highs = [s & _MASK for s in shifted] + [zero], [zero] + [s >> 32 for s in shifted]
    parts = [low + high for low, high in zip(lows, highs, strict=True)]
    return exact_floats.sum_limbs(position >> 5, parts, weights, ids, groups)


# Unconstrained numerics: by display scale, [count, Σx, Σx²].

_Moments = dict[str, list[int]]


def _dump(moments: _Moments) -> str:
    kept = {k: v for k, v in sorted(moments.items()) if any(v)}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def _partial_text(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    found: list[_Moments] = [{} for _ in range(groups)]
    for text, weight, group in zip(array.to_pylist(), weights.tolist(), ids.tolist(), strict=True):
        key, number = read_numeric(text)
        _add(found[group], key, [weight, weight * number, weight * number * number])
    count = pa.array(exact_sums.counts(weights, ids, groups))
    return [count, pa.array([_dump(m) for m in found], pa.string())]


def _add(into: _Moments, key: str, more: Sequence[int]) -> None:
    into[key] = [a + b for a, b in zip(into.get(key, (0, 0, 0)), more, strict=True)]


def _merge_text(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    done: list[str] = []
    for a, b in zip(old[1].to_pylist(), part[1].to_pylist(), strict=True):
        moments: _Moments = json.loads(a) if a else {}
        for key, more in (json.loads(b) if b else {}).items():
            _add(moments, key, more)
        done.append(_dump(moments))
    return [add_counts(old[0], part[0]), pa.array(done, pa.string())]


def _moments_of(text: str) -> tuple[int, int, int] | None:
    """(Σx, Σx², scale), None when a value is not finite."""
    moments: _Moments = json.loads(text) if text else {}
    if any(not key.isdigit() for key in moments):
        return None
    scale = max(map(int, moments), default=0)
    first = sum(v[1] * 10 ** (scale - int(k)) for k, v in moments.items())
    second = sum(v[2] * 10 ** (2 * (scale - int(k))) for k, v in moments.items())
    return first, second, scale


# Results.


def _numeric_spread(count: int, first: int, second: int, scale: int, sample: bool, root: bool) -> str:
    """As PostgreSQL's numeric_stddev_internal, from exact sums."""
    numerator = count * second - first * first
    if numerator <= 0:
        return "0"
    denominator = count * (count - 1) if sample else count * count
    digits = Decimal(numerator).as_tuple().digits
    quotient = exact.divide(Decimal((0, digits, -2 * scale)), Decimal(denominator))
    if not root:
        return exact.to_text(quotient)
    places = exact.scale_of(quotient)
    unscaled = int("".join(map(str, quotient.as_tuple().digits)))
    radicand = unscaled * 10**places
    whole = math.isqrt(radicand)
    whole += radicand - whole * whole > whole
    return exact.to_text(Decimal((0, Decimal(whole).as_tuple().digits, -places)))


def _finish_numeric(sample: bool, root: bool) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        done: list[str | None] = []
        for row, count in enumerate(values(state[0]).tolist()):
            if count < 1 + sample:
                done.append(None)
                continue
            if len(state) == 2:
                found = _moments_of(state[1][row].as_py())
            else:
                scale = types[0].scale or 0
                found = unpack_integer(state[1][row].as_py()), unpack_integer(state[2][row].as_py()), scale
            done.append("NaN" if found is None else _numeric_spread(count, *found, sample, root))
        return pa.array(done, pa.string())

    return finish


def _finish_float(sample: bool, root: bool) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        count = values(state[0])
        columns = zip(count.tolist(), state[1].to_pylist(), state[2].to_pylist(), strict=True)
        found = [_float_spread(n, a, b, sample, root) if n >= 1 + sample else 0.0 for n, a, b in columns]
        return masked(np.array(found), pa.float64(), count >= 1 + sample)

    return finish


def _float_spread(count: int, first: bytes, second: bytes, sample: bool, root: bool) -> float:
    total, *special = split_special(unpack_integer(first))
    if any(special):
        return math.nan
    numerator = count * unpack_integer(second) - total * total
    if numerator <= 0:
        return 0.0
    try:
        spread = numerator / ((count * (count - 1) if sample else count * count) << (2 * _UNIT))
    except OverflowError:
        return math.inf
    return math.sqrt(spread) if root else spread


_KINDS = (
    ("var_pop", False, False), ("var_samp", True, False), ("variance", True, False),
    ("stddev_pop", False, True), ("stddev_samp", True, True), ("stddev", True, True),
)  # fmt: skip


def _partial_numeric(
    args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types
) -> State:
    partial = _partial_text if types[0].scale is None else _partial_integers
    return partial(args, weights, ids, groups, types)


def _register_spreads() -> None:
    packed = lambda types: (t.INT8, t.BYTEA, t.BYTEA)  # noqa: E731
    for name, sample, root in _KINDS:
        word = "Standard deviation" if root else "Variance"
        doc = f"{word} of the {'sample' if sample else 'population'}."
        numeric = _finish_numeric(sample, root)
        for type_ in (t.INT2, t.INT4, t.INT8):
            entry = AggregateFunction(
                name,
                (type_,),
                t.NUMERIC,
                "linear",
                packed,
                _partial_integers,
                _merge_packed,
                numeric,
                doc=doc,
            )
            register(entry)
        register(
            AggregateFunction(
                name, (t.NUMERIC,), t.NUMERIC, "linear",
                lambda types: packed(types) if types[0].scale is not None else (t.INT8, t.TEXT),
                _partial_numeric,
                lambda old, part, types: (_merge_packed if len(old) == 3 else _merge_text)(old, part, types),
                numeric, doc=doc,
            )
        )  # fmt: skip
        for type_ in (t.FLOAT4, t.FLOAT8):
            register(
                AggregateFunction(
                    name, (type_,), t.FLOAT8, "linear", packed, _partial_floats, _merge_packed,
                    _finish_float(sample, root), doc=doc,
                )
            )  # fmt: skip


_register_spreads()


# Two variables: y and x, over the rows where both are known.


def _partial_pairs(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    known = values(args[0].is_valid()) & values(args[1].is_valid())
    rows = np.flatnonzero(known)
    weights, ids = weights[rows], ids[rows]
    ys, xs = ([exact_floats.to_integer(v) for v in values(arg)[rows].tolist()] for arg in args)
    sums = [[0] * groups for _ in range(5)]
    for y, x, weight, group in zip(ys, xs, weights.tolist(), ids.tolist(), strict=True):
        for total, term in zip(sums, (x, x * x, y, y * y, x * y), strict=True):
            total[group] += weight * term
    count = pa.array(exact_sums.counts(weights, ids, groups))
    return [count, *(pa.array([pack_integer(v) for v in total], pa.binary()) for total in sums)]


_Sums = tuple[int, int, int, int, int, int]
"""N, Sx, Sxx − in units: N Σx² − (Σx)² −, Sy, Syy, Sxy."""


def _scaled(numerator: int, denominator: int, power: int) -> float:
    """numerator / denominator in units of 2^−(1074 · power)."""
    try:
        return numerator / (denominator << (_UNIT * power))
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def _correlation(n: int, sx: int, sxx: int, sy: int, syy: int, sxy: int) -> float | None:
    if not sxx or not syy:
        return None
    size = math.isqrt(sxx * syy << 128)
    return max(-1.0, min(1.0, (sxy << 64) / size))


_PAIRS: dict[str, tuple[int, Callable[..., float | None], str]] = {
    "covar_pop": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: _scaled(sxy, n * n, 2),
        "Covariance of the population.",
    ),
    "covar_samp": (
        2,
        lambda n, sx, sxx, sy, syy, sxy: _scaled(sxy, n * (n - 1), 2),
        "Covariance of the sample.",
    ),
    "corr": (1, _correlation, "Correlation coefficient."),
    "regr_avgx": (1, lambda n, sx, sxx, sy, syy, sxy: _scaled(sx, n, 1), "Average of x."),
    "regr_avgy": (1, lambda n, sx, sxx, sy, syy, sxy: _scaled(sy, n, 1), "Average of y."),
    "regr_sxx": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: _scaled(sxx, n, 2),
        "Sum of squares of x about its average.",
    ),
    "regr_syy": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: _scaled(syy, n, 2),
        "Sum of squares of y about its average.",
    ),
    "regr_sxy": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: _scaled(sxy, n, 2),
        "Sum of products about the averages.",
    ),
    "regr_slope": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: sxy / sxx if sxx else None,
        "Slope of the fitted line.",
    ),
    "regr_intercept": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: _scaled(sy * sxx - sx * sxy, n * sxx, 1) if sxx else None,
        "Where the fitted line meets the y axis.",
    ),
    "regr_r2": (
        1,
        lambda n, sx, sxx, sy, syy, sxy: None if not sxx else 1.0 if not syy else (sxy * sxy) / (sxx * syy),
        "Square of the correlation coefficient.",
    ),
}


def _finish_pairs(least: int, formula: Callable[..., float | None]) -> Callable[..., pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        columns = [values(state[0]).tolist(), *(column.to_pylist() for column in state[1:])]
        done = [_pair(row, formula) if row[0] >= least else None for row in zip(*columns, strict=True)]
        return pa.array(done, pa.float64())

    return finish


def _pair(row: Sequence[Any], formula: Callable[..., float | None]) -> float | None:
    """The formula of N, Σx, Sxx = N Σx² − (Σx)² and so on."""
    n = row[0]
    sx, xx, sy, yy, xy = (unpack_integer(data) for data in row[1:])
    if any(split_special(sx)[1:]) or any(split_special(sy)[1:]):
        return math.nan
    return formula(n, sx, n * xx - sx * sx, sy, n * yy - sy * sy, n * xy - sx * sy)


for _name, (_least, _formula, _doc) in _PAIRS.items():
    register(
        AggregateFunction(
            _name, (t.FLOAT8, t.FLOAT8), t.FLOAT8, "linear", lambda types: (t.INT8, *(t.BYTEA,) * 5),
            _partial_pairs, _merge_packed, _finish_pairs(_least, _formula), doc=_doc,
        )
    )  # fmt: skip
register(
    AggregateFunction(
        "regr_count", (t.FLOAT8, t.FLOAT8), t.INT8, "linear", lambda types: (t.INT8, *(t.BYTEA,) * 5),
        _partial_pairs, _merge_packed, lambda state, types: state[0], doc="Rows in which both are known.",
    )
)  # fmt: skip
