"""Equalities between the two sides of a join become its keys: the operators find rows by them.

`a = b` and `a IS NOT DISTINCT FROM b`, with `a` over the left row and `b` over the right one, are what keys
say; a join has either the first kind of key or the second, so the second is taken only where there is
none of the first. Integers of different widths and strings of different types are compared without a cast,
but as keys both sides must be of one type.
"""

from __future__ import annotations

from dataclasses import replace

from ...operators.expr import ColumnRef, Expr, IsDistinct, columns_of, rewrite_expr
from ...operators.join import Join
from ...operators.node import Node, rewrite
from ...sql.catalog import Catalog
from ..conditions import as_equal, condition_of, conjuncts, equality


def join_keys(node: Node, catalog: Catalog) -> Node:
    return rewrite(node, lambda n: _with_keys(n) if isinstance(n, Join) and n.condition is not None else n)


def _with_keys(join: Join) -> Join:
    assert join.condition is not None
    parts = conjuncts(join.condition)
    width = len(join.left.schema)
    equal = [(part, _sides(equality(part), width)) for part in parts]
    same = [(part, _sides(_not_distinct(part), width)) for part in parts]
    null_equal = join.null_equal
    if not join.left_keys and not any(sides for _, sides in equal):
        null_equal = True
    found = [(part, sides) for part, sides in (same if null_equal else equal) if sides is not None]
    if not found:
        return join
    left = tuple(sides[0] for _, sides in found)
    right = tuple(sides[1] for _, sides in found)
    taken = {id(part) for part, _ in found}
    rest = [part for part in parts if id(part) not in taken]
    return replace(
        join,
        left_keys=join.left_keys + left,
        right_keys=join.right_keys + right,
        condition=condition_of(rest),
        null_equal=null_equal,
    )


def _not_distinct(part: Expr) -> tuple[Expr, Expr] | None:
    return (part.left, part.right) if isinstance(part, IsDistinct) and part.negated else None


def _alike(left: Expr, right: Expr) -> tuple[Expr, Expr] | None:
    """Both sides of an equality in one type, the wider of two integers."""
    if left.type.same(right.type):
        return left, right
    widened = as_equal(left, right.type)
    if widened is not None:
        return widened, right
    widened = as_equal(right, left.type)
    return None if widened is None else (left, widened)


def _sides(pair: tuple[Expr, Expr] | None, width: int) -> tuple[Expr, Expr] | None:
    """(over the left row, over the right row), or None when the two do not part so."""
    pair = pair and _alike(*pair)
    if pair is None:
        return None
    for a, b in (pair, pair[::-1]):
        left, right = columns_of(a), columns_of(b)
        if left and right and max(left) < width <= min(right):
            moved = rewrite_expr(
                b, lambda e: ColumnRef(e.index - width, e.type) if isinstance(e, ColumnRef) else e
            )
            return a, moved
    return None
