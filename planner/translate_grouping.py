"""GROUP BY: its expressions, and the grouping sets of ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sqlglot import exp

from ..operators.expr import Expr
from ..sql.bind import ExpressionBinder
from ..sql.bind_columns import RowExpr, find_column
from ..sql.dialect import position_of
from ..sql.environment import GROUP_BY, Ast
from ..sql.intermediate import AggregateExpr, WindowExpr
from ..storage.errors import GroupingError, ProgramLimitExceeded, WindowingError
from .translate_order import Target, named_target, ordinal

SETS_MAX = 4096


@dataclass(frozen=True, slots=True)
class Grouping:
    """The distinct grouping expressions, and the sets of them (as positions) to group by.

    `present` False: the query has no GROUP BY.
    """

    exprs: tuple[Expr, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ((),)
    present: bool = False


def bind_grouping(ast: Ast, binder: ExpressionBinder, targets: list[Target]) -> Grouping:
    """GROUP BY of the SELECT `ast`, which may name output columns and their positions."""
    group = ast.args.get("group")
    if group is None:
        return Grouping()
    found: list[Expr] = []
    scoped = replace(binder, clause=GROUP_BY)
    sets: list[tuple[int, ...]] = [()]
    for item in group.expressions:
        alternatives = _sets(item, scoped, targets, found)
        sets = [known + more for known in sets for more in alternatives]
        if len(sets) > SETS_MAX:
            raise ProgramLimitExceeded(f"too many grouping sets present (maximum {SETS_MAX})")
    unique = [tuple(dict.fromkeys(positions)) for positions in sets]
    if group.args.get("distinct"):
        unique = list({frozenset(positions): positions for positions in unique}.values())
    return Grouping(tuple(found), tuple(unique), True)


def _sets(
    item: Ast, binder: ExpressionBinder, targets: list[Target], found: list[Expr]
) -> list[tuple[int, ...]]:
    """The alternatives that one GROUP BY item stands for."""
    if isinstance(item, exp.Rollup):
        parts = [_single(part, binder, targets, found) for part in item.expressions]
        return [_joined(parts[:count]) for count in range(len(parts), -1, -1)]
    if isinstance(item, exp.Cube):
        parts = [_single(part, binder, targets, found) for part in item.expressions]
        sizes = range(len(parts), -1, -1)
        return [_joined(chosen) for size in sizes for chosen in combinations(parts, size)]
    if isinstance(item, exp.GroupingSets):
        return [
            alternative for part in item.expressions for alternative in _sets(part, binder, targets, found)
        ]
    return [_single(item, binder, targets, found)]


def _joined(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(position for part in parts for position in part)


def _single(item: Ast, binder: ExpressionBinder, targets: list[Target], found: list[Expr]) -> tuple[int, ...]:
    """Positions in `found` of one expression, or of the several of `(a, b)`."""
    if isinstance(item, exp.Tuple):
        return _joined([_single(part, binder, targets, found) for part in item.expressions])
    expr = _expression(item, binder, targets)
    exprs = expr.args if isinstance(expr, RowExpr) else (expr,)
    for each in exprs:
        if each not in found:
            found.append(each)
    return tuple(found.index(each) for each in exprs)


def _expression(item: Ast, binder: ExpressionBinder, targets: list[Target]) -> Expr:
    """A bare name is an input column's first, then an output column's; an integer is a position."""
    index = None
    if _is_name(item) and find_column(binder, item) is None:
        index = named_target(item, targets, "GROUP BY")
    elif not _is_name(item):
        index = ordinal(item, targets, "GROUP BY")
    if index is None:
        return binder.settle(binder.bind(item))
    expr = targets[index].expr
    _check_groupable(expr, targets[index].position or position_of(item))
    return binder.settle(expr)


def _is_name(item: Ast) -> bool:
    return isinstance(item, exp.Column) and item.args.get("table") is None


def _check_groupable(expr: Expr, position: int) -> None:
    """An output column used as a group must not itself need groups."""
    if isinstance(expr, AggregateExpr) or any(isinstance(part, AggregateExpr) for part in expr.children):
        raise GroupingError("aggregate functions are not allowed in GROUP BY", position=position)
    if isinstance(expr, WindowExpr):
        raise WindowingError("window functions are not allowed in GROUP BY", position=position)
