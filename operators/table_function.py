"""`TableFunctionNode`: a set-returning function called for each input row (LATERAL).

Derivation: linear, each input row makes its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage.errors import SqlError
from ..storage.schema import Column, Schema
from ..storage.types import INT8
from .batch import Int64Array, gather
from .evaluate import evaluate_rows
from .expr import Expr
from .functions.registry import TableFunction
from .node import EpochContext, Node, OpenContext, Operator, RowError
from .zset import ZSet, concat


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
        return self.over(inputs[0], self.schema, context)

    def over(self, rows: ZSet, schema: Schema, context: EpochContext) -> ZSet:
        """The output for `rows`; a row on which an argument or the function fails is left out."""
        args, rows = evaluate_rows(self.args, rows, context, "TableFunction")
        try:
            origin, columns = self.function.kernel(args, len(rows), context)
        except SqlError as error:
            if context.errors is None or len(rows) == 0:
                raise
            if len(rows) > 1:
                return concat(schema, [self.over(part, schema, context) for part in _halves(rows, error)])
            context.errors.append(RowError("TableFunction", error.code, error.message, rows))
            return ZSet.empty(schema)
        return self._attach(rows, origin.to_numpy(), columns, schema)

    def _attach(self, rows: ZSet, origin: Int64Array, columns: list[pa.Array], schema: Schema) -> ZSet:
        """Each input row followed by its results."""
        if self.ordinality:
            order = np.argsort(origin, kind="stable")
            origin, columns = origin[order], gather(columns, order)
            columns = [*columns, pa.array(_ordinals(origin, len(rows)))]
        if self.outer:
            without = np.setdiff1d(np.arange(len(rows)), origin)
            origin = np.concatenate([origin, without])
            columns = [pa.concat_arrays([c, pa.nulls(len(without), c.type)]) for c in columns]
        input_rows = rows.take(origin)
        return ZSet(schema, (*input_rows.columns, *columns), input_rows.weights)

    def open(self, context: OpenContext) -> Operator:
        return _TableFunction(self, self.schema)


def _ordinals(origin: Int64Array, length: int) -> Int64Array:
    """1, 2, … within each run of an ascending `origin`."""
    counts = np.bincount(origin, minlength=length)
    starts = np.cumsum(counts) - counts
    return np.arange(1, len(origin) + 1) - starts[origin]


def _halves(rows: ZSet, error: SqlError) -> list[ZSet]:
    """Good and failing rows apart when the error tells them, otherwise two halves."""
    if error.rows is not None and 0 < len(error.rows) < len(rows):
        bad = np.zeros(len(rows), np.bool_)
        bad[error.rows] = True
        return [rows.filter(~bad), rows.filter(bad)]
    middle = len(rows) // 2
    return [rows.slice(0, middle), rows.slice(middle, len(rows) - middle)]


@dataclass(slots=True)
class _TableFunction:
    node: TableFunctionNode
    schema: Schema

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        return self.node.over(deltas[0], self.schema, context)
