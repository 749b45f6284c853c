"""`Scan`: a table, a source or a view by name; where changes enter a dataflow.

Derivation: selecting columns is linear, so the delta of the output is the selection of the delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ..storage.schema import Schema
from .node import EpochContext, Node, OpenContext, Operator
from .zset import Weights, ZSet


@dataclass(frozen=True)
class Scan(Node):
    """The relation called `relation` (its catalogue id), or some of its columns.

    `schema_`, `key_` and `append_only_` describe the whole relation; `columns`, when given, are the
    positions of those that come out, in that order.
    """

    relation: str
    schema_: Schema
    key_: tuple[int, ...] | None = None
    append_only_: bool = False
    columns: tuple[int, ...] | None = None

    @property
    def schema(self) -> Schema:
        return self.schema_ if self.columns is None else self.schema_.select(self.columns)

    @property
    def key(self) -> tuple[int, ...] | None:
        if self.columns is None or self.key_ is None:
            return self.key_
        if any(column not in self.columns for column in self.key_):
            return None
        return tuple(self.columns.index(column) for column in self.key_)

    @property
    def append_only(self) -> bool:
        return self.append_only_

    def cut(self, relation: ZSet) -> ZSet:
        """The columns of this scan out of rows of the whole relation."""
        return relation if self.columns is None else relation.select(self.columns)

    @property
    def read(self) -> Sequence[int]:
        """The columns of the relation that come out. Its table may have more behind them: of an aggregate
        that is a view, the state of its calls."""
        return range(len(self.schema_)) if self.columns is None else self.columns

    def spread(self, columns: Sequence[pa.Array], weights: Weights) -> ZSet:
        """Rows for `cut` of which only the columns that come out were read, in their order."""
        if self.columns is None:
            return ZSet(self.schema_, tuple(columns), weights)
        read = dict(zip(self.columns, columns, strict=True))
        return ZSet(self.schema_, tuple(read.get(i) for i in range(len(self.schema_))), weights)

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        """`inputs[0]` is the whole relation, given by whoever runs the plan.

        All its columns are there, or (see `spread`) those that come out.
        """
        return self.cut(inputs[0])

    def open(self, context: OpenContext) -> Operator:
        return _Scan(self)


@dataclass(slots=True)
class _Scan:
    node: Scan

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return self.node.cut(deltas[0])
