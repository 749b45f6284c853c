"""Set-returning functions: unnest, the json and string splitters. (generate_series is in `series.py`.)

A kernel gives, for each result row, the input row it belongs to (ascending) and the result columns.
Strict ones give no rows where an argument is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...storage import jsons
from ...storage import types as t
from ...storage.errors import InvalidParameterValue
from ...storage.types import Type
from . import patterns
from .arrays import split_text
from .lists import lists_of
from .registry import TABLE_FUNCTIONS, TableFunction
from .vector import call_each, valid_of, values

if TYPE_CHECKING:
    from ..node import EpochContext

Result = tuple[pa.Array, list[pa.Array]]
Columns = tuple[tuple[str, Type], ...]
TableKernel = Callable[[Sequence[pa.Array], int, "EpochContext"], Result]
TablePieces = Callable[[Sequence[pa.Array], int, "EpochContext"], Iterator[Result]]


def table(
    name: str,
    args: Sequence[Type],
    columns: Columns | Callable[[tuple[Type, ...]], Columns],
    *,
    variadic: bool = False,
    pieces: TablePieces | None = None,
) -> Callable[[TableKernel], TableKernel]:
    """Registers the decorated kernel as a set-returning function. `pieces` gives the same bit by bit."""

    def register(kernel: TableKernel) -> TableKernel:
        doc = (kernel.__doc__ or "").strip()
        entry = TableFunction(name, tuple(args), columns, kernel, variadic, doc, pieces)
        TABLE_FUNCTIONS.setdefault(name, []).append(entry)
        return kernel

    return register


def strict_kernel(kernel: TableKernel) -> TableKernel:
    """Rows with a NULL argument give nothing, and the kernel sees none of them."""

    def strict(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
        valid = valid_of(args)
        if valid is None:
            return kernel(args, length, context)
        positions = np.flatnonzero(valid)
        indices = pa.array(positions)
        origin, columns = kernel([arg.take(indices) for arg in args], len(positions), context)
        return pa.array(positions[values(origin)]), columns

    strict.__doc__ = kernel.__doc__
    return strict


def _flatten(lists: Iterable[Sequence[Any] | None], type_: pa.DataType) -> Result:
    """One result column of Python lists."""
    items = [found or () for found in lists]
    origin = np.repeat(np.arange(len(items)), [len(found) for found in items])
    return pa.array(origin, pa.int64()), [pa.array([v for found in items for v in found], type_)]


# Arrays.


def _elements(name: str) -> Callable[[tuple[Type, ...]], Columns]:
    def columns(types: tuple[Type, ...]) -> Columns:
        return tuple((name, type_.element) for type_ in types if type_.element is not None)

    return columns


@table("unnest", (Type("anyarray"),), _elements("unnest"), variadic=True)
def _unnest(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
    """The elements of the array; of several arrays side by side, the shorter ones ending in NULLs."""
    taken = [lists_of(arg) for arg in args]
    counts = np.max([lists.lengths for lists in taken], axis=0) if length else np.empty(0, np.int64)
    origin = np.repeat(np.arange(length), counts)
    number = np.arange(int(counts.sum())) - (np.cumsum(counts) - counts)[origin]
    columns: list[pa.Array] = []
    for lists in taken:
        missing = number >= lists.lengths[origin]
        positions = pa.array(np.where(missing, 0, lists.starts[origin] + number), mask=missing)
        columns.append(lists.elements.take(positions))
    return pa.array(origin), columns


def _subscripts(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
    """The subscripts of the array's dimension, backwards if the third argument is true."""
    lists = lists_of(args[0])
    counts = np.where(values(args[1]) == 1, lists.lengths, 0)
    origin = np.repeat(np.arange(length), counts)
    number = np.arange(int(counts.sum())) - (np.cumsum(counts) - counts)[origin] + 1
    if len(args) > 2:
        number = np.where(values(args[2])[origin], counts[origin] - number + 1, number)
    return pa.array(origin), [pa.array(number.astype(np.int32))]


_SUBSCRIPTS = (("generate_subscripts", t.INT4),)
table("generate_subscripts", (Type("anyarray"), t.INT4), _SUBSCRIPTS)(strict_kernel(_subscripts))
table("generate_subscripts", (Type("anyarray"), t.INT4, t.BOOL), _SUBSCRIPTS)(strict_kernel(_subscripts))


# Strings.


@table("string_to_table", (t.TEXT, t.TEXT), (("string_to_table", t.TEXT),))
@table("string_to_table", (t.TEXT, t.TEXT, t.TEXT), (("string_to_table", t.TEXT),))
def _string_to_table(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
    """The parts of a text between delimiters; a NULL delimiter gives the characters."""
    return _flatten(
        (split_text(*row) for row in zip(*[a.to_pylist() for a in args], strict=True)), pa.string()
    )


def _of_values(function: Callable[..., Sequence[Any]], type_: pa.DataType) -> TableKernel:
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
        rows = zip(*[arg.to_pylist() for arg in args], strict=True)
        return _flatten(call_each(function, rows, context), type_)

    kernel.__doc__ = function.__doc__
    return strict_kernel(kernel)


def _split(text: str, pattern: str, flags: str = "") -> list[str]:
    """The parts of the string between matches of the pattern."""
    return patterns.regexp_split(text, pattern, flags, "regexp_split_to_table")


_TEXTS = t.array_of(t.TEXT)
for _args in ((t.TEXT, t.TEXT), (t.TEXT, t.TEXT, t.TEXT)):
    table("regexp_split_to_table", _args, (("regexp_split_to_table", t.TEXT),))(
        _of_values(_split, pa.string())
    )
    table("regexp_matches", _args, (("regexp_matches", _TEXTS),))(
        _of_values(patterns.regexp_matches, pa.list_(pa.string()))
    )


# json


_NOT_AN_ARRAY: dict[tuple[str, type | None], str] = {
    ("jsonb", dict): "cannot extract elements from an object",
    ("jsonb", None): "cannot extract elements from a scalar",
    ("json", dict): "cannot call {} on a non-array",
    ("json", None): "cannot call {} on a scalar",
}
_NOT_AN_OBJECT: dict[tuple[str, type | None], str] = {
    ("keys", list): "cannot call {} on an array",
    ("keys", None): "cannot call {} on a scalar",
    ("jsonb", list): "cannot call {} on a non-object",
    ("jsonb", None): "cannot call {} on a non-object",
    ("json", list): "cannot deconstruct an array as an object",
    ("json", None): "cannot deconstruct a scalar",
}


def _kind(value: Any) -> type | None:
    return type(value) if isinstance(value, (dict, list)) else None


def _elements_of(text: str, prefix: str, function: str) -> list[Any]:
    value = jsons.load(text)
    if not isinstance(value, list):
        raise InvalidParameterValue(_NOT_AN_ARRAY[prefix, _kind(value)].format(function))
    return value


def _members_of(text: str, prefix: str, function: str) -> dict[str, Any]:
    value = jsons.load(text)
    if not isinstance(value, dict):
        family = "keys" if function.endswith("keys") else prefix
        raise InvalidParameterValue(_NOT_AN_OBJECT[family, _kind(value)].format(function))
    return value


def _register_json(prefix: str, type_: Type) -> None:
    name = f"{prefix}_array_elements"

    def elements(text: str) -> list[str]:
        """The elements of an array."""
        if prefix == "json" and jsons.type_of(text) == "array":
            return [raw for _, raw in jsons.raw_items(text)]
        return [jsons.dump(v) for v in _elements_of(text, prefix, name)]

    def element_texts(text: str) -> list[str | None]:
        """The elements of an array as texts."""
        if prefix == "json" and jsons.type_of(text) == "array":
            return [jsons.raw_text(raw) for _, raw in jsons.raw_items(text)]
        return [jsons.as_text(v) for v in _elements_of(text, prefix, f"{name}_text")]

    def keys(text: str) -> list[str]:
        """The keys of an object."""
        found = _members_of(text, prefix, f"{prefix}_object_keys")
        return (
            [key for key, _ in jsons.raw_items(text) if key is not None] if prefix == "json" else list(found)
        )

    table(name, (type_,), (("value", type_),))(_of_values(elements, pa.string()))
    table(f"{name}_text", (type_,), (("value", t.TEXT),))(_of_values(element_texts, pa.string()))
    table(f"{prefix}_object_keys", (type_,), ((f"{prefix}_object_keys", t.TEXT),))(
        _of_values(keys, pa.string())
    )
    for suffix, result in (("", type_), ("_text", t.TEXT)):
        table(f"{prefix}_each{suffix}", (type_,), (("key", t.TEXT), ("value", result)))(
            strict_kernel(_each_member(prefix, suffix))
        )


def _each_member(prefix: str, suffix: str) -> TableKernel:
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> Result:
        """The members of an object as rows."""

        def one(text: str) -> list[tuple[str | None, str | None]]:
            found = _members_of(text, prefix, f"{prefix}_each{suffix}")
            if prefix == "json":
                items = jsons.raw_items(text)
                return [(key, jsons.raw_text(raw) if suffix else raw) for key, raw in items]
            return [(key, jsons.as_text(v) if suffix else jsons.dump(v)) for key, v in found.items()]

        lists = call_each(one, ((v,) for v in args[0].to_pylist()), context)
        origin = np.repeat(np.arange(length), [len(found) for found in lists])
        pairs = [pair for found in lists for pair in found]
        return pa.array(origin, pa.int64()), [pa.array([p[i] for p in pairs], pa.string()) for i in (0, 1)]

    return kernel


_register_json("jsonb", t.JSONB)
_register_json("json", t.JSON)
