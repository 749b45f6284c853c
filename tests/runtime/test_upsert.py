"""Records of a source into a table, beside the slow obvious way."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from millpond.runtime.source import SourceBatch
from millpond.runtime.state import State
from millpond.runtime.upsert import upsert_records
from millpond.sql.entries import Table
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec
from millpond.storage.types import INT8, TEXT

SCHEMA = Schema.of(name=TEXT, value=INT8)
Record = tuple[str, int, bool]


def written(rows: dict[str, int], records: list[Record], ignore: bool) -> dict[str, int]:
    """`rows` after the records of one batch: of a key, the last counts, or the first."""
    counting = dict[str, Record]()
    for record in records:
        if not (ignore and record[0] in counting):
            counting[record[0]] = record
    result = dict(rows)
    for name, value, gone in counting.values():
        if gone:
            result.pop(name, None)
        elif not (ignore and name in rows):
            result[name] = value
    return result


def batch_of(records: list[Record], flags: bool) -> SourceBatch:
    columns = [pa.array([r[0] for r in records]), pa.array([r[1] for r in records], pa.int64())]
    return SourceBatch(columns, b"", np.array([r[2] for r in records]) if flags else None)


@pytest.mark.parametrize("policy", ["", "ignore"])
def test_the_delta_is_what_the_batch_makes_of_the_table(policy: str) -> None:
    rng = random.Random(3)
    table = Table(oid=7, schema_name="public", name="t", schema=SCHEMA, key=(0,), on_conflict=policy)
    stored = StateTable(table.id, TableSpec(SCHEMA, (0,)))
    state = cast(State, SimpleNamespace(tables={table.id: stored}))
    rows, seen = dict[str, int](), dict[tuple[Any, Any], int]()
    for epoch in range(1, 200):
        deleting = rng.random() < 0.6
        names = [f"n{rng.randrange(40)}" for _ in range(rng.choice([1, 3, 30]))]
        records = [(name, rng.randrange(99), deleting and rng.random() < 0.4) for name in names]
        stored.begin(epoch)
        columns, weights = upsert_records(table, batch_of(records, deleting), state)
        stored.commit()
        rows = written(rows, records, policy == "ignore")
        names_left, values_left = (column.to_pylist() for column in stored.scan()[0])
        assert dict(zip(names_left, values_left, strict=True)) == rows and len(stored) == len(rows)
        delta = zip(columns[0].to_pylist(), columns[1].to_pylist(), weights.tolist(), strict=True)
        for name, value, weight in delta:
            seen[name, value] = seen.get((name, value), 0) + weight
        assert {row: weight for row, weight in seen.items() if weight} == dict.fromkeys(rows.items(), 1)
