"""`Apply` becomes `Join`: the right side is evaluated once for each *distinct* outer value it reads.

Neumann & Kemper, "Unnesting Arbitrary Queries" (BTW 2015): let D be the distinct values of the left
columns that the right side reads. The dependent join of `left` with `right` equals `left` joined, on those
columns (NULL equal to NULL), with the dependent join of D with `right`; and D sinks through every
operator of `right` until nothing reads an outer column any more (`dependent.py`). So a correlated
query of any shape becomes joins and aggregates that can be kept up to date.
"""

from __future__ import annotations

from ...operators.expr import ColumnRef, Expr, IsDistinct
from ...operators.join import Join, JoinKind
from ...operators.node import Node, rewrite
from ...operators.project import Project
from ...sql.catalog import Catalog
from ..apply import Apply
from ..conditions import all_of, conjuncts
from ..dependent import Domain, dependent, positions_read
from ..rewriting import move_outer, reads_level


def decorrelate(node: Node, catalog: Catalog) -> Node:
    """`node` without `Apply`; inner ones go first, so an outer one meets none in its right side."""
    return rewrite(node, lambda n: _remove(n) if isinstance(n, Apply) else n)


def _remove(apply: Apply) -> Node:
    left, right = apply.left, apply.right
    if not reads_level(right):
        return Join(left, move_outer(right, -1), apply.kind, condition=apply.condition)
    read = positions_read(right)
    domain = Domain.of(left, read)
    inner = dependent(right, domain)
    width = len(left.schema)
    right_width = len(right.schema)
    parts = conjuncts(apply.condition) if apply.condition is not None else []
    if apply.condition is None:
        keys = tuple(ColumnRef(i, left.schema[i].type) for i in read)
        others = tuple(ColumnRef(right_width + n, left.schema[i].type) for n, i in enumerate(read))
        joined: Node = Join(left, inner, apply.kind, keys, others, null_equal=True)
    else:
        same: list[Expr] = [
            IsDistinct(
                ColumnRef(i, left.schema[i].type),
                ColumnRef(width + right_width + n, left.schema[i].type),
                True,
            )
            for n, i in enumerate(read)
        ]
        joined = Join(left, inner, apply.kind, condition=all_of(same + parts))
    if apply.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return joined
    return _first_columns(joined, width + right_width)


def _first_columns(node: Node, count: int) -> Node:
    schema = node.schema.select(range(count))
    exprs = tuple(ColumnRef(i, column.type) for i, column in enumerate(schema))
    hidden = tuple(column.hidden for column in schema)
    return Project(node, exprs, schema.names, hidden if any(hidden) else ())
