"""Queries run here, by translation, optimization and the plain forms, and in PostgreSQL: as text rows."""

from __future__ import annotations

import psycopg

import millpond.operators.functions
from millpond.operators.dataflow import run
from millpond.operators.node import EpochContext, Node
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet, concat
from millpond.planner.dml import translate_write
from millpond.planner.optimize import optimize
from millpond.planner.translate import translate_query
from millpond.sql import statements as st
from millpond.sql.catalog import Catalog
from millpond.sql.parse import parse
from millpond.storage.textform import TextSettings, format_text

assert millpond.operators.functions

Row = tuple[str | None, ...]


class Database:
    """Tables filled by INSERT statements; SELECTs answered by the plain forms."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.content: dict[str, ZSet] = {}
        self.context = EpochContext(1, 1_600_000_000_000_000)
        self.context.session["search_path"] = "public"

    def execute(self, text: str) -> None:
        for statement in parse(text):
            assert isinstance(statement, st.Insert)
            write = translate_write(statement, self.catalog, ("public",))
            rows = self.run(optimize(write.node, self.catalog))
            known = self.content.get(write.table.id, ZSet.empty(write.table.schema))
            self.content[write.table.id] = concat(write.table.schema, [known, rows])

    def query(self, text: str) -> list[Row]:
        (statement,) = parse(text)
        assert isinstance(statement, st.Select)
        query = translate_query(statement.ast, self.catalog, ("public",))
        rows = self.run(optimize(query.node, self.catalog))
        return as_text(rows)

    def run(self, node: Node) -> ZSet:
        def rows(scan: Scan) -> ZSet:
            entry = self.catalog.by_id(scan.relation)
            assert entry is not None, scan.relation
            return self.content.get(scan.relation, ZSet.empty(scan.schema_))

        return run(node, rows, self.context)


def as_text(rows: ZSet) -> list[Row]:
    """Each row as often as its weight says."""
    columns: list[list[str | None]] = [
        format_text(t, c, TextSettings()).to_pylist()
        for t, c in zip(rows.schema.types, rows.columns, strict=True)
    ]
    plain = list(zip(*columns, strict=True)) if columns else [()] * len(rows)
    weights = rows.weights.tolist()
    return [row for row, weight in zip(plain, weights, strict=True) for _ in range(weight)]


def postgres_rows(connection: psycopg.Connection, text: str) -> list[Row]:
    """As PostgreSQL's text output."""
    result = connection.pgconn.exec_(text.encode())
    assert result.error_message == b"", result.error_message.decode()
    return [
        tuple(_text(result.get_value(i, j)) for j in range(result.nfields)) for i in range(result.ntuples)
    ]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def sorted_rows(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(value is None, value or "") for value in row])
