"""`SingleRow`: the promise that a scalar subquery gives at most one row, kept or reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.schema import Schema
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet


@dataclass(frozen=True)
class SingleRow(Node):
    """`input`, whose partitions (equal values of the columns `partition`) must have one row each.

    A partition with more raises 21000 in a one-off SELECT; in a view its rows are kept out and
    recorded as row errors until at most one is left.
    """

    input: Node
    partition: tuple[int, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.partition

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
