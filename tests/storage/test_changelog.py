"""Changes as frames and back, and what many epochs of them come to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import changelog
from millpond.storage.changelog import (
    StoredSpec,
    change_frames,
    decode_deleted,
    decode_meta,
    decode_records,
    decode_rows,
    encode_meta,
)
from millpond.storage.log import Frame, FrameKind, LogDamaged, LogEpoch, Position
from millpond.storage.replay import Stretch, follow
from millpond.storage.schema import Column, Schema
from millpond.storage.tablespec import TableChange, TableSpec
from millpond.storage.types import INT8, TEXT, array_of, fixed_numeric, numeric

SCHEMA = Schema.of(id=INT8, name=TEXT)
KEYED = StoredSpec(1, SCHEMA, (0,))
BAG = StoredSpec(2, SCHEMA, None)


def change(rows: dict[int, str], deleted: Sequence[int] = (), truncated: bool = False) -> list[Frame]:
    columns = [pa.array(list(rows), pa.int64()), pa.array(list(rows.values()), pa.string())]
    gone = [pa.array(deleted, pa.int64())]
    weights = np.ones(len(rows), np.int64)
    return change_frames(TableChange("t", 1, columns, weights, gone, len(deleted), truncated), KEYED)


def epoch(number: int, *frames: Frame, base: bool = False) -> LogEpoch:
    return LogEpoch(number, b"", frames, Position(number, 1, number), base)


def net(*epochs: list[Frame]) -> tuple[bool, dict[int, str], set[int]]:
    log = [epoch(i, *frames) for i, frames in enumerate(epochs, 1)]
    [stretch] = follow(log, {"t": KEYED})
    one = stretch.changes["t"]
    rows: dict[int, str] = {}
    for batch in one.rows:
        rows.update(zip(*(c.to_pylist() for c in batch.columns), strict=True))
    gone = {key for column in one.deleted for key in column.to_pylist()}
    assert len(gone) == one.deleted_count
    return one.truncated, rows, gone


def test_a_change_comes_back_from_its_frames() -> None:
    frames = change({1: "a", 2: "b"}, [7, 8, 9])
    assert [frame.kind for frame in frames] == [FrameKind.DELETED, FrameKind.ROWS]
    columns, counts = decode_deleted([frames[0].payload], KEYED)
    assert (columns[0].to_pylist(), counts.tolist()) == ([7, 8, 9], [3])
    [rows], counts = decode_rows([frames[1].payload], KEYED)
    assert counts.tolist() == [2]
    assert [c.to_pylist() for c in rows.columns] == [[1, 2], ["a", "b"]]
    assert rows.weights.tolist() == [1, 1]


def test_weights_of_a_bag_and_rows_without_columns() -> None:
    columns, weights = [pa.array([1]), pa.array(["x"])], np.array([5])
    [frame] = change_frames(TableChange("t", 1, columns, weights, []), BAG)
    [rows], _ = decode_rows([frame.payload], BAG)
    assert rows.weights.tolist() == [5]
    empty = StoredSpec(3, Schema(()), None)
    frames = change_frames(TableChange("t", 1, [], np.array([4]), [], 1), empty)
    columns, counts = decode_deleted([frames[0].payload], empty)
    assert (columns, counts.tolist()) == ([], [1])
    [rows], _ = decode_rows([frames[1].payload], empty)
    assert rows.weights.tolist() == [4]


def test_many_rows_go_to_several_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelog, "FRAME_BYTES_MAX", 1000)
    frames = change(dict.fromkeys(range(100), "x" * 50))
    assert len(frames) > 4
    assert net(frames)[1] == dict.fromkeys(range(100), "x" * 50)


def test_a_spec_comes_back() -> None:
    columns = (
        Column("a", numeric(10, 2), False),
        Column("b", fixed_numeric(3), hidden=True),
        Column("c", array_of(TEXT)),
    )
    spec = StoredSpec(9, Schema(columns), ())
    assert StoredSpec.decode(spec.encode()) == spec
    assert StoredSpec.decode(BAG.encode()).key is None


def test_shape_is_key_and_types_not_names() -> None:
    assert KEYED.same_shape(TableSpec(Schema.of(other=INT8, names=TEXT), (0,), ((1,),)))
    assert not KEYED.same_shape(TableSpec(SCHEMA, (1,)))
    assert not KEYED.same_shape(TableSpec(SCHEMA, None))
    assert not KEYED.same_shape(TableSpec(Schema.of(id=TEXT, name=TEXT), (0,)))


def test_meta_comes_back() -> None:
    for sources in ({}, {"a": b""}, {"källa": b"\0" * 300, "b": b"1"}):
        assert decode_meta(encode_meta(sources)) == sources
        for records in (0, 1, 1 << 50):
            meta = encode_meta(sources, records)
            assert (decode_meta(meta), decode_records(meta)) == (sources, records)
    assert decode_records(b"") == 0


def test_the_last_word_on_each_key_counts() -> None:
    first, second = change({1: "a", 2: "b", 3: "c"}), change({2: "B", 4: "d"}, [1])
    assert net(first, second) == (False, {2: "B", 3: "c", 4: "d"}, {1})
    assert net(first, second, change({1: "again"}, [2, 9])) == (
        False,
        {1: "again", 3: "c", 4: "d"},
        {2, 9},
    )


def test_truncation_voids_what_was_before() -> None:
    assert net(change({1: "a"}, [5]), change({2: "b"}, truncated=True)) == (True, {2: "b"}, set())
    assert net(change({1: "a"}), change({}, truncated=True), change({3: "c"}, [2])) == (True, {3: "c"}, {2})


def test_a_dropped_store_leaves_its_number_only() -> None:
    dropped, again = Frame("t", FrameKind.DROPPED, b""), StoredSpec(5, SCHEMA, (0,))
    log = [epoch(1, *change({1: "a"})), epoch(2, dropped), epoch(3, Frame("t", 1, again.encode()))]
    [stretch] = follow(log, {"t": KEYED})
    assert (stretch.dropped, stretch.specs, stretch.changes) == ([1], {"t": again}, {})


def test_stretches_are_bounded_and_end_between_epochs() -> None:
    log = [epoch(i, *change({i: "x" * 1000})) for i in range(1, 8)]
    stretches: list[Stretch] = list(follow(log, {"t": KEYED}, 3000))
    assert [one.position.epoch for one in stretches] == [2, 4, 6, 7]


def test_rows_of_an_undescribed_store_are_damage() -> None:
    with pytest.raises(LogDamaged, match="changes 't'"):
        list(follow([epoch(1, *change({1: "a"}))], {}))
