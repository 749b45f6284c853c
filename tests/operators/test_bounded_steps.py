"""A running join puts out what explodes in bounded parts, and views see the same as ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators import pieces
from millpond.operators.aggregate import Aggregate, AggregateCall
from millpond.operators.dataflow import Dataflow, run
from millpond.operators.expr import ColumnRef
from millpond.operators.functions.aggregates import AGGREGATES
from millpond.operators.join import Join, JoinKind
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext, Node
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet, concat
from millpond.storage import types as t
from millpond.storage.schema import Schema

from .test_dataflow import Tables

BOUND = 1000
FACTS, KEYS = Schema.of(k=t.INT8, v=t.INT8), Schema.of(k=t.INT8, name=t.INT8)
KEY = (ColumnRef(0, t.INT8),)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_ROWS", BOUND)


def joined(kind: JoinKind) -> Join:
    return Join(Scan("facts", FACTS), Scan("keys", KEYS, (0,)), kind, KEY, KEY)


def total(node: Node) -> Node:
    (count,) = (function for function in AGGREGATES["count"] if not function.args)
    return Aggregate(node, (), (AggregateCall(count, (), t.INT8, "count"),))


def rows(schema: Schema, keys: Sequence[int], others: Sequence[int], weight: int = 1) -> ZSet:
    columns = (pa.array(keys, pa.int64()), pa.array(others, pa.int64()))
    return ZSet(schema, columns, np.full(len(keys), weight, np.int64))


class Running:
    """Views in a dataflow that notes the sizes of what the operators above the join are given."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.tables = Tables()
        self.dataflow = Dataflow(self.tables)
        self.seen: list[int] = []
        for name, node in nodes.items():
            self.dataflow.add(name, node)
        for entry in self.dataflow._entries.values():
            if isinstance(entry.node, Aggregate | Materialize) and isinstance(entry.node.inputs[0], Join):
                entry.operator = Watched(entry.operator, self.seen)
        self.tables.commit()

    def epoch(self, **inputs: ZSet) -> Mapping[str, ZSet]:
        self.tables.begin()
        out = self.dataflow.step(EpochContext(self.tables.epoch + 1, 0, errors=[]), inputs)
        self.tables.commit()
        return out


class Watched:
    """An operator whose input sizes are noted."""

    def __init__(self, operator, seen: list[int]) -> None:
        self.operator, self.seen = operator, seen
        self.due = False

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        self.seen.append(len(deltas[0]))
        return self.operator.step(deltas, context)


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI])
def test_one_row_that_matches_many_comes_in_parts(kind: JoinKind) -> None:
    running = Running({"n": Materialize(total(joined(kind))), "all": Materialize(joined(kind))})
    facts = rows(FACTS, [7] * 10_500, range(10_500))
    for start in range(0, 10_500, 500):
        running.epoch(facts=facts.slice(start, 500))
    running.seen.clear()
    one = rows(KEYS, [7], [1])
    for change in (one, one.negate(), concat(KEYS, (one, rows(KEYS, [8], [2])))):
        out = running.epoch(keys=change)
        assert max(running.seen) <= BOUND
        assert len(out["all"]) >= 10_500
    contents = {"facts": facts, "keys": change}
    whole = run(total(joined(kind)), lambda scan: contents[scan.relation], EpochContext(1, 0))
    expected = whole.columns[0].to_pylist()
    assert running.tables.tables["n"].scan()[0][0].to_pylist() == expected
    assert running.tables.tables["all"].scan()[1].sum() == expected[0]


def test_rows_replaced_in_one_epoch_come_after_those_they_replace() -> None:
    """A view with a key never sees two rows of it, however its change is cut."""
    node = joined(JoinKind.INNER)
    running = Running({"all": Materialize(node)})
    running.epoch(facts=rows(FACTS, [1] * 2500, range(2500)), keys=rows(KEYS, [1], [10]))
    out = running.epoch(keys=concat(KEYS, (rows(KEYS, [1], [11]), rows(KEYS, [1], [10], -1))))
    assert len(out["all"]) == 5000 and out["all"].weights.sum() == 0
    assert max(running.seen) <= 2500


def test_a_skewed_delta_on_both_sides() -> None:
    """Half of the rows share one key on either side: 250,000 pairs of 1,000 rows."""
    node = Join(Scan("facts", FACTS), Scan("keys", KEYS), JoinKind.INNER, KEY, KEY)
    running = Running({"n": total(node)})
    half = [1] * 500 + list(range(2, 502))
    out = running.epoch(facts=rows(FACTS, half, range(1000)), keys=rows(KEYS, half, range(1000)))
    assert out["n"].columns[0].to_pylist() == [250_500]
    assert max(running.seen) <= BOUND and sum(running.seen) == 250_500
