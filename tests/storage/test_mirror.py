"""A store that follows the log: in small batches, and rightly wherever a crash cuts them off."""

import numpy as np
import pyarrow as pa

from millpond.storage import mirror as mirror_module
from millpond.storage.changelog import Rows, StoredSpec
from millpond.storage.log import Position
from millpond.storage.memory import MemoryStore
from millpond.storage.mirror import BATCH_ROWS, ENCODE_ROWS, Mirror
from millpond.storage.replay import NetChange, Stretch
from millpond.storage.schema import Schema
from millpond.storage.types import INT8, TEXT

IDENTITY = bytes(16)
SPEC = StoredSpec(1, Schema.of(id=INT8, word=TEXT), (0,))


def rows(ids: range, word: str) -> Rows:
    texts = [f"{word}{number % 7}" for number in ids]
    return Rows([pa.array(ids, pa.int64()), pa.array(texts)], np.ones(len(ids), np.int64))


def stretch(epoch: int, come: Rows | None = None, gone: range = range(0)) -> Stretch:
    change = NetChange(SPEC, rows=[come] if come else [], deleted_count=len(gone))
    change.deleted = [pa.array(gone, pa.int64())] if gone else []
    return Stretch(Position(epoch, 1, epoch), b"", False, [], {"t": SPEC}, {"t": change})


def content(store: MemoryStore) -> list[tuple[bytes, bytes]]:
    return store.items(b"", b"\xff" * 8)


def test_batches_are_small() -> None:
    store = MemoryStore()
    Mirror(store, IDENTITY).apply(stretch(1, rows(range(5_000), "a")))
    Mirror(store, IDENTITY).apply(stretch(2, gone=range(1_000, 4_000)))
    sizes = [max(len(batch.keys), len(batch.deletes)) for batch in store.batches]
    assert max(sizes) == BATCH_ROWS < ENCODE_ROWS
    left = [part for loaded in Mirror(store, IDENTITY).load(SPEC) for part in loaded.columns[0].to_pylist()]
    assert sorted(left) == [*range(1_000), *range(4_000, 5_000)]


def test_a_stretch_that_was_cut_off_anywhere_is_applied_again(monkeypatch) -> None:
    """With an index, whose entries go before the rows that they were of."""
    monkeypatch.setattr(mirror_module, "BATCH_ROWS", 5)
    monkeypatch.setattr(mirror_module, "ENCODE_ROWS", 12)
    store = MemoryStore()
    whole = Mirror(store, IDENTITY)
    whole.apply(stretch(1, rows(range(30), "a")))
    whole.index(SPEC, [(1,)])
    before = len(store.batches)
    change = stretch(2, rows(range(20, 45), "b"), gone=range(5, 15))
    whole.apply(change)
    wanted = content(store)
    assert sum(key[:4] == b"\x80\x00\x00\x01" for key, _ in wanted) == 35
    for cut in range(before, len(store.batches)):
        cut_off = MemoryStore(store.batches[:cut])
        Mirror(cut_off, IDENTITY).apply(change)
        assert content(cut_off) == wanted


def test_entries_that_follow_from_the_key_are_written_and_deleted_without_reading(monkeypatch) -> None:
    """A row of a bag is its key; the key of a keyed table may hold the columns of an index."""
    for spec, places in (
        (StoredSpec(1, SPEC.schema, None), (1,)),
        (StoredSpec(1, SPEC.schema, (1, 0)), (0,)),
    ):
        store = MemoryStore()
        mirror = Mirror(store, IDENTITY)
        come, more = rows(range(30), "a"), rows(range(20, 45), "a")
        for epoch, change in enumerate((NetChange(spec, rows=[come]), NetChange(spec, rows=[more]))):
            mirror.apply(Stretch(Position(epoch, 1, epoch), b"", False, [], {"t": spec}, {"t": change}))
            mirror.index(spec, [places])
        gone = [more.slice(10, 20).columns[place] for place in spec.key_columns]
        monkeypatch.setattr(store, "snapshot", None)
        change = NetChange(spec, deleted=gone, deleted_count=15)
        mirror.apply(Stretch(Position(3, 1, 3), b"", False, [], {"t": spec}, {"t": change}))
        left = Mirror(MemoryStore(), IDENTITY)
        kept = NetChange(spec, rows=[rows(range(30), "a")])
        left.apply(Stretch(Position(3, 1, 3), b"", False, [], {"t": spec}, {"t": kept}))
        left.index(spec, [places])
        assert entries(store) == entries(left._store) and len(entries(store)) == 30


def entries(store: MemoryStore) -> list[bytes]:
    return [key for key, _ in content(store) if key[0] == 0x80]
