"""Followers of a log under a writer that compacts it all the time: random epochs, restarts, promotions.

A follower looks now and then, checkpoints or not, is restarted with its store or without it, asks for tables
early or late, and in the end takes over and goes on writing. At every look its tables, their names and the
source offsets are those of one committed epoch, the last.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from millpond.storage.checkpoint import Abandoned
from millpond.storage.commit import Storage
from millpond.storage.memory import MemoryStore
from millpond.storage.standby import Follower
from millpond.storage.store import StoreBatch
from millpond.storage.tablespec import TableSpec

from .world import DATA, LOG, SPECS, TINY, NoMemory, World, as_rows

FIRST, LAST = (int(part) for part in os.environ.get("MILLPOND_FOLLOWER_SEEDS", "0:120").split(":"))
GROUPS = 4
OWN = Path("/own")


class Following(World):
    """A world without faults, and a follower in it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, faults=False)
        self.kept: list[StoreBatch] = []
        self.memory = NoMemory(1 << 40) if seed % 5 == 0 else None
        self.restless = seed % 20 == 15
        """Whether a promoted writer begins checkpoints by itself, and goes on with them when replaced."""
        self.evictions = self.abandoned = 0
        self.follower: Follower | None = None

    def open_own(self, folder: Path, fresh: bool) -> MemoryStore:
        if fresh:
            self.kept.clear()
        return MemoryStore(self.kept)

    def follow(self) -> Follower:
        if self.follower is None:
            limits = replace(TINY, memory=self.memory)
            # The clock goes on for whoever has a budget, so that every look at the memory is due.
            clock = (lambda: 0.0) if self.memory is None else partial(next, count(step=1.0))
            self.follower = Follower.open(
                OWN, LOG, self.disk, limits=limits, open_store=self.open_own, clock=clock
            )
        return self.follower

    def look(self) -> None:
        """Catches up, sometimes checkpoints, and compares some of the tables."""
        follower = self.follow()
        _ = follower.catch_up()
        follower._checkpointer.join()
        assert follower.epoch == self.acknowledged
        self.evictions += sum(not table.complete for table in follower._tables.values())
        if self.memory is None and self.random.random() < 0.3:
            follower._checkpointer.run(follower.position, None)
            assert follower._checkpointer.error is None
        content, offsets = self.history[follower.epoch]
        assert follower.names() == sorted(content)
        assert follower.sources == offsets
        for name, expected in content.items():
            if self.random.random() < 0.5:
                spec = SPECS[name]
                if self.random.random() < 0.2:
                    spec = TableSpec(spec.schema, spec.key, ((0,),))
                table = follower.table(name, spec)
                assert as_rows(*table.scan()) == expected, f"{name} at epoch {follower.epoch}"
                if spec.indexes:
                    rows, _ = table.scan()
                    probe, _ = table.matches(0, [rows[0]])
                    assert len(set(probe.tolist())) == len(rows[0])

    def restart(self) -> None:
        """Ends the follower, in peace or by force; once in a while its store is lost."""
        follower = self.follower
        if follower is None:
            return
        if self.random.random() < 0.5:
            follower.close()
        follower._lock.release()
        self.follower = None
        if self.random.random() < 0.2:
            self.kept.clear()

    def promote(self, storage: Storage) -> Storage:
        """The writer dies; the follower goes on with its tables."""
        follower = self.follow()
        self.disk.locks -= {LOG / "LOCK", DATA / "LOCK"}
        lock = self.disk.lock(LOG / "LOCK")
        assert lock is not None
        log, _ = follower.take_over(lock)
        self.follower = None
        if self.random.random() < 0.5:
            self.abandon_checkpoint(follower)
        promoted = follower.become(log)
        if not self.restless:
            # The clock stands still, so that no checkpoint is begun but by `act`, not even the first.
            promoted._checkpoints._begun_at = 0.0
            promoted._clock = promoted._checkpoints.clock = promoted._evictions.clock = lambda: 0.0
        assert promoted.epoch == self.acknowledged
        self.compare(promoted, promoted.epoch)
        # Its store is that of the writer from now on, and the old writer's is free to follow.
        self.batches, self.kept = self.kept, []
        self.disk.locks.discard(OWN / "LOCK")
        return promoted

    def abandon_checkpoint(self, follower: Follower) -> None:
        """What `become` does to one that is running, at any of its steps."""
        checkpointer, steps = follower._checkpointer, self.random.randrange(12)

        def abandon() -> None:
            nonlocal steps
            steps -= 1
            checkpointer._abandoned = steps < 0

        follower._settle()
        checkpointer.pause_with(abandon)
        checkpointer.run(follower.position, None)
        checkpointer.pause_with(lambda: None)
        self.abandoned += isinstance(checkpointer.error, Abandoned)

    def live_on(self) -> None:
        storage = self.open()
        self.act(storage)
        for _ in range(60):
            what = self.random.random()
            if what < 0.6:
                self.act(storage)
            elif what < 0.85:
                if self.acknowledged:
                    self.look()
            elif what < 0.93:
                self.restart()
            elif self.acknowledged:
                storage = self.promote(storage)
        self.compare(storage, self.acknowledged)


@pytest.mark.parametrize("group", range(GROUPS))
def test_followers_have_what_was_committed(group: int) -> None:
    evictions = abandoned = 0
    for seed in range(FIRST + group, LAST, GROUPS):
        world = Following(seed)
        try:
            world.live_on()
        except BaseException:
            print(f"seed {seed}, epoch {world.acknowledged}")
            raise
        evictions += world.evictions
        abandoned += world.abandoned
    assert evictions and abandoned
