"""`StorageLimits`: the sizes and times that bound a storage."""

from __future__ import annotations

from dataclasses import dataclass

from .budget import MemoryBudget
from .log_files import SEGMENT_BYTES

PROCESS_FROM_BYTES = 1 << 20
"""Of less changelog a process would take longer to be told."""


@dataclass(frozen=True, slots=True)
class StorageLimits:
    """When segments end and checkpoints begin."""

    segment_bytes: int = SEGMENT_BYTES
    checkpoint_bytes: int = 256 << 20
    """Changelog written since the last checkpoint began; bounds what recovery replays."""
    checkpoint_s: float = 30.0
    """Age of the last checkpoint at which a commit begins the next."""
    compact_bytes: int = 64 << 20
    """Segments smaller than this together are kept, however small the base is."""
    segments_max: int = 200
    """More segments than this are compacted however small they are (each start begins one)."""
    waited_for_bytes: int = 16 << 20
    """Tables that in memory take no more together, the smallest first, are read before a start is over."""
    counted_rows_min: int = 1 << 12
    """Of smaller tables the changelog does not say how many rows they have: they are read at a start."""
    process_from_bytes: int = PROCESS_FROM_BYTES
    """So much changelog is turned into files for the store by a process of its own."""
    memory: MemoryBudget | None = None
    """Tables are kept within this budget; without one they stay in memory whole."""
