"""`SetOperation`: INTERSECT and EXCEPT, of sets or (ALL) of bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..storage.schema import Schema
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet


@dataclass(frozen=True)
class SetOperation(Node):
    """With l and r the multiplicities of a row left and right: intersect min(l, r), except max(l − r, 0).

    Without `all` a row comes out once: intersect if l > 0 and r > 0, except if l > 0 and r = 0.
    (UNION ALL is `Union`, UNION is `Distinct` over it.)
    """

    left: Node
    right: Node
    operation: Literal["intersect", "except"]
    all: bool = False

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        if self.left.key is not None or self.all:
            return self.left.key
        return tuple(range(len(self.schema)))

    @property
    def append_only(self) -> bool:
        return self.operation == "intersect" and self.left.append_only and self.right.append_only

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
