"""StateTables: deltas that are refused, work that is undone or not done at all."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import columns as columns_module
from millpond.storage.errors import InternalError, ProgramLimitExceeded
from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSpec
from millpond.storage.types import (
    INT8,
    TEXT,
)

from .table_model import NUMERIC2, ints

PAIR = TableSpec(Schema.of(k=INT8, v=INT8), (0,))


def opened(spec: TableSpec = PAIR, *rows: tuple[int, int]) -> StateTable:
    table = StateTable("pairs", spec)
    table.begin(1)
    table.upsert([ints(*(k for k, _ in rows)), ints(*(v for _, v in rows))], np.ones(len(rows), np.int64))
    table.commit()
    table.begin(2)
    return table


@pytest.mark.parametrize(
    "delta",
    [
        [(1, 11, 1)],  # a second row of a key
        [(3, 1, 1), (3, 2, 1)],
        [(3, 1, -1)],  # a row that is not there
        [(1, 99, -1)],  # the key is there, but with another row
        [(1, 10, -2)],
        [(1, 10, -1), (1, 10, -1)],
        [(3, 1, 2)],
    ],
)
def test_a_broken_delta_is_refused_and_rolls_back(delta: list[tuple[int, int, int]]) -> None:
    table = opened(PAIR, (1, 10), (2, 20))
    columns = [ints(*(k for k, _, _ in delta)), ints(*(v for _, v, _ in delta))]
    with pytest.raises(InternalError, match="pairs"):
        table.apply(columns, np.array([w for _, _, w in delta]))
    table.rollback()
    assert [c.to_pylist() for c in table.scan()[0]] == [[1, 2], [10, 20]]


def test_a_bag_never_holds_a_negative_weight() -> None:
    table = opened(TableSpec(Schema.of(k=INT8, v=INT8), None), (1, 10))
    with pytest.raises(InternalError, match="pairs"):
        table.apply([ints(1), ints(10)], np.array([-2]))


def test_a_key_twice_in_one_upsert_is_refused_and_rolls_back() -> None:
    table = opened(PAIR, (1, 10), (2, 20))
    with pytest.raises(InternalError, match="twice"):
        table.upsert([ints(1, 3, 1), ints(5, 6, 7)])
    table.rollback()
    assert [c.to_pylist() for c in table.scan()[0]] == [[1, 2], [10, 20]]
    assert table.lookup([ints(1, 2, 3)]).tolist()[2] == -1


def test_deleting_twice_is_refused() -> None:
    table = opened(PAIR, (1, 10), (2, 20))
    with pytest.raises(InternalError, match="not there"):
        table.delete(np.array([0, 0]))
    table.delete(np.array([0]))
    with pytest.raises(InternalError, match="not there"):
        table.delete(np.array([0]))
    table.rollback()
    assert len(table) == 2


def test_a_key_twice_in_one_restore_is_refused() -> None:
    table = StateTable("pairs", PAIR)
    with pytest.raises(InternalError, match="twice"):
        table.restore([ints(1, 2, 1), ints(5, 6, 7)], None, 3)
    assert len(table) == len(table.snapshot()) == 0


def test_a_full_text_column_is_an_error_that_rolls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = TableSpec(Schema.of(k=INT8, a=TEXT, b=TEXT), (0,), ((1,),))
    table, row = StateTable("t", spec), [ints(1), pa.array(["ab"]), pa.array(["cd"])]
    table.begin(1)
    table.upsert(row)
    table.commit()
    table.begin(2)
    monkeypatch.setattr(columns_module, "TEXT_BYTES_MAX", 6)
    with pytest.raises(ProgramLimitExceeded):
        table.upsert([ints(2), pa.array(["ef"]), pa.array(["too long"])])
    table.rollback()
    table.begin(2)
    table.upsert([ints(3), pa.array(["gh"]), pa.array(["ij"])])
    table.commit()
    assert [c.to_pylist() for c in table.scan()[0]] == [[1, 3], ["ab", "gh"], ["cd", "ij"]]
    assert table.matches(0, [pa.array(["ef", "gh"])])[0].tolist() == [1]


def test_an_untouched_epoch_moves_the_snapshot_on_without_copying() -> None:
    table = opened(PAIR, (1, 10))
    assert len(table.commit()) == 0
    snapshot = table.snapshot()
    assert snapshot.epoch == 2 and len(snapshot) == 1
    assert table.snapshot() is snapshot


def test_scan_of_a_clean_table_is_not_copied() -> None:
    table = opened(PAIR, (1, 10), (2, 20))
    table.commit()
    first, second = table.snapshot().scan()[0][1], table.scan()[0][1]
    assert first.buffers()[1].address == second.buffers()[1].address


def test_colliding_hashes_are_told_apart() -> None:
    """Among 600,000 keys about 40 pairs share the 32 bits of the hash that an index keeps."""
    keys = np.random.default_rng(1).permutation(1_200_000).astype(np.int64)
    table = StateTable("t", PAIR)
    table.begin(1)
    positions = table.upsert([pa.array(keys[:600_000]), pa.array(keys[:600_000] * 3)])
    table.commit()
    found = table.lookup([pa.array(keys)])
    assert (found[:600_000] == positions).all() and (found[600_000:] == -1).all()


def test_lookup_accepts_other_physical_forms_of_a_value() -> None:
    table = StateTable("t", TableSpec(Schema.of(i=INT8, n=NUMERIC2), (0, 1)))
    table.begin(1)
    table.upsert([ints(5), pa.array([Decimal("1.50")], NUMERIC2.arrow)])
    small = pa.array([5], pa.int16())
    assert table.lookup([small, pa.array([Decimal("1.5000")], pa.decimal128(38, 4))]).tolist() == [0]
    assert table.lookup([small, pa.array(["1.5"])]).tolist() == [0]
    assert table.lookup([small, pa.array(["1.51"])]).tolist() == [-1]


def test_dead_rows_of_a_hot_key_do_not_pile_up() -> None:
    spec = TableSpec(Schema.of(k=INT8, v=INT8), (0,), ((1,),))
    table = opened(spec, *((k, k % 2) for k in range(1000)))
    table.commit()
    for epoch in range(3, 30_003):
        table.begin(epoch)
        table.upsert([ints(7), ints(1)])
        table.commit()
        if epoch % 10_000 == 0:
            table.begin(epoch + 1)
            assert len(table.matches(0, [ints(1)])[1]) == 500
            table.rollback()
    assert table.nbytes < 2_000_000
