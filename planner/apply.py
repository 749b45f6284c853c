"""`Apply`: a FROM item that reads columns of the items before it (LATERAL), before decorrelation.

It exists only between translation and `rules/decorrelate.py`, which turns it into joins.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..operators.expr import Expr
from ..operators.node import Node
from ..storage.schema import Schema


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """For every row of `left`, the rows of `right` evaluated for it.

    In `right`, `OuterColumn(1, i)` is column i of the `left` row. `condition` is over left ++ right columns
    and may be None. With `outer` a left row without any match appears once, NULL-extended (LEFT JOIN
    LATERAL); else it is dropped. Output: left ++ right columns.
    """

    left: Node
    right: Node
    outer: bool = False
    condition: Expr | None = None

    @property
    def schema(self) -> Schema:
        right = self.right.schema.as_nullable() if self.outer else self.right.schema
        return self.left.schema.concat(right)
