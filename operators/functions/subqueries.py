"""The value of a scalar subquery, which must not have come from several rows.

Its name holds a blank, so that no statement can call it: only the planner does
(`planner/rules/unnest_subqueries.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ...storage import types as t
from ...storage.errors import CardinalityViolation
from ..node import EpochContext
from .registry import scalar
from .vector import null_safe

SINGLE_VALUE = "single value"


@scalar(SINGLE_VALUE, (t.Type("anyelement"), t.INT8), lambda args: args[0], strict=False)
@null_safe
def _single_value(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The first argument; an error where the second, the number of rows it came from, is above 1."""
    value, count = args
    several = np.flatnonzero(count.fill_null(0).to_numpy(zero_copy_only=False) > 1)
    if len(several):
        raise CardinalityViolation(
            "more than one row returned by a subquery used as an expression", rows=several.astype(np.int64)
        )
    return value
