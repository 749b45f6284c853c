"""`Watched`: what there is to say about a storage at work, of a primary or of a standby.

`Storage.watch` and `Follower.watch` make one, in any thread: of tables it has the snapshots of their last
commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .budget import MemoryBudget
from .measures import CheckpointMeasures, CommitMeasures, EvictionMeasures
from .snapshot import TableSnapshot
from .table import StateTable


@dataclass(frozen=True, slots=True)
class Watched:
    """`log` is (bytes of the base, bytes of segments behind it, their number); None where nobody can tell.

    `checkpoint_age_s` counts from the start while none has succeeded. `store` has bytes by what takes
    them, as `Store.figures`. A standby commits nothing.
    """

    tables: Mapping[str, TableSnapshot]
    checkpoints: CheckpointMeasures
    checkpoint_age_s: float
    fetched: int
    memory: MemoryBudget | None
    store: Mapping[str, int]
    commits: CommitMeasures = field(default_factory=CommitMeasures)
    evictions: EvictionMeasures = field(default_factory=EvictionMeasures)
    log: tuple[int, int, int] | None = None


def snapshots(tables: Mapping[str, StateTable]) -> dict[str, TableSnapshot]:
    """Those of tables of which another thread may open more meanwhile."""
    return {name: table.snapshot() for name, table in list(tables.items())}
