"""min and max, bool_and, bool_or, every, and the bitwise aggregates.

min and max need the group's values once one can go away, so they are ordered; while rows only come
they work on one accumulator (`monotone`). The boolean ones count trues and falses, bit_xor counts
each bit's parity by itself, so these are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import kernels_extremes, kernels_group_extremes
from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.arrowview import fixed_values
from ...storage.columns import GrowingFixed
from ...storage.types import Type
from . import exact_sums
from .accumulators import add_counts, present
from .aggregates import AggregateFunction, Int64, State, Types, register
from .ordering import interval_order, sign, value_key
from .vector import from_numpy, masked, values

Positions = npt.NDArray[np.int64]
_NO_BYTES = np.empty(0, np.uint8)
_INSTANTS = (pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"))


def edge_positions(array: pa.Array, offsets: Int64, last: bool) -> Positions:
    """Of rows sorted by group and value, NULLs last: each group's first or last value, −1 if none."""
    starts, stops = offsets[:-1], offsets[1:]
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        before = np.concatenate(([0], np.cumsum(valid)))
        stops = starts + before[stops] - before[starts]
    return np.where(stops > starts, stops - 1 if last else starts, -1)


def take_or_null(array: pa.Array, positions: Positions) -> pa.Array:
    """The values at `positions`, NULL for −1."""
    missing = positions < 0
    return array.take(pa.array(positions, mask=missing if missing.any() else None))


def _whole(last: bool) -> Callable[[Sequence[pa.Array], Int64, Int64, Types], pa.Array]:
    def whole(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
        return take_or_null(args[0], edge_positions(args[0], offsets, last))

    return whole


_RANKED = frozenset({"text", "varchar", "name", "char", "numeric", "uuid", "bytea", "bool", "json"})


def ranks(array: pa.Array, type_: Type) -> npt.NDArray[Any]:
    """Numbers that order the values (no NULLs) of one column as SQL does; equal for equal values."""
    if type_.name == "interval":
        days, us = interval_order(array)
        return _dense(np.rec.fromarrays([days, us]))
    if type_.name == "numeric" and pa.types.is_string(array.type):
        numbers = map(Decimal, array.to_pylist())
        return _python_ranks([(v.is_nan(), Decimal(0) if v.is_nan() else v) for v in numbers])
    if type_.name == "bpchar":
        array = pc.utf8_rtrim(array, " ")
    elif type_.name == "jsonb":
        from ...storage.jsons import compare_key

        return _python_ranks([compare_key(v) for v in array.to_pylist()])
    elif type_.element is not None:
        return _python_ranks([value_key(v) for v in array.to_pylist()])
    elif type_.name not in _RANKED:
        return values(array)
    if pa.types.is_boolean(array.type):
        return values(array).astype(np.int8)
    return values(pc.rank(array, tiebreaker="dense").cast(pa.int64()))


def _dense(data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.unique(data, return_inverse=True)[1]


def _python_ranks(keys: list[Any]) -> npt.NDArray[Any]:
    order = sorted(range(len(keys)), key=keys.__getitem__)
    found = np.empty(len(keys), np.int64)
    rank = 0
    for previous, position in zip([None, *order], order, strict=False):
        rank += previous is not None and keys[previous] < keys[position]
        found[position] = rank
    return found


def best_positions(order_values: npt.NDArray[Any], ids: Int64, groups: int, last: bool) -> Positions:
    """The row with the least (or greatest) value of each group, −1 for a group without rows."""
    found = np.full(groups, -1, np.int64)
    if len(ids) == 1:
        found[ids[0]] = 0
        return found
    order = np.lexsort((order_values, ids))
    if not last:
        order = order[::-1]
    found[ids[order]] = order  # the last assignment of a group wins
    return found


def _partial(last: bool) -> Callable[..., State]:
    def partial(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
        array, weights, ids = present(args[0], weights, ids)
        if (weights <= 0).any():
            assert (weights >= 0).all(), "min and max shrink: keep the values"
            kept = np.flatnonzero(weights)
            array, ids = array.take(pa.array(kept)), ids[kept]
        simple = pa.types.is_integer(array.type) or pa.types.is_temporal(array.type)
        if simple and len(array) > 64:
            return [_fixed_best(array, ids, groups, last)]
        return [take_or_null(array, best_positions(ranks(array, types[0]), ids, groups, last))]

    return partial


def _fixed_best(array: pa.Array, ids: Int64, groups: int, last: bool) -> pa.Array:
    data = values(array)
    info = np.iinfo(data.dtype)
    found = np.full(groups, info.min if last else info.max, data.dtype)
    (np.maximum if last else np.minimum).at(found, ids, data)
    return masked(found, array.type, np.bincount(ids, minlength=groups) > 0)


def _merge(last: bool) -> Callable[..., State]:
    def merge(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
        a, b = old[0], part[0]
        if not a.null_count and not b.null_count and _fixed(a.type):
            left, right = values(a), values(b)
            better = _beats(right, left) if last else _beats(left, right)
            return [from_numpy(np.where(better, right, left), a.type)] if better.any() else [a]
        take_new = values(a.is_null()) & values(b.is_valid())
        both = np.flatnonzero(values(a.is_valid()) & values(b.is_valid()))
        if len(both):
            indices = pa.array(both)
            signs = sign(a.take(indices), b.take(indices), types[0], types[0], None)  # pyright: ignore[reportArgumentType]
            take_new[both] = (signs < 0) if last else (signs > 0)
        if not take_new.any():
            return [a]
        return [_choose(take_new, b, a)]

    return merge


def _improve(last: bool) -> Callable[..., tuple[State, Int64]]:
    def improve(
        args: Sequence[pa.Array],
        weights: Int64,
        ids: Int64,
        groups: int,
        old: Sequence[pa.Array],
        types: Types,
    ) -> tuple[State, Int64]:
        array, weights, ids = present(args[0], weights, ids)
        extremes, has = np.empty(groups, np.int64), np.zeros(groups, np.uint8)
        known = len(old[0]) if old else 0
        if known:
            extremes[:known] = values(old[0])
            has[:known] = values(old[0].is_valid()) if old[0].null_count else 1
        lost = np.empty(groups, np.int64)
        data = values(array).astype(np.int64, copy=False)
        count = kernels_extremes.improve_extremes(data, weights, ids, known, last, has, extremes, lost)
        valid = None if has.all() else has.view(np.bool_)
        return [masked(extremes, array.type, valid)], lost[:count]

    return improve


def _renew(last: bool) -> Callable[..., Int64]:
    def renew(
        args: Sequence[pa.Array],
        weights: Int64,
        ids: Int64,
        positions: Int64,
        start: int,
        column: GrowingFixed,
    ) -> Int64:
        array, weights, ids = present(args[0], weights, ids)
        groups = len(positions)
        column.open(start, start + groups)
        has, lost = np.empty(groups, np.uint8), np.empty(groups, np.int64)
        valid = _NO_BYTES if column.valid is None else column.valid
        found = column.values
        count = kernels_group_extremes.write_extremes(
            fixed_values(array, found.dtype), weights, ids, positions, start, last, found, valid, has, lost
        )
        if not has.all():
            column.note_nulls(start, has.view(np.bool_))
        return lost[:count]

    return renew


def _whole_numbers(type_: Type) -> bool:
    """Whether SQL orders the values as integers."""
    if type_.name == "anyarray":
        return False
    return pa.types.is_integer(type_.arrow) or type_.arrow in _INSTANTS


def _fixed(type_: pa.DataType) -> bool:
    """Whether SQL orders the values as numpy does, but for NaN."""
    return pa.types.is_integer(type_) or pa.types.is_floating(type_) or type_ in _INSTANTS


def _beats(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where `a` is greater than `b`; NaN is the greatest."""
    if a.dtype.kind == "f":
        return (a > b) | (np.isnan(a) & ~np.isnan(b))
    return a > b


def _choose(mask: npt.NDArray[np.bool_], yes: pa.Array, no: pa.Array) -> pa.Array:
    joined = pa.concat_arrays([no, yes])
    return joined.take(pa.array(np.arange(len(no)) + mask * len(no)))


def _first(state: Sequence[pa.Array], types: Types) -> pa.Array:
    return state[0]


def _same(types: Types) -> Type:
    return types[0].bare()


EXTREME_TYPES = (
    t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.TEXT, t.BPCHAR, t.DATE, t.TIME, t.TIMESTAMP,
    t.TIMESTAMPTZ, t.INTERVAL, t.OID, t.BOOL, t.BYTEA, t.UUID, t.JSONB, Type("anyarray"),
)  # fmt: skip

for _type in EXTREME_TYPES:
    for _name, _last in (("min", False), ("max", True)):
        register(
            AggregateFunction(
                _name, (_type,), _same, "ordered", lambda types: (types[0].bare(),), _partial(_last),
                _merge(_last), _first, _whole(_last), monotone=True, result_at=0, total=True,
                improve=_improve(_last) if _whole_numbers(_type) else None,
                renew=_renew(_last) if _type.name != "anyarray" and _fixed(_type.arrow) else None,
                doc=f"The {'greatest' if _last else 'least'} of the values that are not NULL.",
            )
        )  # fmt: skip


# booleans


def _partial_bool(args: Sequence[pa.Array], weights: Int64, ids: Int64, groups: int, types: Types) -> State:
    array, weights, ids = present(args[0], weights, ids)
    truth = values(array)
    yes = exact_sums.counts(weights[truth], ids[truth], groups)
    no = exact_sums.counts(weights[~truth], ids[~truth], groups)
    return [pa.array(yes), pa.array(no)]


def _merge_bool(old: Sequence[pa.Array], part: Sequence[pa.Array], types: Types) -> State:
    return [add_counts(a, b) for a, b in zip(old, part, strict=True)]


def _finish_bool(every: bool) -> Callable[[Sequence[pa.Array], Types], pa.Array]:
    def finish(state: Sequence[pa.Array], types: Types) -> pa.Array:
        yes, no = (values(column) for column in state)
        return pa.array(no == 0 if every else yes > 0, pa.bool_(), mask=(yes + no) == 0)

    return finish


for _name, _every in (("bool_and", True), ("every", True), ("bool_or", False)):
    register(
        AggregateFunction(
            _name, (t.BOOL,), t.BOOL, "linear", lambda types: (t.INT8, t.INT8), _partial_bool, _merge_bool,
            _finish_bool(_every), total=True,
            doc="Whether all (or any) of the values that are not NULL are true.",
        )
    )  # fmt: skip


# bits


def _whole_bits(symbol: str) -> Callable[[Sequence[pa.Array], Int64, Int64, Types], pa.Array]:
    combine = {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}[symbol]

    def whole(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
        ids = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        array, weights, ids = present(args[0], weights, ids)
        data = values(array)
        if symbol == "bit_xor":
            data = np.where(weights & 1, data, 0).astype(data.dtype)
        groups = len(offsets) - 1
        found = np.zeros(groups, data.dtype)
        heads = np.flatnonzero(np.diff(ids, prepend=-1))
        if len(heads):
            found[ids[heads]] = combine.reduceat(data, heads)
        valid = np.zeros(groups, np.bool_)
        valid[ids] = True
        return masked(found, args[0].type, valid)

    return whole


for _name in ("bit_and", "bit_or", "bit_xor"):
    for _type in (t.INT2, t.INT4, t.INT8):
        register(
            AggregateFunction(
                _name, (_type,), _type, "ordered", whole=_whole_bits(_name), doc="Bitwise combination."
            )
        )
