"""What a server counts of its own work, cheaply enough to count always.

A count is a plain attribute that one thread raises and any may read. Whoever shows it (`server/metrics.py`)
asks when it is asked itself; nothing is gathered meanwhile.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from dataclasses import dataclass, field

BOUNDS_S = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip
"""Upper bounds of a `Timing`'s buckets, in seconds."""


class Timing:
    """How long things took: `counts[i]` took at most `BOUNDS_S[i]`, and longer than the bound before.

    The last count is of what took longer than all bounds. Written by one thread at a time.
    """

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def note(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class SharedCount:
    """A count that several threads raise."""

    __slots__ = ("_lock", "value")

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self.value += count


@dataclass(slots=True)
class CommitMeasures:
    """Of a `Storage`. `log` is writing an epoch to the changelog and making it durable.

    `rows` has how many rows were written or deleted, by table.
    """

    log: Timing = field(default_factory=Timing)
    log_bytes: int = 0
    rows: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class CheckpointMeasures:
    """Of a `Checkpointer`; `succeeded_at` is by its clock."""

    time: Timing = field(default_factory=Timing)
    failures: int = 0
    succeeded_at: float = 0.0


@dataclass(slots=True)
class EvictionMeasures:
    """Tables that let rows go, and how many rows those were."""

    tables: int = 0
    rows: int = 0
