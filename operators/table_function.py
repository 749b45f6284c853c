"""`TableFunctionNode`: a set-returning function called for each input row (LATERAL).

Derivation: linear, each input row makes its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.schema import Column, Schema
from ..storage.types import INT8
from .expr import Expr
from .functions.registry import TableFunction
from .node import EpochContext, Node, OpenContext, Operator
from .zset import ZSet


@dataclass(frozen=True)
class TableFunctionNode(Node):
    """Each input row followed by each row `function(args)` makes of it.

    `names` are those of the result columns (and, last, of the ordinality column when `ordinality`:
    1-based int8 within the input row). `outer`: an input row with no result comes out once with NULLs
    (LEFT JOIN LATERAL … ON true).
    """

    input: Node
    function: TableFunction
    args: tuple[Expr, ...]
    names: tuple[str, ...]
    ordinality: bool = False
    outer: bool = False

    @property
    def result_columns(self) -> tuple[Column, ...]:
        """The columns after those of the input."""
        declared = self.function.columns
        columns = declared if isinstance(declared, tuple) else declared(tuple(a.type for a in self.args))
        types = [type_ for _, type_ in columns] + ([INT8] if self.ordinality else [])
        return tuple(Column(name, type_) for name, type_ in zip(self.names, types, strict=True))

    @property
    def schema(self) -> Schema:
        return Schema(self.input.schema.columns + self.result_columns)

    @property
    def key(self) -> tuple[int, ...] | None:
        if self.input.key is None or not self.ordinality:
            return None
        return (*self.input.key, len(self.schema) - 1)

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        raise NotImplementedError

    def open(self, context: OpenContext) -> Operator:
        raise NotImplementedError
