"""Prepared statements and portals of one session, and the values bound to a portal.

A `Portal` is a statement with parameters. Once executed it holds the result's batches and hands out
slices of at most so many rows, so that an Execute with a row limit can stop anywhere.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import overload

import pyarrow as pa

from ..storage.arrowview import one_value
from ..storage.binaryform import decode_binary
from ..storage.errors import InvalidBinaryRepresentation, ProtocolViolation
from ..storage.textform import TextSettings, parse_text
from ..storage.types import STRINGS, Type
from .backend import Prepared, Result, rows_in
from .datarow import RowEncoder, piece_rows
from .messages import BINARY, NO_DATA, TEXT, decode_text, row_description

_DESCRIPTIONS_MAX = 8
"""RowDescriptions kept with a statement, one for each choice of result formats."""


class Statement:
    """A prepared statement, with the RowDescriptions made of it so far."""

    __slots__ = ("_descriptions", "_encoder", "_encoder_for", "name", "prepared")

    def __init__(self, name: str, prepared: Prepared) -> None:
        self.name = name
        self.prepared = prepared
        self._descriptions: dict[tuple[int, ...], bytes] = {}
        self._encoder: RowEncoder | None = None
        self._encoder_for: tuple[tuple[int, ...], TextSettings] | None = None

    def description(self, formats: tuple[int, ...]) -> bytes:
        """RowDescription or NoData, for result formats as sent in Bind."""
        columns = self.prepared.columns
        if columns is None:
            return NO_DATA
        found = self._descriptions.get(formats)
        if found is None:
            found = row_description(columns, spread_formats(formats, len(columns), "result"))
            if len(self._descriptions) < _DESCRIPTIONS_MAX:
                self._descriptions[formats] = found
        return found

    def encoder(self, formats: tuple[int, ...], settings: TextSettings) -> RowEncoder:
        """The encoder of this statement's rows; the last one made is kept."""
        wanted = (formats, settings)
        if self._encoder is None or self._encoder_for != wanted:
            columns = self.prepared.columns or ()
            codes = spread_formats(formats, len(columns), "result")
            self._encoder = RowEncoder([column.type for column in columns], codes, settings)
            self._encoder_for = wanted
        return self._encoder


class Portal:
    """A statement bound to values, not yet run, under way or at its end."""

    __slots__ = ("_batch", "_batches", "_offset", "_rows", "_size", "ended", "formats", "result", "statement",
                 "values")  # fmt: skip

    def __init__(self, statement: Statement, values: Sequence[pa.Array], formats: tuple[int, ...]) -> None:
        self.statement = statement
        self.values = values
        self.formats = formats
        self.result: Result | None = None
        self.ended = False
        self._batch: Sequence[pa.Array] = []
        self._offset = self._size = self._rows = 0

    def start(self, result: Result) -> None:
        self.result = result
        self._batches = result.batches

    def pull(self, rows_max: int) -> tuple[Sequence[pa.Array], int] | Future[None] | None:
        """The next at most `rows_max` rows and their number, a future to wait for, or None at the end.

        Raises SqlError from the result.
        """
        if self._offset >= self._size:
            batch = next(self._batches, None)
            if batch is None:
                self.ended = True
                return None
            if isinstance(batch, Future):
                return batch
            self._batch, self._offset, self._size = batch, 0, rows_in(batch)
            self._rows = piece_rows(batch)
        rows = min(self._rows, rows_max, self._size - self._offset)
        if rows == self._size:
            self._offset = rows
            return self._batch, rows
        piece = [column.slice(self._offset, rows) for column in self._batch]
        self._offset += rows
        return piece, rows

    def fail(self) -> None:
        """Ends it in the middle of its rows; a result that others go on with is told (`fail`)."""
        fail = getattr(self._batches, "fail", None) if self.result is not None else None
        if fail is not None:
            fail()
        self.close()

    def close(self) -> None:
        """Gives up the rows still to come."""
        self.ended = True
        self._batch, self._offset, self._size = [], 0, 0
        if self.result is not None:
            close = getattr(self._batches, "close", None)
            self._batches = iter(())
            if close is not None:
                close()


def spread_formats(formats: Sequence[int], count: int, what: str) -> Sequence[int]:
    """One format code for each of `count` columns. Raises ProtocolViolation when the numbers disagree."""
    if len(formats) == count:
        return formats
    if not formats:
        return (TEXT,) * count
    if len(formats) == 1:
        return tuple(formats) * count
    if what == "result":
        text = f"bind message has {len(formats)} result formats but query has {count} columns"
    else:
        text = f"bind message has {len(formats)} parameter formats but {count} parameters"
    raise ProtocolViolation(text)


Value = pa.Array | int | float | str | None
Decoder = Callable[[bytes, TextSettings], Value]
"""Of a parameter's bytes, which are not NULL."""


class BoundValues(Sequence[pa.Array]):
    """The values of a portal's parameters: arrays of length 1, of simple values made when asked for."""

    __slots__ = ("_types", "nbytes", "simple")

    def __init__(self, types: Sequence[Type], values: list[Value], nbytes: int) -> None:
        """`nbytes` is the size of what the client sent."""
        self._types = types
        self.simple = values
        """Integers always, and whatever else is as simple, as themselves; None for NULL."""
        self.nbytes = nbytes

    def __len__(self) -> int:
        return len(self.simple)

    @overload
    def __getitem__(self, index: int) -> pa.Array: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[pa.Array]: ...
    def __getitem__(self, index: int | slice) -> pa.Array | Sequence[pa.Array]:
        if isinstance(index, slice):
            return [*self][index]
        value = self.simple[index]
        return value if isinstance(value, pa.Array) else one_value(value, self._types[index].arrow)

    def integer(self, index: int) -> int | None:
        """A value that is known as an integer, or None."""
        value = self.simple[index]
        return value if isinstance(value, int) else None


def bind_values(
    prepared: Prepared,
    name: str,
    formats: Sequence[int],
    values: Sequence[bytes | None],
    settings: TextSettings,
) -> Sequence[pa.Array]:
    """Parameter bytes of a Bind as arrays of length 1. Raises SqlError for what they cannot be."""
    types = prepared.parameter_types
    if len(values) != len(types):
        raise ProtocolViolation(
            f"bind message supplies {len(values)} parameters, but prepared statement"
            f' "{name}" requires {len(types)}'
        )
    if not values:
        return ()
    codes = formats if len(formats) == len(values) else spread_formats(formats, len(values), "parameter")
    bound: list[Value] = []
    size = 0
    for type_, code, raw in zip(types, codes, values, strict=True):
        if raw is None:
            bound.append(None)
            continue
        size += len(raw)
        try:
            bound.append(_decoder(type_, code)(raw, settings))
        except InvalidBinaryRepresentation as error:
            error.message = (
                error.message or f"incorrect binary data format in bind parameter {len(bound) + 1}"
            )
            raise
    return BoundValues(types, bound, size)


_INTEGERS: dict[str, tuple[int, Callable[[bytes], tuple[int]]]] = {
    "int2": (2, struct.Struct("!h").unpack),
    "int4": (4, struct.Struct("!i").unpack),
    "int8": (8, struct.Struct("!q").unpack),
}
"""Bytes of the binary form, and what reads them."""
_INTEGER_DIGITS = {"int2": 4, "int4": 9, "int8": 18}
"""So many digits always fit."""
_DOUBLE_DIGITS = 15
"""So many are read alike by everyone."""
_unpack_double = struct.Struct("!d").unpack


@lru_cache(maxsize=1000)
def _decoder(type_: Type, code: int) -> Decoder:
    """What turns values of a type in a format into `Value`s."""
    if type_.name in _INTEGERS:
        return _integer_of_binary(type_) if code == BINARY else _integer_of_text(type_)
    if type_.name in STRINGS and type_.name != "char":
        if type_.typmod < 0:
            return lambda raw, settings: decode_text(raw)
        return lambda raw, settings: _parse(type_, decode_text(raw), settings)
    if type_.name == "float8":
        return _double_of_binary(type_) if code == BINARY else _double_of_text(type_)
    return _decoded(type_) if code == BINARY else _parsed(type_)


def _parsed(type_: Type) -> Decoder:
    return lambda raw, settings: _parse(type_, decode_text(raw), settings)


def _decoded(type_: Type) -> Decoder:
    return lambda raw, settings: decode_binary(type_, pa.array([raw], pa.binary()))


def _integer_of_text(type_: Type) -> Decoder:
    digits = _INTEGER_DIGITS[type_.name]

    def decode(raw: bytes, settings: TextSettings) -> int:
        if raw.isdigit() and len(raw) <= digits:
            return int(raw)
        return _parse(type_, decode_text(raw), settings)[0].as_py()

    return decode


def _integer_of_binary(type_: Type) -> Decoder:
    size, unpack = _INTEGERS[type_.name]

    def decode(raw: bytes, settings: TextSettings) -> int:
        if len(raw) == size:
            return unpack(raw)[0]
        return decode_binary(type_, pa.array([raw], pa.binary()))[0].as_py()

    return decode


def _double_of_text(type_: Type) -> Decoder:
    def decode(raw: bytes, settings: TextSettings) -> float | pa.Array:
        if len(raw) <= _DOUBLE_DIGITS and raw.replace(b".", b"", 1).isdigit():
            return float(raw)
        return _parse(type_, decode_text(raw), settings)

    return decode


def _double_of_binary(type_: Type) -> Decoder:
    def decode(raw: bytes, settings: TextSettings) -> float | pa.Array:
        if len(raw) == 8:
            return _unpack_double(raw)[0]
        return decode_binary(type_, pa.array([raw], pa.binary()))

    return decode


def _parse(type_: Type, text: str, settings: TextSettings) -> pa.Array:
    return parse_text(type_, pa.array([text], pa.string()), settings)
