"""LIMIT and OFFSET as numbers, and `ParameterTopN` for as long as they are parameters."""

from __future__ import annotations

from dataclasses import dataclass

from ..operators.evaluate import evaluate
from ..operators.expr import Expr, Literal
from ..operators.node import EpochContext, Node
from ..operators.sorting import SortKey
from ..operators.topn import TopN
from ..storage.errors import InvalidLimit, InvalidOffset
from ..storage.schema import Schema


@dataclass(frozen=True)
class ParameterTopN(Node):
    """A TopN whose limit or offset (bigint) depends on parameters: substitution turns it into one."""

    input: Node
    order: tuple[SortKey, ...]
    limit: Expr | None
    offset: Expr | None
    ties: bool = False

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.input.key

    def resolved(self) -> Node:
        """The TopN, once no parameter is left in its bounds. Raises 2201W, 2201X."""
        return cut(self.input, self.order, constant(self.limit), constant(self.offset), self.ties)


def cut(
    node: Node,
    keys: tuple[SortKey, ...],
    limit: int | None,
    offset: int | None,
    ties: bool,
    ordered: bool = True,
) -> Node:
    """A TopN over `node`, when it does anything. Raises 2201W or 2201X for a negative bound."""
    if limit is not None and limit < 0:
        raise InvalidLimit("LIMIT must not be negative")
    if offset is not None and offset < 0:
        raise InvalidOffset("OFFSET must not be negative")
    if limit is None and not offset and not (keys and ordered):
        return node
    return TopN(node, (), keys, limit, offset or 0, ties)


def constant(expr: Expr | None) -> int | None:
    """The value of a constant bigint; None for NULL and for no expression."""
    if expr is None:
        return None
    value = expr.value if isinstance(expr, Literal) else evaluate(expr, (), 1, EpochContext(0, 0))[0].as_py()
    assert value is None or isinstance(value, int)
    return value
