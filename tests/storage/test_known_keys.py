"""Tables that are asked for the same keys find the same rows as those that are asked by themselves."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import kernels_rows, known_keys
from millpond.storage import types as t
from millpond.storage.keycode import KeyColumns
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec

SPEC = TableSpec(Schema.of(a=t.INT8, b=t.TEXT, n=t.INT8), (0, 1))


def columns_of(keys: list[tuple[int | None, str | None]]) -> list[pa.Array]:
    return [pa.array([a for a, _ in keys], pa.int64()), pa.array([b for _, b in keys], pa.string())]


@pytest.mark.parametrize("seed", range(30))
def test_rows_found_by_number_are_those_found_by_key(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(known_keys, "SMALL_KEYS", random.choice([5, 1024]))
    monkeypatch.setattr(known_keys, "DICTIONARY_MAX", random.choice([3, 20, 1 << 15]))
    monkeypatch.setattr(known_keys, "_local", type("Local", (), {})())
    tables = [StateTable(f"t{i}", SPEC) for i in range(5)]
    for epoch in range(1, 15):
        for table in tables:
            table.begin(epoch)
        drawn = {(random.choice([1, 2, 3, None]), random.choice(["a", "b", None])) for _ in range(6)}
        keys = sorted(drawn, key=repr)
        shared = KeyColumns(columns_of(keys))
        if random.random() < 0.5:  # some of the keys, after all of them were numbered
            for table in tables:
                table.enter_groups(shared, len(keys))
            places = np.flatnonzero([random.random() < 0.6 for _ in keys])
            keys = [keys[i] for i in places]
            shared = shared.some(columns_of(keys), places)
        for table in tables if keys else []:
            entries, positions, known = table.enter_groups(shared, len(keys))
            alone, found = table.enter(columns_of(keys), len(keys))
            assert entries.tolist() == alone.tolist() and positions.tolist() == found.tolist()
            assert known == np.count_nonzero(found >= 0)
            if random.random() < 0.7:
                numbers = pa.array(range(len(keys)), pa.int64())
                table.upsert_entered([*columns_of(keys), numbers], None, entries)
            elif len(gone := positions[positions >= 0]):
                table.delete(gone)
        for table in tables:
            if random.random() < 0.2:
                table.rollback()
                continue
            table.commit()
            if random.random() < 0.2:
                table.renumber(epoch + 1)


def test_numbers_are_looked_up() -> None:
    tables = [StateTable(f"t{i}", SPEC) for i in range(4)]
    for epoch in (1, 2):
        shared = KeyColumns(columns_of([(1, "a"), (2, "b")]))
        for table in tables:
            table.begin(epoch)
            table.enter_groups(shared, 2)
            table.commit()
        assert shared.numbers is not None
    known = [table._rows.primary.known for table in tables]
    assert known[:2] == [None, None]
    assert all(of is not None and np.count_nonzero(of.entry_of >= 0) >= 2 for of in known[2:])


@pytest.mark.parametrize("seed", range(10))
def test_known_rows_as_its_plain_twin(seed: int) -> None:
    random = Random(seed)
    entry_of = np.array([random.choice([-1, 0, 1, 2, 3]) for _ in range(6)], np.int32)
    head = np.array([-1, 0, 1, 2], np.int32)
    died = np.array([random.choice([kernels_rows.ALIVE, 5]) for _ in range(3)], np.uint32)
    numbers = np.array([random.randrange(8 if seed % 2 else 6) for _ in range(4)], np.int32)
    entries, positions = np.empty(4, np.int32), np.empty(4, np.int64)
    alive = kernels_rows.known_rows(numbers, entry_of, head, died, entries, positions)
    wanted = [int(entry_of[n]) if n < len(entry_of) else -1 for n in numbers]
    if min(wanted) < 0:
        assert alive == -1
        return
    rows = [int(head[e]) if head[e] >= 0 and died[head[e]] == kernels_rows.ALIVE else -1 for e in wanted]
    assert entries.tolist() == wanted and positions.tolist() == rows
    assert alive == sum(row >= 0 for row in rows)
