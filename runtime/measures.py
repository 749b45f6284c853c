"""What an engine counts of its epochs (`storage/measures.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..storage.measures import Timing


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

    def committed(
        self, seconds: float, delivered: Mapping[str, int], touched: Iterable[str], time_us: int
    ) -> None:
        """An epoch is visible."""
        self.time.note(seconds)
        for name, count in delivered.items():
            self.delivered[name] = self.delivered.get(name, 0) + count
        self.changed_us.update(dict.fromkeys(touched, time_us))

    def forget(self, name: str) -> None:
        """The relation is gone."""
        self.delivered.pop(name, None)
        self.changed_us.pop(name, None)
