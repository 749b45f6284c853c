"""Array functions of other streaming databases: extremes, sums and orders of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...storage import types as t
from ...storage.types import Type, fixed_numeric
from .aggregates import AGGREGATES, Types
from .aggregates_extremes import ranks, take_or_null
from .arrays import ANYARRAY
from .lists import build, lists_of
from .registry import Kernel, scalar
from .vector import typed, values

if TYPE_CHECKING:
    from ..node import EpochContext


def _element(types: Types) -> Type:
    assert types[0].element is not None
    return types[0].element


def _ordered(array: pa.Array, element: Type) -> tuple[np.ndarray, np.ndarray]:
    """(rows, positions in the elements) of all elements, each row's ascending, its NULLs last."""
    lists = lists_of(array)
    flat, rows = lists.flat, lists.rows
    elements = lists.elements.take(pa.array(flat))
    known = values(elements.is_valid())
    order = np.full(len(flat), np.iinfo(np.int64).max)
    if known.any():
        order[known] = np.unique(ranks(elements.drop_null(), element), return_inverse=True)[1]
    by_value = np.lexsort((order, rows))
    return rows[by_value], flat[by_value]


def _extreme(last: bool) -> Kernel:
    @typed
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
        """The least or greatest element that is not NULL."""
        rows, positions = _ordered(args[0], _element(types))
        elements = lists_of(args[0]).elements
        known = values(elements.is_valid())[positions] if len(elements) else np.zeros(0, np.bool_)
        rows, positions = rows[known], positions[known]
        found = np.full(length, -1, np.int64)
        found[rows if last else rows[::-1]] = positions if last else positions[::-1]
        return take_or_null(elements, found) if len(elements) else pa.nulls(length, elements.type)

    return kernel


scalar("array_max", (ANYARRAY,), _element)(_extreme(True))
scalar("array_min", (ANYARRAY,), _element)(_extreme(False))


@scalar("array_sort", (ANYARRAY,), lambda types: types[0])
@typed
def _sort(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """The array in ascending order, NULLs last."""
    rows, positions = _ordered(args[0], _element(types))
    return build(length, rows, lists_of(args[0]).elements.take(pa.array(positions)), args[0].type)


@scalar("array_reverse", (ANYARRAY,), lambda types: types[0])
def _reverse(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The array backwards."""
    lists = lists_of(args[0])
    positions = np.repeat(lists.starts + lists.lengths - 1, lists.lengths) - lists.within
    return build(length, lists.rows, lists.elements.take(pa.array(positions)), args[0].type)


@scalar("array_distinct", (ANYARRAY,), lambda types: types[0])
@typed
def _distinct(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """The array without repeated elements, each where it stood first."""
    lists = lists_of(args[0])
    elements = lists.elements.take(pa.array(lists.flat))
    known = values(elements.is_valid())
    code = np.full(len(elements), -1, np.int64)
    if known.any():
        code[known] = np.unique(ranks(elements.drop_null(), _element(types)), return_inverse=True)[1]
    pairs = np.stack((lists.rows, code), axis=1)
    first = np.sort(np.unique(pairs, axis=0, return_index=True)[1]) if len(pairs) else np.empty(0, np.int64)
    return build(length, lists.rows[first], elements.take(pa.array(first)), args[0].type)


def _sum_type(types: Types) -> Type:
    element = _element(types)
    if element.name in ("int2", "int4"):
        return t.INT8
    return fixed_numeric(0) if element.name == "int8" else element.bare()


@scalar("array_sum", (ANYARRAY,), _sum_type)
@typed
def _sum(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """The sum of the elements that are not NULL."""
    element = _element(types)
    lists = lists_of(args[0])
    add = next(f for f in AGGREGATES["sum"] if f.args[0].same(element))
    elements = lists.elements.take(pa.array(lists.flat))
    state = add.partial([elements], np.ones(len(elements), np.int64), lists.rows, length, (element,))
    return add.finish(state, (element,))
