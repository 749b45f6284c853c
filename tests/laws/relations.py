"""Random relations: small pools of awkward values of every type, and epochs of changes to them."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa

from millpond.operators.zset import ZSet
from millpond.storage import types as t
from millpond.storage.schema import Column, Schema
from millpond.storage.types import Type

NAN = float("nan")


def interval(months: int, days: int, us: int) -> bytes:
    return struct.pack("<qii", us, days, months)


POOLS: dict[Type, list] = {
    t.BOOL: [True, False],
    t.INT2: [0, 1, -1, 32767],
    t.INT4: [0, 1, 2, -7, 2**31 - 1],
    t.INT8: [0, 1, 2, 5, 7, -(2**63), 2**40],
    t.FLOAT4: [0.0, -0.0, 1.5, NAN, float("inf")],
    t.FLOAT8: [0.0, -0.0, 0.1, 0.2, 1e300, -1e300, NAN],
    t.NUMERIC: ["0", "1.0", "1.00", "-2.5", "NaN", "12345678901234567890.123"],
    t.numeric(10, 2): [Decimal("0.00"), Decimal("1.25"), Decimal("-99999999.99")],
    t.TEXT: ["", "a", "b", "ä", "a longer text than the others"],
    t.varchar(5): ["", "v", "vv"],
    t.bpchar(3): ["x  ", "x", "yy "],
    t.BYTEA: [b"", b"\x00", b"\xff\x00"],
    t.DATE: [0, 19000, -1],
    t.TIME: [0, 86_399_999_999],
    t.TIMESTAMP: [0, -1, 1_700_000_000_000_000],
    t.TIMESTAMPTZ: [0, 1, 1_700_000_000_000_000],
    t.UUID: [bytes(16), bytes(range(16))],
    t.INTERVAL: [interval(1, 0, 0), interval(0, 30, 0), interval(0, 0, 1), interval(-1, 0, 5)],
    t.JSONB: ["1", '{"a": 1}', "[]", "null"],
    t.array_of(t.INT4): [[], [1], [1, None], [2, 1]],
    t.array_of(t.TEXT): [[], ["a"], [None]],
}


@dataclass
class Relation:
    """A relation under change. `key` None: a bag. `null_share` of the values of nullable columns."""

    name: str
    schema: Schema
    key: tuple[int, ...] | None
    random: random.Random
    pools: list[Sequence]
    append_only: bool = False
    null_share: float = 0.15
    rows: list[tuple] = field(default_factory=list)
    gone: list[tuple] = field(default_factory=list)

    def row(self) -> tuple:
        return tuple(
            None if c.nullable and self.random.random() < self.null_share else self.random.choice(pool)
            for c, pool in zip(self.schema, self.pools, strict=True)
        )

    def key_of(self, row: tuple) -> tuple:
        return tuple(row[i] for i in self.key or ())

    def holds_key(self, row: tuple) -> bool:
        return self.key is not None and any(self.key_of(row) == self.key_of(other) for other in self.rows)

    def content(self) -> ZSet:
        return self.zset(self.rows, [1] * len(self.rows))

    def zset(self, rows: list[tuple], weights: list[int]) -> ZSet:
        columns = tuple(
            pa.array([row[i] for row in rows], type_.arrow) for i, type_ in enumerate(self.schema.types)
        )
        return ZSet(self.schema, columns, np.array(weights, np.int64))

    def change(self, count: int, shuffled: bool = True) -> ZSet:
        """About `count` changes, applied; the delta's rows are in random order or as they happened."""
        delta: list[tuple[tuple, int]] = []
        for _ in range(count):
            self._one(delta)
        if shuffled:
            self.random.shuffle(delta)
        return self.zset([row for row, _ in delta], [weight for _, weight in delta])

    def _one(self, delta: list[tuple[tuple, int]]) -> None:
        kind = self.random.choice("iiiiduurb" if not self.append_only else "i")
        if kind in "ib":
            again = self.gone and self.random.random() < 0.5
            self.insert(self.random.choice(self.gone) if again else self.row(), delta)
        elif kind == "r" and self.rows and self.key is None:
            self.insert(self.random.choice(self.rows), delta)
        elif kind == "d" and self.rows:
            self.delete(self.random.randrange(len(self.rows)), delta)
        elif kind == "u" and self.rows:
            self._update(self.random.randrange(len(self.rows)), delta)

    def insert(self, row: tuple, delta: list[tuple[tuple, int]]) -> None:
        if not self.holds_key(row):
            self.rows.append(row)
            delta.append((row, 1))

    def delete(self, position: int, delta: list[tuple[tuple, int]]) -> None:
        row = self.rows.pop(position)
        self.gone.append(row)
        delta.append((row, -1))

    def _update(self, position: int, delta: list[tuple[tuple, int]]) -> None:
        old, new = self.rows.pop(position), list(self.row())
        for i in self.key or ():
            new[i] = old[i]
        delta.append((old, -1))
        self.rows.append(tuple(new))
        delta.append((tuple(new), 1))


def relation(
    name: str, source: random.Random, types: list[Type], key: tuple[int, ...] | None, **options: object
) -> Relation:
    """A relation of columns c0, c1, …; key columns are int8 0 … 19 and not nullable."""
    columns: list[Column] = []
    pools: list[Sequence] = []
    for i, type_ in enumerate(types):
        in_key = key is not None and i in key
        columns.append(Column(f"c{i}", t.INT8 if in_key else type_, not in_key))
        pools.append(list(range(20)) if in_key else POOLS[type_])
    return Relation(name, Schema(tuple(columns)), key, source, pools, **options)  # pyright: ignore[reportArgumentType]
