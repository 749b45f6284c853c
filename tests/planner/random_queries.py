"""Random queries over the tables of `bind_oracle`: joins of all kinds, LATERAL, subqueries, groups, windows.

They are valid for PostgreSQL nearly always (an aggregate over outer columns only, or a group that is an
integer constant, may slip in) and their result does not depend on the order of rows.
"""

from __future__ import annotations

from random import Random

TABLES = {"t": ("id", "a"), "u": ("id", "tid", "s"), "w": ("k", "a")}
Item = tuple[str, tuple[str, ...]]
"""A FROM item: its alias and its columns, all of them integers."""


class QueryMaker:
    """Draws from `random`; `depth` arguments bound the nesting."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.aliases = 0

    def query(self) -> str:
        items, scope = self.items([], 2)
        where = f" where {self.condition(scope, 2)}" if self.random.random() < 0.7 else ""
        form = self.random.choice((self.plain, self.grouped, self.windowed))
        return form(items, scope, where)

    def plain(self, items: str, scope: list[Item], where: str) -> str:
        distinct = self.random.choice(("", "distinct "))
        return f"select {distinct}{self.number(scope, 2)} x, {self.column(scope)} y from {items}{where}"

    def grouped(self, items: str, scope: list[Item], where: str) -> str:
        key, other = self.column(scope), self.column(scope)
        having = f" having count(*) > {self.random.randint(0, 2)}" if self.random.random() < 0.3 else ""
        calls = (
            f"count(*), sum({self.number(scope, 1)}), max({self.number(scope, 1)}), "
            f"count(distinct {self.column(scope)}) filter (where {self.condition(scope, 1)})"
        )
        return f"select {key} k, {other} + 1 o, {calls} from {items}{where} group by {key}, {other}{having}"

    def windowed(self, items: str, scope: list[Item], where: str) -> str:
        everything = ", ".join(f"{alias}.{column}" for alias, columns in scope for column in columns)
        number = f"row_number() over (partition by {self.column(scope)} order by {everything})"
        total = f"sum({self.number(scope, 0)}) over (partition by {self.column(scope)})"
        return f"select {everything}, {number}, {total} from {items}{where}"

    # FROM.
    def items(self, outer: list[Item], depth: int) -> tuple[str, list[Item]]:
        """One to three joined items; `outer` is what enclosing queries offer."""
        text, item = self.relation(outer, depth)
        scope = [item]
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            kind = self.random.choice(("join", "left join", "right join", "full join", "cross", "lateral"))
            added, item = (
                self.lateral(outer, scope, depth) if kind == "lateral" else self.relation(outer, depth)
            )
            if kind == "cross":
                text = f"{text} cross join {added}"
            elif kind == "lateral":
                on = self.random.choice(("true", f"{item[0]}.y > 0"))
                text = f"{text} {self.random.choice(('join', 'left join'))} lateral {added} on {on}"
            else:
                on = f"{self.column(scope)} = {self.column([item])}"
                if kind != "full join" and self.random.random() < 0.3:
                    on += f" and {self.condition([*scope, item], 0)}"
                text = f"{text} {kind} {added} on {on}"
            scope.append(item)
        return text, scope

    def relation(self, outer: list[Item], depth: int) -> tuple[str, Item]:
        alias, draw = self.alias(), self.random.random()
        if draw < 0.6 or depth <= 0:
            table = self.random.choice(list(TABLES))
            return f"{table} {alias}", (alias, TABLES[table])
        items, scope = self.items(outer, depth - 1)
        if draw < 0.8:
            where = self.condition(scope + outer, depth - 1)
            query = f"select {self.number(scope, 1)} x, {self.column(scope)} y from {items} where {where}"
            return f"({query}) {alias}", (alias, ("x", "y"))
        key = self.column(scope)
        if draw < 0.9:
            query = f"select {key} x, count(*)::int y from {items} group by {key}"
            return f"({query}) {alias}", (alias, ("x", "y"))
        others, other_scope = self.items(outer, depth - 1)
        operation = self.random.choice(("union", "union all", "intersect", "except"))
        query = f"select {key} x from {items} {operation} select {self.column(other_scope)} from {others}"
        return f"({query}) {alias}", (alias, ("x",))

    def lateral(self, outer: list[Item], left: list[Item], depth: int) -> tuple[str, Item]:
        alias = self.alias()
        items, scope = self.items(outer, depth - 1) if depth > 0 else _alone(*self.relation(outer, 0))
        where = self.condition(scope + left + outer, 0)
        value = self.number(scope + left, 0)
        return f"(select {value} x, {self.column(scope)} y from {items} where {where}) {alias}", (
            alias,
            ("x", "y"),
        )

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    # Expressions.
    def column(self, scope: list[Item]) -> str:
        alias, columns = self.random.choice(scope)
        return f"{alias}.{self.random.choice(columns)}"

    def number(self, scope: list[Item], depth: int) -> str:
        draw = self.random.random()
        if draw < 0.5 or depth <= 0:
            return self.column(scope)
        if draw < 0.6:
            return str(self.random.randint(0, 4))
        if draw < 0.75:
            sign = self.random.choice("+-*")
            return f"({self.number(scope, depth - 1)} {sign} {self.number(scope, depth - 1)})"
        if draw < 0.85:
            when = self.condition(scope, depth - 1)
            return f"case when {when} then {self.number(scope, depth - 1)} else {self.number(scope, 0)} end"
        return self.scalar(scope, depth - 1)

    def scalar(self, scope: list[Item], depth: int) -> str:
        items, inner = self.items(scope, depth)
        call = self.random.choice(("count(*)", "max({})", "min({})", "sum({})", "count({})"))
        value = call.format(self.column(inner))
        return f"(select {value} from {items} where {self.condition(inner + scope, depth)})"

    def condition(self, scope: list[Item], depth: int) -> str:
        draw = self.random.random()
        if draw < 0.45 or depth <= 0:
            operator = self.random.choice(("=", "<", ">", "<>", "<=", "is distinct from"))
            return f"{self.column(scope)} {operator} {self.number(scope, 0)}"
        if draw < 0.55:
            word = self.random.choice(("and", "or"))
            return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"
        if draw < 0.6:
            return f"not ({self.condition(scope, depth - 1)})"
        if draw < 0.65:
            return f"{self.column(scope)} is {self.random.choice(('', 'not '))}null"
        if draw < 0.7:
            return f"{self.column(scope)} in ({self.random.randint(0, 3)}, {self.number(scope, 0)})"
        return self.subquery_test(scope, depth - 1)

    def subquery_test(self, scope: list[Item], depth: int) -> str:
        items, inner = self.items(scope, depth)
        rows = f"from {items} where {self.condition(inner + scope, depth)}"
        negation, draw = self.random.choice(("", "not ")), self.random.random()
        if draw < 0.45:
            return f"{negation}exists (select 1 {rows})"
        if draw < 0.75:
            return f"{self.column(scope)} {negation}in (select {self.column(inner)} {rows})"
        test = f"{self.random.choice(('=', '>', '<>', '<='))} {self.random.choice(('any', 'all'))}"
        return f"{self.column(scope)} {test} (select {self.column(inner)} {rows})"


def _alone(text: str, item: Item) -> tuple[str, list[Item]]:
    return text, [item]
