"""sum and avg of intervals, linear and exact: three 128-bit sums, one a field, beside the count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from ...storage import intervals
from ...storage import types as t
from . import exact_sums
from .accumulators import WIDE, add_counts, add_wide, present
from .aggregates import AggregateFunction, Int64, State, Types, register
from .ordering import interval_fields
from .vector import values


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
            _name, (t.INTERVAL,), t.INTERVAL, "linear", lambda types: (t.INT8, WIDE, WIDE, WIDE),
            _partial_intervals, _merge_intervals, _finish_intervals(_name == "avg"),
            doc="Sum or average of intervals, field by field.",
        )
    )  # fmt: skip
