"""From texts to typed columns, bad rows set aside: what every decoder of records shares (I9).

Columns are converted whole; only the rows that fail are looked at one by one, for their own message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...runtime.source import SourceError
from ...storage.errors import NotNullViolation, SqlError
from ...storage.schema import Column
from ...storage.textform import parse_text

RAW_MAX = 10_000
"""Characters of a bad record that are kept."""


@dataclass(slots=True)
class Rows:
    """Some records of one piece of input on their way to columns. `bad`: what is wrong, by row number."""

    count: int
    bad: dict[int, SqlError] = field(default_factory=dict)

    def parse(self, column: Column, texts: pa.Array) -> pa.Array:
        """Values of the column from their texts; rows that fail become NULL and are noted."""
        return self.convert(column, texts, lambda values: parse_text(column.type, values))

    def convert(
        self, column: Column, values: pa.Array, conversion: Callable[[pa.Array], pa.Array]
    ) -> pa.Array:
        """`conversion` of the values; those of rows that fail become NULL and the rows are noted."""
        try:
            result = conversion(values)
        except SqlError as error:
            failing = np.arange(len(values)) if error.rows is None else error.rows
            for row in failing.tolist():
                self._note(row, values, conversion)
            result = conversion(without(values, failing))
        if not column.nullable and result.null_count:
            for row in np.flatnonzero(result.is_null().to_numpy(zero_copy_only=False)).tolist():
                message = f'null value in column "{column.name}" violates not-null constraint'
                self.bad.setdefault(row, NotNullViolation(message))
        return result

    def _note(self, row: int, values: pa.Array, conversion: Callable[[pa.Array], pa.Array]) -> None:
        try:
            _ = conversion(values.slice(row, 1))
        except SqlError as error:
            self.bad.setdefault(row, error)

    def kept(self, columns: list[pa.Array]) -> list[pa.Array]:
        """The columns without the bad rows."""
        if not self.bad:
            return columns
        mask = np.ones(self.count, np.bool_)
        mask[list(self.bad)] = False
        positions = pa.array(np.flatnonzero(mask))
        return [column.take(positions) for column in columns]


def source_error(error: SqlError, position: str, raw: str) -> SourceError:
    return SourceError(error.code, error.message, position, raw[:RAW_MAX].replace("\0", "\ufffd"))


def without(values: pa.Array, rows: npt.NDArray[np.int64]) -> pa.Array:
    """The values with NULL at `rows`."""
    mask = np.ones(len(values), np.bool_)
    mask[rows] = False
    positions = np.where(mask, np.arange(len(values)), 0)
    return values.take(pa.array(positions, mask=~mask))
