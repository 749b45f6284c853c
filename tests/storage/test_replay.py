"""What `follow` makes of many epochs is what replaying them frame by frame gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import row_messages
from millpond.storage.changelog import StoredSpec, change_frames, count_frame
from millpond.storage.columns import growing_column
from millpond.storage.log import Frame, FrameKind, LogEpoch, Position
from millpond.storage.replay import NetChange, follow
from millpond.storage.row_message import WrittenRows
from millpond.storage.schema import Schema
from millpond.storage.tablespec import TableChange
from millpond.storage.types import BOOL, INT8, TEXT, array_of

Row = tuple[object, ...]

SPECS = {
    "keyed": StoredSpec(1, Schema.of(id=INT8, name=TEXT, good=BOOL), (0,)),
    "two": StoredSpec(2, Schema.of(a=TEXT, b=INT8, c=TEXT), (1, 0)),
    "bag": StoredSpec(3, Schema.of(name=TEXT, n=INT8), None),
    "one": StoredSpec(4, Schema.of(n=INT8), ()),
    "lists": StoredSpec(5, Schema.of(id=INT8, of=array_of(INT8)), (0,)),
}


@dataclass(slots=True)
class Expected:
    """The last word on each key of one store, found one frame after the other."""

    spec: StoredSpec
    truncated: bool = False
    words: dict[Row, Row | None] = field(default_factory=dict)
    count: int | None = None

    def take(self, frame: Frame) -> None:
        if frame.kind == FrameKind.COUNT:
            self.count = int.from_bytes(frame.payload, "little")
            return
        self.count = None
        if frame.kind == FrameKind.TRUNCATED:
            self.truncated = True
            self.words.clear()
        elif frame.kind == FrameKind.DELETED:
            batch = pa.ipc.read_record_batch(frame.payload, self.spec.keys_schema)
            for row in rows_of(batch.columns):
                self.words[row if self.spec.key_columns else ()] = None
        else:
            batch = pa.ipc.read_record_batch(frame.payload, self.spec.rows_schema)
            for row in rows_of(batch.columns):
                self.words[tuple(row[i] for i in self.spec.key_columns)] = row


def rows_of(columns: list[pa.Array]) -> list[Row]:
    lists = [[tuple(v) if isinstance(v, list) else v for v in column.to_pylist()] for column in columns]
    return list(zip(*lists, strict=True))


def words_of(change: NetChange) -> dict[Row, Row | None]:
    spec = change.spec
    words: dict[Row, Row | None] = {}
    gone = rows_of(change.deleted) if spec.key_columns else [()] * change.deleted_count
    assert len(gone) == change.deleted_count
    for key in gone:
        words[key] = None
    for part in change.rows:
        columns = [*part.columns, pa.array(part.weights)] if spec.weighed else part.columns
        assert spec.weighed or (part.weights == 1).all()
        for row in rows_of(columns):
            words[tuple(row[i] for i in spec.key_columns)] = row
    assert len(words) == len(gone) + sum(len(part) for part in change.rows)
    return words


class Writer:
    """Writes random changes of one store."""

    def __init__(self, random: Random, name: str, spec: StoredSpec) -> None:
        self.random, self.name, self.spec = random, name, spec

    def value(self, column: int) -> object:
        type_ = self.spec.schema.types[column]
        if type_ == TEXT:
            return self.random.choice(["", "a", "ü", "longer"])
        if type_ == BOOL:
            return self.random.choice([True, False, None])
        number = self.random.randrange(6)
        return number if type_ == INT8 else [number] * self.random.randrange(3)

    def frames(self, epoch: int) -> list[Frame]:
        random, spec, width = self.random, self.spec, len(self.spec.schema)
        named: dict[Row, Row] = {}
        for _ in range(random.choice([1, 1, 1, 2, 9])):
            row = tuple(self.value(i) for i in range(width))
            named[tuple(str(row[i]) for i in spec.key_columns)] = row
        rows = list(named.values())
        cut = random.choice([len(rows), len(rows), 0, random.randrange(len(rows) + 1)])
        come, gone = rows[:cut], rows[cut:]
        columns = [pa.array([row[i] for row in come], type_) for i, type_ in enumerate(spec.arrow)]
        keys = [pa.array([row[i] for row in gone], spec.arrow[i]) for i in spec.key_columns]
        weights = np.array([random.randint(1, 3) if spec.weighed else 1 for _ in come], np.int64)
        shown = columns
        if spec.row_message is not None and come and random.random() < 0.7:
            growing = [growing_column(type_) for type_ in spec.arrow]
            for column, array in zip(growing, columns, strict=True):
                column.append(array, 0)
            shown = WrittenRows(growing, 0, len(come))
        change = TableChange(self.name, epoch, shown, weights, keys, len(gone), random.random() < 0.03)
        counted = [count_frame(self.name, random.randrange(99))] if random.random() < 0.3 else []
        return [*change_frames(change, spec), *counted]


@pytest.mark.parametrize("seed", range(60))
def test_stretches_are_what_single_frames_come_to(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(row_messages, "AT_ONCE", random.choice([3, 20, 2048]))
    monkeypatch.setattr(row_messages, "MESSAGE_BYTES_MAX", random.choice([300, 500, 1 << 16]))
    writers = {name: Writer(random, name, spec) for name, spec in SPECS.items()}
    log: list[LogEpoch] = []
    for number in range(1, random.choice([2, 5, 60])):
        frames: list[Frame] = []
        for name, writer in writers.items():
            if random.random() < 0.02:
                again = StoredSpec(writer.spec.number + 10, writer.spec.schema, writer.spec.key)
                writer.spec = again
                frames += [Frame(name, FrameKind.DROPPED, b""), Frame(name, FrameKind.SPEC, again.encode())]
            if random.random() < 0.7:
                frames += writer.frames(number)
        log.append(LogEpoch(number, b"%d" % number, frames, Position(number, 1, number)))
    stretches = list(follow(log, SPECS, random.choice([1, 3000, 20_000, 1 << 30])))
    specs, start = dict(SPECS), 0
    for stretch in stretches:
        expected: dict[str, Expected] = {}
        dropped: list[int] = []
        for epoch in log[start : stretch.position.epoch]:
            for frame in epoch.frames:
                if frame.kind == FrameKind.DROPPED:
                    expected.pop(frame.store, None)
                    dropped.append(specs[frame.store].number)
                elif frame.kind == FrameKind.SPEC:
                    specs[frame.store] = StoredSpec.decode(bytes(frame.payload))
                else:
                    expected.setdefault(frame.store, Expected(specs[frame.store])).take(frame)
        start = stretch.position.epoch
        assert stretch.meta == b"%d" % start and stretch.dropped == dropped
        found = {n: (c.truncated, words_of(c), c.count) for n, c in stretch.changes.items()}
        assert found == {n: (e.truncated, e.words, e.count) for n, e in expected.items()}
    assert start == len(log)


def test_a_payload_that_is_no_message_is_refused() -> None:
    [frame] = Writer(Random(1), "keyed", SPECS["keyed"]).frames(1)[-1:]
    bad = Frame("keyed", FrameKind.ROWS, bytes(len(frame.payload)))
    log = [LogEpoch(i, b"", [bad], Position(i, 1, i)) for i in range(1, 9)]
    with pytest.raises((pa.ArrowInvalid, OSError, EOFError)):
        list(follow(log, SPECS))
