"""The compiled sums of doubles beside exact integers: adding, storing, and rounding once."""

from __future__ import annotations

import math
import struct
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators.functions import exact_floats as exact
from millpond.storage.columns import GrowingFixed, GrowingText

HARD = (
    0.0, -0.0, 5e-324, -5e-324, 1e-320, 2.2250738585072014e-308, 2.225073858507201e-308, 1.0, 0.1, -1.5, 3e17,
    1.7976931348623157e308, -1.7976931348623157e308, 2.0**-1022, 2.0**-1021, 2.0**53 + 2,
)  # fmt: skip
SPECIAL = (math.nan, math.inf, -math.inf)


def draw(random: Random, special: bool) -> float:
    kind = random.random()
    if special and kind < 0.1:
        return random.choice(SPECIAL)
    if kind < 0.4:
        return random.choice(HARD)
    if kind < 0.7:
        return random.choice([-1, 1]) * random.random() * 10.0 ** random.randint(-5, 5)
    value = struct.unpack("<d", random.randbytes(8))[0]
    return value if math.isfinite(value) else 1.0


def added(sums: list[int], rows: list[tuple[float, int, int]]) -> list[int]:
    """The twin of `add_to_sums`."""
    sums = list(sums)
    for value, weight, group in rows:
        sums[group] += weight * exact.to_integer(value)
    return sums


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_of_exact_integers(seed: int) -> None:
    random = Random(seed)
    groups, known = random.randint(1, 20), 0
    old, sums = None, [0] * groups
    for _ in range(6):
        rows = [
            (draw(random, seed % 2 == 1), random.choice([1, 1, 1, -1, -2, 1000]), random.randrange(groups))
            for _ in range(random.choice([0, 1, 5, 60]))
        ]
        if random.random() < 0.3:  # what came goes again
            rows += [(value, -weight, group) for value, weight, group in rows]
        data, weights, ids = (
            np.array([row[k] for row in rows], kind)
            for k, kind in enumerate((np.float64, np.int64, np.int64))
        )
        found = exact.add_floats(old, data, weights, ids, groups)
        sums = added(sums, rows)
        assert found.to_pylist() == [exact.pack_integer(total) for total in sums]
        known = random.randint(0, groups)
        old = found.slice(0, known) if known else None
        sums = sums[:known] + [0] * (groups - known)


@pytest.mark.parametrize("seed", range(60))
def test_a_sum_is_divided_and_rounded_once(seed: int) -> None:
    random = Random(seed)
    totals = [
        sum(exact.to_integer(draw(random, False)) for _ in range(random.randint(0, 3))) for _ in range(200)
    ]
    totals += [random.randint(-7, 7) for _ in range(50)]
    totals += [
        random.choice([1, -1]) * (2 ** random.randint(50, 120) + random.randint(-2, 2)) for _ in range(200)
    ]
    divisors = [random.choice([1, 1, 2, 3, 7, 1000, 2**31 - 1, random.randint(1, 2**31 - 1)]) for _ in totals]
    array = pa.array([exact.pack_integer(total) for total in totals], pa.binary())
    wanted = [exact.to_float(total, by) for total, by in zip(totals, divisors, strict=True)]
    found = exact.divided(array, np.array(divisors))
    if not all(map(math.isfinite, wanted)):
        assert found is None
        finite = [i for i, value in enumerate(wanted) if math.isfinite(value)]
        array, wanted = array.take(pa.array(finite)), [wanted[i] for i in finite]
        found = exact.divided(array, np.array(divisors)[finite])
    assert found is not None and found.tolist() == wanted


def test_what_is_not_for_the_compiled_loops_is_told() -> None:
    infinite = pa.array([exact.pack_integer(exact.to_integer(math.inf))], pa.binary())
    one = pa.array([exact.pack_integer(exact.to_integer(1.0))], pa.binary())
    assert exact.divided(infinite, np.array([1])) is None
    assert exact.divided(one, np.array([1 << 31])) is None
    heavy = exact.add_floats(one, np.array([1.0]), np.array([1 << 40]), np.array([0]), 1)
    assert heavy.to_pylist() == [exact.pack_integer(exact.to_integer(1.0) * ((1 << 40) + 1))]


@pytest.mark.parametrize("seed", range(20))
def test_sums_are_written_where_they_lie(seed: int) -> None:
    """`write_float_sums` leaves in the new rows what `add_to_sums` gives of the old ones."""
    random = Random(seed)
    counts, sums = GrowingFixed(pa.int64(), np.dtype(np.int64)), GrowingText(pa.binary())
    state = list[tuple[int, int]]()
    for _ in range(5):
        start, groups = len(state), random.randint(1, 9)
        known = random.sample(range(start), min(start, random.randrange(groups + 1)))
        positions = np.array(known + [-1] * (groups - len(known)), np.int64)
        rows = [
            (draw(random, seed % 2 == 1), random.choice([1, 1, 2, 3]), random.randrange(groups))
            for _ in range(12)
        ]
        data, weights, ids = (
            np.array([row[k] for row in rows], kind)
            for k, kind in enumerate((np.float64, np.int64, np.int64))
        )
        counts.open(start, start + groups)
        least = exact.write_floats(sums, counts.values, data, weights, ids, positions, start)
        old = [state[p] if p >= 0 else (0, 0) for p in positions]
        totals = added([total for _, total in old], rows)
        numbers = [count + sum(w for _, w, g in rows if g == k) for k, (count, _) in enumerate(old)]
        state += zip(numbers, totals, strict=True)
        assert least == min(numbers)
        assert counts.array(0, len(state)).to_pylist() == [count for count, _ in state]
        assert sums.array(0, len(state)).to_pylist() == [exact.pack_integer(total) for _, total in state]


def test_weights_too_large_for_limbs_are_left_to_arrays() -> None:
    counts, sums = GrowingFixed(pa.int64(), np.dtype(np.int64)), GrowingText(pa.binary())
    counts.open(0, 1)
    heavy = np.array([1 << 40]), np.zeros(1, np.int64), np.array([-1])
    assert exact.write_floats(sums, counts.values, np.array([1.5]), *heavy, 0) is None
