"""What all branches of an OR have in common stands beside it: (a AND b) OR (a AND c) = a AND (b OR c).

Distributivity holds in three-valued logic too. It matters because `a` may be the equality that makes a join
of what otherwise compares every pair of rows (TPC-H query 19).
"""

from __future__ import annotations

from ...operators.expr import Expr, Or
from ...operators.node import Node
from ...sql.catalog import Catalog
from ..conditions import all_of, conjuncts
from ..rewriting import replace_node


def factor_disjunctions(node: Node, catalog: Catalog) -> Node:
    return replace_node(node, _factored)


def _factored(expr: Expr, level: int) -> Expr | None:
    if not isinstance(expr, Or):
        return None
    branches = [conjuncts(arg) for arg in _disjuncts(expr)]
    common = [part for part in branches[0] if all(part in branch for branch in branches[1:])]
    if not common:
        return None
    rest = [[part for part in branch if part not in common] for branch in branches]
    if any(not branch for branch in rest):
        return all_of(common)
    return all_of([*common, Or(tuple(all_of(branch) for branch in rest))])


def _disjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Or):
        return [part for arg in expr.args for part in _disjuncts(arg)]
    return [expr]
