"""What an engine counts of its epochs (`storage/measures.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..sql.entries import Sink
from ..storage.measures import Timing
from .sink import outbox_name

if TYPE_CHECKING:
    from .epoch import Epoch


@dataclass(slots=True)
class EpochMeasures:
    """`time` is from taking the works to publishing, of epochs that changed something.

    `failed` counts epochs that were undone because of an error.
    """

    time: Timing = field(default_factory=Timing)
    failed: int = 0
    delivered: dict[str, int] = field(default_factory=dict)
    """Rows that came from sources and went into outboxes, by the source's id and the outbox's name."""
    changed_us: dict[str, int] = field(default_factory=dict)
    """When an epoch last changed a relation, by its id: µs since 1970."""

    def committed(self, epoch: Epoch, seconds: float) -> None:
        """An epoch is visible, after so long."""
        self.time.note(seconds)
        for name, count in (*epoch.delivered.items(), *epoch.outbox_rows.items()):
            self.delivered[name] = self.delivered.get(name, 0) + count
        self.changed_us.update(dict.fromkeys(epoch.touched, epoch.context.now_us))
        for definition in epoch.definitions:
            for entry in definition.dropped:
                for name in (entry.id, outbox_name(entry)) if isinstance(entry, Sink) else (entry.id,):
                    self.delivered.pop(name, None)
                    self.changed_us.pop(name, None)
