"""Evaluators of the expressions that look at some rows only: AND, OR, CASE, COALESCE, IN, ANY …

A branch is evaluated on the rows that need it, so that no row fails in a branch it does not take.
Two short cuts keep that cheap: a one-row batch takes no rows apart, and a branch that cannot fail
(columns, constants, comparisons of them) is evaluated on all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..storage.arrow_compute import pc
from ..storage.errors import SqlError
from .evaluate_core import (
    CACHE_ENTRIES_MAX,
    EVALUATORS,
    Columns,
    broadcast,
    call_kernel,
    evaluate,
    literal_scalar,
    truth,
)
from .expr import (
    And,
    AnyAll,
    ArrayExpr,
    Call,
    Case,
    Coalesce,
    ColumnRef,
    Expr,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Not,
    Or,
    columns_of,
)
from .functions.comparison import COMPARISONS, distinct

if TYPE_CHECKING:
    from .node import EpochContext

Mask = npt.NDArray[np.bool_]

_BOOLEANS = (pa.scalar(False), pa.scalar(True))

_facts: dict[tuple[int, str], tuple[Expr, Any]] = {}


def _fact(expr: Expr, name: str, compute: Callable[[Expr], Any]) -> Any:
    """`compute(expr)`, remembered as long as the expression is in use."""
    entry = _facts.get((id(expr), name))
    if entry is None or entry[0] is not expr:
        if len(_facts) >= CACHE_ENTRIES_MAX:
            _facts.clear()
        entry = _facts[id(expr), name] = (expr, compute(expr))
    return entry[1]


def cannot_fail(expr: Expr) -> bool:
    """Whether the expression is cheap and never raises on any row."""
    if isinstance(expr, (ColumnRef, Literal)):
        return True
    if isinstance(expr, (And, Or, Not, IsNull, IsTruth, IsDistinct)):
        return all(cannot_fail(child) for child in expr.children)
    if isinstance(expr, Call):
        return expr.function.name in COMPARISONS and all(cannot_fail(arg) for arg in expr.args)
    if isinstance(expr, InList):
        return cannot_fail(expr.arg) and all(type(item) is Literal for item in expr.items)
    return False


def evaluate_some(
    expr: Expr, columns: Columns, positions: npt.NDArray[np.int64], context: EpochContext
) -> pa.Array:
    """`expr` on the rows at `positions` only; errors name rows of the whole batch."""
    needed = _fact(expr, "columns", columns_of)
    indices = pa.array(positions)
    taken = [c.take(indices) if i in needed else c for i, c in enumerate(columns)]
    try:
        return evaluate(expr, taken, len(positions), context)
    except SqlError as error:
        if error.rows is not None:
            error.rows = positions[error.rows]
        raise


def _and_or(expr: And | Or, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    conjunction = type(expr) is And
    combine = pc.and_kleene if conjunction else pc.or_kleene
    result: pa.Array | None = None
    for arg in expr.args:
        if result is None:
            result = evaluate(arg, columns, length, context)
            continue
        if length == 1 and result[0].as_py() is (not conjunction):
            return result
        if length == 1 or _fact(arg, "cannot_fail", cannot_fail):
            result = combine(result, evaluate(arg, columns, length, context))
            continue
        settled = truth(pc.invert(result) if conjunction else result)
        result = combine(result, _elsewhere(arg, columns, length, context, settled, conjunction))
    assert result is not None
    return result


def _elsewhere(
    arg: Expr, columns: Columns, length: int, context: EpochContext, settled: Mask, neutral: bool
) -> pa.Array:
    """The condition on the rows not settled yet; `neutral` on the others."""
    if not settled.any():
        return evaluate(arg, columns, length, context)
    open_rows = np.flatnonzero(~settled)
    if not len(open_rows):
        return pa.repeat(_BOOLEANS[neutral], length)
    part = evaluate_some(arg, columns, open_rows, context)
    return spread(
        [(open_rows, part), (np.flatnonzero(settled), pa.repeat(_BOOLEANS[neutral], int(settled.sum())))],
        length,
    )


def spread(parts: Sequence[tuple[npt.NDArray[np.int64], pa.Array]], length: int) -> pa.Array:
    """One array of parts that hold the values of disjoint positions, together all of them."""
    where = np.concatenate([positions for positions, _ in parts])
    order = np.empty(length, np.int64)
    order[where] = np.arange(length)
    return pa.concat_arrays([array for _, array in parts]).take(pa.array(order))


def _not(expr: Not, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    return pc.invert(evaluate(expr.arg, columns, length, context))


def _is_null(expr: IsNull, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    array = evaluate(expr.arg, columns, length, context)
    if not array.null_count:
        return pa.repeat(_BOOLEANS[expr.negated], length)
    return array.is_valid() if expr.negated else array.is_null()


def _is_truth(expr: IsTruth, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    array = evaluate(expr.arg, columns, length, context)
    if expr.truth is None:
        return array.is_valid() if expr.negated else array.is_null()
    wanted = pc.fill_null(array if expr.truth else pc.invert(array), False)
    return pc.invert(wanted) if expr.negated else wanted


def _is_distinct(expr: IsDistinct, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    left = evaluate(expr.left, columns, length, context)
    right = evaluate(expr.right, columns, length, context)
    differs = distinct(left, right, expr.left.type, expr.right.type, context)
    return pa.array(~differs if expr.negated else differs)


def _case(expr: Case, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    if length == 1:
        return _case_of_one(expr, columns, context)
    if len(expr.conditions) == 1 and _fact(expr, "simple", _simple_case):
        return _simple(expr, columns, length, context)
    rest = np.arange(length)
    parts: list[tuple[npt.NDArray[np.int64], pa.Array]] = []
    for condition, result in zip(expr.conditions, expr.results, strict=True):
        if not len(rest):
            break
        mask = truth(evaluate_some(condition, columns, rest, context))
        hits = rest[mask]
        if len(hits):
            parts.append((hits, evaluate_some(result, columns, hits, context)))
            rest = rest[~mask]
    if len(rest):
        parts.append((rest, evaluate_some(expr.otherwise, columns, rest, context)))
    return spread(parts, length) if parts else pa.array([], expr.type.arrow)


def _case_of_one(expr: Case, columns: Columns, context: EpochContext) -> pa.Array:
    for condition, result in zip(expr.conditions, expr.results, strict=True):
        if evaluate(condition, columns, 1, context)[0].as_py():
            return evaluate(result, columns, 1, context)
    return evaluate(expr.otherwise, columns, 1, context)


def _simple_case(expr: Expr) -> bool:
    assert isinstance(expr, Case)
    if expr.type.element is not None:
        return False
    return all(isinstance(e, (ColumnRef, Literal)) for e in (*expr.results, expr.otherwise))


def _simple(expr: Case, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    """CASE WHEN c THEN a ELSE b END of constants and columns: one selection, no rows taken apart."""
    mask = pc.fill_null(evaluate(expr.conditions[0], columns, length, context), False)
    first, second = (
        literal_scalar(e) if isinstance(e, Literal) else evaluate(e, columns, length, context)
        for e in (expr.results[0], expr.otherwise)
    )
    return pc.if_else(mask, first, second)


def _coalesce(expr: Coalesce, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    result = evaluate(expr.args[0], columns, length, context)
    for arg in expr.args[1:]:
        if not result.null_count:
            return result
        if length == 1:
            result = evaluate(arg, columns, 1, context)
            continue
        missing = result.is_null().to_numpy(zero_copy_only=False)
        holes, rest = np.flatnonzero(missing), np.flatnonzero(~missing)
        part = evaluate_some(arg, columns, holes, context)
        result = spread([(holes, part), (rest, result.take(pa.array(rest)))], length)
    return result


_PLAIN_SETS = frozenset(
    {"int2", "int4", "int8", "text", "varchar", "name", "date", "timestamp", "timestamptz", "time"}
)


def _in_list(expr: InList, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    array = evaluate(expr.arg, columns, length, context)
    if expr.arg.type.name in _PLAIN_SETS and all(type(item) is Literal for item in expr.items):
        result = _in_constants(array, expr)
    else:
        result = _in_items(array, expr, columns, length, context)
    return pc.invert(result) if expr.negated else result


def _in_constants(array: pa.Array, expr: InList) -> pa.Array:
    def build(_: Expr) -> tuple[pa.Array, bool]:
        items = [item.value for item in expr.items if isinstance(item, Literal)]
        found = pa.array([v for v in items if v is not None], expr.arg.type.arrow)
        return found, any(v is None for v in items)

    constants, with_null = _fact(expr, "items", build)
    result = pc.is_in(array, value_set=constants)
    unknown = pa.scalar(None, pa.bool_())
    if with_null:
        result = pc.if_else(result, True, unknown)
    if array.null_count and len(expr.items):
        result = pc.if_else(array.is_valid(), result, unknown)
    return result


def _in_items(
    array: pa.Array, expr: InList, columns: Columns, length: int, context: EpochContext
) -> pa.Array:
    result = pa.repeat(_BOOLEANS[False], length)
    for item in expr.items:
        other = evaluate(item, columns, length, context)
        differs = distinct(array, other, expr.arg.type, item.type, context)
        unknown = array.is_null().to_numpy(zero_copy_only=False) | other.is_null().to_numpy(
            zero_copy_only=False
        )
        result = pc.or_kleene(result, pa.array(~differs, mask=unknown))
    return result


def _array(expr: ArrayExpr, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    width = len(expr.items)
    if not width:
        return broadcast(pa.scalar([], expr.type.arrow), length)
    items = [evaluate(item, columns, length, context) for item in expr.items]
    order = np.arange(length * width).reshape(width, length).T.ravel()
    element = expr.type.arrow.value_type
    flat = pa.concat_arrays([item if item.type == element else item.cast(element) for item in items])
    offsets = pa.array(np.arange(0, length * width + 1, width, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, flat.take(pa.array(order)), type=expr.type.arrow)


def _any_all(expr: AnyAll, columns: Columns, length: int, context: EpochContext) -> pa.Array:
    """Compares `left` with every element, then folds each row's answers (three-valued)."""
    left = evaluate(expr.left, columns, length, context)
    array = evaluate(expr.array, columns, length, context)
    rows = array.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    origin = np.repeat(np.arange(length), lengths)
    elements = array.flatten()
    function = expr.function
    args = [left.take(pa.array(origin)), elements]
    answers = pa.array([], pa.bool_())
    if len(origin):
        answers = call_kernel(function.kernel, function.strict, args, len(origin), pa.bool_(), context)
    known = answers.is_valid().to_numpy(zero_copy_only=False)
    positive = truth(answers)
    decisive = (known & ~positive) if expr.every else positive
    decided = np.bincount(origin[decisive], minlength=length) > 0
    unknown = np.bincount(origin[~known], minlength=length) > 0
    return pa.array(decided ^ expr.every, mask=~rows | (unknown & ~decided))


EVALUATORS.update(
    {
        And: _and_or, Or: _and_or, Not: _not, IsNull: _is_null, IsTruth: _is_truth,
        IsDistinct: _is_distinct, Case: _case, Coalesce: _coalesce, InList: _in_list,
        ArrayExpr: _array, AnyAll: _any_all,
    }
)  # fmt: skip
