"""`Rows`: rows that are there already, as columns. What INSERT … VALUES of plain literals becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..operators.node import EpochContext, Node
from ..operators.zset import ZSet
from ..storage.schema import Schema


@dataclass(frozen=True, eq=False)
class Rows(Node):
    """`columns`, each row once. It has the plain form only: it is written to a table, never maintained."""

    schema_: Schema
    columns: tuple[pa.Array, ...]
    length: int

    @property
    def schema(self) -> Schema:
        return self.schema_

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        return ZSet(self.schema_, self.columns, np.ones(self.length, np.int64))
