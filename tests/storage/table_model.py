"""A plain dict that does what a StateTable does, and comparisons of the two: rows, indexes, changes."""

from __future__ import annotations

import ast
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from millpond.storage.schema import Schema
from millpond.storage.table import StateTable, TableSnapshot, TableSpec
from millpond.storage.types import (
    BOOL,
    BPCHAR,
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
    TEXT,
    TIME,
    TIMESTAMPTZ,
    UUID,
    Type,
    array_of,
    fixed_numeric,
)

INT4_ARRAY = array_of(INT4)
NUMERIC2 = fixed_numeric(2)

VALUES: dict[Type, list[Any]] = {
    BOOL: [True, False, None],
    INT2: [0, -1, 7, None],
    INT4: [0, 1, 2, 3, -(2**31), None],
    INT8: [*range(12), -(2**63), 2**63 - 1, None],
    FLOAT4: [0.0, -0.0, 1.5, math.inf, math.nan, None],
    FLOAT8: [0.0, -0.0, 1.5, -math.inf, math.nan, None],
    NUMERIC: ["1", "1.0", "1.00", "-2.5", "NaN", "0", None],
    NUMERIC2: [Decimal("1.00"), Decimal("-2.50"), Decimal("0.00"), Decimal("12345678901234567890.12"), None],
    TEXT: ["", "a", "b", "ab", "a much longer text, beyond a word", "é", None],
    BPCHAR: ["a", "a  ", "b", "", "  ", None],
    BYTEA: [b"", b"\x00", b"\x00\xff", b"\xff", None],
    DATE: [0, 1, -(2**31), 2**31 - 1, None],
    TIME: [0, 1, 86_400_000_000 - 1, None],
    TIMESTAMPTZ: [0, -1, 2**63 - 1, None],
    UUID: [bytes(16), bytes(range(16)), b"\xff" * 16, None],
    INTERVAL: [
        np.array([(0, 30, 0)], dtype="i8,i4,i4").tobytes(),
        np.array([(0, 0, 1)], dtype="i8,i4,i4").tobytes(),
        np.array([(-5, 1, 0)], dtype="i8,i4,i4").tobytes(),
        None,
    ],
    JSONB: ["1.0", "1.00", '{"a": [1, null]}', "[]", None],
    INT4_ARRAY: [[], [1], [1, 2], [None], None],
}


def column(type_: Type, values: list[Any]) -> pa.Array:
    if type_ in (DATE, TIME, TIMESTAMPTZ):
        width = pa.int32() if type_ == DATE else pa.int64()
        return pa.array(values, width).view(type_.arrow)
    return pa.array(values, type=type_.arrow)


def plain(type_: Type, array: pa.Array) -> list[Any]:
    """Values to compare bit by bit: floats by their repr, dates as numbers."""
    if type_ in (DATE, TIME, TIMESTAMPTZ):
        array = array.view(pa.int32() if type_ == DATE else pa.int64())
    values = array.to_pylist()
    if type_ not in (FLOAT4, FLOAT8, INT4_ARRAY):
        return values
    return [None if v is None else repr(v) for v in values]


def same_key(type_: Type, value: Any) -> Any:
    """Equal exactly when two values are not distinct."""
    if value is None:
        return None
    if type_ in (FLOAT4, FLOAT8):
        return "NaN" if value == "nan" else float(value) + 0.0
    if type_ in (NUMERIC, JSONB):
        return "NaN" if value == "NaN" else value if value[0] in "{[" else Decimal(value)
    if type_ == BPCHAR:
        return value.rstrip(" ")
    if type_ == INTERVAL:
        us, days, months = np.frombuffer(value, "i8,i4,i4")[0].tolist()
        return (months * 30 + days) * 86_400_000_000 + us
    return value


Row = tuple[Any, ...]


@dataclass
class Model:
    """The table as a dict from key to (row, weight)."""

    spec: TableSpec
    rows: dict[Row, tuple[Row, int]] = field(default_factory=dict)

    def key(self, row: Row, places: tuple[int, ...] | None = None) -> Row:
        places = self.spec.key_columns if places is None else places
        return tuple(same_key(self.spec.schema[i].type, row[i]) for i in places)

    def copy(self) -> Model:
        return Model(self.spec, dict(self.rows))

    def content(self) -> Counter[tuple[Row, int]]:
        return Counter(self.rows.values())


def rows_of(spec: TableSpec, columns: list[pa.Array], count: int) -> list[Row]:
    lists = [plain(c.type, a) for c, a in zip(spec.schema, columns, strict=True)]
    rows = list(zip(*lists, strict=True)) if lists else [()] * count
    return [looks(spec, row) for row in rows]


def looks(spec: TableSpec, row: Row) -> Row:
    """A bag keeps one of several equal rows (1.0, 1.00): which one is not told."""
    if not spec.bag:
        return row
    alike = {"-0.0": "0.0", "1.0": "1", "1.00": "1", "a  ": "a", "  ": ""}
    return tuple(alike.get(v, v) for v in row)


def content(spec: TableSpec, scanned: tuple[list[pa.Array], Any]) -> Counter[tuple[Row, int]]:
    columns, weights = scanned
    for array in columns:
        array.validate(full=True)
        assert len(array) == len(weights)
    return Counter(zip(rows_of(spec, columns, len(weights)), weights.tolist(), strict=True))


def check(source: StateTable | TableSnapshot, model: Model, rng: random.Random) -> None:
    """Scan, len, lookup, take, weights and every index agree with the model."""
    spec = model.spec
    assert content(spec, source.scan()) == model.content()
    assert sum((content(spec, part) for part in source.parts()), Counter()) == model.content()
    assert len(source) == len(model.rows)
    probes = [random_row(spec, rng) for _ in range(6)]
    columns = columns_of(spec, probes)
    found = source.lookup([columns[i] for i in spec.key_columns], len(probes))
    images = rows_of(spec, columns, len(probes))
    taken = rows_of(spec, source.take(found), len(probes))
    expected = [model.rows.get(model.key(row)) for row in images]
    assert [position >= 0 for position in found] == [e is not None for e in expected]
    for row, weight, want in zip(taken, source.weights(found).tolist(), expected, strict=True):
        assert (row, weight) == (want or (tuple(None for _ in row), 0)) or (want is None and weight == 0)
    if isinstance(source, TableSnapshot):
        check_rows(source, model, images)
    for number, places in enumerate(spec.indexes):
        for null_equal in (False, True):
            check_index(source, model, number, places, columns, images, null_equal)


def check_rows(source: TableSnapshot, model: Model, images: list[Row]) -> None:
    """Single rows by plain keys are those of the model."""
    spec = model.spec
    everything = range(len(spec.schema))
    for image in images:
        known = source.key_of([image[i] for i in spec.key_columns])
        if known is None:
            continue
        row, want = source.row(known, everything), model.rows.get(model.key(image))
        assert (row is None) == (want is None)
        if row is not None and want is not None:
            assert rows_of(spec, list(row), 1) == [want[0]]
            assert len(row) == len(everything) and [row.plain(i) is None for i in everything] == [
                value is None for value in want[0]
            ]


def check_index(
    source: StateTable | TableSnapshot,
    model: Model,
    number: int,
    places: tuple[int, ...],
    columns: list[pa.Array],
    images: list[Row],
    null_equal: bool,
) -> None:
    keys = [columns[i] for i in places]
    probes, positions = source.matches(number, keys, null_equal, len(images))
    pairs = list(zip(probes.tolist(), positions.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    taken = rows_of(model.spec, source.take(positions), len(positions))
    got = Counter(zip(probes.tolist(), taken, strict=True))
    want: Counter[tuple[int, Row]] = Counter()
    for i, image in enumerate(images):
        key = model.key(image, places)
        if null_equal or None not in [image[p] for p in places]:
            want.update((i, row) for row, _ in model.rows.values() if model.key(row, places) == key)
    assert got == want


def random_row(spec: TableSpec, rng: random.Random) -> Row:
    return tuple(rng.choice(VALUES[c.type]) for c in spec.schema)


def columns_of(spec: TableSpec, rows: list[Row]) -> list[pa.Array]:
    arrays: list[pa.Array] = []
    for i, c in enumerate(spec.schema):
        padded = column(c.type, [VALUES[c.type][0]] + [row[i] for row in rows])
        arrays.append(padded[1:])  # slices have an offset, which must be honoured
    return arrays


SPECS: dict[str, TableSpec] = {
    "int8": TableSpec(Schema.of(k=INT8, v=INT4), (0,), ((1,),)),
    "two": TableSpec(Schema.of(a=INT4, b=TEXT, v=FLOAT8, w=BOOL), (1, 0), ((0,), (2, 3), ())),
    "numbers": TableSpec(Schema.of(a=NUMERIC, b=NUMERIC2, c=FLOAT4, d=INT2), (0, 1), ((2,), (1,))),
    "times": TableSpec(Schema.of(a=DATE, b=TIME, c=TIMESTAMPTZ, d=INTERVAL), (0, 3), ((1, 2), (3,))),
    "bytes": TableSpec(
        Schema.of(a=BYTEA, b=UUID, c=BPCHAR, d=JSONB, e=INT4_ARRAY), (0, 2), ((1,), (4,), (3,))
    ),
    "one row": TableSpec(Schema.of(a=INT8, b=TEXT), (), ((),)),
    "bag": TableSpec(Schema.of(a=INT4, b=TEXT), None, ((0,), (1,))),
    "wide bag": TableSpec(Schema.of(a=BOOL, b=NUMERIC, c=FLOAT8, d=BPCHAR), None, ((1,),)),
    "list bag": TableSpec(Schema.of(a=INT4_ARRAY), None),
}


def upsert(table: StateTable, model: Model, rng: random.Random) -> None:
    spec = table.spec
    rows = list({model.key(r): r for r in images(spec, rng)}.values())
    weights = np.array([rng.randint(1, 3) for _ in rows], np.int64)
    table.upsert(columns_of_images(spec, rows), weights if spec.bag else None)
    for row, weight in zip(rows, weights.tolist(), strict=True):
        model.rows[model.key(row)] = (row, weight if spec.bag else 1)


def images(spec: TableSpec, rng: random.Random) -> list[Row]:
    rows = [random_row(spec, rng) for _ in range(rng.choice([1, 1, 3, 30]))]
    return rows_of(spec, columns_of(spec, rows), len(rows))


def columns_of_images(spec: TableSpec, rows: list[Row]) -> list[pa.Array]:
    arrays: list[pa.Array] = []
    for i, c in enumerate(spec.schema):
        values = [row[i] for row in rows]
        if c.type in (FLOAT4, FLOAT8):
            values = [None if v is None else float(v) for v in values]
        elif c.type == INT4_ARRAY:
            values = [None if v is None else ast.literal_eval(v) for v in values]
        arrays.append(column(c.type, values))
    return arrays


def delete(table: StateTable, model: Model, rng: random.Random) -> None:
    chosen = rng.sample(list(model.rows), min(len(model.rows), rng.choice([1, 1, 4])))
    if not chosen:
        return
    columns = columns_of_images(table.spec, [model.rows[key][0] for key in chosen])
    table.delete(table.lookup([columns[i] for i in table.spec.key_columns], len(chosen)))
    for key in chosen:
        del model.rows[key]


def apply(table: StateTable, model: Model, rng: random.Random) -> None:
    """A random unconsolidated delta: moves that cancel, updates, arrivals and departures."""
    before = model.copy()
    delta: list[tuple[Row, int]] = []
    for _ in range(rng.choice([1, 2, 10])):
        row = images(table.spec, rng)[0]
        key = model.key(row)
        old = model.rows.get(key)
        if table.spec.bag:
            change = rng.choice([1, 1, 2, -1]) if old else 1
            weight = (old[1] if old else 0) + change
            model.rows[key] = (old[0] if old else row, weight)
            delta.append((row, change))
            if not weight:
                del model.rows[key]
            continue
        if old:
            delta.append((old[0], -1))
            del model.rows[key]
        if not old or rng.random() < 0.6:
            delta.append((row, 1))
            model.rows[key] = (row, 1)
        if rng.random() < 0.1:
            delta += [(row, 2), (row, -2), (row, 0)]
    rng.shuffle(delta)
    columns = columns_of_images(table.spec, [row for row, _ in delta])
    change = table.apply(columns, np.array([w for _, w in delta], np.int64))
    check_change(table.spec, before, model, change)

    if table.spec.bag:
        check_distinct(before, delta, change)


def check_distinct(before: Model, delta: list[tuple[Row, int]], change: Any) -> None:
    """Each row of the delta once, with what it had and was given."""
    net = dict[Row, int]()
    for row, weight in delta:
        net[before.key(row)] = net.get(before.key(row), 0) + weight
    found = [before.key(delta[place][0]) for place in change.distinct.places.tolist()]
    assert len(set(found)) == len(found)
    assert all(net[key] == 0 for key in net.keys() - set(found))
    assert change.distinct.net.tolist() == [net[key] for key in found]
    assert change.distinct.before.tolist() == [before.rows.get(key, ((), 0))[1] for key in found]


def check_change(spec: TableSpec, before: Model, after: Model, change: Any) -> None:
    """before − removed + inserted = after, counted by key."""
    net: Counter[Row] = Counter({key: weight for key, (_, weight) in before.rows.items()})
    assert (change.removed_weights > 0).all() and (change.inserted_weights > 0).all()
    for sign, columns, weights in (
        (-1, change.removed_columns, change.removed_weights),
        (1, change.inserted_columns, change.inserted_weights),
    ):
        for row, weight in zip(rows_of(spec, columns, len(weights)), weights.tolist(), strict=True):
            net[before.key(row)] += sign * weight
    assert +net == Counter({key: weight for key, (_, weight) in after.rows.items()})
    assert min(net.values(), default=0) >= 0


def truncate(table: StateTable, model: Model, rng: random.Random) -> None:
    if rng.random() < 0.1:
        table.truncate()
        model.rows.clear()


def check_commit(change: Any, before: Model, after: Model) -> None:
    """The change replayed on the state before gives the state after, touching no more than needed."""
    spec = before.spec
    replayed = before.copy()
    if change.truncated:
        replayed.rows.clear()
    gone = [
        tuple(same_key(t, v) for t, v in zip(spec.key_types, row, strict=True))
        for row in zip(
            *(plain(t, a) for t, a in zip(spec.key_types, change.deleted, strict=True)), strict=True
        )
    ] or [()] * change.deleted_count
    assert len(gone) == change.deleted_count
    for key in gone:
        del replayed.rows[key]
    rows = rows_of(spec, change.columns, len(change.weights))
    keys = {replayed.key(row) for row in rows}
    assert len(keys) == len(rows) and not keys & set(gone)
    for row, weight in zip(rows, change.weights.tolist(), strict=True):
        replayed.rows[replayed.key(row)] = (row, weight)
    assert replayed.rows == after.rows


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())
