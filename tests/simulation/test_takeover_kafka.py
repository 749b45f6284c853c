"""Who may write a changelog on Kafka, simulated: the code of `log_kafka*.py` over a broker in memory.

Processes follow, suspect, take over and write. Each runs in a thread of its own and moves only when the
schedule, drawn from a seed, says so: before every question to the broker it may be stopped for long, as by
SIGSTOP, or killed. Questions and answers get lost, come late or twice; a process is cut off for a while;
clocks jump; transactions are decided long before their markers are there. The sign that a primary is gone is
wrong at random.

At the moment a transaction is decided, and after every step:

* a commit belongs to the claim in force, and is the epoch after the last one;
* an epoch that was acknowledged is in the log, one that was refused is not and never comes;
* no two processes acknowledge the same epoch;
* what a follower has is what was committed as the epoch it stands at, in all stores, and never goes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from millpond.storage import (
    log_kafka,
    log_kafka_client,
    log_kafka_place,
    log_kafka_presence,
    log_kafka_registry,
    log_kafka_scan,
    log_kafka_source,
    log_kafka_watch,
)
from millpond.storage.errors import SqlError
from millpond.storage.log_kafka import KafkaLog

from .fake_kafka import FakeAdmin, FakeMessage
from .kafka_world import SimTime, SimTopics, World

FIRST, LAST = (int(part) for part in os.environ.get("MILLPOND_TAKEOVER_SEEDS", "0:40").split(":"))
GROUPS = 4
MODULES = (log_kafka, log_kafka_client, log_kafka_place, log_kafka_presence, log_kafka_registry,
           log_kafka_scan, log_kafka_source, log_kafka_watch)  # fmt: skip


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], World]:
    """Worlds by their seeds, in which the modules live."""

    def make(seed: int) -> World:
        world = World(seed)
        for module in MODULES:
            if hasattr(module, "time"):
                monkeypatch.setattr(module, "time", SimTime(world))
        monkeypatch.setattr(log_kafka_presence, "random", world.random)
        return world

    def admin(topics: SimTopics) -> FakeAdmin:
        return FakeAdmin(topics.process.world.broker, topics.process)

    monkeypatch.setattr(log_kafka_client, "_admin_client", admin)
    monkeypatch.setattr(log_kafka_scan, "Message", FakeMessage)
    return make


def run(make: Callable[[int], World], seed: int) -> World:
    world = make(seed)
    try:
        world.run()
    except BaseException:
        print(f"seed {seed}, step {world.steps}")
        raise
    return world


@pytest.mark.parametrize("group", range(GROUPS))
def test_takeovers_lose_nothing_and_repeat_nothing(group: int, simulated: Callable[[int], World]) -> None:
    worlds = [run(simulated, seed) for seed in range(FIRST + group, LAST, GROUPS)]
    assert sum(len(world.writers) for world in worlds) > 2 * len(worlds), "too little happened"
    assert sum(world.epoch for world in worlds) > 10 * len(worlds)


def _never_look(log: KafkaLog) -> None:
    """A writer that does not look at the claim."""


def _refuse_at_once(log: KafkaLog, epoch: int, error: SqlError) -> None:
    """A writer that takes a commit without an answer for one that failed."""
    log._abandon()
    raise error


def _keep_producer(log: KafkaLog) -> None:
    """A writer that goes on with a producer whose commit got no answer."""


def _whole_at_once(scan: object, read: object, epoch: int) -> bool:
    """A reader that does not wait for the marks of an epoch."""
    return True


@pytest.mark.parametrize(
    ("of", "name", "mutant", "noticed"),
    [
        (KafkaLog, "_look_at_claim", _never_look, "under a claim that is not in force"),
        (KafkaLog, "_settle", _refuse_at_once, "was refused and"),
        (KafkaLog, "_give_up", _keep_producer, "was refused and|another epoch"),
        (log_kafka_scan.Scan, "_whole", _whole_at_once, "has another epoch"),
    ],
)
def test_the_simulation_notices_what_is_wrong(
    of: type, name: str, mutant: Callable[..., Any], noticed: str,
    simulated: Callable[[int], World], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(of, name, mutant)
    with pytest.raises(AssertionError, match=noticed):
        for seed in range(100):
            run(simulated, seed)
