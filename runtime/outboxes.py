"""The bound of sinks' outboxes (I7): what would add to a full one waits until its target has taken some.

A sink whose target is slow holds up those who feed it: sources are not read on, and writes wait. While the
target is away altogether sources wait as well, but a client is told (53400), since nobody knows for how long.
Nothing is lost either way, and what does not lead to the sink goes on. The write that reaches the bound is
taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..sql.catalog import Catalog
from ..sql.entries import Sink
from ..storage.errors import ConfigurationLimitExceeded
from .published import Published
from .sink import SinkRunner, outbox_name
from .works import Work

OUTBOX_ROWS_MAX = 1_000_000


class Outboxes:
    """Which relations lead to a full outbox, as of the last `look`. Used by the engine's thread."""

    def __init__(self, rows_max: int) -> None:
        self._rows_max = rows_max
        self._held: dict[int, SinkRunner] = {}
        self._parked: list[Work] = []

    def __len__(self) -> int:
        """Works that wait for an outbox."""
        return len(self._parked)

    def holds(self, oid: int) -> bool:
        """Whether changes of that relation have to wait."""
        return oid in self._held

    def look(self, published: Published, sinks: Iterable[SinkRunner]) -> list[Work]:
        """Looks how full the outboxes are; the parked works that need not wait any longer."""
        full = [runner for runner in sinks if _rows(published, runner.sink) >= self._rows_max]
        if not full and not self._held:
            return []
        self._held = {oid: runner for runner in full for oid in feeding(published.catalog, runner.sink)}
        parked, self._parked = self._parked, []
        return self.admit(parked)

    def admit(self, works: Sequence[Work]) -> list[Work]:
        """Those that may run; of the others, those that may wait are parked, the rest refused."""
        if not self._held:
            return list(works)
        admitted: list[Work] = []
        for work in works:
            runner = next((self._held[oid] for oid in work.written() if oid in self._held), None)
            if runner is None:
                admitted.append(work)
            elif not runner.failure:
                self._parked.append(work)
            elif work.future.running() or work.future.set_running_or_notify_cancel():
                work.future.set_exception(self._refusal(runner))
        return admitted

    def give_up(self) -> list[Work]:
        """The parked works; nothing will be taken out of an outbox any more."""
        parked, self._parked = self._parked, []
        return parked

    def _refusal(self, runner: SinkRunner) -> ConfigurationLimitExceeded:
        name = runner.sink.name
        return ConfigurationLimitExceeded(
            f'the outbox of sink "{name}" is full: its target takes no changes',
            detail=runner.failure,
            hint=f'Writes go on once the target does, or after DROP SINK "{name}". '
            f"sink_outbox_rows_max ({self._rows_max}) is the bound.",
        )


def feeding(catalog: Catalog, sink: Sink) -> set[int]:
    """OIDs of everything whose changes may come to a sink, also through tables that other sinks write."""
    into: dict[int, list[Sink]] = {}
    for other in catalog.of(Sink):
        if isinstance(other, Sink) and other.into_oid:
            into.setdefault(other.into_oid, []).append(other)
    found: set[int] = set()
    waiting = list(sink.dependencies)
    while waiting:
        oid = waiting.pop()
        entry = catalog.by_oid(oid)
        if entry is None or oid in found:
            continue
        found.add(oid)
        waiting += entry.dependencies
        for other in into.get(oid, ()):
            waiting += other.dependencies - {oid}
    return found


def _rows(published: Published, sink: Sink) -> int:
    outbox = published.tables.get(outbox_name(sink))
    return 0 if outbox is None else len(outbox)
