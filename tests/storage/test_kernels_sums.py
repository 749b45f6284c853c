"""Sums by group against Python integers."""

from __future__ import annotations

from random import Random

import numpy as np

from millpond.storage import kernels_sums

EDGES = (0, 1, -1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1)


def add_plain(
    data: list[int], weights: list[int], ids: list[int], counts: list[int], sums: list[int], groups: int
) -> tuple[list[int], list[int]]:
    """The twin: (counts, sums modulo 2^128)."""
    counts, sums = counts + [0] * (groups - len(counts)), sums + [0] * (groups - len(sums))
    for value, weight, group in zip(data, weights, ids, strict=True):
        counts[group] += weight
        sums[group] += value * weight
    return counts, [total % (1 << 128) for total in sums]


def words(sums: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join((s % (1 << 128)).to_bytes(16, "little") for s in sums), np.int64)


def test_sums_by_group_are_exact_whatever_the_values_and_weights() -> None:
    random = Random(3)
    for _ in range(300):
        groups, rows = random.randrange(1, 6), random.randrange(12)
        known = random.randrange(groups + 1)
        data = [random.choice((*EDGES, random.randrange(-(2**63), 2**63))) for _ in range(rows)]
        weights = [random.choice((1, -1, 1, *EDGES)) for _ in range(rows)]
        weights = [w if abs(w) < 2**59 else w >> 5 for w in weights]
        ids = [random.randrange(groups) for _ in range(rows)]
        had = [random.randrange(100) for _ in range(known)], [random.choice(EDGES) * 3 for _ in range(known)]
        counts, sums = np.full(groups, 7, np.int64), np.full(2 * groups, 7, np.int64)
        kernels_sums.add_by_group(
            np.array(data, np.int64), np.array(weights, np.int64), np.array(ids, np.int64),
            np.array(had[0], np.int64), words(had[1]).copy(), counts, sums,
        )  # fmt: skip
        wanted = add_plain(data, weights, ids, *had, groups)
        assert counts.tolist() == wanted[0]
        assert sums.tolist() == words(wanted[1]).tolist()


def test_groups_are_written_from_their_old_rows_to_new_ones() -> None:
    random = Random(4)
    for _ in range(300):
        start, groups, rows = random.randrange(8), random.randrange(1, 6), random.randrange(12)
        old = random.sample(range(start), min(start, groups))
        positions = [old.pop() if old and random.random() < 0.6 else -1 for _ in range(groups)]
        had_counts = [random.randrange(100) for _ in range(start)]
        had = [random.choice(EDGES) * 3 for _ in range(start)]
        data = [random.choice((*EDGES, random.randrange(-(2**63), 2**63))) for _ in range(rows)]
        weights = [random.choice((1, -1, 1, 1000, -(2**40))) for _ in range(rows)]
        ids = [random.randrange(groups) for _ in range(rows)]
        counts = np.array(had_counts + [7] * (groups + 3), np.int64)
        sums = np.concatenate([words(had), np.full(2 * groups + 6, 7, np.int64)])
        alone = counts.copy()
        placed = np.array(weights, np.int64), np.array(ids, np.int64), np.array(positions, np.int64), start
        least = kernels_sums.write_sums(np.array(data, np.int64), *placed, counts, sums)
        before = [(had_counts[p], had[p]) if p >= 0 else (0, 0) for p in positions]
        wanted = add_plain(data, weights, ids, [n for n, _ in before], [s for _, s in before], groups)
        assert counts.tolist() == had_counts + wanted[0] + [7] * 3
        assert sums.tolist() == words(had).tolist() + words(wanted[1]).tolist() + [7] * 6
        assert kernels_sums.write_counts(*placed, alone) == least == min(wanted[0])
        assert alone.tolist() == counts.tolist()
