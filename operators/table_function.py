"""`TableFunctionNode`: a set-returning function called for each input row (LATERAL).

Derivation: linear, each input row makes its own rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from ..storage.errors import SqlError
from ..storage.schema import Column, Schema
from ..storage.types import INT8
from . import pieces
from .batch import Int64Array, gather, poll
from .evaluate import evaluate_rows
from .expr import Expr
from .functions.registry import TableFunction
from .node import EpochContext, Node, OpenContext, Operator, RowError
from .pieces import coalesced, collect, withdrawals_first
from .zset import ZSet, concat

FIRST_ROWS = 1024
"""Input rows of the first call, before it is known how many rows they make."""

Result = tuple[pa.Array, list[pa.Array]]
"""(input row of each result row, result columns)"""


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
        return collect(self, self.over(inputs[0], self.schema, context))

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        schema = self.schema
        return coalesced(part for rows in inputs[0] for part in self.over(rows, schema, context))

    def over(self, rows: ZSet, schema: Schema, context: EpochContext) -> Iterator[ZSet]:
        """The output for `rows`, in parts; a row on which an argument or the function fails is left out."""
        count = FIRST_ROWS
        start = 0
        while start < len(rows):
            poll(context)
            made = 0
            for part in self._results(rows.slice(start, count), schema, context):
                made += len(part)
                yield part
            start += count
            count = max(1, min(4 * count, count * pieces.PIECE_ROWS // max(made, 1)))

    def _results(self, rows: ZSet, schema: Schema, context: EpochContext) -> Iterator[ZSet]:
        args, rows = evaluate_rows(self.args, rows, context, "TableFunction")
        results = self._called(args, len(rows), context)
        try:
            first = next(results, None)
        except SqlError as error:
            if context.errors is None or len(rows) == 0:
                raise
            if len(rows) > 1:
                for half in _halves(rows, error):
                    yield from self._results(half, schema, context)
            else:
                context.errors.append(RowError("TableFunction", error.code, error.message, rows))
            return
        yield from self._attached(rows, () if first is None else chain((first,), results), schema, context)

    def _called(self, args: Sequence[pa.Array], length: int, context: EpochContext) -> Iterator[Result]:
        """What the function gives. It fails before the first part, or not for a row's sake."""
        if self.function.pieces is not None:
            yield from self.function.pieces(args, length, context)
        else:
            yield self.function.kernel(args, length, context)

    def _attached(
        self, rows: ZSet, results: Iterable[Result], schema: Schema, context: EpochContext
    ) -> Iterator[ZSet]:
        """Each input row followed by its results."""
        made = np.zeros(len(rows), np.int64)
        for origins, columns in results:
            poll(context)
            origin: Int64Array = origins.to_numpy()
            if self.ordinality:
                order = np.argsort(origin, kind="stable")
                origin, columns = origin[order], gather(columns, order)
                columns = [*columns, pa.array(_ordinals(origin, len(rows)) + made[origin])]
            if self.ordinality or self.outer:
                made += np.bincount(origin, minlength=len(rows))
            yield self._rows(rows, origin, columns, schema)
        without = np.flatnonzero(made == 0)
        if self.outer and len(without):
            types = schema.types[len(rows.columns) :]
            yield self._rows(rows, without, [pa.nulls(len(without), t.arrow) for t in types], schema)

    def _rows(self, rows: ZSet, origin: Int64Array, columns: list[pa.Array], schema: Schema) -> ZSet:
        taken = rows.take(origin)
        return ZSet(schema, (*taken.columns, *columns), taken.weights)

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
        return concat(self.schema, list(self.steps(deltas, context)))

    def steps(self, deltas: Sequence[ZSet], context: EpochContext) -> Iterator[ZSet]:
        return coalesced(self.node.over(withdrawals_first(deltas[0]), self.schema, context))
