"""`KeyLookup`: the rows of a relation with given primary keys, found through its hash index.

A `Scan` with fewer rows: whoever supplies a scan's content supplies these rows only. Only one-off
SELECTs, UPDATEs and DELETEs contain it; a view's inputs are whole relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..operators.expr import Expr
from ..operators.node import EpochContext
from ..operators.scan import Scan
from ..operators.zset import ZSet


@dataclass(frozen=True)
class KeyLookup(Scan):
    """The rows whose key columns (`key_`, in that order) equal one of `keys`, each a tuple of constants.

    The expressions have the key columns' types and read no column. A key holding NULL finds nothing.
    """

    keys: tuple[tuple[Expr, ...], ...] = ()

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        """`inputs[0]` is already the matching rows, of all columns."""
        return self.cut(inputs[0])
