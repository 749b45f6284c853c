"""Rows of groups written by one loop, beside plain Python."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from millpond.storage.kernels_groups import COPY, COUNT, FIXED, SUM, TEXT, write_groups
from millpond.storage.kernels_rows import ALIVE

OLD, NEW = 8, 4
NOW = 7


class Table:
    """Eight rows of eight keys in columns of every kind, and room for four more."""

    def __init__(self, random: Random, text_room: int = 200) -> None:
        rows = OLD + NEW
        self.wide, self.small = np.zeros(rows, np.int64), np.zeros(rows, np.int16)
        self.words, self.shown = np.zeros(2 * rows, np.int64), np.zeros(2 * rows, np.int64)
        self.counts = np.zeros(rows, np.int64)
        self.valid, self.shows = np.ones(rows, np.uint8), np.zeros(rows, np.uint8)
        self.texts = [b"x" * random.randrange(6) for _ in range(OLD)]
        self.offsets = np.zeros(rows + 1, np.int32)
        self.offsets[1 : OLD + 1] = np.cumsum([len(text) for text in self.texts])
        self.bytes = np.zeros(text_room, np.uint8)
        joined = b"".join(self.texts)
        self.bytes[: len(joined)] = np.frombuffer(joined, np.uint8)
        self.sums = [random.choice([0, -1, 2**63, -(2**64), 5]) for _ in range(OLD)]
        for row in range(OLD):
            self.wide[row], self.small[row] = random.randrange(-9, 9), random.randrange(-9, 9)
            self.counts[row] = random.randrange(1, 9)
            self.valid[row] = random.randrange(2)
            self.words[2 * row : 2 * row + 2] = split(self.sums[row])
        self.head = np.arange(OLD, dtype=np.int32)
        self.link = np.full(rows, -1, np.int32)
        self.died = np.full(rows, ALIVE, np.uint32)

    def steps(self) -> np.ndarray:
        at = lambda array: array.ctypes.data  # noqa: E731
        return np.array(
            [
                (COUNT, at(self.counts), 0, 0, 0),
                (FIXED, at(self.wide), at(self.valid), 8, 0),
                (FIXED, at(self.small), 0, 2, 0),
                (TEXT, at(self.offsets), 0, at(self.bytes), len(self.bytes)),
                (SUM, at(self.words), 0, 0, 0),
                (COPY, at(self.shown), at(self.shows), at(self.words), 0),
            ],
            np.int64,
        )

    def text(self, row: int) -> bytes:
        return self.bytes[self.offsets[row] : self.offsets[row + 1]].tobytes()


def split(total: int) -> np.ndarray:
    return np.frombuffer((total % (1 << 128)).to_bytes(16, "little"), np.int64)


@pytest.mark.parametrize("seed", range(30))
def test_rows_of_groups_are_the_old_ones_with_other_numbers(seed: int) -> None:
    random = Random(seed)
    table = Table(random, text_room=random.choice([0, 25, 200]) + 40)
    groups = random.randint(1, NEW)
    positions = np.array(random.sample(range(OLD), groups))
    rows = random.randrange(10)
    ids = np.array([random.randrange(groups) for _ in range(rows)], np.int64)
    weights = np.array([random.choice([1, 1, 2, -1]) for _ in range(rows)], np.int64)
    data = np.array([random.choice([-(2**63), 2**63 - 1, 0, 7, -7]) for _ in range(rows)], np.int64)
    counts = [int(table.counts[p] + weights[ids == g].sum()) for g, p in enumerate(positions)]
    needed = sum(map(len, table.texts)) + sum(len(table.texts[p]) for p in positions)

    entries = positions.astype(np.int32)
    addresses = np.array([data.ctypes.data])
    heads, died = table.head.copy(), table.died.copy()
    done = write_groups(
        table.steps(),
        addresses,
        weights,
        ids,
        positions,
        OLD,
        entries,
        NOW,
        table.head,
        table.link,
        table.died,
    )

    assert done == (min(counts) > 0 and needed <= len(table.bytes))
    if not done:
        assert (table.head == heads).all() and (table.died == died).all()
        return
    for g, p in enumerate(positions):
        row = OLD + g
        total = table.sums[p] + sum(
            int(v) * int(w) for v, w, i in zip(data, weights, ids, strict=True) if i == g
        )
        assert table.counts[row] == counts[g]
        assert (table.wide[row], table.small[row]) == (table.wide[p], table.small[p])
        assert table.valid[row] == table.valid[p] and table.shows[row] == 1
        assert table.text(row) == table.texts[p]
        assert (table.words[2 * row : 2 * row + 2] == split(total)).all()
        assert (table.shown[2 * row : 2 * row + 2] == split(total)).all()
        assert table.head[p] == row and table.link[row] == p
        assert table.died[p] == NOW and table.died[row] == ALIVE
