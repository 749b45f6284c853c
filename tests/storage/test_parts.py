"""Rows read in parts are the rows read at once, in the same order, and no part is large."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import version_rows
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec
from millpond.storage.types import INT8, TEXT

SPEC = TableSpec(Schema.of(id=INT8, note=TEXT), key=(0,))


@pytest.mark.parametrize("ended", [[], [3], list(range(0, 100, 3)), list(range(40, 75))])
def test_parts_add_up_to_the_scan(ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_rows, "PART_ROWS_MIN", 10)
    monkeypatch.setattr(version_rows, "PART_BYTES", 1)
    table = StateTable("t", SPEC)
    table.begin(1)
    notes = [None if i % 7 == 0 else f"the note of {i}" for i in range(100)]
    table.upsert([pa.array(range(100)), pa.array(notes)])
    table.commit()
    table.begin(2)
    table.delete(table.lookup([pa.array(ended, pa.int64())]))
    for source in (table, table.snapshot()):
        for columns in (None, [1], [1, 0]):
            parts = list(source.parts(columns))
            whole, weights = source.scan(columns)
            assert len(parts) == 10
            assert max(len(weights) for _, weights in parts) <= 10
            assert np.concatenate([weights for _, weights in parts]).tolist() == weights.tolist()
            for i, column in enumerate(whole):
                assert pa.concat_arrays([part[i] for part, _ in parts]).equals(column)
    # Rows without columns are alike: a snapshot gives one for all. It does not show the open epoch.
    assert sum(int(weights.sum()) for _, weights in table.parts([])) == 100 - len(ended)
    assert [(columns, weights.tolist()) for columns, weights in table.snapshot().parts([])] == [([], [100])]
