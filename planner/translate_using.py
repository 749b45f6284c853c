"""JOIN … USING and NATURAL JOIN: equal names joined and shown once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..operators.expr import Coalesce, Expr
from ..operators.join import JoinKind
from ..sql.bind import ExpressionBinder
from ..sql.bind_operators import call_operator
from ..sql.coerce import common_type
from ..sql.environment import Ast
from ..sql.scope import ScopeColumn, ScopeItem
from ..storage.errors import AmbiguousColumn, UndefinedColumn
from ..storage.types import Type
from .building import conjunction


def join_using(
    binder: ExpressionBinder,
    join: Ast,
    left: tuple[ScopeItem, ...],
    right: tuple[ScopeItem, ...],
    kind: JoinKind,
    natural: bool,
) -> tuple[Expr | None, tuple[ScopeItem, ...]]:
    """(condition, items) of the join. The merged columns come first, then the left's, then the right's.

    A merged column is the left one; for RIGHT the right one; for FULL whichever is not NULL.
    Raises 42703 or 42702 for a name that a side lacks or has twice.
    """
    left_columns, right_columns = _shown(left), _shown(right)
    if natural:
        names = [c.name for c in left_columns if any(c.name == d.name for d in right_columns)]
    else:
        names = [identifier.name for identifier in join.args["using"]]
    tests: list[Expr] = []
    merged: list[ScopeColumn] = []
    for name in names:
        a, b = _only(left_columns, name, "left"), _only(right_columns, name, "right")
        tests.append(call_operator(binder, "=", a.expr, b.expr))
        merged.append(_merged(binder, a, b, kind))
    rest = [c for c in (*left_columns, *right_columns) if c.name not in names]
    joined = ScopeItem("", (*merged, *rest), is_join=True)
    inside = tuple(replace(item, merged=True) for item in (*left, *right))
    named = _join_alias(join, merged)
    return conjunction(tests), (*inside, joined, *named)


def _shown(items: tuple[ScopeItem, ...]) -> list[ScopeColumn]:
    return [column for item in items if not item.merged for column in item.columns if not column.hidden]


def _only(columns: Sequence[ScopeColumn], name: str, side: str) -> ScopeColumn:
    found = [column for column in columns if column.name == name]
    if not found:
        raise UndefinedColumn(f'column "{name}" specified in USING clause does not exist in {side} table')
    if len(found) > 1:
        raise AmbiguousColumn(f'common column name "{name}" appears more than once in {side} table')
    return found[0]


def _merged(binder: ExpressionBinder, a: ScopeColumn, b: ScopeColumn, kind: JoinKind) -> ScopeColumn:
    type_: Type = common_type([a.expr.type, b.expr.type], "JOIN/USING")
    left, right = binder.coerce(a.expr, type_), binder.coerce(b.expr, type_)
    if kind is JoinKind.FULL:
        return ScopeColumn(a.name, Coalesce((left, right), type_))
    if kind is JoinKind.RIGHT:
        return ScopeColumn(a.name, right, False, b.origin if right is b.expr else (0, 0))
    if left is not a.expr and right is b.expr and kind is JoinKind.INNER:
        return ScopeColumn(a.name, right, False, b.origin)
    return ScopeColumn(a.name, left, False, a.origin if left is a.expr else (0, 0))


def _join_alias(join: Ast, merged: list[ScopeColumn]) -> tuple[ScopeItem, ...]:
    """`USING (…) AS x`: x has the merged columns only."""
    alias = join.args.get("alias")
    return (ScopeItem(alias.name, tuple(merged), merged=True, is_join=True),) if alias is not None else ()
