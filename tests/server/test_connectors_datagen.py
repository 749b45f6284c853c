"""datagen: values by row number, in range, ended by sequences, the same when made again."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from millpond.server.connectors import CONNECTORS
from millpond.storage.errors import FeatureNotSupported, InvalidParameterValue
from millpond.storage.schema import Schema
from millpond.storage.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    array_of,
    numeric,
    varchar,
)

EVERY = Schema.of(
    a=BOOL, b=INT2, c=INT4, d=INT8, e=FLOAT4, f=FLOAT8, g=NUMERIC, h=numeric(6, 2), i=TEXT, j=varchar(4),
    k=BYTEA, m=DATE, n=TIME, o=TIMESTAMP, p=TIMESTAMPTZ, q=INTERVAL, r=UUID, s=JSONB, t=array_of(INT4),
)  # fmt: skip
FAST = {"datagen.rows.per.second": "0"}


def read(schema: Schema, options: dict[str, str], rows: int) -> pa.Table:
    reader = CONNECTORS.find("datagen").open(schema, {"connector": "datagen", **FAST, **options})
    batch = reader.poll(None, rows)
    assert batch is not None
    return pa.table(batch.columns, list(schema.names))


def test_every_type_has_its_arrow_type() -> None:
    table = read(EVERY, {}, 1000)
    assert [c.type for c in table.columns] == [t.arrow for t in EVERY.types]
    assert len(table) == 1000 and all(c.null_count == 0 for c in table.columns)
    for name in ("d", "f", "i", "k", "o", "r"):
        assert len(set(table[name].to_pylist())) > 900, name
    assert set(map(len, table["j"].to_pylist())) == {4}
    assert set(map(len, table["t"].to_pylist())) == {3}


def test_pieces_and_replay_give_the_same_rows() -> None:
    reader = CONNECTORS.find("datagen").open(EVERY, {"connector": "datagen", **FAST})
    batches, offset = [], None
    for rows in (1, 7, 500):
        batch = reader.poll(offset, rows)
        assert batch is not None and len(batch) == rows
        batches.append(batch)
        offset = batch.offset
    assert offset is not None
    again = CONNECTORS.find("datagen").open(EVERY, {"connector": "datagen", **FAST})
    replayed = list(again.replay(offset))
    assert replayed[-1].offset == offset
    for i in range(len(EVERY)):
        pieces = pa.concat_arrays([batch.columns[i] for batch in batches])
        assert pieces.equals(pa.concat_arrays([batch.columns[i] for batch in replayed])), EVERY[i]


def test_ranges_and_lengths() -> None:
    schema = Schema.of(a=INT4, b=FLOAT8, c=numeric(5, 2), d=TEXT, e=TIMESTAMP, f=INT8)
    options = {
        "fields.a.min": "-2", "fields.a.max": "2", "fields.b.min": "0.5", "fields.b.max": "0.75",
        "fields.c.max": "1", "fields.d.length": "0", "fields.e.max_past": "1 hour",
        "fields.e.basetime": "2020-01-01 00:00:00+00",
        "fields.f.min": str(-(2**63)), "fields.f.max": str(2**63 - 1),
    }  # fmt: skip
    table = read(schema, options, 2000)
    assert set(table["a"].to_pylist()) == {-2, -1, 0, 1, 2}
    assert all(0.5 <= v < 0.75 for v in table["b"].to_pylist())
    assert all(0 <= v <= 1 for v in table["c"].to_pylist())
    assert set(table["d"].to_pylist()) == {""}
    times = table["e"].to_pylist()
    assert str(max(times)) <= "2020-01-01 00:00:00" and str(min(times)) >= "2019-12-31 23:00:00"
    assert min(table["f"].to_pylist()) < -(2**60) and max(table["f"].to_pylist()) > 2**60


def test_a_sequence_counts_and_ends_the_source() -> None:
    schema = Schema.of(id=INT8, name=TEXT)
    options = {"fields.id.kind": "sequence", "fields.id.start": "5", "fields.id.end": "9",
               "fields.name.kind": "sequence"}  # fmt: skip
    reader = CONNECTORS.find("datagen").open(schema, {"connector": "datagen", **FAST, **options})
    batch = reader.poll(None, 100)
    assert batch is not None
    assert batch.columns[0].to_pylist() == [5, 6, 7, 8, 9]
    assert batch.columns[1].to_pylist() == ["0", "1", "2", "3", "4"]
    assert reader.poll(batch.offset, 100) is None


def test_the_pace_is_kept() -> None:
    reader = CONNECTORS.find("datagen").open(Schema.of(a=INT4), {"datagen.rows.per.second": "1"})
    assert reader.poll(None, 1000) is None
    assert json.loads(read_offset := b'{"rows": 3, "base_us": 0}')["rows"] == 3
    assert reader.poll(read_offset, 1000) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields.x.min": "1"}, 'has no option "fields.x.min"'),
        ({"fields.a.minn": "1"}, 'has no option "fields.a.minn"'),
        ({"fields.a.min": "x"}, 'invalid input syntax for type integer: "x"'),
        ({"fields.a.min": "5", "fields.a.max": "4"}, "is greater than"),
        ({"fields.a.kind": "sequential"}, "must be random or sequence"),
        ({"fields.a.kind": "sequence", "fields.a.start": "5", "fields.a.end": "4"}, "at least 5"),
        ({"datagen.rows.per.second": "-1"}, "must not be negative"),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidParameterValue, match=message):
        CONNECTORS.find("datagen").open(Schema.of(a=INT4), options)


def test_types_it_cannot_make() -> None:
    with pytest.raises(FeatureNotSupported):
        CONNECTORS.find("datagen").open(Schema.of(a=OID), {})
    with pytest.raises(FeatureNotSupported):
        CONNECTORS.find("datagen").open(Schema.of(a=DATE), {"fields.a.kind": "sequence"})
