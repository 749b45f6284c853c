"""Seeded crashes: power cuts, kills, full and failing disks, at any step of commit, checkpoint, recovery.

A failure prints its seed; `MILLPOND_SEEDS=100:200` runs others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pytest

from millpond.storage import compaction
from millpond.storage import index as index_module
from millpond.storage import table as table_module
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


class Slow:
    """A worker whose work is done when it is asked for the `polls`-th time."""

    def __init__(self, polls: int) -> None:
        self.polls, self.submitted = polls, 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Slow.Work:
        self.submitted += 1
        return Slow.Work(self.polls, cache(partial(function, *arguments)))

    @dataclass
    class Work:
        left: int
        result: Callable[[], Any]

        def done(self) -> bool:
            self.left -= 1
            return self.left <= 0


@pytest.mark.parametrize("polls", (1, 2, 4))
def test_it_is_so_while_rows_are_compacted_beside_epochs(polls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of any size, a row or two at each commit; arrays and indexes outgrow theirs all the time."""
    for name in ("BESIDE_ROWS", "WRITTEN_SHARE", "DEAD_ROWS_MIN"):
        monkeypatch.setattr(table_module, name, 0)
    for name, value in (("SWEEP_FROM", 0), ("SWEEP_KEY", 1), ("SWEEP_MIN", 4)):
        monkeypatch.setattr(index_module, name, value)
    monkeypatch.setattr(compaction, "CATCH_UP_ROWS", 1)
    slow = Slow(polls)
    monkeypatch.setattr(compaction, "WORKER", slow)
    for seed in range(FIRST + polls, LAST, 16):
        run(seed, faults=seed % 2 == 0, epochs=40)
    assert slow.submitted > 50 or LAST - FIRST < 320


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
