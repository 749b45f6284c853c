"""Kafka records to rows: FORMAT PLAIN, UPSERT and DEBEZIUM, ENCODE JSON, CSV, TEXT and BYTES, INCLUDE.

A record is decoded by itself: what is wrong with one does not touch its neighbours, and it comes out the
same whenever it is read again. Columns of a key that the value does not have are taken from the record's
key: from members of a JSON object, or, if there is one such column, from the key as a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage.errors import (
    DataException,
    FeatureNotSupported,
    InvalidParameterValue,
    InvalidTableDefinition,
    SqlError,
)
from ...storage.schema import Column, Schema
from .csv_records import csv_columns
from .json_columns import Members, Pieces, find_members, json_columns
from .kafka_included import included_column
from .kafka_options import KafkaOptions
from .kafka_records import Decoded, Records, finish
from .rows import Rows
from .text_columns import bytes_column, text_column

Mask = npt.NDArray[np.bool_]
Decode = Callable[[Sequence[bytes], Schema, Rows], list[pa.Array]]

FORMATS = ("plain", "upsert", "debezium")
ENCODINGS = ("json", "csv", "bytes", "text")


class KafkaDecoder:
    """Decodes records into the columns of `schema` (without hidden ones). Raises SqlError for options
    that do not fit the columns."""

    def __init__(self, schema: Schema, options: KafkaOptions) -> None:
        self.schema = Schema(tuple(column for column in schema if not column.hidden))
        self._options = options
        self._included = {include.column: include for include in options.included()}
        self._key = options.key
        own = options.text("relation.own") == "true"
        members = [c for c in self.schema if c.name not in self._included and not (own and c.name == "key")]
        # Whether a column may be NULL is seen when its value may also have come from the key.
        self._members = Schema(tuple(replace(column, nullable=True) for column in members))
        self._values = _value_decoder(options, self._members, own)
        self._from_key = [
            column for column in self.schema if column.name in self._key and column.name not in self._included
        ]
        self.wants_timestamps = any(i.what == "timestamp" for i in self._included.values())
        self.wants_headers = any(i.what == "header" for i in self._included.values())
        if options.format not in FORMATS:
            raise FeatureNotSupported(
                f"FORMAT {options.format.upper()} is not supported",
                hint="There are PLAIN, UPSERT and DEBEZIUM.",
            )
        if options.before_images and self._included:
            raise FeatureNotSupported(
                "INCLUDE is not supported with before_images",
                detail="The record that takes a row away is another one than that which brought it.",
            )
        if options.format != "plain" and not self._key and not options.before_images:
            raise InvalidTableDefinition(f"FORMAT {options.format.upper()} needs a primary key")

    def decode(self, records: Records) -> Decoded:
        if self._options.format == "debezium":
            return self._images(records) if self._options.before_images else self._debezium(records)
        rows = Rows(len(records))
        empty = _without_value(records)
        deletes = empty if self._options.format == "upsert" else np.zeros(len(records), np.bool_)
        if empty.any() and self._options.format == "plain":
            for row in np.flatnonzero(empty).tolist():
                rows.bad[row] = DataException("the record has no value")
        return self._rows(records, records.values, empty, deletes, ~np.ones(len(records), np.bool_), rows)

    def _rows(
        self, records: Records, values: Sequence[bytes | None], empty: Mask, deletes: Mask, skipped: Mask,
        rows: Rows,
    ) -> Decoded:  # fmt: skip
        """Rows of `values`, where `empty` from the key alone."""
        if empty.any():
            present = np.flatnonzero(~empty)
            part = Rows(len(present))
            decoded = self._values([values[i] or b"" for i in present.tolist()], self._members, part)
            for row, error in part.bad.items():
                rows.bad[int(present[row])] = error
            positions = np.zeros(len(values), np.int64)
            positions[present] = np.arange(len(present))
            indices = pa.array(positions, mask=empty)
            decoded = [column.take(indices) for column in decoded]
        else:
            decoded = self._values(cast(Sequence[bytes], values), self._members, rows)
        found = dict(zip(self._members.names, decoded, strict=True))
        for name, include in self._included.items():
            column = self.schema[self.schema.names.index(name)]
            found[name] = included_column(include, column, records, rows)
        if self._options.format != "plain" and self._from_key:
            self._fill_key(records, found, rows)
        columns = [found[column.name] for column in self.schema]
        # Rows that go by key need no more than that; those that go as they came are as those that come.
        needed = self.schema.names if self._options.before_images else self._key
        return finish(columns, deletes, skipped, self.schema, needed, rows, records)

    def _fill_key(self, records: Records, found: dict[str, pa.Array], rows: Rows) -> None:
        """Key columns that the values do not have, from the records' keys."""
        count = len(records)
        missing = np.zeros(count, np.bool_)
        for column in self._from_key:
            if column.name not in found:
                found[column.name] = pa.nulls(count, column.type.arrow)
            missing |= found[column.name].is_null().to_numpy(zero_copy_only=False)
        missing[list(rows.bad)] = False
        wanted = np.flatnonzero(missing)
        if not len(wanted):
            return
        part = Rows(len(wanted))
        values = self._keys([records.keys[i] for i in wanted.tolist()], part)
        for row, error in part.bad.items():
            rows.bad[int(wanted[row])] = error
        order = np.arange(count)
        order[wanted] = count + np.arange(len(wanted))
        for column, filled in zip(self._from_key, values, strict=True):
            known = found[column.name]
            # A part of a key that the value does have stays.
            own = known.is_null().to_numpy(zero_copy_only=False)
            positions = np.where(own, order, np.arange(count))
            found[column.name] = pa.concat_arrays([known, filled]).take(pa.array(positions))

    def _keys(self, keys: Sequence[bytes | None], rows: Rows) -> list[pa.Array]:
        """The columns of the key from records' keys."""
        schema = Schema(tuple(replace(column, nullable=True) for column in self._from_key))
        objects: list[bytes] = []
        texts: list[bytes] = []
        for row, key in enumerate(keys):
            if key is None:
                rows.bad[row] = DataException("the record has no key")
            is_object = key is not None and key[:1] == b"{"
            if not is_object and key is not None and len(schema) > 1:
                rows.bad[row] = DataException("the record's key is no JSON object")
            objects.append(key if is_object and key else b"{}")
            texts.append(b"" if is_object or key is None else _plain_key(key))
        columns = json_columns(_payloads(Pieces.of(objects)), schema, rows)
        plain = np.array([o == b"{}" and row not in rows.bad for row, o in enumerate(objects)], np.bool_)
        if len(schema) == 1 and plain.any():
            chosen = np.flatnonzero(plain)
            part = Rows(len(chosen))
            column = schema[0]
            decode = bytes_column if column.type.name == "bytea" else text_column
            parsed = decode(column, [texts[i] for i in chosen.tolist()], part)
            for row, error in part.bad.items():
                rows.bad[int(chosen[row])] = error
            order = np.arange(len(keys))
            order[chosen] = len(keys) + np.arange(len(chosen))
            columns = [pa.concat_arrays([columns[0], parsed]).take(pa.array(order))]
        return columns

    def _debezium(self, records: Records) -> Decoded:
        """Change events: `after` of c, r and u; d deletes by the key within `before`, or by the record's."""
        rows = Rows(len(records))
        count = len(records)
        events = _events(records, rows)
        inner, found, deletes, empty = events.inner, events.found, events.does("d"), events.empty
        known = events.does("crud")
        side = np.where(deletes, 1, 2)
        row_numbers = np.arange(count)
        there = found.kinds[row_numbers, side] == _OBJECT
        for row in np.flatnonzero(known & ~deletes & ~there).tolist():
            rows.bad[row] = DataException('the change event has no "after"')
        begins, ends = found.starts[row_numbers, side], found.ends[row_numbers, side]
        values = [
            inner.data[a:b] if good else None
            for a, b, good in zip(begins.tolist(), ends.tolist(), there.tolist(), strict=True)
        ]
        missing = np.fromiter((value is None for value in values), np.bool_, count)
        # A tombstone behind a delete is there for compaction only.
        return self._rows(records, values, missing, deletes, empty, rows)

    def _images(self, records: Records) -> Decoded:
        """Change events by both images: `before` of u and d goes, `after` of c, r and u comes."""
        bad = Rows(len(records))
        events = _events(records, bad)
        wanted = np.stack([events.does("ud"), events.does("cru")], axis=1)
        there = events.found.kinds[:, 1:3] == _OBJECT
        for row, side in np.argwhere(wanted & ~there).tolist():
            name = ("before", "after")[side]
            bad.bad[row] = DataException(f'the change event has no "{name}"')
        wanted[list(bad.bad)] = False
        owners, sides = np.nonzero(wanted)
        begins, ends = events.found.starts[owners, sides + 1], events.found.ends[owners, sides + 1]
        values = [events.inner.data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        none = np.zeros(len(owners), np.bool_)
        images = records.at(owners.tolist())
        decoded = self._rows(images, values, none, sides == 0, none, Rows(len(owners)))
        return Decoded(decoded.columns, decoded.deletes, records.error_rows(bad) + decoded.errors)


_OBJECT = 6


@dataclass(frozen=True, slots=True)
class _Events:
    """Change events: what each does, and where its members op, before and after are in `inner`."""

    inner: Pieces
    found: Members
    operations: list[bytes]
    empty: Mask
    """Records without a value: tombstones."""

    def does(self, letters: str) -> Mask:
        """Events whose operation is one of `letters`."""
        wanted = {letter.encode() for letter in letters}
        return np.fromiter((op in wanted for op in self.operations), np.bool_, len(self.operations))


def _without_value(records: Records) -> Mask:
    if None not in records.values:
        return np.zeros(len(records), np.bool_)
    return np.fromiter((value is None for value in records.values), np.bool_, len(records))


def _events(records: Records, rows: Rows) -> _Events:
    """Finds the members of change events; what is none is marked in `rows`."""
    pieces = Pieces.of([value or b"{}" for value in records.values])
    empty = _without_value(records)
    inner = _payloads(pieces)
    found = find_members(inner, ("op", "before", "after"))
    strange = find_members(pieces, ()).strange
    begins, ends = found.starts[:, 0], found.ends[:, 0]
    operations = [inner.data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
    events = _Events(inner, found, operations, empty)
    for row in np.flatnonzero(~events.does("crud") & ~empty).tolist():
        rows.bad[row] = _no_event(operations[row], bool(strange[row] or found.strange[row]))
    return events


def _payloads(pieces: Pieces) -> Pieces:
    """Of records with `schema` and `payload` the payloads."""
    found = find_members(pieces, ("payload",))
    wrapped = found.kinds[:, 0] == _OBJECT
    return Pieces(
        pieces.data,
        np.where(wrapped, found.starts[:, 0], pieces.begins),
        np.where(wrapped, found.ends[:, 0], pieces.ends),
    )


def _no_event(operation: bytes, broken: bool) -> SqlError:
    if broken:
        return DataException("the record is no JSON object")
    if not operation:
        return DataException('the record is no Debezium change event: it has no "op"')
    return DataException(f'change event with unknown "op": "{operation.decode(errors="replace")}"')


def _plain_key(key: bytes) -> bytes:
    """A key that is a JSON string without its quotes."""
    if key[:1] != b'"':
        return key
    try:
        text = json.loads(key)
    except ValueError:
        return key
    return text.encode() if isinstance(text, str) else key


def _value_decoder(options: KafkaOptions, members: Schema, own: bool) -> Decode:
    encode = options.encode
    if options.format == "debezium" and encode != "json":
        raise FeatureNotSupported("FORMAT DEBEZIUM is read with ENCODE JSON only")
    if encode not in ENCODINGS:
        raise FeatureNotSupported(
            f"ENCODE {encode.upper()} is not supported", hint="There are JSON, CSV, TEXT and BYTES."
        )
    if encode == "csv":
        delimiter = options.text("encode.delimiter", ",")
        delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter.lower(), delimiter)
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise InvalidParameterValue('option "delimiter" must be a single one-byte character')
        return lambda values, schema, rows: csv_columns(values, schema, delimiter, rows)
    if encode == "json" and not own:
        return lambda values, schema, rows: json_columns(Pieces.of(values), schema, rows)
    if len(members) != 1:
        raise InvalidTableDefinition(
            f"ENCODE {encode.upper()} fills one column, and there are {len(members)}",
            hint="Other columns may come from INCLUDE.",
        )
    decode = _whole(members[0])
    return lambda values, schema, rows: [decode(schema[0], values, rows)]


def _whole(column: Column) -> Callable[[Column, Sequence[bytes | None], Rows], pa.Array]:
    return bytes_column if column.type.name == "bytea" else text_column
