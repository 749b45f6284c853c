"""Columns of timestamps between UTC and the local time of a zone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import datetimes as dt
from .textform_rows import fixed_values, from_values
from .zones import zone


def to_instants(local: pa.Array, timezone: str) -> pa.Array:
    """timestamp → timestamptz: local times of a zone as instants."""
    numbers = fixed_values(local, np.int64)
    offsets = zone(timezone).local_offsets(numbers // 1_000_000)
    return from_values(_shifted(numbers, -offsets), pa.timestamp("us", "UTC"), local)


def to_local(instants: pa.Array, timezone: str) -> pa.Array:
    """timestamptz → timestamp: the local time in a zone."""
    numbers = fixed_values(instants, np.int64)
    offsets = zone(timezone).offsets_at(numbers // 1_000_000)
    return from_values(_shifted(numbers, offsets), pa.timestamp("us"), instants)


def _shifted(numbers: npt.NDArray[np.int64], seconds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    infinite = (numbers == dt.INFINITY) | (numbers == dt.MINUS_INFINITY)
    return np.where(infinite, numbers, numbers + seconds * 1_000_000)
