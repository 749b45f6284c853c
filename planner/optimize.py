"""The rules a plan goes through, in order. Each takes a sound plan to a sound, equal one.

The order is information: subqueries become joins first, then conditions sink (which turns cross products
into joins), then joins are ordered and get their keys. `verify` runs after every rule.
"""

from __future__ import annotations

from collections.abc import Callable

from ..operators.node import Node
from ..sql.catalog import Catalog
from .explain import explain
from .rules.decorrelate import decorrelate
from .rules.factor_disjunctions import factor_disjunctions
from .rules.fold_constants import fold_constants
from .rules.join_keys import join_keys
from .rules.join_order import join_order
from .rules.key_lookup import key_lookup
from .rules.merge_projects import merge_projects
from .rules.prune_columns import prune_columns
from .rules.push_filters import push_filters
from .rules.unnest_subqueries import unnest_subqueries
from .verify import expressions_of, verify

Rule = Callable[[Node, Catalog], Node]

RULES: tuple[Rule, ...] = (
    fold_constants,
    factor_disjunctions,
    unnest_subqueries,
    decorrelate,
    push_filters,
    join_order,
    push_filters,
    join_keys,
    merge_projects,
    prune_columns,
    merge_projects,
)
ONE_OFF_RULES: tuple[Rule, ...] = (key_lookup,)
"""Only for statements that run once: they read less than whole relations."""


def optimize(node: Node, catalog: Catalog, for_view: bool = False) -> Node:
    """The plan to run."""
    if not node.inputs and not any(True for _ in expressions_of(node)):
        return node
    verify(node, "translation")
    decorrelated = False
    for rule in RULES if for_view else RULES + ONE_OFF_RULES:
        changed = rule(node, catalog)
        decorrelated = decorrelated or rule is decorrelate
        if changed is not node:
            verify(changed, rule.__name__, decorrelated)
        node = changed
    return node


def traced(node: Node, catalog: Catalog, for_view: bool = False) -> list[list[str]]:
    """The plan as translated and after each rule that changed it, as lines for EXPLAIN."""
    steps = [["-- translation", *explain(node, catalog)]]
    for rule in RULES if for_view else RULES + ONE_OFF_RULES:
        changed = rule(node, catalog)
        if changed != node:
            steps.append([f"-- {rule.__name__}", *explain(changed, catalog)])
        node = changed
    return steps
