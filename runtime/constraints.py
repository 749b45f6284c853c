"""NOT NULL and CHECK of a table's new rows, and the details PostgreSQL puts in their errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ..operators.evaluate import evaluate
from ..operators.node import EpochContext
from ..planner.defaults import bound_checks
from ..sql.entries import Table
from ..storage.errors import CheckViolation, NotNullViolation
from ..storage.textform import TextSettings, format_text

DETAIL_VALUE_CHARACTERS = 64
"""Longer values are cut in an error's detail, as PostgreSQL does."""


def check_rows(table: Table, columns: Sequence[pa.Array], context: EpochContext) -> None:
    """Raises NotNullViolation or CheckViolation for the first row that breaks a rule of `table`."""
    if not len(columns[0]):
        return
    for i, column in enumerate(table.schema):
        if not column.nullable and columns[i].null_count:
            row = int(np.flatnonzero(columns[i].is_null().to_numpy(zero_copy_only=False))[0])
            raise NotNullViolation(
                f'null value in column "{column.name}" of relation "{table.name}" '
                "violates not-null constraint",
                detail=_row_detail(table, columns, row),
                schema=table.schema_name,
                table=table.name,
                column=column.name,
            )
    for name, expr in bound_checks(table):
        holds = evaluate(expr, columns, len(columns[0]), context)
        broken = np.flatnonzero(~holds.fill_null(True).to_numpy(zero_copy_only=False))
        if len(broken):
            raise CheckViolation(
                f'new row for relation "{table.name}" violates check constraint "{name}"',
                detail=_row_detail(table, columns, int(broken[0])),
                schema=table.schema_name,
                table=table.name,
                constraint=name,
            )


def key_detail(table: Table, positions: Sequence[int], keys: Sequence[pa.Array], row: int) -> str:
    names = ", ".join(table.schema[i].name for i in positions)
    types = [table.schema[i].type for i in positions]
    values = (
        _shown(format_text(t, k.slice(row, 1), TextSettings())[0]) for t, k in zip(types, keys, strict=True)
    )
    return f"Key ({names})=({', '.join(values)}) already exists."


def _row_detail(table: Table, columns: Sequence[pa.Array], row: int) -> str:
    shown = (
        _shown(format_text(column.type, columns[i].slice(row, 1), TextSettings())[0])
        for i, column in enumerate(table.schema)
        if not column.hidden
    )
    return f"Failing row contains ({', '.join(shown)})."


def _shown(value: pa.Scalar) -> str:
    text = value.as_py()
    if text is None:
        return "null"
    return text if len(text) <= DETAIL_VALUE_CHARACTERS else text[:DETAIL_VALUE_CHARACTERS] + "..."
