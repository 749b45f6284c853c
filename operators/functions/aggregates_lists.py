"""Aggregates that list their values: string_agg, array_agg, json and jsonb lists and objects, any_value.

All are ordered: the operator keeps the values and hands each group's over in order, each with a weight
that says how often it occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import jsons
from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import InvalidParameterValue, NullNotAllowed
from ...storage.room import check_buffer, check_column, check_elements, refuse_beyond_room
from ...storage.types import Type, array_of
from .aggregates import AggregateFunction, Int64, Types, Whole, register
from .aggregates_extremes import best_positions, edge_positions, ranks, take_or_null
from .json_build import json_texts, key_texts
from .registry import TypeRule
from .vector import values

if TYPE_CHECKING:
    from ..node import EpochContext


def repeated(args: Sequence[pa.Array], weights: Int64, offsets: Int64) -> tuple[list[pa.Array], Int64]:
    """The rows each as often as its weight says, with the groups' new offsets."""
    if (weights == 1).all():
        return list(args), offsets
    before = np.concatenate(([0], np.cumsum(weights)))
    positions = pa.array(np.repeat(np.arange(len(weights)), weights))
    return [arg.take(positions) for arg in args], before[offsets]


def _utc() -> EpochContext:
    """Text forms inside an aggregate are those of UTC: a view has no session."""
    from ..node import EpochContext

    return EpochContext(0, 0)


def _per_group(offsets: Int64) -> zip[tuple[int, int]]:
    return zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)


def _check_joined(args: Sequence[pa.Array], weights: Int64, offsets: Int64) -> None:
    """Raises before a joined text, or all of them, would be too long."""
    known = [arg if arg.null_count < len(arg) else pa.nulls(len(arg), pa.binary()) for arg in args]
    lengths = [pc.fill_null(pc.binary_length(arg), 0).to_numpy().astype(np.int64) for arg in known]
    ends = np.concatenate([[0], np.cumsum((lengths[0] + lengths[1]) * weights)])
    sizes = ends[offsets[1:]] - ends[offsets[:-1]]
    largest = int(sizes.max(initial=0))
    last = int(lengths[0].max(initial=0) + lengths[1].max(initial=0))
    check_buffer(largest - last if largest > last else 0, min(last, largest))
    check_column(int(ends[-1]))
    refuse_beyond_room(16 * int(weights.sum()))


def _string_agg(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    _check_joined(args, weights, offsets)
    expanded, offsets = repeated(args, weights, offsets)
    texts, delimiters = (column.to_pylist() for column in expanded)
    empty: Any = b"" if types[0].name == "bytea" else ""
    done: list[Any] = []
    for start, stop in _per_group(offsets):
        pieces: list[Any] = []
        for text, delimiter in zip(texts[start:stop], delimiters[start:stop], strict=True):
            if text is not None:
                pieces += (delimiter or empty, text)
        done.append(empty.join(pieces[1:]) if pieces else None)
    return pa.array(done, args[0].type)


for _type in (t.TEXT, t.BYTEA):
    register(
        AggregateFunction(
            "string_agg", (_type, _type), _type, "ordered", whole=_string_agg,
            doc="The values that are not NULL, joined; before each but the first its delimiter.",
        )
    )  # fmt: skip


def _array_agg(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    many = np.concatenate([[0], np.cumsum(weights)])
    check_elements(int((many[offsets[1:]] - many[offsets[:-1]]).max(initial=0)))
    (elements,), offsets = repeated(args, weights, offsets)
    empty = offsets[1:] == offsets[:-1]
    type_ = array_of(types[0].bare()).arrow
    mask = pa.array(empty) if empty.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), elements, type=type_, mask=mask)


def _array_type(types: Types) -> Type:
    return array_of(types[0].bare())


for _name in ("array_agg", "list_agg"):
    register(
        AggregateFunction(
            _name, (Type("anynonarray"),), _array_type, "ordered", whole=_array_agg, skips_null=False,
            doc="The values, NULLs too, as an array; NULL when there are none.",
        )
    )  # fmt: skip


def _json_agg(binary: bool) -> Whole:
    def whole(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
        (column,), offsets = repeated(args, weights, offsets)
        texts = [v or "null" for v in json_texts(column, types[0], _utc(), binary)]
        separator = ", \n " if not binary and types[0].element is not None else ", "
        done = [f"[{separator.join(texts[a:b])}]" if b > a else None for a, b in _per_group(offsets)]
        return pa.array(done, pa.string())

    return whole


def _object_agg(binary: bool) -> Whole:
    def whole(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
        expanded, offsets = repeated(args, weights, offsets)
        keys = key_texts(expanded[0], types[0], _utc())
        if None in keys:
            raise _null_key(binary)
        texts = [v or "null" for v in json_texts(expanded[1], types[1], _utc(), binary)]
        pairs = list(zip(keys, texts, strict=True))
        done = [_object(pairs[a:b], binary) if b > a else None for a, b in _per_group(offsets)]
        return pa.array(done, pa.string())

    return whole


def _null_key(binary: bool) -> InvalidParameterValue | NullNotAllowed:
    if binary:
        return InvalidParameterValue("field name must not be null")
    return NullNotAllowed("null value not allowed for object key")


def _object(pairs: Sequence[tuple[Any, str]], binary: bool) -> str:
    if binary:
        return jsons.build_jsonb_object(pairs)
    return "{ " + ", ".join(f"{jsons.quote(key)} : {text}" for key, text in pairs) + " }"


def _register(name: str, args: Types, result: Type | TypeRule, whole: Whole, doc: str) -> None:
    register(AggregateFunction(name, args, result, "ordered", whole=whole, skips_null=False, doc=doc))


for _prefix, _type in (("jsonb", t.JSONB), ("json", t.JSON)):
    _register(
        f"{_prefix}_agg",
        (Type("anyelement"),),
        _type,
        _json_agg(_prefix == "jsonb"),
        "The values as a JSON array.",
    )
    _register(
        f"{_prefix}_object_agg", (Type("any"), Type("any")), _type, _object_agg(_prefix == "jsonb"),
        "Keys and values as a JSON object; of equal keys jsonb keeps the last.",
    )  # fmt: skip


def _any_value(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
    array = args[0]
    positions: npt.NDArray[np.int64] = edge_positions(array, offsets, False)
    if array.null_count:  # in the order of another column the NULLs lie anywhere
        known = np.flatnonzero(values(array.is_valid()))
        at = np.searchsorted(known, offsets)
        first = (
            known[np.minimum(at[:-1], len(known) - 1)] if len(known) else np.zeros(len(offsets) - 1, np.int64)
        )
        positions = np.where(at[1:] > at[:-1], first, -1)
    return take_or_null(array, positions)


_same: Callable[[Types], Type] = lambda types: types[0].bare()  # noqa: E731
register(
    AggregateFunction(
        "any_value", (Type("anyelement"),), _same, "ordered", whole=_any_value,
        doc="The first of the values that are not NULL.",
    )
)  # fmt: skip


def _edge(last: bool) -> Whole:
    def whole(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
        starts, stops = offsets[:-1], offsets[1:]
        return take_or_null(args[0], np.where(stops > starts, stops - 1 if last else starts, -1))

    return whole


for _name, _last in (("first_value", False), ("last_value", True)):
    register(
        AggregateFunction(
            _name, (Type("anyelement"),), _same, "ordered", whole=_edge(_last), skips_null=False,
            doc=f"The {'last' if _last else 'first'} value in the call's order, NULL or not.",
        )
    )  # fmt: skip


def _arg_edge(last: bool) -> Whole:
    def whole(args: Sequence[pa.Array], weights: Int64, offsets: Int64, types: Types) -> pa.Array:
        ids = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        known = np.flatnonzero(values(args[1].is_valid()))
        found = np.full(len(offsets) - 1, -1, np.int64)
        if len(known):
            order = ranks(args[1].take(pa.array(known)), types[1])
            best = best_positions(order, ids[known], len(found), last)
            found = np.where(best >= 0, known[best], -1)
        return take_or_null(args[0], found)

    return whole


for _name, _last in (("arg_min", False), ("arg_max", True), ("min_by", False), ("max_by", True)):
    register(
        AggregateFunction(
            _name, (Type("anyelement"), Type("any")), _same, "ordered", whole=_arg_edge(_last),
            value_argument=1,
            doc=f"The first argument where the second is {'greatest' if _last else 'least'}.",
        )
    )  # fmt: skip
