"""StateTable against a plain dict model: every epoch, every snapshot still held, every index."""

from __future__ import annotations

import ast
import math
import random
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage import columns as columns_module
from millpond.storage import table as table_module
from millpond.storage.errors import InternalError, ProgramLimitExceeded
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
    for number, places in enumerate(spec.indexes):
        for null_equal in (False, True):
            check_index(source, model, number, places, columns, images, null_equal)


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


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("seed", range(3))
def test_random_epochs_agree_with_a_dict(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 12)
    rng = random.Random(seed)
    spec = SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    held: list[tuple[TableSnapshot, Model]] = []
    for epoch in range(1, 50):
        before = model.copy()
        table.begin(epoch)
        for _ in range(rng.choice([0, 1, 2, 5])):
            rng.choice([upsert, upsert, delete, apply, apply, truncate])(table, model, rng)
            if rng.random() < 0.3:
                check(table, model, rng)
        if rng.random() < 0.25:
            table.rollback()
            model = before
            check(table, model, rng)
            table.begin(epoch)
        check_commit(table.commit(), before, model)
        snapshot = table.snapshot()
        assert snapshot.epoch == epoch
        held.append((snapshot, model.copy()))
        if len(held) > 5:
            del held[rng.randrange(len(held))]
        for old, then in held:
            check(old, then, rng)
        check(table, model, rng)


@pytest.mark.parametrize("name", SPECS)
def test_restore_gives_the_same_table(name: str) -> None:
    rng = random.Random(7)
    spec = SPECS[name]
    table, model = StateTable("t", spec), Model(spec)
    table.begin(1)
    for _ in range(5):
        upsert(table, model, rng)
    table.commit()
    columns, weights = table.scan()
    restored = StateTable("t", spec)
    half = len(weights) // 2
    restored.restore([c.slice(0, half) for c in columns], weights[:half], 4)
    restored.restore([c.slice(half) for c in columns], weights[half:], 5)
    assert restored.snapshot().epoch == restored.epoch == 5
    check(restored, model, rng)
    check(restored.snapshot(), model, rng)
    restored.begin(6)
    upsert(restored, model, rng)
    restored.commit()
    check(restored, model, rng)


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


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


def test_readers_in_another_thread_see_whole_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every epoch moves an amount between two accounts, adds an account, and may be rolled back."""
    spec = TableSpec(Schema.of(k=INT8, v=INT8, g=TEXT), (0,), ((2,),))
    table = StateTable("accounts", spec)
    table.begin(1)
    table.upsert([ints(*range(100)), ints(*([10] * 100)), pa.array(["g"] * 100)])
    table.commit()
    failures: list[str] = []
    done = threading.Event()

    def read() -> None:
        rng = random.Random(3)
        while not done.is_set() and not failures:
            snapshot = table.snapshot()
            for _ in range(rng.choice([1, 5])):
                size = len(snapshot)
                keys = ints(*range(snapshot.epoch + 99))
                (_, values, _), _ = snapshot.scan()
                looked = snapshot.take(snapshot.lookup([keys]))[1]
                matched = snapshot.take(snapshot.matches(0, [pa.array(["g"])])[1])[1]
                for array in (values, looked, matched):
                    if len(array) != size or sum(array.to_pylist()) != 1000:
                        failures.append(f"{snapshot.epoch}: {len(array)} of {size}")

    monkeypatch.setattr(table_module, "DEAD_ROWS_MIN", 100)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        move_money(table, random.Random(4))
    finally:
        done.set()
        reader.join()
        sys.setswitchinterval(interval)
    assert not failures


def move_money(table: StateTable, rng: random.Random) -> None:
    for epoch in range(2, 700):
        for attempt in range(rng.choice([1, 1, 2])):
            if attempt:
                table.rollback()
            table.begin(epoch)
            accounts = ints(*rng.sample(range(epoch + 98), 2))
            _, amounts, groups = table.take(table.lookup([accounts]))
            first, second = amounts.to_pylist()
            table.upsert([accounts, ints(first - 1, second + 1), groups])
            table.upsert([ints(epoch + 98), ints(0), pa.array(["g"])])
            table.matches(0, [pa.array(["g"])])
        table.commit()
