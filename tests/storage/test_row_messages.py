"""Many messages read at once give what pyarrow reads from each."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import row_messages
from millpond.storage.columns import growing_column
from millpond.storage.row_message import MessageFront, RowMessage, WrittenRows
from millpond.storage.row_messages import FEW, ReadRows, RowMessages, read_each

from .test_row_message import VALUES as COMMON

VALUES: dict[pa.DataType, list[Any]] = {
    **COMMON,
    pa.timestamp("us", "UTC"): [0, -86_400_000_000],
    pa.int32(): [1, -(2**31), 3],
    pa.float32(): [1.5, -0.0],
    pa.decimal128(38, 0): [Decimal(10) ** 37, Decimal(-1)],
    pa.date32(): [0, 20_000],
    pa.time64("us"): [0, 86_399_999_999],
    pa.timestamp("us"): [0, 86_400_000_000],
}
STRINGS = pa.schema([pa.field("0", pa.string())])
EXTREMES = (-(2**63), -1, 0, 1, 7, 8, 2**31, 2**32, 2**61, 2**62, 2**63 - 1)


def random_schema(random: Random) -> pa.Schema:
    types = [random.choice(list(VALUES)) for _ in range(random.randint(1, 5))]
    return pa.schema([pa.field(str(i), type_) for i, type_ in enumerate(types)])


def random_batch(random: Random, schema: pa.Schema, count: int) -> pa.RecordBatch:
    arrays: list[pa.Array] = []
    for field in schema:
        values = [*VALUES[field.type], *([None] if random.random() < 0.5 else [])]
        arrays.append(pa.array([random.choice(values) for _ in range(count)], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def written(batch: pa.RecordBatch, start: int, count: int) -> bytes:
    """The message of some rows, written from columns that hold all of them."""
    columns = [growing_column(field.type) for field in batch.schema]
    for column, array in zip(columns, batch.columns, strict=True):
        column.append(array, 0)
    message = RowMessage(batch.schema).encode(WrittenRows(columns, start, start + count), None)
    assert message is not None
    return message


def random_message(random: Random, schema: pa.Schema) -> bytes | pa.Buffer:
    count = random.choice([1, 1, 2, 7, 8, 9, 30])
    before = random.choice([0, 3])
    batch = random_batch(random, schema, before + count + random.choice([0, 5]))
    if random.random() < 0.6:
        return written(batch, before, count)
    message = batch.slice(before, count).serialize()
    return message if random.random() < 0.5 else message.to_pybytes()


def whole(read: Sequence[ReadRows], schema: pa.Schema) -> tuple[pa.Table, list[int]]:
    batches = [pa.RecordBatch.from_arrays(part.columns, schema=schema) for part in read]
    for batch in batches:
        batch.validate(full=True)
    counts = [count for part in read for count in part.counts.tolist()]
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    return pa.table([_bits(column) for column in table.columns], list(table.column_names)), counts


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as integers: a NaN equals nothing."""
    integers = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(column.type)
    if integers is None:
        return column
    return pa.chunked_array([chunk.view(integers) for chunk in column.chunks], integers)


@pytest.mark.parametrize("seed", range(60))
def test_small_messages_are_read_together(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    messages = [random_message(random, schema) for _ in range(random.randint(FEW, 60))]
    read = list(RowMessages(schema).read(messages))
    assert len(read) == 1
    assert whole(read, schema) == whole(list(read_each(messages, schema)), schema)


@pytest.mark.parametrize("seed", range(30))
def test_others_among_them_are_read_by_pyarrow(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_messages, "MESSAGE_BYTES_MAX", 2000)
    monkeypatch.setattr(row_messages, "RUN_BYTES", 5000)
    monkeypatch.setattr(row_messages, "AT_ONCE", 40)
    random = Random(seed)
    schema = random_schema(random)
    messages: list[bytes | pa.Buffer] = []
    for _ in range(random.randint(0, 150)):
        kind = random.random()
        if kind < 0.05:
            messages.append(random_batch(random, schema, 0).serialize())
        elif kind < 0.1:
            messages.append(random_batch(random, schema, 500).serialize())
        else:
            messages.append(random_message(random, schema))
    read = list(RowMessages(schema).read(messages))
    assert whole(read, schema) == whole(list(read_each(messages, schema)), schema)


def test_compressed_messages_are_read_too() -> None:
    schema = STRINGS
    batch = pa.record_batch([pa.array(["x" * 900])], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    _ = reader.read_next_message()
    packed = reader.read_next_message().serialize()
    table, counts = whole(list(RowMessages(schema).read([batch.serialize(), packed] * 3)), schema)
    assert (table.column(0).to_pylist(), counts) == (["x" * 900] * 6, [1] * 6)


def test_what_lies_around_a_message_does_not_matter() -> None:
    """A view into a message may begin anywhere, and have zeros of its file behind it."""
    schema = pa.schema([pa.field("0", pa.int64()), pa.field("1", pa.bool_())])
    batch = pa.RecordBatch.from_arrays([pa.array([5, None, 7]), pa.array([None, True, False])], schema=schema)
    message = batch.serialize().to_pybytes()
    file = pa.py_buffer(bytes(24) + message + bytes(40))
    views = [file.slice(24, len(message) + extra) for extra in (0, 8, 40)]
    [read] = RowMessages(schema).read(views)
    assert whole([read], schema)[0].to_pylist() == batch.to_pylist() * 3


def spoilt(random: Random, schema: pa.Schema, message: bytes) -> bytes:
    """The message cut off, with another byte somewhere, or with another number among those that are read."""
    data, how = bytearray(message), random.random()
    if how < 0.2:
        return bytes(data[: random.randrange(len(data))])
    if how < 0.4:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return bytes(data)
    front = MessageFront.of(schema)
    places = [
        front.body_size,
        front.length,
        *(front.nodes + 8 * i for i in range(2 * len(schema))),
        *(front.buffers + 8 * i for i in range(2 * front.buffer_count)),
    ]
    if how < 0.6:
        # Offsets of strings, or values.
        places = list(range(len(front.data), len(data) - 7, 4))
    for _ in range(random.randint(1, 2)):
        place = random.choice(places)
        [before] = struct.unpack_from("<q", data, place)
        number = random.choice([*EXTREMES, before + 1, before - 1, before + 8, len(message)])
        struct.pack_into("<q", data, place, max(-(2**63), min(number, 2**63 - 1)))
    return bytes(data)


def outcome(read: list[ReadRows], schema: pa.Schema) -> tuple[pa.Table, list[int]] | None:
    """None when values must not be looked at."""
    try:
        return whole(read, schema)
    except (pa.ArrowInvalid, ValueError):
        return None


@pytest.mark.parametrize("seed", range(150))
def test_damaged_messages_are_left_to_pyarrow(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    reader = RowMessages(schema)
    for _ in range(20):
        batch = random_batch(random, schema, random.choice([1, 2, 9]))
        messages = [written(batch, 0, batch.num_rows)] * FEW
        messages.insert(random.randrange(FEW), spoilt(random, schema, messages[0]))
        try:
            each = list(read_each(messages, schema))
        except (pa.ArrowInvalid, OSError, EOFError):
            with pytest.raises((pa.ArrowInvalid, OSError, EOFError)):
                list(reader.read(messages))
            continue
        wanted = outcome(each, schema)
        found = list(reader.read(messages))
        if wanted is not None:
            assert outcome(found, schema) == wanted


def two_strings(bits: int, offsets: tuple[int, int, int]) -> bytes:
    """A message of two strings in "..abcde", one of them NULL, with `bits` bytes of validity bits."""
    message = written(pa.record_batch([pa.array(["a", None])], schema=STRINGS), 0, 2)
    front = MessageFront.of(STRINGS)
    data = bytearray(message[: len(front.data)])
    struct.pack_into("<q", data, front.body_size, 32)
    struct.pack_into("<6q", data, front.buffers, 0, bits, 8, 12, 24, 7)
    return bytes(data) + bytes([1, *bytes(7)]) + struct.pack("<4i", *offsets, 0) + b"..abcde\0"


def test_offsets_need_not_begin_at_zero() -> None:
    messages = [two_strings(1, (2, 4, 7))] * FEW
    [read] = RowMessages(STRINGS).read(messages)
    assert read.columns[0].to_pylist() == ["ab", None] * FEW
    assert np.frombuffer(read.columns[0].buffers()[1], np.int32).tolist() == [0, 2, 5, 7, 10, 12, 15]


@pytest.mark.parametrize(
    ("bits", "offsets"), [(0, (2, 4, 7)), (1, (2, 4, 8)), (1, (2, 1, 7)), (1, (-1, 4, 7)), (1, (2, 4, 3))]
)
def test_what_would_be_read_outside_of_a_message_is_not(bits: int, offsets: tuple[int, int, int]) -> None:
    """pyarrow does not look at it until values are asked for, and gives it back as it is."""
    good, bad = two_strings(1, (2, 4, 7)), two_strings(bits, offsets)
    read = list(RowMessages(STRINGS).read([*[good] * FEW, bad, *[good] * FEW]))
    assert [len(part.counts) for part in read] == [FEW, 1, FEW]
