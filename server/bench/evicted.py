"""Lines about state that does not fit: the rate while tables may take a quarter of what they would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage.budget import MemoryBudget
from .feed import Feed, Input, numbers
from .figures import Figure, Line
from .flows import FLOWS, GROUP_COLUMNS, ITEM_COLUMNS, ORDER_COLUMNS
from .inputs import group_input, order_inputs

QUARTER = 4


@dataclass(slots=True)
class TablesBudget(MemoryBudget):
    """A budget for tables alone: the batches that feed them lie in the same process."""

    tables: int = 0

    @property
    def share(self) -> int:
        return self.tables

    @property
    def affords_process(self) -> bool:
        return True

    def look(self, tables: int, resident: int) -> None:
        """What else the process takes does not matter."""


def measure(line: str, flow: str, inputs: dict[str, Input], columns: dict[str, str]) -> Iterator[Figure]:
    """The view of line `flow` with all state in memory, then with a quarter of it."""
    whole, state, proof = _run(flow, inputs, columns, None)
    budget = TablesBudget(state // QUARTER, tables=state // QUARTER)
    seconds, left, answer = _run(flow, inputs, columns, budget)
    assert answer == proof, f"evicted {answer}, in memory {proof}"
    total = sum(len(rows) for rows in inputs.values())
    sizes = f"{left >> 20} of {state >> 20} MB in memory at the end"
    note = f"{whole / seconds:.1%} of {total / whole:,.0f} rows/s; {sizes}"
    yield Figure(line, TITLES[line], total / seconds, "rows/s", None, "10 %", note)


def _run(
    flow: str, inputs: dict[str, Input], columns: dict[str, str], budget: MemoryBudget | None
) -> tuple[float, int, object]:
    """(seconds, bytes of tables at the end, answer to the flow's proof)"""
    with Feed(budget) as feed:
        total = sum(len(rows) for rows in inputs.values())
        for name, rows in inputs.items():
            feed.relation(name, columns[name], rows, len(rows) / total, False)
        feed.execute(f"CREATE MATERIALIZED VIEW m AS {FLOWS[flow].view}")
        seconds = feed.run()
        return seconds, feed.state_bytes(), numbers(feed.execute(FLOWS[flow].proof))


TITLES = {
    "group1m-evicted": "1 M keys, a quarter of the state in memory",
    "join-evicted": "join, a quarter of the state in memory",
}


def _group(rows: int) -> Iterator[Figure]:
    inputs = {"t": group_input(rows, min(1_000_000, rows), False)}
    yield from measure("group1m-evicted", "group1m", inputs, {"t": GROUP_COLUMNS})


def _join(rows: int) -> Iterator[Figure]:
    data = order_inputs(rows // 5, rows - rows // 5)
    inputs = {"o": data.orders, "i": data.items}
    yield from measure("join-evicted", "join", inputs, {"o": ORDER_COLUMNS, "i": ITEM_COLUMNS})


LINES = (
    Line("group1m-evicted", TITLES["group1m-evicted"], _group),
    Line("join-evicted", TITLES["join-evicted"], _join),
)
