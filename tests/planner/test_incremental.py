"""Random queries as views: after each epoch of random changes the view is its query from scratch (I5)."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millpond.operators.dataflow import Dataflow, run
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.planner.optimize import optimize
from millpond.planner.translate import translate_query
from millpond.sql.catalog import Catalog, Relation
from millpond.sql.parse import parse_select

from ..laws.harness import Tables, add, bag
from ..sql.bind_oracle import catalog
from .random_queries import TABLES, QueryMaker

Row = tuple[int | None, ...]
KEYS = 13
EPOCHS = 5


class Changing:
    """Tables whose rows come, change and go at random; rows are told apart by a number below KEYS."""

    def __init__(self, random: Random, known: Catalog) -> None:
        self.random = random
        self.relations = [e for e in known if isinstance(e, Relation) and e.name in TABLES]
        self.rows: dict[str, dict[int, Row]] = {relation.id: {} for relation in self.relations}

    def change(self) -> dict[str, ZSet]:
        """A delta for some of the tables."""
        deltas: dict[str, ZSet] = {}
        for relation in self.relations:
            weights: Counter[Row] = Counter()
            for _ in range(self.random.choice((0, 1, 2, 6))):
                self._change_row(relation, self.random.randrange(KEYS), weights)
            if any(weights.values()):
                deltas[relation.id] = _zset(relation, weights)
        return deltas

    def _change_row(self, relation: Relation, number: int, weights: Counter[Row]) -> None:
        old = self.rows[relation.id].pop(number, None)
        if old is not None:
            weights[old] -= 1
        if old is None or self.random.random() < 0.5:
            new = tuple(self._value(relation, i, number) for i in range(len(relation.schema)))
            self.rows[relation.id][number] = new
            weights[new] += 1

    def _value(self, relation: Relation, position: int, number: int) -> int | None:
        if position in (relation.key or ()):
            return number if len(relation.key or ()) == 1 else (number % 7 if position == 0 else number // 7)
        integer = relation.schema[position].type.name in ("int2", "int4", "int8")
        return self.random.choice((None, 0, 1, 2, 3, 4)) if integer else None

    def content(self, scan: Scan) -> ZSet:
        relation = next(r for r in self.relations if r.id == scan.relation)
        return _zset(relation, Counter(self.rows[relation.id].values()))


def _zset(relation: Relation, rows: Counter[Row]) -> ZSet:
    there = [(row, weight) for row, weight in rows.items() if weight]
    columns = tuple(
        pa.array([row[i] for row, _ in there], column.type.arrow) for i, column in enumerate(relation.schema)
    )
    return ZSet(relation.schema, columns, np.array([weight for _, weight in there], np.int64))


@pytest.mark.parametrize("seed", range(40))
def test_a_view_is_its_query_at_every_epoch(seed: int) -> None:
    random = Random(seed)
    text = QueryMaker(random).query()
    known = catalog()
    query = translate_query(parse_select(text), known, ("public",), for_view=True)
    node = optimize(query.node, known)
    tables, changing = Tables(), Changing(random, known)
    flow = Dataflow(tables)
    tables.begin()
    flow.add("view", Materialize(node, node.key))
    total: dict[bytes, int] = {}
    for epoch in range(1, EPOCHS + 1):
        if epoch > 1:
            tables.begin()
        context = EpochContext(epoch, 0, errors=[])
        output = flow.step(context, changing.change())
        tables.commit()
        assert context.errors == [], text
        if "view" in output:
            total = add(total, bag(output["view"]))
        assert total == bag(run(node, changing.content, EpochContext(epoch, 0))), (epoch, text)
