"""The compiled loop over extremes, beside plain Python."""

import random

import numpy as np
import pytest

from millpond.storage import kernels_extremes


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_extremes_improve_or_are_lost(seed: int, last: bool) -> None:
    rng = random.Random(seed)
    known, groups = 5, 8
    bags = {group: [rng.randrange(20) for _ in range(rng.randrange(4))] for group in range(known)}
    best = max if last else min
    has = np.array([bool(bags.get(group)) for group in range(groups)], np.uint8)
    state = np.array([best(bags[g]) if bags.get(g) else -99 for g in range(groups)], np.int64)
    rows = list[tuple[int, int, int]]()
    for group, bag in bags.items():
        rows += [(group, value, -1) for value in {*bag} if rng.random() < 0.3]
    went = {row[:2] for row in rows}
    came = {(rng.randrange(groups), rng.randrange(20)) for _ in range(rng.randrange(12))} - went
    rows += [(*row, rng.choice([1, 2])) for row in sorted(came)]
    rng.shuffle(rows)

    ids, data, weights = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    lost = np.empty(groups, np.int64)
    count = kernels_extremes.improve_extremes(data, weights, ids, known, last, has, state, lost)

    for group, value, weight in rows:
        bag = bags.setdefault(group, [])
        if weight > 0:
            bag += [value] * weight
        else:
            bag.remove(value)
    gone = lost[:count].tolist()
    assert len(set(gone)) == count
    for group in range(groups):
        bag = bags.get(group, [])
        if group in gone:
            assert not has[group]
            assert any(row[0] == group and row[2] < 0 for row in rows)
        else:
            assert has[group] == bool(bag)
            assert not bag or state[group] == best(bag)


def test_a_group_without_a_state_is_looked_at_when_a_value_goes() -> None:
    has, state, lost = np.zeros(1, np.uint8), np.zeros(1, np.int64), np.empty(1, np.int64)
    data, weights, ids = np.array([9, 5]), np.array([1, -1]), np.zeros(2, np.int64)
    assert kernels_extremes.improve_extremes(data, weights, ids, 0, False, has, state, lost) == 1
    assert lost[0] == 0 and not has[0]
