"""`Apply`: a FROM item that reads columns of the items before it (LATERAL), before decorrelation.

It exists only between translation and `rules/decorrelate.py`, which turns it into joins.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..operators.expr import Expr
from ..operators.join import JoinKind
from ..operators.node import Node
from ..storage.schema import Schema


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """For every row of `left`, the rows of `right` evaluated for it.

    In `right`, `OuterColumn(1, i)` is column i of the `left` row (so `right` counts as one level in).
    `condition` is over left ++ right columns and may be None. `kind` is INNER, or LEFT: a left row without
    any match appears once, NULL-extended; output: left ++ right columns. SEMI and ANTI, which unnesting
    makes of EXISTS and IN, keep the left rows with and without a match; output: left columns.
    """

    left: Node
    right: Node
    kind: JoinKind
    condition: Expr | None = None

    @property
    def schema(self) -> Schema:
        if self.kind.left_only:
            return self.left.schema
        right = self.right.schema
        return self.left.schema.concat(right.as_nullable() if self.kind is JoinKind.LEFT else right)
