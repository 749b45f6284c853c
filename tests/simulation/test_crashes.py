"""Seeded crashes: power cuts, kills, full and failing disks, at any step of commit, checkpoint, recovery.

A failure prints its seed; `MILLPOND_SEEDS=100:200` runs others.
"""

from __future__ import annotations

import os

import pytest

from .world import World

FIRST, LAST = (int(part) for part in os.environ.get("MILLPOND_SEEDS", "0:320").split(":"))
GROUPS = 8


def run(seed: int, faults: bool, lives: int = 5, epochs: int = 14) -> World:
    world = World(seed, faults)
    try:
        for _ in range(lives):
            world.live(epochs)
        # A last recovery in peace, which must succeed and then work.
        world.disk.crash_after = None
        storage = world.open()
        world.check(storage)
        world.faults = False
        world.act(storage)
        storage.close()
    except BaseException:
        print(f"seed {seed}, faults {faults}")
        raise
    return world


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("faults", (False, True))
def test_nothing_committed_is_lost_and_nothing_is_half_there(group: int, faults: bool) -> None:
    crashes = epochs = 0
    for seed in (
        range(FIRST + group, LAST, GROUPS * 2) if faults else range(FIRST + group + GROUPS, LAST, GROUPS * 2)
    ):
        world = run(seed, faults)
        crashes += world.crashes
        epochs += world.acknowledged
    if LAST - FIRST >= 320:
        # The runs did what they are for.
        assert crashes > 20 and epochs > 100
