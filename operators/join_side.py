"""One input of a join at work: its rows with their key columns, kept in an indexed table."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from ..storage.schema import Column, Schema
from ..storage.table import StateTable, TableSpec
from ..storage.together import beside
from ..storage.types import INT8, INTEGERS, NUMERIC, Type
from . import pieces
from .batch import BoolArray, Int64Array, any_null, gather, group_rows
from .evaluate import evaluate_rows
from .expr import Cast, ColumnRef, Expr
from .join_pairs import Candidates, Condition, Grouped, Listed, Matching, Pairs, rows_taker
from .node import EpochContext, OpenContext
from .zset import ZSet


def common_keys(left: Sequence[Expr], right: Sequence[Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Both key lists with each pair brought to one physical type."""
    pairs = [_common(a, b) for a, b in zip(left, right, strict=True)]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _common(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    if left.type.arrow == right.type.arrow:
        return left, right
    target = _common_type(left.type, right.type)
    return _as(left, target), _as(right, target)


def _common_type(left: Type, right: Type) -> Type:
    if left.name == right.name == "numeric":
        return NUMERIC
    assert left.name in INTEGERS and right.name in INTEGERS, (left, right)
    return INT8


def _as(expr: Expr, target: Type) -> Expr:
    return expr if expr.type == target else Cast(expr, target)


@dataclass(slots=True)
class Input:
    """One input. `stored` is its schema followed by the join keys that are not columns themselves."""

    schema: Schema
    stored: Schema
    key: tuple[int, ...] | None
    keys: tuple[Expr, ...]
    key_columns: tuple[int, ...]
    null_equal: bool
    table: StateTable | None

    @property
    def key_types(self) -> tuple[Type, ...]:
        return tuple(key.type for key in self.keys)

    def prepare(self, delta: ZSet, context: EpochContext) -> ZSet:
        """The delta as it is stored; rows whose keys fail are recorded and left out."""
        if self.stored is self.schema:
            return delta
        computed = [key for key in self.keys if not isinstance(key, ColumnRef)]
        columns, kept = evaluate_rows(computed, delta, context, "Join")
        return ZSet(self.stored, (*kept.columns, *columns), kept.weights)

    def plain_rows(self, rows: ZSet) -> ZSet:
        """Stored rows without the added key columns."""
        if self.stored is self.schema:
            return rows
        return ZSet(self.schema, rows.columns[: len(self.schema)], rows.weights)

    def key_values(self, rows: ZSet) -> list[pa.Array]:
        return [rows.columns[column] for column in self.key_columns]

    def never_matching(self, rows: ZSet) -> BoolArray:
        """The rows whose NULL keys keep them from matching anything."""
        if self.null_equal:
            return np.zeros(len(rows), np.bool_)
        return any_null(self.key_values(rows), len(rows))

    def apply(self, rows: ZSet) -> None:
        if self.table is not None and len(rows):
            self.table.apply(rows.columns, rows.weights)

    def apply_beside(self, rows: ZSet) -> Future[None]:
        """`apply`, beside the caller if it takes long. Nobody may use the table before it has ended."""
        alone = self.table is None or not self.table.complete
        if self.table is not None and not alone:
            self.table.open_epoch()
        return beside(partial(self.apply, rows), 0 if alone else len(rows))

    def find(self, keys: Sequence[pa.Array], length: int) -> Pairs:
        """Every stored row with the given keys. Distinct keys: no more pairs than rows."""
        assert self.table is not None
        return self.table.matches(0, keys, self.null_equal, length)

    def candidates(self, keys: Sequence[pa.Array], length: int) -> Candidates:
        """The stored rows with each of the given keys. Each key is searched once if pairs could be many."""
        assert self.table is not None
        few = length == 1 or length * len(self.table) <= pieces.PIECE_ROWS
        if few or (self.key is not None and set(self.key) <= set(self.key_columns)):
            return Listed(*self.find(keys, length))
        ids, first = group_rows(keys, self.key_types, length)
        if len(first) == length:
            return Listed(*self.find(keys, length))
        probing, partners = self.find(gather(keys, first), len(first))
        counts = np.bincount(probing, minlength=len(first))
        return Grouped((np.cumsum(counts) - counts)[ids], counts[ids], partners)

    def take(self, positions: Int64Array, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """Columns (the input's own unless told) of stored rows."""
        assert self.table is not None
        return self.table.take(positions, range(len(self.schema)) if columns is None else columns)

    def weights(self, positions: Int64Array) -> Int64Array:
        assert self.table is not None
        return np.ones(len(positions), np.int64) if self.key is not None else self.table.weights(positions)

    def matching(self, delta: ZSet, own: Input, condition: Condition | None, flipped: bool) -> Matching:
        """How rows of `delta`, of the input `own`, find their partners among the stored rows here."""
        candidates = self.candidates(own.key_values(delta), len(delta))

        def weights(probing: Int64Array, partners: Int64Array) -> Int64Array:
            return delta.weights[probing] * self.weights(partners)

        return Matching(candidates, rows_taker(delta), self.take, weights, condition, flipped)


def describe_input(
    schema: Schema, key: tuple[int, ...] | None, keys: tuple[Expr, ...], null_equal: bool
) -> Input:
    """An input without a table."""
    columns, positions = list(schema.columns), list[int]()
    for expr in keys:
        if isinstance(expr, ColumnRef):
            positions.append(expr.index)
        else:
            positions.append(len(columns))
            columns.append(Column(f"key{len(positions)}", expr.type))
    stored = schema if len(columns) == len(schema) else Schema(tuple(columns))
    return Input(schema, stored, key, keys, tuple(positions), null_equal, None)


def open_input(
    context: OpenContext,
    suffix: str,
    schema: Schema,
    key: tuple[int, ...] | None,
    keys: tuple[Expr, ...],
    null_equal: bool,
) -> Input:
    """An input that keeps its rows, indexed by the join keys."""
    side = describe_input(schema, key, keys, null_equal)
    side.table = context.table(suffix, TableSpec(side.stored, key, (side.key_columns,)))
    return side
