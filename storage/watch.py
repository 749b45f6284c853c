"""What there is to say about a storage at work, of a primary or of a standby, for those who watch it.

`watch` may be called from any thread: it copies what the engine's thread goes on changing, and of tables
looks at the snapshots of their last commit only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .budget import MemoryBudget
from .commit import Storage
from .measures import CheckpointMeasures, CommitMeasures, EvictionMeasures
from .snapshot import TableSnapshot
from .standby import Follower


@dataclass(frozen=True, slots=True)
class Watched:
    """`log` is (bytes of the base, bytes of segments behind it, their number); None where nobody can tell.

    `checkpoint_age_s` counts from the start while none has succeeded. `store` has bytes by what takes
    them, as `Store.figures`.
    """

    tables: Mapping[str, TableSnapshot]
    commits: CommitMeasures
    checkpoints: CheckpointMeasures
    checkpoint_age_s: float
    evictions: EvictionMeasures
    fetched: int
    memory: MemoryBudget | None
    store: Mapping[str, int]
    log: tuple[int, int, int] | None


def watch(storage: Storage | Follower) -> Watched:
    """The figures of this moment."""
    checkpoints = storage._checkpointer.measures
    primary = isinstance(storage, Storage)
    mirror = storage._recovered.mirror if primary else storage._mirror
    tables = storage._tables.opened if primary else storage._tables
    return Watched(
        {name: table.snapshot() for name, table in list(tables.items())},
        storage.measures if primary else CommitMeasures(),
        checkpoints,
        storage._clock() - checkpoints.succeeded_at,
        storage._evictions.measures if primary else EvictionMeasures(),
        mirror.fetched.value,
        storage._limits.memory,
        mirror.figures(),
        _log_sizes(storage) if primary else None,
    )


def _log_sizes(storage: Storage) -> tuple[int, int, int] | None:
    """None while the log is being cut, and of a log that sees to its size itself."""
    try:
        sizes = storage._log.sizes()
    except OSError:
        return None
    return sizes if sizes[2] else None
