"""Queries run here, by translation, optimization and the plain forms, and in PostgreSQL: as text rows."""

from __future__ import annotations

import numpy as np
import psycopg
import pyarrow as pa

import millpond.operators.functions
from millpond.operators.dataflow import run
from millpond.operators.evaluate import evaluate, evaluate_rows, predicate_mask
from millpond.operators.node import EpochContext, Node
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet, concat
from millpond.planner.dml import TableWrite, WriteKind, translate_write
from millpond.planner.key_lookup import KeyLookup
from millpond.planner.optimize import optimize
from millpond.planner.translate import translate_query
from millpond.sql import statements as st
from millpond.sql.catalog import Catalog
from millpond.sql.parse import parse
from millpond.storage.schema import Column, Schema
from millpond.storage.textform import TextSettings, format_text

assert millpond.operators.functions

Row = tuple[str | None, ...]


class Database:
    """Tables filled by INSERT statements; SELECTs answered by the plain forms."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.content: dict[str, ZSet] = {}
        self.next_id = 0
        self.context = EpochContext(1, 1_600_000_000_000_000)
        self.context.session["search_path"] = "public"

    def execute(self, text: str) -> list[Row]:
        """Carries out INSERT, UPDATE and DELETE on `content`; the rows of the last one's RETURNING."""
        result: list[Row] = []
        for statement in parse(text):
            assert isinstance(statement, st.Insert | st.Update | st.Delete)
            write = translate_write(statement, self.catalog, ("public",))
            rows = self.run(optimize(write.node, self.catalog))
            result = self._write(write, rows)
        return result

    def _write(self, write: TableWrite, rows: ZSet) -> list[Row]:
        schema, width = write.table.schema, len(write.table.schema)
        known = self.content.get(write.table.id, ZSet.empty(schema))
        if write.kind is WriteKind.INSERT:
            rows = self._numbered(write, rows, len(known))
            gone, come, seen = rows.select(()).slice(0, 0), rows, rows
            if write.conflict is not None:
                gone, come = self._resolved(write, known, rows)
                seen = come
        else:
            gone, seen = rows.select(range(width)), rows
            update = write.kind is WriteKind.UPDATE
            come = rows.select(range(width, 2 * width)) if update else gone.slice(0, 0)
        lost = {str(key) for key in self._keys(write, gone)} if len(gone) else set[str]()
        kept = np.array([str(key) not in lost for key in self._keys(write, known)], np.bool_)
        self.content[write.table.id] = concat(schema, [known.filter(kept), come])
        if write.returning is None:
            return []
        columns, _ = evaluate_rows(write.returning, seen, self.context, "RETURNING")
        returned = Schema(tuple(Column("", type_) for type_ in write.types))
        return as_text(ZSet.inserts(returned, columns, len(seen)))

    def _numbered(self, write: TableWrite, rows: ZSet, start: int) -> ZSet:
        """Rows with their hidden row ids."""
        if not write.table.has_row_id:
            return rows
        self.next_id += len(rows)
        ids = pa.array(np.arange(self.next_id - len(rows), self.next_id))
        return rows.with_columns(write.table.schema, (*rows.columns[:-1], ids))

    def _resolved(self, write: TableWrite, known: ZSet, rows: ZSet) -> tuple[ZSet, ZSet]:
        """ON CONFLICT, row by row: (rows that go, rows that come)."""
        assert write.conflict is not None
        schema = write.table.schema
        places = {str(key): i for i, key in enumerate(self._keys(write, known))}
        gone: list[ZSet] = []
        come: list[ZSet] = []
        for i, key in enumerate(self._keys(write, rows)):
            place = places.get(str(key))
            if place is None:
                come.append(rows.slice(i, 1))
                continue
            if write.conflict.update is None:
                continue
            old, new = known.slice(place, 1), rows.slice(i, 1)
            both = ZSet(schema.concat(schema), old.columns + new.columns, new.weights)
            where = write.conflict.where
            if where is not None and not predicate_mask(where, both.columns, 1, self.context)[0]:
                continue
            columns, _ = evaluate_rows(write.conflict.update, both, self.context, "UPDATE")
            gone.append(old)
            come.append(ZSet.inserts(schema, columns))
        return concat(schema, gone), concat(schema, come)

    def _keys(self, write: TableWrite, rows: ZSet) -> list[list[object]]:
        key = write.table.key or ()
        return [[rows.columns[c][i].as_py() for c in key] for i in range(len(rows))]

    def rows(self, table: str) -> list[Row]:
        """The visible columns of a table."""
        return self.query(f"SELECT * FROM {table}")

    def query(self, text: str) -> list[Row]:
        (statement,) = parse(text)
        assert isinstance(statement, st.Select)
        query = translate_query(statement.ast, self.catalog, ("public",))
        rows = self.run(optimize(query.node, self.catalog))
        return as_text(rows)

    def _looked_up(self, scan: KeyLookup, content: ZSet) -> ZSet:
        wanted = [[evaluate(expr, (), 1, self.context)[0].as_py() for expr in key] for key in scan.keys]
        found = [content.columns[c].to_pylist() for c in scan.key_ or ()]
        return content.filter(np.array([list(key) in wanted for key in zip(*found, strict=True)], np.bool_))

    def run(self, node: Node) -> ZSet:
        def rows(scan: Scan) -> ZSet:
            entry = self.catalog.by_id(scan.relation)
            assert entry is not None, scan.relation
            content = self.content.get(scan.relation, ZSet.empty(scan.schema_))
            return self._looked_up(scan, content) if isinstance(scan, KeyLookup) else content

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
