"""INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..planner.dml import TableWrite
from ..runtime.row_writes import RowWork
from ..runtime.standby import StandbyEngine
from ..runtime.transaction import Transaction
from ..runtime.works import TruncateWork, WriteOutcome, WriteWork
from ..runtime.writes import RowChanges, evaluate_write, written_rows
from ..sql import statements as st
from ..sql.entries import Table
from ..storage.errors import FeatureNotSupported, ReadOnlyTransaction, WrongObjectType
from .backend import Result
from .client import Client, PreparedStatement, executes
from .futures import then
from .plans import WritePlan
from .portal import BoundValues

ROW_BYTES_MAX = 64 << 10
"""Rows with more in their parameters are not computed together with others: thousands may be in an epoch."""


@executes(st.Insert, st.Update, st.Delete)
def run_write(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    kind = type(prepared.statement).__name__.upper()
    refuse_read_only(client, kind)
    plan = current_write(client, prepared)
    if alone and client.transaction is None:
        work = row_work(client, plan, values)
        if work is not None:
            return client.database.engine.submit(work)
        write = plan.bound(values)
        work = WriteWork(solo=plan.reads_views, write=write, read=client.read_context())
        done = client.database.engine.submit(work)
        return then(done, plan.result)
    write = plan.bound(values)
    transaction = client.begin(explicit=client.in_block)
    return client.database.readers.submit(lambda: _in_transaction(client, transaction, write, plan))


def row_work(client: Client, plan: WritePlan, values: Sequence[pa.Array]) -> RowWork | None:
    """The write of one row by a prepared statement, if it is one; its future gives the Result."""
    template = plan.template
    if template is None or not isinstance(values, BoundValues) or values.nbytes > ROW_BYTES_MAX:
        return None
    return RowWork(
        template=template,
        values=values.simple,
        now_us=client.transaction_time_us,
        answer=plan.result,
        cancelled=client.check_cancelled,
        read=client.read_context() if template.personal else None,
    )


def current_write(client: Client, prepared: PreparedStatement) -> WritePlan:
    dirty = client.transaction is not None and client.transaction.dirty
    if prepared.plan_version != client.catalog.version or dirty:
        fresh = client.prepare_statement(prepared.statement, prepared.parameter_types)
        if [c.type for c in fresh.columns or ()] != [c.type for c in prepared.columns or ()]:
            raise FeatureNotSupported("cached plan must not change result type")
        assert isinstance(fresh.plan, WritePlan)
        if not dirty:
            prepared.plan, prepared.plan_version = fresh.plan, fresh.plan_version
        return fresh.plan
    assert isinstance(prepared.plan, WritePlan)
    return prepared.plan


def _in_transaction(client: Client, transaction: Transaction, write: TableWrite, plan: WritePlan) -> Result:
    """Evaluates the write on what the transaction sees, and keeps it in its overlay."""
    read = client.read_context()
    rows = written_rows(write.node, client.reader(read), read.context, transaction.bytes_max)
    overlay = transaction.overlay(write.table)
    changes = evaluate_write(write, rows, overlay, read.context, transaction.draw_row_ids)
    transaction.write(changes)
    return plan.result(WriteOutcome(changes.affected, changes.returning))


def refuse_read_only(client: Client, what: str) -> None:
    """Raises ReadOnlyTransaction in a transaction, or session, or on a server, that may only read."""
    engine = client.database.engine
    if isinstance(engine, StandbyEngine):
        raise engine.refusal(what)
    read_only = client.settings.show("transaction_read_only") == "on"
    if client.transaction is not None and client.transaction.explicit:
        read_only = client.transaction.read_only
    if read_only:
        raise ReadOnlyTransaction(f"cannot execute {what} in a read-only transaction")


@executes(st.Truncate)
def run_truncate(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    refuse_read_only(client, "TRUNCATE TABLE")
    statement = prepared.statement
    assert isinstance(statement, st.Truncate)
    tables: list[Table] = []
    for name in statement.names:
        entry = client.catalog.resolve(name.parts, client.search_path)
        if not isinstance(entry, Table):
            raise WrongObjectType(f'"{entry.name}" is not a table')
        tables.append(entry)
    if alone and client.transaction is None:
        done = client.database.engine.submit(TruncateWork(tables=tables))
        return then(done, lambda _: Result("TRUNCATE TABLE"))
    transaction = client.begin(explicit=client.in_block)
    for table in tables:
        rows = list(transaction.overlay(table).content().columns)
        transaction.write(RowChanges(table, rows, [c.slice(0, 0) for c in rows], len(rows[0])))
    return Result("TRUNCATE TABLE")
