"""Expressions that live only between binding and translation of one query level.

The binder leaves an `AggregateExpr`, a `WindowExpr` or a `SetReturning` where such a call stands in a
select list; translation collects them, makes the nodes that compute them and puts a column in their place.
`SubqueryColumn` is the subquery's side of an ANY/ALL test until the width of the outer row is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..operators.expr import Expr
from ..operators.functions.aggregates import AggregateFunction
from ..operators.functions.registry import TableFunction
from ..operators.window import Frame
from ..operators.window_functions import WindowFunction
from ..storage.types import INT4, Type

Direction = tuple[bool, bool]
"""(descending, nulls first) of one ORDER BY item."""


@dataclass(frozen=True)
class AggregateExpr(Expr):
    """An aggregate call over the rows of a group; `order` and `directions` are parallel."""

    function: AggregateFunction
    args: tuple[Expr, ...]
    type: Type
    distinct: bool = False
    filter: Expr | None = None
    order: tuple[Expr, ...] = ()
    directions: tuple[Direction, ...] = ()


@dataclass(frozen=True)
class WindowExpr(Expr):
    """A call with OVER; `order` and `directions` are parallel."""

    function: WindowFunction | AggregateFunction
    args: tuple[Expr, ...]
    type: Type
    partition: tuple[Expr, ...]
    order: tuple[Expr, ...]
    directions: tuple[Direction, ...]
    frame: Frame
    filter: Expr | None = None


@dataclass(frozen=True)
class SetReturning(Expr):
    """Result column `column` of a set-returning function called in a select list."""

    function: TableFunction
    args: tuple[Expr, ...]
    type: Type
    column: int = 0


@dataclass(frozen=True)
class GroupingCall(Expr):
    """GROUPING(args): a bit per argument, 1 where the row's grouping set leaves it out."""

    args: tuple[Expr, ...]
    type: Type = INT4


@dataclass(frozen=True)
class SubqueryColumn(Expr):
    """Column `index` of the subquery, within the `test` of its `Subquery`."""

    index: int
    type: Type
