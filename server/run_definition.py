"""CREATE, ALTER, DROP and COMMENT."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..operators.dataflow import run
from ..operators.zset import ZSet
from ..planner import define_other, define_sink, define_table, define_view
from ..planner.define import DEFINERS, DefineContext, Definition, define
from ..planner.dml import TableWrite, WriteKind
from ..planner.optimize import optimize
from ..runtime.relations import check_connector, connector_columns
from ..runtime.transaction import Transaction
from ..runtime.works import DefineWork, ValuesOf
from ..runtime.writes import evaluate_write
from .backend import Result
from .client import Client, PreparedStatement, executes, statement_words
from .futures import then
from .run_write import refuse_read_only

_ = (define_other, define_sink, define_table, define_view)
"""Imported for the definers they register."""


@executes(*DEFINERS)
def run_definition(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    refuse_read_only(client, statement_words(statement))
    read = client.read_context()
    if alone and client.transaction is None:
        work = DefineWork(
            statement=statement,
            search_path=client.search_path,
            read=read,
            settings=client.text_settings,
            background=client.settings.show("background_ddl").lower() in ("true", "on", "1", "yes"),
        )
        done = client.database.engine.submit(work)
        return then(done, lambda outcome: _answer(*outcome))
    transaction = client.begin(explicit=client.in_block)
    connectors = client.database.connectors
    context = DefineContext(
        transaction.catalog,
        client.search_path,
        lambda options: connector_columns(options, connectors),
        lambda entry: check_connector(entry, connectors),
        client.text_settings,
    )
    definition = define(statement, context)
    if definition.catalog is transaction.catalog and not definition.reset:
        return _answer(definition, 0)

    def define_and_fill() -> Result:
        transaction.define(definition, read.context)
        return _answer(definition, _fill(client, transaction, definition))

    if definition.reshaped or definition.rows is not None:
        return client.database.readers.submit(define_and_fill)
    return define_and_fill()


def _fill(client: Client, transaction: Transaction, definition: Definition) -> int:
    """CREATE TABLE AS within a transaction: the rows go into the new table's overlay."""
    if definition.rows is None:
        return 0
    table, query = definition.rows
    read = client.read_context()
    rows = run(optimize(query.node, transaction.reading_catalog()), client.reader(read), read.context)
    filled = ZSet(table.schema, (*rows.columns, pa.nulls(len(rows), pa.int64())), rows.weights)
    write = TableWrite(table, WriteKind.INSERT, ValuesOf(filled))
    overlay = transaction.overlay(table)
    changes = evaluate_write(write, filled, overlay, read.context, transaction.draw_row_ids)
    transaction.write(changes)
    return changes.affected


def _answer(definition: Definition, rows: int) -> Result:
    return Result(definition.tag.replace("{rows}", str(rows)), notices=list(definition.notices))
