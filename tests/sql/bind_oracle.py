"""The same tables here and in PostgreSQL, and what each says of a statement without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import pq

import millpond.operators.functions
from millpond.planner.dml import translate_write
from millpond.planner.translate import translate_query
from millpond.sql import statements as st
from millpond.sql.catalog import Catalog, Table, View
from millpond.sql.parameters import ParameterTypes
from millpond.sql.parse import parse_statement
from millpond.storage.errors import SqlError
from millpond.storage.schema import Column, Schema
from millpond.storage.types import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    JSONB,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Type,
    array_of,
    numeric,
    varchar,
)

assert millpond.operators.functions

DEFINITIONS = """
CREATE TABLE t (id int PRIMARY KEY, a int, b text, n numeric(10,2), ts timestamp, arr int[],
                j jsonb, ok bool);
CREATE TABLE u (id bigint, tid int, c text, d date, f float8, v varchar(10), s smallint);
CREATE TABLE w (k int, a int, x text, x2 text DEFAULT 'dd', PRIMARY KEY (k, a));
CREATE TABLE e (m numeric, at timestamptz);
CREATE VIEW vv AS SELECT a, count(*) AS x FROM t GROUP BY a;
"""


def _table(
    oid: int, name: str, columns: Sequence[tuple[str, Type]], key: tuple[int, ...] | None, **more: Any
) -> Table:
    shown = [Column(c, t, i not in (key or ())) for i, (c, t) in enumerate(columns)]
    if key is None:
        shown.append(Column("_row_id", INT8, False, True))
    return Table(
        oid, "public", name, schema=Schema(tuple(shown)), key=key or (len(shown) - 1,), primary_key=key,
        primary_key_name=f"{name}_pkey", **more,
    )  # fmt: skip


def catalog() -> Catalog:
    """The tables of DEFINITIONS."""
    t = [("id", INT4), ("a", INT4), ("b", TEXT), ("n", numeric(10, 2)), ("ts", TIMESTAMP),
         ("arr", array_of(INT4)), ("j", JSONB), ("ok", BOOL)]  # fmt: skip
    u = [
        ("id", INT8),
        ("tid", INT4),
        ("c", TEXT),
        ("d", DATE),
        ("f", FLOAT8),
        ("v", varchar(10)),
        ("s", INT2),
    ]
    w = [("k", INT4), ("a", INT4), ("x", TEXT), ("x2", TEXT)]
    e = [("m", NUMERIC), ("at", TIMESTAMPTZ)]
    view = View(
        16404, "public", "vv", schema=Schema.of(a=INT4, x=INT8),
        query="SELECT a, count(*) AS x FROM t GROUP BY a",
    )  # fmt: skip
    return Catalog.initial().with_all(
        [
            _table(16400, "t", t, (0,)), _table(16401, "u", u, None),
            _table(16402, "w", w, (0, 1), defaults={"x2": "'dd'"}), _table(16403, "e", e, None), view,
        ]
    )  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Columns (name, type OID, modifier) and parameter type OIDs; or the error."""

    columns: tuple[tuple[str, int, int], ...] = ()
    parameters: tuple[int, ...] = ()
    code: str = ""
    message: str = ""
    position: int = 0
    hint: str = ""


def ask_postgres(connection: psycopg.Connection, text: str) -> Answer:
    prepared = connection.pgconn.prepare(b"", text.encode())
    if prepared.status != pq.ExecStatus.COMMAND_OK:
        field = prepared.error_field
        return Answer(
            code=_text(field(pq.DiagnosticField.SQLSTATE)),
            message=_text(field(pq.DiagnosticField.MESSAGE_PRIMARY)),
            position=int(_text(field(pq.DiagnosticField.STATEMENT_POSITION)) or 0),
            hint=_text(field(pq.DiagnosticField.MESSAGE_HINT)),
        )
    result = connection.pgconn.describe_prepared(b"")
    columns = tuple((_text(result.fname(i)), result.ftype(i), result.fmod(i)) for i in range(result.nfields))
    return Answer(columns, tuple(result.param_type(i) for i in range(result.nparams)))


def _text(value: bytes | None) -> str:
    return value.decode() if value else ""


def ask_millpond(text: str) -> Answer:
    parameters = ParameterTypes()
    try:
        statement = parse_statement(text)
        if isinstance(statement, st.Select):
            query = translate_query(statement.ast, catalog(), ("public",), parameters)
        else:
            assert isinstance(statement, st.Insert | st.Update | st.Delete)
            query = translate_write(statement, catalog(), ("public",), parameters)
        types = parameters.types()
    except SqlError as error:
        return Answer(code=error.code, message=error.message, position=error.position, hint=error.hint)
    columns = tuple((n, t.oid, t.typmod) for n, t in zip(query.names, query.types, strict=True))
    return Answer(columns, tuple(t.oid for t in types))
