"""`Deltas`: what a step puts out, of each view that changed.

Nobody may ask for the change of a view that nothing reads. Its operator then gives a function that makes
the change, and the step costs what the state costs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from .pieces import sum_of
from .zset import ZSet


class Deltas(Mapping[str, ZSet]):
    """By view, the change of each that has one. `touched` are the views that may have."""

    def __init__(self) -> None:
        self._parts: dict[str, list[ZSet | Callable[[], ZSet]]] = {}
        self._made: dict[str, ZSet] = {}

    def add(self, view: str, delta: ZSet | Callable[[], ZSet]) -> None:
        """One part of a view's change, or what makes it."""
        self._parts.setdefault(view, []).append(delta)

    @property
    def touched(self) -> Collection[str]:
        """Views whose tables were written; to find out whether they changed, their changes are made."""
        return self._parts.keys()

    def __getitem__(self, view: str) -> ZSet:
        delta = self._delta(view) if view in self._parts else None
        if delta is None or not len(delta):
            raise KeyError(view)
        return delta

    def __iter__(self) -> Iterator[str]:
        return (view for view in self._parts if len(self._delta(view)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _delta(self, view: str) -> ZSet:
        if view not in self._made:
            parts = [part if isinstance(part, ZSet) else part() for part in self._parts[view]]
            self._made[view] = sum_of(parts)
        return self._made[view]
