"""`OneRow`: a row of a table, of which only what is asked for is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import pyarrow as pa

from .columns import ColumnView


class OneRow(Sequence[pa.Array]):
    """Arrays of length 1, made when asked for, or the values as they lie in memory."""

    __slots__ = ("_columns", "_position")

    def __init__(self, columns: list[ColumnView], position: int) -> None:
        self._columns = columns
        self._position = position

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, index: int) -> pa.Array: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[pa.Array]: ...
    def __getitem__(self, index: int | slice) -> pa.Array | Sequence[pa.Array]:
        if isinstance(index, slice):
            return OneRow(self._columns[index], self._position)
        return self._columns[index].array(self._position, self._position + 1)

    def plain(self, index: int) -> Any:
        """`ColumnView.plain` of a column."""
        return self._columns[index].plain(self._position)
