"""Heads and changes too large to be sorted whole."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators import topn_head
from millpond.operators.node import EpochContext
from millpond.operators.sorting import SortKey
from millpond.operators.topn import TopN

from .test_dataflow import SCAN, World, listed, zset


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("partition", [(), (1,)])
def test_large_changes_are_sifted_before_they_are_sorted(
    partition: tuple[int, ...], descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorted_rows: list[int] = []
    merged = topn_head.TopHead._merged

    def noting(
        self: topn_head.TopHead, old: topn_head.Numbered, delta: topn_head.Numbered, whole: np.ndarray
    ):
        sorted_rows.append(len(delta[1]))
        return merged(self, old, delta, whole)

    monkeypatch.setattr(topn_head.TopHead, "_merged", noting)
    node = TopN(SCAN, partition, (SortKey(0, descending, False), SortKey(1, False, False)), 3, 1)
    world, random = World(), Random(5)
    world.add("v", node, late=False)
    content, total = Counter[tuple](), Counter[tuple]()
    for _ in range(40):
        rows = [(random.randrange(300), random.choice("abc")) for _ in range(150)]
        rows = [row for row in rows if not content[row]]
        going = random.sample(sorted(content.elements()), min(len(content) // 2, 120))
        for delta, weight in ((rows, 1), (going, -1)):
            for row in delta:
                content[row] += weight
            out = world.step(*delta, weight=weight).get("v", [])
            for *row, shown in out:
                total[tuple(row)] += shown
            whole = node.plain((zset(list(content.items())),), EpochContext(1, 0))
            assert +total == Counter({tuple(row): shown for *row, shown in listed(whole)})
    assert sum(sorted_rows) < 40 * 150  # of twice as many


def test_ranks_ascend_as_the_order_does() -> None:
    up, down = SortKey(0, False, False), SortKey(0, True, False)
    numbers = [3, -(2**63), 2**63 - 1, 0]
    for column in (
        pa.array(numbers),
        pa.array(numbers, pa.decimal128(38, 0)),
        pa.array([3.5, -np.inf, 9.0, 0.0]),
    ):
        values = column.to_pylist()
        for key in (up, down):
            ranks = topn_head.ranks(column, key)
            assert ranks is not None
            order = sorted(range(4), key=values.__getitem__, reverse=key.descending)
            assert np.argsort(ranks).tolist() == order
    for column in (
        pa.array([1, None]),
        pa.array([2.0, np.nan]),
        pa.array(["a"]),
        pa.array([2**64], pa.decimal128(38, 0)),
    ):
        assert topn_head.ranks(column, up) is None
