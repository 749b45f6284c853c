"""Random schemas, rows, queries and writes, all from one seed.

Queries have one right answer: orders are total, float values are quarters (their sums are exact), and no
expression can fail, so that a difference from PostgreSQL is a bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TYPES = (
    "int",
    "bigint",
    "smallint",
    "numeric",
    "numeric(8,2)",
    "float8",
    "text",
    "bool",
    "date",
    "timestamp",
)
KIND = {"int": "i", "bigint": "i", "smallint": "i", "numeric": "n", "numeric(8,2)": "n", "float8": "f",
        "text": "t", "bool": "b", "date": "d", "timestamp": "s"}  # fmt: skip
KINDS = "infntbds"
SET_OPERATIONS = ("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
WORDS = ("", "a", "b", "ab", "Abc", "x y", "ü", "abc", "zz")


@dataclass(frozen=True, slots=True)
class Column:
    """`name` is how an expression refers to it."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Table:
    """With `key`, the column `id` is its primary key."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: bool

    def scope(self, alias: str) -> list[Column]:
        return [Column(f"{alias}.{name}", KIND[type_]) for name, type_ in self.columns]

    def definition(self) -> str:
        columns = ", ".join(
            f"{name} {type_}{' PRIMARY KEY' if self.key and name == 'id' else ''}"
            for name, type_ in self.columns
        )
        return f"CREATE TABLE {self.name} ({columns})"


class Generator:
    """Everything random of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tables = [self._table(f"t{i}") for i in range(3)]
        self._last_id = 0
        self._aliases = 0

    def _table(self, name: str) -> Table:
        count = self.random.randint(2, 5)
        columns = [("id", "int"), ("k", "int"), *((f"c{i}", self.random.choice(TYPES)) for i in range(count))]
        return Table(name, tuple(columns), self.random.random() < 0.6)

    # Values and writes.

    def value(self, kind: str, null: float = 0.15) -> str:
        """A literal of a kind."""
        r = self.random
        if r.random() < null:
            return "NULL"
        match kind:
            case "i":
                return str(r.randint(-2, 7))
            case "n":
                return r.choice([str(r.randint(-5, 9)), f"{r.randint(-999, 999) / 100}", "0.00", "1.50"])
            case "f":
                return f"{r.randint(-20, 40) / 4}"
            case "t":
                return "'" + r.choice(WORDS) + "'"
            case "b":
                return r.choice(["true", "false"])
            case "d":
                return f"DATE '2024-{r.randint(1, 3):02}-{r.randint(1, 28):02}'"
            case _:
                return f"TIMESTAMP '2024-01-0{r.randint(1, 9)} {r.randint(0, 23):02}:00'"

    def _row(self, table: Table) -> str:
        self._last_id += 1
        values = [str(self._last_id)] + [self.value(KIND[type_]) for _, type_ in table.columns[1:]]
        return f"({', '.join(values)})"

    def insert(self, table: Table, count: int) -> str:
        return f"INSERT INTO {table.name} VALUES {', '.join(self._row(table) for _ in range(count))}"

    def write(self) -> str:
        """One statement that changes a table."""
        table, r = self.random.choice(self.tables), self.random
        choice = r.random()
        if choice < 0.45:
            return self.insert(table, r.randint(1, 4))
        if choice < 0.75:
            name, type_ = r.choice(table.columns[1:])
            value = self.value(KIND[type_]) if r.random() < 0.5 else self._own(table, name, type_)
            return f"UPDATE {table.name} SET {name} = {value} WHERE {self._some(table)}"
        if choice < 0.97:
            return f"DELETE FROM {table.name} WHERE {self._some(table)}"
        return f"DELETE FROM {table.name}"

    def _own(self, table: Table, name: str, type_: str) -> str:
        others = [other for other, kind in table.columns[1:] if kind == type_]
        return self.random.choice(others) if type_ != "smallint" else name

    def _some(self, table: Table) -> str:
        r = self.random
        name, type_ = r.choice(table.columns[1:])
        return r.choice([
            f"id % {r.randint(2, 5)} = {r.randint(0, 1)}",
            f"{name} = {self.value(KIND[type_], 0)}",
            f"{name} IS NULL",
            f"k > {r.randint(0, 10)}",
            f"k IN (SELECT k FROM {r.choice(self.tables).name})",
        ])  # fmt: skip

    # Expressions.

    def expression(self, kind: str, scope: list[Column], depth: int = 2) -> str:
        """An expression of a kind over the columns of a scope."""
        r = self.random
        own = [column.name for column in scope if column.kind == kind]
        if depth <= 0 or r.random() < 0.3:
            return r.choice(own) if own and r.random() < 0.85 else self._typed(kind)
        if r.random() < 0.2:
            return self._generic(kind, scope, depth - 1)
        return getattr(self, f"_expression_{kind}")(scope, depth - 1)

    def _typed(self, kind: str) -> str:
        name = {"i": "int", "n": "numeric", "f": "float8", "t": "text", "b": "bool", "d": "date"}.get(kind)
        return f"{self.value(kind)}::{name or 'timestamp'}"

    def _generic(self, kind: str, scope: list[Column], depth: int) -> str:
        def part(k: str = kind) -> str:
            return self.expression(k, scope, depth)

        match self.random.randint(0, 3):
            case 0:
                otherwise = f" ELSE {part()}" if self.random.random() < 0.7 else ""
                return f"CASE WHEN {part('b')} THEN {part()} WHEN {part('b')} THEN {part()}{otherwise} END"
            case 1:
                return f"coalesce({part()}, {part()})"
            case 2:
                return f"nullif({part()}, {part()})"
            case _:
                return f"{self.random.choice(['greatest', 'least'])}({part()}, {part()})"

    def _expression_i(self, scope: list[Column], depth: int) -> str:
        def part(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.random.choice([
            lambda: f"({part('i')} {self.random.choice('+-')} {part('i')})",
            lambda: f"({part('i')} * {self.random.randint(-2, 3)})",
            lambda: f"({part('i')} / {self.random.choice([2, 3, -2])})",
            lambda: f"({part('i')} % {self.random.choice([2, 3, 5])})",
            lambda: f"length({part('t')})",
            lambda: f"abs({part('i')})",
            lambda: f"extract(day from {part('d')})::int",
            lambda: f"({part('d')} - {part('d')})",
            lambda: f"floor({part('n')})::int",
            lambda: f"strpos({part('t')}, {part('t')})",
        ])()  # fmt: skip

    def _expression_n(self, scope: list[Column], depth: int) -> str:
        def part(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.random.choice([
            lambda: f"({part('n')} {self.random.choice('+-*')} {part('n')})",
            lambda: f"({part('n')} + {part('i')})",
            lambda: f"({part('n')} / {self.random.choice(['2', '3.0', '7'])})",
            lambda: f"round({part('n')}, {self.random.randint(0, 3)})",
            lambda: f"{part('i')}::numeric",
            lambda: f"trunc({part('n')}, 1)",
        ])()  # fmt: skip

    def _expression_f(self, scope: list[Column], depth: int) -> str:
        def part(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.random.choice([
            lambda: f"({part('f')} {self.random.choice('+-')} {part('f')})",
            lambda: f"({part('f')} * 2)",
            lambda: f"{part('i')}::float8",
            lambda: f"floor({part('f')})",
        ])()  # fmt: skip

    def _expression_t(self, scope: list[Column], depth: int) -> str:
        def part(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.random.choice([
            lambda: f"({part('t')} || {part('t')})",
            lambda: f"substr({part('t')}, {self.random.randint(1, 2)}, 2)",
            lambda: f"{self.random.choice(['reverse', 'trim', 'md5'])}({part('t')})",
            lambda: f"{part(self.random.choice('inbd'))}::text",
            lambda: f"replace({part('t')}, 'a', 'q')",
            lambda: f"concat({part('t')}, {part('i')})",
            lambda: f"to_char({part('s')}, 'YYYY-MM-DD HH24')",
        ])()  # fmt: skip

    def _expression_b(self, scope: list[Column], depth: int) -> str:
        kind, r = self.random.choice(KINDS), self.random

        def part(k: str = kind) -> str:
            return self.expression(k, scope, depth)

        compare = r.choice(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
        return r.choice([
            lambda: f"({part()} {compare} {part()})",
            lambda: f"({part()} {compare} {part()})",
            lambda: f"({part('b')} {r.choice(['AND', 'OR'])} {part('b')})",
            lambda: f"(NOT {part('b')})",
            lambda: f"({part()} IS {r.choice(['', 'NOT '])}NULL)",
            lambda: f"({part('t')} LIKE '{r.choice(['a%', '%b%', '_b', ''])}')",
            lambda: f"({part()} BETWEEN {part()} AND {part()})",
            lambda: f"({part()} {r.choice(['IN', 'NOT IN'])} ({part()}, {part()}))",
            lambda: f"({part('i')} > {part('n')})",
            lambda: f"({part('s')} >= {part('d')})",
        ])()  # fmt: skip

    def _expression_d(self, scope: list[Column], depth: int) -> str:
        def part(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.random.choice([
            lambda: f"({part('d')} + {self.random.randint(-40, 40)})",
            lambda: f"{part('s')}::date",
            lambda: f"date_trunc('month', {part('s')})::date",
        ])()  # fmt: skip

    def _expression_s(self, scope: list[Column], depth: int) -> str:
        def part(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.random.choice([
            lambda: f"({part('s')} + INTERVAL '{self.random.choice(['1 month', '90 min', '-1 day'])}')",
            lambda: f"{part('d')}::timestamp",
            lambda: f"date_trunc('{self.random.choice(['day', 'week', 'hour'])}', {part('s')})",
        ])()  # fmt: skip

    # Queries.

    def query(self) -> str:
        """A query whose columns are c0, c1, …"""
        kinds = [self.random.choice(KINDS) for _ in range(self.random.randint(1, 4))]
        roll = self.random.random()
        if roll < 0.15:
            operator = self.random.choice(SET_OPERATIONS)
            return f"{self.select(kinds)} {operator} {self.select(kinds)}"
        if roll < 0.25:
            ways = [self.random.choice([" DESC", " NULLS FIRST", ""]) for _ in kinds]
            order = ", ".join(f"{i + 1}{way}" for i, way in enumerate(ways))
            return f"{self.select(kinds)} ORDER BY {order} LIMIT {self.random.randint(1, 6)}"
        return self.select(kinds)

    def select(self, kinds: list[str]) -> str:
        """One SELECT of columns of these kinds: grouped, windowed, distinct or plain."""
        source, scope = self.source()
        where = f" WHERE {self.condition(scope)}" if self.random.random() < 0.45 else ""
        roll = self.random.random()
        if roll < 0.35:
            return self._grouped(kinds, source, scope, where)
        if roll < 0.5:
            return self._windowed(kinds, source, scope, where)
        distinct = "DISTINCT " if roll < 0.6 else ""
        items = ", ".join(f"{self.expression(kind, scope)} AS c{i}" for i, kind in enumerate(kinds))
        return f"SELECT {distinct}{items} FROM {source}{where}"

    def _grouped(self, kinds: list[str], source: str, scope: list[Column], where: str) -> str:
        keys = [
            self.expression(self.random.choice(KINDS), scope, 1) for _ in range(self.random.randint(0, 2))
        ]
        inner = ", ".join(f"{key} AS g{i}" for i, key in enumerate(keys))
        items = ", ".join(f"{self.aggregate(kind, scope)} AS c{i}" for i, kind in enumerate(kinds))
        names = ", ".join(f"g{i}" for i in range(len(keys)))
        text = f"SELECT {inner + ', ' if inner else ''}{items} FROM {source}{where}"
        if names:
            text += f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}"
        if self.random.random() < 0.3:
            largest = f"max({self.expression('i', scope, 1)}) > 2"
            text += f" HAVING {self.random.choice(['count(*) > 1', largest])}"
        columns = ", ".join(f"c{i}" for i in range(len(kinds)))
        return f"SELECT {columns} FROM ({text}) grouped"

    def aggregate(self, kind: str, scope: list[Column]) -> str:
        """An aggregate call of a kind."""
        r = self.random
        argument = self.expression(kind, scope, 1)
        distinct = r.choice(["", "", "DISTINCT "])
        only = f" FILTER (WHERE {self.expression('b', scope, 1)})" if r.random() < 0.25 else ""
        match kind:
            case "i":
                call = r.choice(["count(*)", f"count({distinct}{argument})", f"sum({distinct}{argument})"])
                return r.choice([f"({call}{only})::int", f"max({argument}){only}"])
            case "n":
                return f"{r.choice(['sum', 'avg', 'min', 'max'])}({distinct}{argument}){only}"
            case "f":
                return f"{r.choice(['sum', 'min', 'max'])}({argument}){only}"
            case "t":
                listed = f"string_agg({argument}, ',' ORDER BY {argument}){only}"
                return r.choice([f"min({argument}){only}", f"max({argument}){only}", listed])
            case "b":
                return f"{r.choice(['bool_and', 'bool_or'])}({argument}){only}"
            case _:
                return f"{r.choice(['min', 'max'])}({argument}){only}"

    def _windowed(self, kinds: list[str], source: str, scope: list[Column], where: str) -> str:
        over = f"PARTITION BY {self.expression(self.random.choice('itb'), scope, 1)}"
        order = f"{over} ORDER BY {self.expression('i', scope, 1)}, {self.expression('t', scope, 1)}"
        calls = [f"rank() OVER ({order})", f"dense_rank() OVER ({order})", f"count(*) OVER ({over})",
                 f"sum({self.expression('i', scope, 1)}) OVER ({order})",
                 f"max({self.expression('i', scope, 1)}) OVER ({over})"]  # fmt: skip
        items = [
            f"{self.random.choice(calls)}::int AS c{i}" if kind == "i"
            else f"{self.expression(kind, scope, 1)} AS c{i}"
            for i, kind in enumerate(kinds)
        ]  # fmt: skip
        return f"SELECT {', '.join(items)} FROM {source}{where}"

    def source(self, depth: int = 1) -> tuple[str, list[Column]]:
        """A FROM clause and the columns it gives."""
        text, scope = self._item(depth)
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            other, more = self._item(depth)
            left = self.random.choice([c.name for c in scope if c.kind == "i"])
            right = self.random.choice([c.name for c in more if c.kind == "i"])
            kind = self.random.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            condition = f"{left} = {right}"
            if kind != "FULL JOIN" and self.random.random() < 0.25:
                condition += f" AND {self.expression('b', scope + more, 1)}"
            text, scope = f"{text} {kind} {other} ON {condition}", scope + more
        return text, scope

    def _item(self, depth: int) -> tuple[str, list[Column]]:
        self._aliases += 1
        alias = f"a{self._aliases}"
        if depth and self.random.random() < 0.25:
            kinds = ["i", *(self.random.choice(KINDS) for _ in range(2))]
            source, scope = self.source(depth - 1)
            items = ", ".join(f"{self.expression(kind, scope, 1)} AS x{i}" for i, kind in enumerate(kinds))
            return (
                f"(SELECT {items} FROM {source}) {alias}",
                [Column(f"{alias}.x{i}", kind) for i, kind in enumerate(kinds)],
            )
        table = self.random.choice(self.tables)
        return f"{table.name} {alias}", table.scope(alias)

    def condition(self, scope: list[Column]) -> str:
        """A condition, perhaps with a subquery."""
        plain = self.expression("b", scope)
        if self.random.random() < 0.6:
            return plain
        self._aliases += 1
        table, alias = self.random.choice(self.tables), f"s{self._aliases}"
        outer = self.random.choice([c.name for c in scope if c.kind == "i"])
        inner = self.expression("b", table.scope(alias), 1)
        negated = self.random.choice(["", "NOT "])
        subquery = self.random.choice([
            f"{negated}EXISTS (SELECT 1 FROM {table.name} {alias} WHERE {alias}.k = {outer} AND {inner})",
            f"{outer} {negated}IN (SELECT {alias}.k FROM {table.name} {alias} WHERE {inner})",
            f"{outer} > (SELECT min({alias}.k) FROM {table.name} {alias} WHERE {inner})",
            f"{outer} <= (SELECT count(*) FROM {table.name} {alias} WHERE {alias}.k = {outer})",
        ])  # fmt: skip
        return f"{subquery} {self.random.choice(['AND', 'OR'])} {plain}"
