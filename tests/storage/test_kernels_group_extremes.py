"""The compiled loop that writes extremes where they will lie, beside plain Python."""

import math
import random

import numpy as np
import pytest

from millpond.storage.kernels_group_extremes import write_extremes

KINDS = (np.int16, np.int32, np.int64, np.float32, np.float64)
NO_BYTES = np.empty(0, np.uint8)


def order(value: float) -> tuple[bool, float]:
    """NaN is equal to itself and the greatest."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def draw(rng: random.Random, kind: type) -> float:
    floats = [math.nan, math.inf, -math.inf, -0.0, 0.5] if np.dtype(kind).kind == "f" else []
    return rng.choice([*range(-5, 15), *floats])


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_extremes_go_from_the_old_rows_to_the_new_ones(seed: int, kind: type, last: bool) -> None:
    rng = random.Random(seed)
    start, groups = 12, 6
    best = max if last else min
    bags = [[draw(rng, kind) for _ in range(rng.randrange(4))] for _ in range(groups)]
    positions = np.array(rng.sample(range(start), groups))
    positions[rng.randrange(groups)] = -1
    values, valid = np.zeros(start + groups, kind), np.ones(start + groups, np.uint8)
    for group, position in enumerate(positions):
        if position < 0:
            bags[group] = []
        elif bags[group]:
            values[position] = best(bags[group], key=order)
        else:
            valid[position] = 0
    rows = [
        (g, v, -1)
        for g, bag in enumerate(bags)
        for v in {order(v): v for v in bag}.values()
        if rng.random() < 0.3
    ]
    went = {(group, order(value)) for group, value, _ in rows}
    came = ((rng.randrange(groups), draw(rng, kind)) for _ in range(rng.randrange(12)))
    rows += [(g, v, rng.choice([1, 2])) for g, v in came if (g, order(v)) not in went]
    rng.shuffle(rows)

    ids, weights = (np.array([row[k] for row in rows], np.int64) for k in (0, 2))
    has, lost = np.empty(groups, np.uint8), np.empty(groups, np.int64)
    data = np.array([row[1] for row in rows], kind)
    known = valid if rng.random() < 0.7 or not valid.all() else NO_BYTES
    count = write_extremes(data, weights, ids, positions, start, last, values, known, has, lost)

    gone = lost[:count].tolist()
    assert len(set(gone)) == count
    for group, value, weight in rows:
        if weight > 0:
            bags[group] += [value] * weight
        else:
            bags[group].remove(next(v for v in bags[group] if order(v) == order(value)))
    for group, bag in enumerate(bags):
        if group in gone:
            assert not has[group]
            assert any(row[0] == group and row[2] < 0 for row in rows)
        else:
            assert has[group] == bool(bag)
            assert not bag or order(values[start + group]) == order(best(bag, key=order))
