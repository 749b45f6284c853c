"""Lines about throughput: rows through a view, from source batch to durable commit, and through DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import duck
from .feed import Feed, Input, numbers
from .figures import Figure, Line
from .inputs import OrdersAndItems, final_rows, group_input, order_inputs, retractions

GROUP_COLUMNS = "id bigint, k bigint, v bigint, w bigint"
ORDER_COLUMNS = "id bigint, customer bigint, day bigint"
ITEM_COLUMNS = "id bigint, order_id bigint, quantity bigint, price bigint"
NAMES = {
    "t": ["id", "k", "v", "w"],
    "o": ["id", "customer", "day"],
    "i": ["id", "order_id", "quantity", "price"],
}
KEYED = ", PRIMARY KEY (id)"
CHANGES, RETRACTIONS = "-changes", "-retractions"
"""Endings of lines with changes: by key, into tables; and by sources that say which rows go."""

COUNT_SUM = "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k"
EXTREMES = "SELECT k, min(v) AS low, max(v) AS high, count(DISTINCT w) AS n FROM t GROUP BY k"
JOIN = "SELECT o.id, o.customer, o.day, i.id AS item, i.quantity, i.price FROM o JOIN i ON i.order_id = o.id"
CHAIN = (
    "SELECT o.customer, count(*) AS n, sum(i.quantity * i.price) AS worth FROM o JOIN i ON i.order_id = o.id "
    "GROUP BY o.customer"
)
CHAIN_TOP = f"SELECT * FROM ({CHAIN}) AS x ORDER BY worth DESC, customer LIMIT 10"


@dataclass(frozen=True, slots=True)
class Flow:
    """A view over fed relations. `proof` is a query on the view `m` that DuckDB must answer alike."""

    view: str
    proof: str
    target: str


JOINED = "SELECT count(*), sum(customer), sum(quantity * price), max(item) FROM m"
GROUPS = "SELECT count(*), sum(n), sum(s), min(s), max(n) FROM m"
FLOWS = {
    "group1k": Flow(COUNT_SUM, GROUPS, "3 M; 0.05"),
    "group1m": Flow(COUNT_SUM, GROUPS, "0.4 M; 0.06"),
    "extremes": Flow(EXTREMES, "SELECT count(*), sum(low), sum(high), sum(n) FROM m", "0.3 M"),
    "join": Flow(JOIN, JOINED, "0.25 M; 0.03"),
    "chain": Flow(CHAIN_TOP, "SELECT count(*), sum(n), sum(worth), min(worth) FROM m", "0.2 M"),
}  # fmt: skip


def measure_group(line: str, rows: int, keys: int, changes: bool) -> Iterator[Figure]:
    """`rows` through a GROUP BY over a source; with changes, over a table with a key or by retractions."""
    inputs = {"t": group_input(rows, keys, changes)}
    yield from _measure(line, inputs, {"t": GROUP_COLUMNS}, {"t": 1.0}, changes)


def measure_join(line: str, rows: int, skew: float, changes: bool) -> Iterator[Figure]:
    """A fifth of the `rows` are orders, the rest items."""
    data = order_inputs(rows // 5, rows - rows // 5, skew, changes)
    yield from _measure(line, *_join_setup(data), changes)


def _join_setup(data: OrdersAndItems) -> tuple[dict[str, Input], dict[str, str], dict[str, float]]:
    return {"o": data.orders, "i": data.items}, {"o": ORDER_COLUMNS, "i": ITEM_COLUMNS}, {"o": 0.2, "i": 0.8}


def _measure(
    line: str, inputs: dict[str, Input], columns: dict[str, str], shares: dict[str, float], changes: bool
) -> Iterator[Figure]:
    """The rate is that of `inputs`' rows: an update is one, also where it comes as two."""
    flow = FLOWS[line.partition("-")[0]]
    total = sum(len(rows) for rows in inputs.values())
    keyed = changes and not line.endswith(RETRACTIONS)
    with Feed() as feed:
        for name, rows in inputs.items():
            fed = rows if keyed else retractions(rows)
            feed.relation(name, columns[name] + (KEYED if keyed else ""), fed, shares[name], keyed)
        feed.execute(f"CREATE MATERIALIZED VIEW m AS {flow.view}")
        seconds = feed.run()
        proof = numbers(feed.execute(flow.proof))
        note = f"{feed.cpu_seconds / total * 1e9:,.0f} ns of processor a row"
    ratio = _compare(inputs, flow, proof, seconds)
    target = flow.target if line in FLOWS else "60 %" if changes else "50 %"
    yield Figure(line, TITLES[line], total / seconds, "rows/s", ratio, target, note)


def _compare(inputs: dict[str, Input], flow: Flow, proof: object, seconds: float) -> float | None:
    """DuckDB's seconds over ours. Raises AssertionError when its answer is another."""
    if not duck.available():
        return None
    with duck.Duck({name: final_rows(rows, NAMES[name]) for name, rows in inputs.items()}) as other:
        theirs = other.materialize("m", flow.view)
        answer = tuple(None if value is None else str(value) for value in other.row(flow.proof))
    assert answer == proof, f"DuckDB says {answer}, millpond {proof}"
    return theirs / seconds


def measure_deletion(line: str, rows: int) -> Iterator[Figure]:
    """Everything of the join line put into keyed tables, then deleted again."""
    data = order_inputs(rows // 5, rows - rows // 5)
    inputs, columns, shares = _join_setup(data)
    total = sum(len(part) for part in inputs.values())
    with Feed() as feed:
        for name, part in inputs.items():
            feed.relation(name, columns[name] + KEYED, part, shares[name], table=True)
        feed.execute(f"CREATE MATERIALIZED VIEW m AS {JOIN}")
        inserting = feed.run()
        for name, part in inputs.items():
            feed.append(name, deletion(part))
        deleting = feed.run()
        assert numbers(feed.execute("SELECT count(*) FROM m")) == ("0",)
    yield Figure(line, "join over keyed tables: insert all", total / inserting, "rows/s")
    yield Figure(line, "join over keyed tables: delete all", total / deleting, "rows/s", None, "as insert")


def deletion(rows: Input) -> Input:
    """The same rows again, to go."""
    import numpy as np

    return Input(rows.columns, np.ones(len(rows), np.bool_))


TITLES = {
    "group1k": "GROUP BY count, sum; 1,000 keys",
    "group1m": "GROUP BY count, sum; 1 M keys",
    "extremes": "min, max, count(distinct); 100 k keys",
    "join": "1 M orders join 4 M items",
    "chain": "join, GROUP BY, top 10",
    "group1k-changes": "1,000 keys, keyed table, 10 % changes",
    "group1m-changes": "1 M keys, keyed table, 10 % changes",
    "extremes-changes": "extremes, keyed table, 10 % changes",
    "join-changes": "join, keyed tables, 10 % changes",
    "chain-changes": "chain, keyed tables, 10 % changes",
    "group1k-retractions": "1,000 keys, source with before-images, 10 % changes",
    "group1m-retractions": "1 M keys, source with before-images, 10 % changes",
    "extremes-retractions": "extremes, source with before-images, 10 % changes",
    "join-retractions": "join, sources with before-images, 10 % changes",
    "chain-retractions": "chain, sources with before-images, 10 % changes",
    "join-delete": "delete all that the join line inserted",
    "join-skew": "join, half of the items of one order",
    "chain-skew": "chain, half of the items of one order",
}
"""For 5 M rows; with fewer rows there are fewer orders and items, and no more keys than rows."""


def _group(line: str, keys: int) -> Line:
    changes = line.endswith((CHANGES, RETRACTIONS))
    return Line(line, TITLES[line], lambda rows: measure_group(line, rows, min(keys, rows), changes))


def _join(line: str) -> Line:
    skew = 0.5 if line.endswith("-skew") else 0.0
    changes = line.endswith((CHANGES, RETRACTIONS))
    return Line(line, TITLES[line], lambda rows: measure_join(line, rows, skew, changes))


LINES = (
    _group("group1k", 1000),
    _group("group1m", 1_000_000),
    _group("extremes", 100_000),
    _join("join"),
    _join("chain"),
    _group("group1k-changes", 1000),
    _group("group1m-changes", 1_000_000),
    _group("extremes-changes", 100_000),
    _join("join-changes"),
    _join("chain-changes"),
    _group("group1k-retractions", 1000),
    _group("group1m-retractions", 1_000_000),
    _group("extremes-retractions", 100_000),
    _join("join-retractions"),
    _join("chain-retractions"),
    Line("join-delete", TITLES["join-delete"], lambda rows: measure_deletion("join-delete", rows)),
    _join("join-skew"),
    _join("chain-skew"),
)
