"""`(a, b) OVERLAPS (c, d)`: whether two spans of time meet, by the rules of SQL-92 section 8.11.

The ends of a span may be given in either order, and the second as an interval. A span with one end NULL
may still be known to overlap; a span that is a moment counts as that moment, others as half open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pyarrow as pa

from ...storage import types as t
from ..node import EpochContext
from . import temporal
from .casts import cast_array
from .registry import SCALARS, Kernel, scalar
from .vector import null_safe

_ = temporal
"""Imported for the `+` it registers."""


def spans_overlap(start1: Any, end1: Any, start2: Any, end2: Any) -> bool | None:
    """The rule for one row; moments are comparable values or None."""
    if start1 is None or (end1 is not None and start1 > end1):
        start1, end1 = end1, start1
    if start2 is None or (end2 is not None and start2 > end2):
        start2, end2 = end2, start2
    if start1 is None or start2 is None:
        return None
    if start1 == start2:
        return None if end1 is None or end2 is None else True
    early_end, late_start = (end2, start1) if start1 > start2 else (end1, start2)
    late_end = end1 if start1 > start2 else end2
    if early_end is None:
        return None
    if late_start < early_end:
        return True
    return None if late_end is None else False


def _overlaps(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Whether two spans of time overlap."""
    rows = zip(*(_comparable(arg) for arg in args), strict=True)
    return pa.array([spans_overlap(*row) for row in rows], pa.bool_())


def _comparable(array: pa.Array) -> list[Any]:
    return array.cast(pa.int64()).to_pylist() if not pa.types.is_date(array.type) else array.to_pylist()


def _with_intervals(moment: t.Type, first: bool, second: bool) -> Kernel:
    """A kernel whose spans end an interval after their start where told."""
    plus = next(f for f in SCALARS["+"] if [a.name for a in f.args] == [moment.name, "interval"])

    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Whether two spans of time overlap."""
        a, b, c, d = args
        end1 = _moment(plus.kernel([a, b], length, context), moment, context) if first else b
        end2 = _moment(plus.kernel([c, d], length, context), moment, context) if second else d
        return _overlaps([a, end1, c, end2], length, context)

    return kernel


def _moment(array: pa.Array, moment: t.Type, context: EpochContext) -> pa.Array:
    return array if array.type == moment.arrow else cast_array(array, t.TIMESTAMP, moment, context)


for _type in (t.TIMESTAMP, t.TIMESTAMPTZ, t.TIME):
    for _first, _second in product((False, True), repeat=2):
        _args = (_type, t.INTERVAL if _first else _type, _type, t.INTERVAL if _second else _type)
        _volatility = "stable" if _type == t.TIMESTAMPTZ and (_first or _second) else "immutable"
        scalar("overlaps", _args, t.BOOL, strict=False, volatility=_volatility)(
            null_safe(_with_intervals(_type, _first, _second) if _first or _second else _overlaps)
        )
