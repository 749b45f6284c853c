"""I5 for every node: the sum of the deltas is the plain output of the summed inputs, at every epoch."""

from __future__ import annotations

import random

import pytest

from .examples import EXAMPLES, EXTRA_TYPES, relations, scans
from .harness import Trial


def start(name: str, seed: int) -> tuple[Trial, random.Random]:
    source = random.Random(f"{name} {seed}")
    inputs = relations(source.randrange(1 << 30), source.choice(EXTRA_TYPES))
    return Trial({name: EXAMPLES[name](scans(inputs))}, inputs), source


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", EXAMPLES)
def test_incremental_is_plain(name: str, seed: int) -> None:
    trial, source = start(name, seed)
    trial.epoch({})
    trial.check()
    for _ in range(10):
        some = [r for r in trial.relations.values() if source.random() < 0.7]
        deltas = {r.name: r.change(source.choice((0, 1, 2, 5, 12))) for r in some}
        trial.epoch(deltas, abort_first=source.random() < 0.25)
        trial.check()
        if source.random() < 0.2:
            trial.restart()
