"""Made-up rows for the benchmark, the same each time: of a table to group, and of orders with their items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .feed import Input

CHANGED = 0.1
"""Share of changed rows in inputs with changes: half of them updates, half deletes."""

Ints = npt.NDArray[np.int64]


def group_input(rows: int, keys: int, changes: bool = False) -> Input:
    """(id, k, v, w): `k` one of `keys`, `v` and `w` below 10⁶ and 1,000."""
    chance = np.random.default_rng(1)
    columns = [chance.integers(0, bound, rows) for bound in (keys, 1_000_000, 1000)]
    return _input(np.arange(rows), columns, chance if changes else None)


@dataclass(frozen=True, slots=True)
class OrdersAndItems:
    """(id, customer, day) and (id, order_id, quantity, price)."""

    orders: Input
    items: Input


def order_inputs(orders: int, items: int, skew: float = 0.0, changes: bool = False) -> OrdersAndItems:
    """`skew`: the share of items that belong to order 0. Orders come in random order."""
    chance = np.random.default_rng(2)
    ids = chance.permutation(orders)
    order_columns = [chance.integers(0, max(orders // 10, 1), orders), chance.integers(0, 2000, orders)]
    belongs = chance.integers(0, orders, items)
    belongs[chance.random(items) < skew] = 0
    item_columns = [belongs, chance.integers(1, 50, items), chance.integers(100, 100_000, items)]
    changed = chance if changes else None
    return OrdersAndItems(
        _input(ids, order_columns, changed), _input(np.arange(items), item_columns, changed)
    )


def _input(ids: Ints, columns: list[Ints], chance: np.random.Generator | None) -> Input:
    """Rows by id; with `chance`, some of them are replaced by updates and deletes of earlier rows."""
    count = len(ids)
    deletes = None
    if chance is not None and count > 1:
        changed = np.flatnonzero(chance.random(count) < CHANGED)
        changed = changed[changed > 0]
        ids = ids.copy()
        ids[changed] = ids[(chance.random(len(changed)) * changed).astype(np.int64)]
        deletes = np.zeros(count, np.bool_)
        deletes[changed[::2]] = True
    return Input((pa.array(ids), *(pa.array(column) for column in columns)), deletes)


def retractions(rows: Input) -> Input:
    """The same changes by rows that go and rows that come: before an update or delete, the row as it was.

    It has a row more for each change of a row that is there.
    """
    if rows.deletes is None:
        return rows
    ids, place = rows.columns[0].to_numpy(), np.arange(len(rows))
    order = np.lexsort((place, ids))
    before = np.full(len(rows), -1)
    same = ids[order[1:]] == ids[order[:-1]]
    before[order[1:]] = np.where(same, order[:-1], -1)
    replaced = (before >= 0) & ~rows.deletes[before]
    # What goes stands right before what comes; a deletion brings nothing.
    pairs = np.stack([before, place], axis=1)
    chosen = np.stack([replaced, ~rows.deletes], axis=1)
    going = np.broadcast_to([True, False], chosen.shape)[chosen]
    taken = pa.array(pairs[chosen])
    return Input(tuple(column.take(taken) for column in rows.columns), going)


def final_rows(rows: Input, names: list[str]) -> pa.Table:
    """What is left of an input when later rows of an id replace earlier ones and deletes are done."""
    table = pa.table(list(rows.columns), names)
    if rows.deletes is None:
        return table
    ids = rows.columns[0].to_numpy()
    _, last = np.unique(ids[::-1], return_index=True)
    last = len(ids) - 1 - last
    return table.take(pa.array(last[~rows.deletes[last]]))
