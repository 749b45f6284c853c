"""`TopN`: ORDER BY … LIMIT … OFFSET, of the whole input or of each partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.schema import Schema
from .node import EpochContext, Node, OpenContext, Operator
from .sorting import SortKey
from .zset import ZSet


@dataclass(frozen=True)
class TopN(Node):
    """Per partition the rows ranked offset+1 … offset+limit by `order`.

    `limit` None: no limit. `ties`: also the rows that tie with the last one (WITH TIES). Rows that
    tie in `order` are ranked by all their columns, so the result depends on the input only.
    The plain form returns its rows in order; a ZSet in a dataflow has no order.
    """

    input: Node
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    ties: bool = False

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        if self.limit == 1 and not self.ties:
            return self.partition
        return self.input.key

    @property
    def append_only(self) -> bool:
        return self.limit is None and self.offset == 0 and self.input.append_only

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
