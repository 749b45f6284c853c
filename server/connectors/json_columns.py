"""JSON records to typed columns in compiled passes; what those do not understand is decoded exactly.

A record's rows come out the same whatever its neighbours are: which of the two ways it goes depends on
the record alone. The rules of conversion are those of `json_values.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage.errors import CharacterNotInRepertoire
from ...storage.kernels_json import ESCAPED, MISSING, NESTED, NULL, gather_bytes, scan_json
from ...storage.schema import Column, Schema
from .json_values import columns_of, parse_objects
from .rows import Rows

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Records within one buffer: record r is data[begins[r]:ends[r]]."""

    data: bytes
    begins: I64
    ends: I64

    @staticmethod
    def of(values: Sequence[bytes]) -> Pieces:
        count = len(values)
        ends = np.cumsum(np.fromiter(map(len, values), np.int64, count) + 1) - 1
        begins = np.empty(count, np.int64)
        begins[:1] = 0
        begins[1:] = ends[:-1] + 1
        return Pieces(b"\n".join(values), begins, ends)

    def __len__(self) -> int:
        return len(self.begins)

    def raw(self, row: int) -> bytes:
        return self.data[int(self.begins[row]) : int(self.ends[row])]

    def take(self, rows: npt.NDArray[np.int64]) -> Pieces:
        return Pieces(self.data, self.begins[rows], self.ends[rows])


@dataclass(frozen=True, slots=True)
class Members:
    """Where members of records lie: cell [row, column] is data[starts:ends], of a kind of `kernels_json`."""

    starts: I64
    ends: I64
    kinds: U8
    strange: npt.NDArray[np.bool_]
    """Records that are no plain JSON objects."""


def find_members(pieces: Pieces, names: Sequence[str]) -> Members:
    """The members of these names in every record."""
    count, width = len(pieces), len(names)
    encoded = [name.encode() for name in names]
    bounds = np.zeros(width + 1, np.int64)
    _ = np.cumsum([len(name) for name in encoded], out=bounds[1:])
    starts, ends = np.zeros(count * width, np.int64), np.zeros(count * width, np.int64)
    kinds, strange = np.zeros(count * width, np.uint8), np.zeros(count, np.uint8)
    scan_json(
        bytes_array(pieces.data), np.ascontiguousarray(pieces.begins), np.ascontiguousarray(pieces.ends),
        bytes_array(b"".join(encoded)), bounds, starts, ends, kinds, strange,
    )  # fmt: skip
    shape = (count, width)
    return Members(starts.reshape(shape), ends.reshape(shape), kinds.reshape(shape), strange.view(np.bool_))


def bytes_array(data: bytes) -> U8:
    return np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)


def texts_of(data: bytes, starts: I64, ends: I64, valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """data[starts:ends] as strings; NULL where not `valid`. The bytes must be UTF-8."""
    if valid is not None:
        ends = np.where(valid, ends, starts)
    total = int((ends - starts).sum())
    offsets, out = np.zeros(len(starts) + 1, np.int32), np.empty(total, np.uint8)
    gather_bytes(bytes_array(data), np.ascontiguousarray(starts), np.ascontiguousarray(ends), offsets, out)
    bitmap = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(starts), [bitmap, pa.py_buffer(offsets), pa.py_buffer(out)])


def json_columns(pieces: Pieces, schema: Schema, rows: Rows) -> list[pa.Array]:
    """The columns of the records, one row each; rows that cannot be are noted in `rows`."""
    if not len(pieces):
        return list(schema.empty())
    slow = _invalid_utf8(pieces, rows)
    if all(_compiled(column) for column in schema):
        members = find_members(pieces, schema.names)
        hard = members.strange | slow
        for i, column in enumerate(schema):
            hard |= _needs_decoder(members.kinds[:, i], column)
    else:
        members, hard = None, np.ones(len(pieces), np.bool_)
    if not hard.any():
        assert members is not None
        return _fast(pieces, members, schema, rows, None)
    exact = np.flatnonzero(hard)
    decoded = _exact(pieces, exact, schema, rows)
    if members is None or len(exact) == len(pieces):
        return decoded
    plain = np.flatnonzero(~hard)
    order = np.empty(len(pieces), np.int64)
    order[plain], order[exact] = np.arange(len(plain)), len(plain) + np.arange(len(exact))
    fast = _fast(pieces, members, schema, rows, plain)
    return [pa.concat_arrays([a, b]).take(pa.array(order)) for a, b in zip(fast, decoded, strict=True)]


def _compiled(column: Column) -> bool:
    """Whether the column's values can be read from the bytes as they stand."""
    return column.type.name != "json" and column.type.element is None


def _needs_decoder(kinds: U8, column: Column) -> npt.NDArray[np.bool_]:
    if column.type.name == "jsonb":
        return kinds == ESCAPED
    return (kinds == ESCAPED) | (kinds == NESTED)


def _invalid_utf8(pieces: Pieces, rows: Rows) -> npt.NDArray[np.bool_]:
    """Records that are no UTF-8; they are noted, and left to the exact decoder as empty objects."""
    broken = np.zeros(len(pieces), np.bool_)
    if pieces.data.isascii():
        return broken
    try:
        _ = pieces.data.decode()
        return broken
    except UnicodeDecodeError:
        pass
    for row in range(len(pieces)):
        raw = pieces.raw(row)
        try:
            _ = raw.decode()
        except UnicodeDecodeError as error:
            seen = " ".join(f"0x{byte:02x}" for byte in raw[error.start : max(error.end, error.start + 1)])
            rows.bad[row] = CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {seen}')
            broken[row] = True
    return broken


def _fast(pieces: Pieces, members: Members, schema: Schema, rows: Rows, plain: I64 | None) -> list[pa.Array]:
    """Columns of the records `plain` (None: all) straight from their bytes."""
    part = Rows(len(pieces) if plain is None else len(plain))
    columns: list[pa.Array] = []
    for i, column in enumerate(schema):
        starts, ends, kinds = members.starts[:, i], members.ends[:, i], members.kinds[:, i]
        if plain is not None:
            starts, ends, kinds = starts[plain], ends[plain], kinds[plain]
        if column.type.name == "jsonb":
            # A string's text is its JSON, quotes included.
            text = (kinds >= 4) & (kinds < NESTED)
            starts, ends = starts - text, ends + text
        valid = (kinds != MISSING) & (kinds != NULL)
        columns.append(part.parse(column, texts_of(pieces.data, starts, ends, valid)))
    for row, error in part.bad.items():
        rows.bad.setdefault(row if plain is None else int(plain[row]), error)
    return columns


def _exact(pieces: Pieces, positions: I64, schema: Schema, rows: Rows) -> list[pa.Array]:
    """Columns of the records at `positions`, decoded object by object."""
    texts = [
        "{}" if row in rows.bad else pieces.raw(row).decode().strip(" \t\r\n") for row in positions.tolist()
    ]
    objects, bad = parse_objects(texts)
    part = Rows(len(texts), dict(bad))
    columns = columns_of(objects, schema, part)
    for row, error in part.bad.items():
        rows.bad.setdefault(int(positions[row]), error)
    return columns
