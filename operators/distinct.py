"""`Distinct`: each row once, however often it occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.schema import Schema
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet


@dataclass(frozen=True)
class Distinct(Node):
    """The distinct rows of `input` (distinct as in IS DISTINCT FROM)."""

    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        key = self.input.key
        return tuple(range(len(self.schema))) if key is None else key

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
