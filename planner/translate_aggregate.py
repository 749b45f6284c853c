"""Grouping: the Aggregate node, and expressions over the input made into ones over its groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..operators.aggregate import Aggregate, AggregateCall
from ..operators.expr import ColumnRef, Expr, Literal, OuterColumn
from ..operators.node import Node
from ..operators.sorting import SortKey
from ..operators.union import Union
from ..sql.environment import Environment
from ..sql.intermediate import AggregateExpr, GroupingCall
from ..sql.scope import Scope, ScopeItem, outward
from ..storage.errors import GroupingError
from ..storage.types import INT4
from .building import extended, projected
from .rewriting import finish, replace_expr
from .translate_grouping import Grouping


def is_aggregated(grouping: Grouping, exprs: Sequence[Expr], having: bool) -> bool:
    """Whether the query level groups its rows."""
    if grouping.present or having:
        return True
    found = False

    def look(expr: Expr, level: int) -> Expr | None:
        nonlocal found
        found = found or isinstance(expr, (AggregateExpr, GroupingCall))
        return None

    for expr in exprs:
        replace_expr(expr, look)
    return found


def aggregated(
    node: Node, grouping: Grouping, exprs: tuple[Expr, ...], scope: Scope, environment: Environment
) -> tuple[Node, tuple[Expr, ...]]:
    """The grouped node and `exprs` over its row: groups, then aggregates, then GROUPING values.

    Raises 42803 for a column that is neither grouped nor in an aggregate.
    """
    collector = _Collector(grouping, scope, environment)
    for expr in exprs:
        replace_expr(expr, collector.collect)
    groups = (*grouping.exprs, *collector.dependent)
    calls = list(collector.aggregates)
    markers = list(collector.markers)
    extra = len(groups) - len(grouping.exprs)
    dependent = tuple(range(len(grouping.exprs), len(groups)))
    sets = [(*positions, *dependent) if extra else positions for positions in grouping.sets]
    if len(sets) == 1 and not markers and len(sets[0]) == len(groups):
        grouped = _aggregate(node, groups, calls, tuple(range(len(groups))))
    else:
        grouped = _grouping_sets(node, groups, calls, markers, sets)
    rewriter = _Rewriter(groups, calls, markers)
    return grouped, tuple(replace_expr(expr, rewriter.change) for expr in exprs)


@dataclass(slots=True)
class _Levels:
    """`exprs` by how they look from inside n subqueries."""

    exprs: tuple[Expr, ...]
    known: dict[int, dict[Expr, int]] = field(default_factory=dict)

    def position(self, expr: Expr, level: int) -> int | None:
        if level not in self.known:
            self.known[level] = {outward(e, level): i for i, e in reversed(list(enumerate(self.exprs)))}
        return self.known[level].get(expr)


class _Collector:
    """What the expressions over the groups need: aggregates, GROUPING calls, dependent columns."""

    def __init__(self, grouping: Grouping, scope: Scope, environment: Environment) -> None:
        self.groups = _Levels(grouping.exprs)
        self.aggregates: dict[AggregateExpr, None] = {}
        self.markers: dict[GroupingCall, None] = {}
        self.dependent: dict[Expr, None] = {}
        self.scope = scope
        self.environment = environment
        self.functional = len(grouping.sets) == 1

    def collect(self, expr: Expr, level: int) -> Expr | None:
        if self.groups.position(expr, level) is not None:
            return expr
        if isinstance(expr, AggregateExpr):
            self.aggregates[expr] = None
            return expr
        if isinstance(expr, GroupingCall):
            self._check_marker(expr)
            self.markers[expr] = None
            return expr
        if level == 0 and isinstance(expr, ColumnRef):
            self._ungrouped(expr, expr, False)
        if level and isinstance(expr, OuterColumn) and expr.depth == level:
            self._ungrouped(ColumnRef(expr.index, expr.type), expr, True)
        return None

    def _check_marker(self, call: GroupingCall) -> None:
        if any(self.groups.position(arg, 0) is None for arg in call.args):
            raise GroupingError(
                "arguments to GROUPING must be grouping expressions of the associated query level",
                position=self.environment.place(call.args[0]),
            )

    def _ungrouped(self, column: ColumnRef, use: Expr, in_subquery: bool) -> None:
        """Fine if the column depends on a primary key that is grouped; then it is one more group."""
        item, name = _owner(self.scope, column)
        if item is not None and self.functional and self._key_is_grouped(item):
            self.dependent[column] = None
            return
        position = self.environment.place(use)
        shown = f"{item.alias}.{name}" if item is not None and item.alias else name
        if in_subquery:
            words = f'subquery uses ungrouped column "{shown}" from outer query'
        else:
            words = f'column "{shown}" must appear in the GROUP BY clause or be used in an aggregate function'
        raise GroupingError(words, position=position)

    def _key_is_grouped(self, item: ScopeItem) -> bool:
        if not item.key:
            return False
        return all(self.groups.position(item.columns[i].expr, 0) is not None for i in item.key)


def _owner(scope: Scope, column: ColumnRef) -> tuple[ScopeItem | None, str]:
    """The FROM item a column belongs to, and its name there."""
    for item in scope.items:
        if item.is_join:
            continue
        for candidate in item.columns:
            if candidate.expr == column:
                return item, candidate.name
    return None, "?column?"


@dataclass(slots=True)
class _Rewriter:
    """Expressions over the input row into expressions over the grouped row."""

    groups: tuple[Expr, ...]
    aggregates: list[AggregateExpr]
    markers: list[GroupingCall]
    levels: _Levels = field(init=False)

    def __post_init__(self) -> None:
        self.levels = _Levels(self.groups)

    def change(self, expr: Expr, level: int) -> Expr | None:
        position = self.levels.position(expr, level)
        if position is not None:
            type_ = self.groups[position].type
            return OuterColumn(level, position, type_) if level else ColumnRef(position, type_)
        if isinstance(expr, AggregateExpr):
            return ColumnRef(len(self.groups) + self.aggregates.index(expr), expr.type)
        if isinstance(expr, GroupingCall):
            place = len(self.groups) + len(self.aggregates) + self.markers.index(expr)
            return ColumnRef(place, expr.type)
        return None


def _aggregate(
    node: Node, groups: tuple[Expr, ...], calls: Sequence[AggregateExpr], positions: tuple[int, ...]
) -> Node:
    """Groups `node` by those of `groups` at `positions`. ORDER BY of an aggregate goes by input columns."""
    order = tuple(
        dict.fromkeys(expr for call in calls for expr in call.order if not isinstance(expr, ColumnRef))
    )
    width = len(node.schema)
    node = extended(node, order)
    total = len(node.schema)

    def place(expr: Expr) -> int:
        return expr.index if isinstance(expr, ColumnRef) else width + order.index(expr)

    def call(expr: AggregateExpr) -> AggregateCall:
        keys = tuple(
            SortKey(place(e), descending, nulls_first)
            for e, (descending, nulls_first) in zip(expr.order, expr.directions, strict=True)
        )
        condition = None if expr.filter is None else finish(expr.filter, total)
        args = tuple(finish(arg, total) for arg in expr.args)
        return AggregateCall(
            expr.function, args, expr.type, expr.function.name, expr.distinct, condition, keys
        )

    chosen = tuple(finish(groups[i], total) for i in positions)
    names = tuple(_group_name(node, expr) for expr in chosen)
    return Aggregate(node, chosen, tuple(call(expr) for expr in calls), names)


def _group_name(node: Node, expr: Expr) -> str:
    return node.schema[expr.index].name if isinstance(expr, ColumnRef) else "?column?"


def _grouping_sets(
    node: Node,
    groups: tuple[Expr, ...],
    calls: Sequence[AggregateExpr],
    markers: Sequence[GroupingCall],
    sets: Sequence[tuple[int, ...]],
) -> Node:
    """The union of one aggregation per grouping set, a group that a set leaves out being NULL."""
    branches: list[Node] = []
    for positions in sets:
        branch = _aggregate(node, groups, calls, positions)
        exprs: list[Expr] = [
            ColumnRef(positions.index(i), group.type) if i in positions else Literal(None, group.type)
            for i, group in enumerate(groups)
        ]
        exprs += [ColumnRef(len(positions) + i, call.type) for i, call in enumerate(calls)]
        exprs += [Literal(_marker(call, groups, positions), INT4) for call in markers]
        names = [
            *(_group_name(node, g) for g in groups),
            *(c.function.name for c in calls),
            *("grouping" for _ in markers),
        ]
        branches.append(projected(branch, exprs, names))
    return branches[0] if len(branches) == 1 else Union(tuple(branches))


def _marker(call: GroupingCall, groups: tuple[Expr, ...], positions: tuple[int, ...]) -> int:
    """GROUPING's bits, the last argument's lowest."""
    value = 0
    for arg in call.args:
        value = value * 2 + (groups.index(arg) not in positions)
    return value
