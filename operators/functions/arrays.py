"""Array functions. Arrays have one dimension and start at 1.

`[]` is the subscript (`a[i]`) and `[:]` the slice (`a[i:j]`), as functions the binder calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import NullNotAllowed
from ...storage.room import check_elements, refuse_beyond_room
from ...storage.types import Type, array_of
from .comparison import distinct
from .lists import build, interleave, lists_of
from .registry import Kernel, scalar
from .text_bytes import ArraySubscriptError
from .text_join import output_text
from .vector import masked, null_safe, typed, values

if TYPE_CHECKING:
    from ..node import EpochContext

Types = tuple[Type, ...]
ANYARRAY, ANYELEMENT = Type("anyarray"), Type("anyelement")
_CARRAY, _CELEMENT = Type("anycompatiblearray"), Type("anycompatible")
_I4 = t.INT4


def _first(types: Types) -> Type:
    return types[0]


def _element(types: Types) -> Type:
    assert types[0].element is not None
    return types[0].element


def _second(types: Types) -> Type:
    return types[1]


# Size and bounds.


def _bound(function: Callable[[np.ndarray], np.ndarray]) -> Kernel:
    @null_safe
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """Bound or length of a dimension; NULL when there is no such dimension."""
        lists = lists_of(args[0])
        known = lists.valid & (lists.lengths > 0)
        if len(args) > 1:
            known &= values(args[1]) == 1
            if args[1].null_count:
                known &= values(args[1].is_valid())
        return masked(function(lists.lengths), pa.int32(), known)

    return kernel


scalar("array_length", (ANYARRAY, _I4), _I4)(_bound(lambda n: n))
scalar("array_upper", (ANYARRAY, _I4), _I4)(_bound(lambda n: n))
scalar("array_lower", (ANYARRAY, _I4), _I4)(_bound(np.ones_like))
scalar("array_ndims", (ANYARRAY,), _I4)(_bound(np.ones_like))


@scalar("cardinality", (ANYARRAY,), _I4)
@null_safe
def _cardinality(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Number of elements."""
    return pc.list_value_length(args[0]).cast(pa.int32())


@scalar("array_dims", (ANYARRAY,), t.TEXT)
def _dims(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Bounds as text."""
    lengths = lists_of(args[0]).lengths.tolist()
    return pa.array([f"[1:{n}]" if n else None for n in lengths], pa.string())


# Elements and slices.


@scalar("[]", (ANYARRAY, _I4), _element)
def _subscript(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The element at a position; NULL outside the bounds."""
    lists, index = lists_of(args[0]), values(args[1]).astype(np.int64)
    outside = (index < 1) | (index > lists.lengths)
    positions = np.where(outside, 0, lists.starts + index - 1)
    if outside.all():
        return pa.nulls(length, lists.elements.type)
    return lists.elements.take(pa.array(positions, mask=outside))


@scalar("[:]", (ANYARRAY, _I4, _I4), _first)
def _slice(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The elements from one position to another."""
    lists = lists_of(args[0])
    low, high = (values(arg).astype(np.int64) for arg in args[1:])
    number = lists.within + 1
    kept = (number >= np.repeat(low, lists.lengths)) & (number <= np.repeat(high, lists.lengths))
    elements = lists.elements.take(pa.array(lists.flat[kept]))
    return build(length, lists.rows[kept], elements, args[0].type)


@scalar("trim_array", (ANYARRAY, _I4), _first)
def _trim(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The array without so many elements at the end."""
    lists, count = lists_of(args[0]), values(args[1]).astype(np.int64)
    bad = (count < 0) | (count > lists.lengths)
    if bad.any():
        most = int(lists.lengths[np.flatnonzero(bad)[0]])
        raise ArraySubscriptError(
            f"number of elements to trim must be between 0 and {most}", rows=np.flatnonzero(bad)
        )
    kept = lists.within < np.repeat(lists.lengths - count, lists.lengths)
    return build(length, lists.rows[kept], lists.elements.take(pa.array(lists.flat[kept])), args[0].type)


# Putting together.


def _parts_of(array: pa.Array) -> tuple[np.ndarray, pa.Array]:
    lists = lists_of(array)
    return lists.rows, lists.elements.take(pa.array(lists.flat))


def _append(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The array with an element at the end."""
    return interleave(length, [_parts_of(args[0]), (np.arange(length), args[1])], args[0].type)


def _prepend(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The array with an element at the beginning."""
    return interleave(length, [(np.arange(length), args[0]), _parts_of(args[1])], args[1].type)


def _concatenate(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Two arrays as one; NULL stands for no elements."""
    valid = values(args[0].is_valid()) | values(args[1].is_valid())
    return interleave(length, [_parts_of(args[0]), _parts_of(args[1])], args[0].type, valid)


scalar("array_append", (_CARRAY, _CELEMENT), _first, strict=False)(_append)
scalar("array_prepend", (_CELEMENT, _CARRAY), _second, strict=False)(_prepend)
scalar("array_cat", (_CARRAY, _CARRAY), _first, strict=False)(_concatenate)
scalar("||", (_CARRAY, _CARRAY), _first, strict=False)(_concatenate)
scalar("||", (_CARRAY, _CELEMENT), _first, strict=False)(_append)
scalar("||", (_CELEMENT, _CARRAY), _second, strict=False)(_prepend)


@scalar("array_fill", (ANYELEMENT, t.array_of(_I4)), lambda types: array_of(types[0].bare()), strict=False)
@typed
def _fill(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """An array of so many equal elements."""
    lists = lists_of(args[1])
    if not lists.valid.all():
        raise NullNotAllowed(
            "dimension array or low bound array cannot be null", rows=np.flatnonzero(~lists.valid)
        )
    counts = np.zeros(length, np.int64)
    wanted = values(lists.elements.take(pa.array(lists.flat))).astype(np.int64)
    counts[lists.rows] = wanted
    for count in (counts.min(initial=0), counts.max(initial=0)):
        check_elements(int(count))
    refuse_beyond_room(16 * int(counts.sum()))
    rows = np.repeat(np.arange(length), counts)
    return build(length, rows, args[0].take(pa.array(rows)), array_of(types[0].bare()).arrow)


# Searching.


def _same_elements(args: Sequence[pa.Array], context: EpochContext, types: Types) -> np.ndarray:
    """For each element of each row, whether it is not distinct from the row's second argument."""
    lists = lists_of(args[0])
    element = types[0].element
    assert element is not None
    elements = lists.elements.take(pa.array(lists.flat))
    return ~distinct(elements, args[1].take(pa.array(lists.rows)), element, types[1], context)


@scalar("array_position", (_CARRAY, _CELEMENT), _I4, strict=False)
@scalar("array_position", (_CARRAY, _CELEMENT, _I4), _I4, strict=False)
@typed
def _position(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """Position of the first equal element, from a position on; NULL when there is none."""
    lists = lists_of(args[0])
    same = _same_elements(args, context, types)
    if len(args) > 2:
        start = values(args[2]).astype(np.int64)
        same &= lists.within + 1 >= np.repeat(start, lists.lengths)
    hits = np.flatnonzero(same)[::-1]
    found = np.zeros(length, np.int64)
    found[lists.rows[hits]] = lists.within[hits] + 1
    return masked(found, pa.int32(), found > 0)


@scalar("array_positions", (_CARRAY, _CELEMENT), t.array_of(_I4), strict=False)
@typed
def _positions(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """Positions of all equal elements."""
    lists = lists_of(args[0])
    same = _same_elements(args, context, types)
    numbers = pa.array((lists.within[same] + 1).astype(np.int32))
    return build(length, lists.rows[same], numbers, pa.list_(pa.int32()), lists.valid)


@scalar("array_remove", (_CARRAY, _CELEMENT), _first, strict=False)
@typed
def _remove(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """The array without the elements equal to the second argument."""
    lists = lists_of(args[0])
    kept = ~_same_elements(args, context, types)
    elements = lists.elements.take(pa.array(lists.flat[kept]))
    return build(length, lists.rows[kept], elements, args[0].type, lists.valid)


@scalar("array_replace", (_CARRAY, _CELEMENT, _CELEMENT), _first, strict=False)
@typed
def _replace(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """The array with the elements equal to the second argument replaced by the third."""
    lists = lists_of(args[0])
    same = _same_elements(args, context, types)
    pool = pa.concat_arrays([lists.elements.take(pa.array(lists.flat)), args[2]])
    positions = np.where(same, len(lists.flat) + lists.rows, np.arange(len(lists.flat)))
    return build(length, lists.rows, pool.take(pa.array(positions)), args[0].type, lists.valid)


def _subset(args: Sequence[pa.Array], context: EpochContext, types: Types, every: bool) -> np.ndarray:
    """Whether all (or any) elements of the second array are in the first, NULLs being in nothing."""
    element = types[0].element
    assert element is not None
    outer, inner = lists_of(args[0]), lists_of(args[1])
    counts = outer.lengths[inner.rows]
    left = np.repeat(np.arange(len(inner.rows)), counts)
    before = np.cumsum(counts) - counts
    right = (
        np.arange(int(counts.sum())) - np.repeat(before, counts) + np.repeat(outer.starts[inner.rows], counts)
    )
    a = inner.elements.take(pa.array(inner.flat[left]))
    b = outer.elements.take(pa.array(right))
    equal = ~distinct(a, b, element, element, context) & values(a.is_valid())
    present = np.bincount(left[equal], minlength=len(inner.rows)) > 0
    hits = np.bincount(inner.rows[present], minlength=len(inner.lengths))
    return hits == inner.lengths if every else hits > 0


def _register_sets() -> None:
    def contains(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
        """Whether the first array has all elements of the second."""
        return pa.array(_subset(args, context, types, True))

    def contained(
        args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()
    ) -> pa.Array:
        """Whether the second array has all elements of the first."""
        return pa.array(_subset(args[::-1], context, types[::-1], True))

    def overlaps(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
        """Whether the arrays have an element in common."""
        return pa.array(_subset(args, context, types, False))

    for symbol, kernel in (("@>", contains), ("<@", contained), ("&&", overlaps)):
        scalar(symbol, (ANYARRAY, ANYARRAY), t.BOOL)(typed(kernel))


_register_sets()


# Text.


def _to_string(args: Sequence[pa.Array], length: int, context: EpochContext, types: Types = ()) -> pa.Array:
    """The texts of the elements joined; NULLs are left out, or shown as the third argument."""
    lists = lists_of(args[0])
    element = types[0].element
    assert element is not None
    texts = output_text(lists.elements, element, context).to_pylist() if len(lists.elements) else []
    separators = args[1].to_pylist()
    shown = args[2].to_pylist() if len(args) > 2 else [None] * length
    done: list[str | None] = []
    for start, count, separator, null, known in zip(
        lists.starts.tolist(), lists.lengths.tolist(), separators, shown, lists.valid.tolist(), strict=True
    ):
        items = [null if v is None else v for v in texts[start : start + count]]
        joined = None if separator is None else separator.join(v for v in items if v is not None)
        done.append(joined if known else None)
    return pa.array(done, pa.string())


scalar("array_to_string", (ANYARRAY, t.TEXT), t.TEXT, volatility="stable")(typed(_to_string))
scalar("array_to_string", (ANYARRAY, t.TEXT, t.TEXT), t.TEXT, strict=False, volatility="stable")(
    typed(_to_string)
)


def split_text(text: str | None, delimiter: str | None, null: str | None = None) -> list[str | None] | None:
    """The parts of a text; with a NULL delimiter its characters. A part equal to `null` is NULL."""
    if text is None:
        return None
    if not text:
        return []
    parts = list(text) if delimiter is None else text.split(delimiter) if delimiter else [text]
    return [None if null is not None and part == null else part for part in parts]


def _string_to_array(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The parts of a text between delimiters; a NULL delimiter gives the characters."""
    rows = zip(*[arg.to_pylist() for arg in args], strict=True)
    return pa.array([split_text(*row) for row in rows], pa.list_(pa.string()))


scalar("string_to_array", (t.TEXT, t.TEXT), t.array_of(t.TEXT), strict=False)(_string_to_array)
scalar("string_to_array", (t.TEXT, t.TEXT, t.TEXT), t.array_of(t.TEXT), strict=False)(_string_to_array)
