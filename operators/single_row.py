"""`SingleRow`: the promise that a scalar subquery gives at most one row, kept or reported.

Derivation: a function of each partition, computed again for the touched ones (`recompute.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..storage.errors import CardinalityViolation
from ..storage.schema import Schema
from .batch import group_rows, sum_by
from .node import EpochContext, Node, OpenContext, Operator, RowError
from .recompute import open_recompute
from .zset import ZSet

MESSAGE = "more than one row returned by a subquery used as an expression"


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
        return self.checked(inputs[0], context)

    def checked(self, rows: ZSet, context: EpochContext) -> ZSet:
        """The rows of the partitions that have one row."""
        columns, types = self._columns(rows)
        ids, first = group_rows(columns, types, len(rows))
        single = sum_by(ids, rows.weights, len(first)) == 1 if len(first) else np.zeros(0, np.bool_)
        if single.all():
            return rows
        if context.errors is None:
            raise CardinalityViolation(MESSAGE)
        wrong = rows.filter(~single[ids])
        context.errors.append(RowError("SingleRow", CardinalityViolation.code, MESSAGE, wrong))
        return rows.filter(single[ids])

    def _columns(self, rows: ZSet) -> tuple[list, list]:
        return [rows.columns[i] for i in self.partition], [rows.schema.types[i] for i in self.partition]

    def open(self, context: OpenContext) -> Operator:
        return open_recompute(self, self.input, self.partition, self.checked, context)
