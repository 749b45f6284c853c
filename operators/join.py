"""`Join`: inner, outer, semi and anti joins, with or without equal keys.

The derivations are in `join_inner.py` and `join_outer.py`, the plain form in `join_plain.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ..storage.schema import Schema
from .expr import ColumnRef, Expr
from .join_inner import InnerJoin, Output
from .join_outer import Emission, KeyDegrees, RowDegrees, open_degrees, open_key_counts
from .join_pairs import Condition
from .join_plain import PlainJoin
from .join_side import common_keys, describe_input, open_input
from .node import EpochContext, Node, OpenContext, Operator
from .pieces import coalesced, collect
from .zset import ZSet


class JoinKind(Enum):
    """Which rows come out beside, or instead of, the matching pairs."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_left(self) -> bool:
        """Whether unmatched left rows come out, extended by NULLs."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def left_only(self) -> bool:
        """Whether the output has the left columns only."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)


@dataclass(frozen=True)
class Join(Node):
    """`left` joined with `right` where left_keys[i] = right_keys[i] for all i, and `condition`.

    `left_keys` are over the left row, `right_keys` over the right row, `condition` over left columns
    then right columns; no keys and no condition: the cross product. NULL keys match nothing unless
    `null_equal` (IS NOT DISTINCT FROM on all keys). Output: left columns then right columns;
    for SEMI and ANTI the left columns.
    """

    left: Node
    right: Node
    kind: JoinKind
    left_keys: tuple[Expr, ...] = ()
    right_keys: tuple[Expr, ...] = ()
    condition: Expr | None = None
    null_equal: bool = False

    @property
    def schema(self) -> Schema:
        left, right = self.left.schema, self.right.schema
        if self.kind.left_only:
            return left
        left = left.as_nullable() if self.kind.keeps_right else left
        return left.concat(right.as_nullable() if self.kind.keeps_left else right)

    @property
    def key(self) -> tuple[int, ...] | None:
        left, right = self.left.key, self.right.key
        if self.kind.left_only or left is None or right is None:
            return left if self.kind.left_only else None
        width = len(self.left.schema)
        shifted = tuple(width + column for column in right)
        right_once = _unique_on(right, self.right_keys)
        left_once = _unique_on(left, self.left_keys)
        if right_once and not self.kind.keeps_right:
            return left
        if left_once and not self.kind.keeps_left:
            return shifted
        return None if self.kind is JoinKind.FULL and self._may_collide() else left + shifted

    def _may_collide(self) -> bool:
        """Whether an unmatched left and an unmatched right row can show the same (all NULL) key."""
        sides = ((self.left.schema, self.left.key), (self.right.schema, self.right.key))
        return all(all(schema[c].nullable for c in key or ()) for schema, key in sides)

    @property
    def append_only(self) -> bool:
        return (
            self.kind in (JoinKind.INNER, JoinKind.SEMI) and self.left.append_only and self.right.append_only
        )

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return collect(self, self.pieces([iter((rows,)) for rows in inputs], context))

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        left_keys, right_keys = common_keys(self.left_keys, self.right_keys)
        left = describe_input(self.left.schema, self.left.key, left_keys, self.null_equal)
        right = describe_input(self.right.schema, self.right.key, right_keys, self.null_equal)
        join = PlainJoin(left, right, self._condition(), self._emission())
        return coalesced(join.pieces(inputs[0], inputs[1], (self.left, self.right), context))

    def open(self, context: OpenContext) -> Operator:
        left_keys, right_keys = common_keys(self.left_keys, self.right_keys)
        counted = self.condition is None and self.kind.left_only
        left = open_input(context, "left", self.left.schema, self.left.key, left_keys, self.null_equal)
        arguments = (self.right.schema, self.right.key, right_keys, self.null_equal)
        right = describe_input(*arguments) if counted else open_input(context, "right", *arguments)
        if self.kind is JoinKind.INNER:
            return InnerJoin(left, right, self._condition(), Output(self.schema))
        condition, emission = self._condition(), self._emission()
        if condition is None:
            left_counts = open_key_counts(context, "left_counts", left) if emission.right else None
            right_counts = open_key_counts(context, "right_counts", right) if emission.left else None
            return KeyDegrees(left, right, emission, left_counts, right_counts)
        left_degrees = open_degrees(context, "left_degrees", left) if emission.left else None
        right_degrees = open_degrees(context, "right_degrees", right) if emission.right else None
        return RowDegrees(left, right, condition, emission, left_degrees, right_degrees)

    def _condition(self) -> Condition | None:
        if self.condition is None:
            return None
        return Condition.of(self.condition, self.left.schema, self.right.schema)

    def _emission(self) -> Emission:
        output = Output(self.schema)
        if self.kind.left_only:
            return Emission(output, False, True, False, False, self.kind is JoinKind.SEMI)
        return Emission(output, True, self.kind.keeps_left, self.kind.keeps_right, True)


def _unique_on(key: tuple[int, ...] | None, join_keys: tuple[Expr, ...]) -> bool:
    """Whether at most one row of a side has given join key values."""
    columns = {expr.index for expr in join_keys if isinstance(expr, ColumnRef)}
    return key is not None and set(key) <= columns
