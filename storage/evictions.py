"""`Evictions`: keeps the tables of a storage within its memory budget.

Only rows that the store has can be let go. So when tables take too much, a checkpoint is begun; it tells
where the store's rows of its epoch are to be found (`ColdRows`), and at a commit after its end the tables let
go what is older. Every later checkpoint gives incomplete tables a newer state of the store to read, so that
they need not remember what they changed before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .budget import MemoryBudget, release_memory, resident_bytes
from .changelog import StoredSpec
from .cold import ColdRows
from .measures import EvictionMeasures
from .table import StateTable
from .tablespec import TableSpec

LOOK_S = 0.1
"""Least time between two looks at how much memory is taken."""

RELEASE_FROM = 0.9
"""Of the budget: a process as large gives back what it has freed."""

RELEASE_S = 1.0
"""Least time between two such times; it takes some ten milliseconds."""

FETCHED_SHARE = 1 / 32
"""Of what tables may take: rows that readers of one snapshot may have fetched from the store."""

FAILURE_REST_S = 2.0
"""Time after a failed checkpoint before another is begun to evict."""


@dataclass(frozen=True, slots=True)
class ColdRequest:
    """What a checkpoint is asked for: the store's rows of a table.

    They are to be found by the table's indexes too, unless they will all be in memory soon (`indexed`).
    """

    stored: StoredSpec
    spec: TableSpec
    indexed: bool


@dataclass(slots=True)
class Evictions:
    """`renewed` collects the names of tables whose snapshot became another outside of an epoch."""

    budget: MemoryBudget | None
    clock: Callable[[], float] = time.monotonic
    beside: Callable[[], int] = lambda: 0
    """Bytes that processes of ours take beside this one."""
    renewed: set[str] = field(default_factory=set)
    measures: EvictionMeasures = field(default_factory=EvictionMeasures)
    _looked: float = 0.0
    _released: float = 0.0
    _asked: dict[str, StateTable] = field(default_factory=dict)
    _goals: dict[str, int] = field(default_factory=dict)

    def due(self, tables: Mapping[str, StateTable]) -> bool:
        """Whether tables take too much, and nothing is being done about it."""
        budget = self.budget
        if budget is None or not self._look():
            return False
        self._renew_grown(budget, tables)
        sizes = {name: table.nbytes for name, table in tables.items()}
        total = sum(sizes.values())
        self._measure(budget, total)
        if not budget.over(total):
            return False
        self._goals = budget.goals(sizes)
        return bool(self._goals)

    def urgent(self, tables: Mapping[str, StateTable]) -> bool:
        """Whether writing must wait for the checkpoint that is running."""
        if self.budget is None or not self._look():
            return False
        self._renew_grown(self.budget, tables)
        total = sum(table.nbytes for table in tables.values())
        self._measure(self.budget, total)
        return self.budget.urgent(total)

    def _renew_grown(self, budget: MemoryBudget, tables: Mapping[str, StateTable]) -> None:
        """Puts fresh snapshots in the place of those whose readers have fetched many rows from the store."""
        for name, table in tables.items():
            if not table.complete and table.snapshot().fetched_bytes > budget.share * FETCHED_SHARE:
                table.renew()
                self.renewed.add(name)

    def _measure(self, budget: MemoryBudget, tables: int) -> None:
        resident = self._resident()
        budget.look(tables, resident)
        if resident > budget.bytes_max * RELEASE_FROM:
            self._release()

    def relieve(self) -> None:
        """While writing waits: gives back what was freed, if the process is large."""
        budget = self.budget
        if budget is not None and self._resident() > budget.bytes_max * RELEASE_FROM:
            self._release()

    def _resident(self) -> int:
        return resident_bytes() + self.beside()

    def _release(self) -> None:
        if self.clock() - self._released > RELEASE_S:
            self._released = self.clock()
            release_memory()

    def _look(self) -> bool:
        """Whether it is time to."""
        now = self.clock()
        if now - self._looked < LOOK_S:
            return False
        self._looked = now
        return True

    def request(
        self, tables: Mapping[str, StateTable], specs: Mapping[str, StoredSpec]
    ) -> dict[str, ColdRequest]:
        """For the checkpoint that begins now: the tables to be evicted and those that are incomplete."""
        self._asked = {n: t for n, t in tables.items() if n in self._goals or not t.complete}
        for table in self._asked.values():
            table.mark()
        return {
            name: ColdRequest(specs[name], table.spec, name in self._goals or not table.warming)
            for name, table in self._asked.items()
        }

    def settle(self, tables: Mapping[str, StateTable], found: Mapping[str, ColdRows] | None) -> None:
        """Between epochs, after the checkpoint: `found` as requested, None if it failed."""
        for name, table in self._asked.items():
            if found is None or tables.get(name) is not table:
                table.unmark()
                continue
            before = table.resident
            table.evict(found[name], self._goals.get(name))
            if name in self._goals:
                self.renewed.add(name)
                self.measures.tables += 1
                self.measures.rows += before - table.resident
        if self._goals:
            self._release()
        if found is None:
            self._looked = self.clock() + FAILURE_REST_S
        self._asked, self._goals = {}, {}

    def take_renewed(self) -> set[str]:
        """The names collected since the last call."""
        renewed = self.renewed
        if renewed:
            self.renewed = set()
        return renewed


def whole_size(table: StateTable) -> int:
    """Bytes that a table would take in memory, all of it."""
    here = table.nbytes
    return here if table.complete else here * len(table) // max(table.resident, 1)
