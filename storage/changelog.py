"""The changelog: what a store did in an epoch, as frames of the log, and back.

A frame carries one Arrow IPC record batch message. Its schema is not repeated in each: it follows from
the store's SPEC frame, which precedes the store's first other frame in each segment. So a reader needs
nothing but the log.

    SPEC       json: number of the store, key, names and SQL types of its columns, format
    ROWS       the columns (and, in a bag, the weights) of rows as the epoch left them
    DELETED    the key columns of rows that are gone
    TRUNCATED  nothing: all older rows are gone
    DROPPED    nothing: the store is gone
    COUNT      how many rows there are now; of large stores, so that a start need not count them

ROWS and DELETED say what *is*, not what to add: replaying them twice, or over rows that have them
already, gives the same rows (I6).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from .log import Frame, FrameKind, Payload
from .row_message import RowMessage, WrittenRows, can_write
from .row_messages import ReadRows, RowMessages, read_each
from .schema import Column, Schema
from .tablespec import Int64Array, TableChange, TableSpec
from .types import Type

CHANGELOG_FORMAT = 1

FRAME_BYTES_MAX = 32 << 20
"""Rows beyond this many bytes go to another frame."""

_WEIGHT = pa.field("weight", pa.int64())


@dataclass(frozen=True)
class StoredSpec:
    """The durable part of a table's spec. `number` tells incarnations of one name apart."""

    number: int
    schema: Schema
    key: tuple[int, ...] | None

    def same_shape(self, spec: TableSpec) -> bool:
        """Whether rows stored under this spec are rows of `spec`: same key, same column types.

        Names and NOT NULL may differ: renaming a column leaves its rows what they are.
        """
        mine = [type_.bare() for type_ in self.schema.types]
        return self.key == spec.key and mine == [type_.bare() for type_ in spec.schema.types]

    def table_spec(self) -> TableSpec:
        return TableSpec(self.schema, self.key)

    @cached_property
    def arrow(self) -> tuple[pa.DataType, ...]:
        return tuple(type_.arrow for type_ in self.schema.types)

    @cached_property
    def key_columns(self) -> tuple[int, ...]:
        return self.table_spec().key_columns

    @cached_property
    def key_types(self) -> tuple[Type, ...]:
        return self.table_spec().key_types

    @cached_property
    def weighed(self) -> bool:
        """Whether weights are stored: in bags, and to count rows without columns."""
        return self.key is None or not len(self.schema)

    @cached_property
    def rows_schema(self) -> pa.Schema:
        fields = [pa.field(str(i), type_) for i, type_ in enumerate(self.arrow)]
        return pa.schema([*fields, _WEIGHT] if self.weighed else fields)

    @cached_property
    def row_message(self) -> RowMessage | None:
        """Writes ROWS payloads, if it can."""
        return RowMessage(self.rows_schema) if can_write(self.rows_schema) else None

    @cached_property
    def rows_messages(self) -> RowMessages | None:
        """Reads many ROWS payloads at once, if it can."""
        return RowMessages(self.rows_schema) if can_write(self.rows_schema) else None

    @cached_property
    def keys_messages(self) -> RowMessages | None:
        """Reads many DELETED payloads at once, if it can."""
        return RowMessages(self.keys_schema) if can_write(self.keys_schema) else None

    @cached_property
    def keys_schema(self) -> pa.Schema:
        fields = [pa.field(str(i), self.arrow[i]) for i in self.key_columns]
        return pa.schema(fields or [_WEIGHT])

    def encode(self) -> bytes:
        return json.dumps(
            {
                "format": CHANGELOG_FORMAT,
                "number": self.number,
                "key": self.key,
                "columns": [[c.name, _type_out(c.type), c.nullable, c.hidden] for c in self.schema],
            }
        ).encode()

    def __reduce__(self) -> tuple[Callable[[bytes], StoredSpec], tuple[bytes]]:
        # Without what is derived from it, of which some parts cannot be pickled.
        return StoredSpec.decode, (self.encode(),)

    @staticmethod
    def decode(data: bytes) -> StoredSpec:
        parts = json.loads(data)
        assert parts["format"] <= CHANGELOG_FORMAT, parts["format"]
        columns = [Column(name, _type_in(type_), *rest) for name, type_, *rest in parts["columns"]]
        key = parts["key"]
        return StoredSpec(parts["number"], Schema(tuple(columns)), None if key is None else tuple(key))


def _type_out(type_: Type) -> list[object]:
    element = type_.element
    return [type_.name, type_.typmod, type_.scale, None if element is None else _type_out(element)]


def _type_in(parts: list) -> Type:
    name, typmod, scale, element = parts
    return Type(name, typmod, scale, None if element is None else _type_in(element))


def change_frames(change: TableChange, spec: StoredSpec) -> list[Frame]:
    """What to append to the log for one table's epoch."""
    frames: list[Frame] = []
    if change.truncated:
        frames.append(Frame(change.name, FrameKind.TRUNCATED, b""))
    if change.deleted_count:
        columns = change.deleted or [pa.array(np.ones(change.deleted_count, np.int64))]
        frames += _frames(change.name, FrameKind.DELETED, columns, spec.keys_schema)
    if len(change.weights):
        message = _written(change, spec)
        if message is None:
            frames += rows_frames(change.name, change.columns, change.weights, spec)
        else:
            frames.append(Frame(change.name, FrameKind.ROWS, message))
    return frames


def _written(change: TableChange, spec: StoredSpec) -> bytes | None:
    """The ROWS payload of a few rows that lie in a table; None if it is to be made from arrays."""
    writer = spec.row_message
    if writer is None or not isinstance(change.columns, WrittenRows):
        return None
    return writer.encode(change.columns, change.weights if spec.weighed else None)


def rows_frames(
    name: str, columns: Sequence[pa.Array], weights: Int64Array, spec: StoredSpec
) -> Iterator[Frame]:
    """ROWS frames of any number of rows."""
    weighed = [pa.array(weights)] if spec.weighed else []
    return _frames(name, FrameKind.ROWS, [*columns, *weighed], spec.rows_schema)


def _frames(name: str, kind: FrameKind, columns: Sequence[pa.Array], schema: pa.Schema) -> Iterator[Frame]:
    batch = pa.RecordBatch.from_arrays(list(columns), schema=schema)
    if batch.get_total_buffer_size() <= FRAME_BYTES_MAX:
        yield Frame(name, kind, batch.serialize())
        return
    step = max(1, batch.num_rows * FRAME_BYTES_MAX // max(1, batch.nbytes))
    for start in range(0, batch.num_rows, step):
        part = batch if step >= batch.num_rows else batch.slice(start, step)
        yield Frame(name, kind, part.serialize())


def count_frame(name: str, count: int) -> Frame:
    """What may follow `change_frames`: the store has `count` rows after them."""
    return Frame(name, FrameKind.COUNT, count.to_bytes(8, "little"))


def decode_count(payload: Payload) -> int:
    return int.from_bytes(bytes(payload), "little")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a store and their weights (1 each unless the store is weighed)."""

    columns: list[pa.Array]
    weights: Int64Array

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def slice(self, start: int, count: int) -> Rows:
        """At most `count` rows from number `start` on, sharing the memory."""
        columns = [column.slice(start, count) for column in self.columns]
        return Rows(columns, self.weights[start : start + count])

    def take(self, positions: Int64Array) -> Rows:
        """Some of the rows, in this order."""
        places = pa.array(positions)
        return Rows([column.take(places) for column in self.columns], self.weights[positions])

    @staticmethod
    def concat(parts: Sequence[Rows], spec: StoredSpec) -> Rows:
        """The rows of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Rows(list(spec.schema.empty()), np.empty(0, np.int64))
        columns = concat_columns([part.columns for part in parts])
        return Rows(columns, np.concatenate([part.weights for part in parts]))


def concat_columns(parts: Sequence[list[pa.Array]]) -> list[pa.Array]:
    """Of several batches the whole columns."""
    if len(parts) < 2:
        return list(parts[0]) if parts else []
    return [pa.concat_arrays(list(columns)) for columns in zip(*parts, strict=True)]


def decode_rows(payloads: Sequence[Payload], spec: StoredSpec) -> tuple[list[Rows], Int64Array]:
    """The content of ROWS frames in few batches, in order, and how many rows each frame has."""
    read = list(_read(payloads, spec.rows_messages, spec.rows_schema))
    return [_rows(part, spec) for part in read], _counts(read)


def _rows(read: ReadRows, spec: StoredSpec) -> Rows:
    columns = read.columns
    if spec.weighed:
        return Rows(columns[:-1], columns[-1].to_numpy())
    return Rows(columns, np.ones(int(read.counts.sum()), np.int64))


def decode_deleted(payloads: Sequence[Payload], spec: StoredSpec) -> tuple[list[pa.Array], Int64Array]:
    """The key columns in DELETED frames, in order, and how many keys each frame has."""
    read = list(_read(payloads, spec.keys_messages, spec.keys_schema))
    columns = concat_columns([part.columns for part in read]) if spec.key_columns else []
    return columns, _counts(read)


def _read(payloads: Sequence[Payload], messages: RowMessages | None, schema: pa.Schema) -> Iterator[ReadRows]:
    return read_each(payloads, schema) if messages is None else messages.read(payloads)


def _counts(read: Sequence[ReadRows]) -> Int64Array:
    return np.concatenate([np.empty(0, np.int64), *(part.counts for part in read)])


def encode_meta(sources: Mapping[str, bytes], records: int = 0) -> bytes:
    """What a commit frame carries: all connector offsets as of the epoch, and how many records the log got.

    The number is among the offsets, under the empty name.
    """
    named = {**sources, "": records.to_bytes(8, "little")} if records else sources
    parts = [len(named).to_bytes(4, "little")]
    for name, value in named.items():
        for part in (name.encode(), value):
            parts += (len(part).to_bytes(4, "little"), part)
    return b"".join(parts)


def decode_meta(meta: bytes) -> dict[str, bytes]:
    """The connector offsets."""
    return {name: value for name, value in _named(meta).items() if name}


def decode_records(meta: bytes) -> int:
    """How many records the log has got since its beginning; 0 if it does not say."""
    return int.from_bytes(_named(meta).get("", b""), "little") if meta else 0


def _named(meta: bytes) -> dict[str, bytes]:
    parts: list[bytes] = []
    at = 4
    for _ in range(2 * int.from_bytes(meta[:4], "little")):
        length = int.from_bytes(meta[at : at + 4], "little")
        parts.append(meta[at + 4 : at + 4 + length])
        at += 4 + length
    return {name.decode(): value for name, value in zip(parts[::2], parts[1::2], strict=True)}
