"""`Column` and `Schema`: the ordered, typed columns of a relation.

Equality of two schemas is equality of their columns. Uniqueness is not part of a schema: it is a
property of the relation (`Node.key`, `TableSpec.key`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from .types import Type


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A hidden column (`_row_id` of a table without primary key) is left out of `*`."""

    name: str
    type: Type
    nullable: bool = True
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order. Names may repeat (a join of two relations): positions identify columns."""

    columns: tuple[Column, ...]

    @staticmethod
    def of(**columns: Type) -> Schema:
        """A schema of nullable columns, for tests and system relations."""
        return Schema(tuple(Column(name, type_) for name, type_ in columns.items()))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, position: int) -> Column:
        return self.columns[position]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(column.type for column in self.columns)

    def select(self, positions: Sequence[int]) -> Schema:
        return Schema(tuple(self.columns[position] for position in positions))

    def concat(self, other: Schema) -> Schema:
        return Schema(self.columns + other.columns)

    def as_nullable(self) -> Schema:
        """The same columns, any of them possibly NULL (the null-supplied side of an outer join)."""
        return Schema(tuple(Column(c.name, c.type, True, c.hidden) for c in self.columns))

    def position(self, name: str) -> int:
        """Position of the only column of that name.

        Raises KeyError when there is none or more than one.
        """
        found = [i for i, column in enumerate(self.columns) if column.name == name]
        if len(found) != 1:
            raise KeyError(name)
        return found[0]

    def empty(self) -> tuple[pa.Array, ...]:
        """Zero rows of these columns."""
        return tuple(pa.array([], type=column.type.arrow) for column in self.columns)
