"""Seeded crashes: power cuts, kills, full and failing disks, at any step of commit, checkpoint, recovery.

A failure prints its seed; `MILLPOND_SEEDS=100:200` runs others.
"""

from __future__ import annotations

import os

import pytest

from millpond.storage.errors import StartupError
from millpond.storage.log import LogDamaged

from .fake_disk import FakeDisk
from .world import LOG, World

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
    crashes = epochs = incomplete = warmed = 0
    for seed in (
        range(FIRST + group, LAST, GROUPS * 2) if faults else range(FIRST + group + GROUPS, LAST, GROUPS * 2)
    ):
        world = run(seed, faults)
        crashes += world.crashes
        epochs += world.acknowledged
        incomplete += world.incomplete
        warmed += world.warmed
    if LAST - FIRST >= 320:
        # The runs did what they are for.
        assert crashes > 20 and epochs > 100 and incomplete > 20 and warmed > 5


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_flipped_bit_is_noticed_or_does_no_harm(group: int) -> None:
    noticed = 0
    for seed in range(FIRST + group, LAST, GROUPS * 2):
        world = run(seed, faults=False, lives=2)
        random = world.random
        for _ in range(4):
            disk = world.disk.at_rest()
            path = LOG / random.choice([n for n in disk.names(LOG) if n != "LOCK"])
            size = disk.open(path).size()
            if size:
                disk.flip(path, random.randrange(size), random.randrange(8))
            noticed += opens_right_or_not_at_all(world, disk, seed)
    assert noticed or LAST - FIRST < 320


def opens_right_or_not_at_all(world: World, disk: FakeDisk, seed: int) -> bool:
    """Whether the damage was noticed; never may it be read."""
    sound, world.disk = world.disk, disk
    try:
        world.check(world.open())
    except (StartupError, LogDamaged):
        return True
    except BaseException:
        print(f"seed {seed}")
        raise
    finally:
        world.disk = sound
    return False
