"""Defaults, checks and generated columns of a table: verified when declared, bound when rows come."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from ..operators.evaluate import evaluate
from ..operators.expr import ColumnRef, Expr, Literal
from ..operators.node import EpochContext
from ..sql.catalog import Catalog
from ..sql.entries import Table
from ..sql.parse import parse_scalar
from .column_defaults import condition_over, default_of, generated_over
from .translate import new_environment

_PATH = ("public",)


def check_default(table: Table, column: str, catalog: Catalog, search_path: Sequence[str]) -> None:
    """Raises the SqlError of a DEFAULT that does not bind or fit its column."""
    default_of(table, table.schema.position(column), new_environment(catalog, search_path, None))


def check_condition(table: Table, text: str, catalog: Catalog, search_path: Sequence[str]) -> None:
    """Raises the SqlError of a CHECK that does not bind."""
    condition_over(table, parse_scalar(text), new_environment(catalog, search_path, None))


def check_generated(table: Table, catalog: Catalog, search_path: Sequence[str]) -> None:
    """Raises the SqlError of a generated column that does not bind."""
    generated_over(table, _row(table), new_environment(catalog, search_path, None))


def bound_default(table: Table, column: str, catalog: Catalog) -> Expr | None:
    """The default of a column, None when it has none."""
    expr = default_of(table, table.schema.position(column), new_environment(catalog, _PATH, None))
    return None if isinstance(expr, Literal) and expr.value is None else expr


class _ByIdentity:
    """A table as a cache key: an entry holds mappings, which do not hash."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return id(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.table is self.table


@lru_cache(maxsize=1000)
def _bound_checks(key: _ByIdentity) -> tuple[tuple[str, Expr], ...]:
    environment = new_environment(Catalog.initial(), _PATH, None)
    return tuple(
        (check.name, condition_over(key.table, parse_scalar(check.expression), environment))
        for check in key.table.checks
    )


def bound_checks(table: Table) -> tuple[tuple[str, Expr], ...]:
    """(name, condition over a row) of every CHECK."""
    return _bound_checks(_ByIdentity(table)) if table.checks else ()


def filled_columns(
    table: Table, positions: Sequence[int], given: Sequence[pa.Array], catalog: Catalog, context: EpochContext
) -> list[pa.Array]:
    """Whole rows of `table` from the columns at `positions`, with defaults and generated columns added."""
    count = len(given[0]) if given else 0
    environment = new_environment(catalog, _PATH, None)
    known = dict(zip(positions, given, strict=True))
    columns: list[pa.Array] = []
    for i, column in enumerate(table.schema):
        values = known.get(i)
        if values is None:
            values = evaluate(default_of(table, i, environment), [], count, context)
        columns.append(values.cast(column.type.arrow) if values.type != column.type.arrow else values)
    if table.generated:
        row = generated_over(table, _row(table), environment)
        columns = [
            evaluate(row[i], columns, count, context) if column.name in table.generated else columns[i]
            for i, column in enumerate(table.schema)
        ]
    return columns


def _row(table: Table) -> list[Expr]:
    return [ColumnRef(i, column.type) for i, column in enumerate(table.schema)]
