"""SET, SHOW, RESET, DISCARD, PREPARE, EXECUTE, DEALLOCATE, and statements that ask for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..operators.evaluate import evaluate
from ..planner.constants import bind_constant
from ..planner.define import Notice
from ..runtime.works import BarrierWork
from ..sql import statements as st
from ..storage.errors import (
    ActiveTransaction,
    DuplicatePreparedStatement,
    FeatureNotSupported,
    InvalidStatementName,
    SyntaxFault,
)
from ..storage.types import TEXT, type_by_oid
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, describes, executes
from .futures import then
from .run_failover import LAG_COLUMNS, show_lag


def text_rows(tag: str, names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Result:
    """A result of text columns."""
    columns = tuple(ResultColumn(name, TEXT) for name in names)
    arrays = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(names))]
    return Result(tag, columns, iter([arrays] if rows else []))


@executes(st.SetVariable)
def run_set(client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.SetVariable)
    before = client.parameters()
    client.settings.set(statement.name, statement.value, statement.local and client.in_block)
    notices = []
    if statement.local and not client.in_block:
        notices.append(Notice("SET LOCAL can only be used in transaction blocks"))
    if statement.name == "transaction_read_only" and client.transaction is not None:
        client.transaction.read_only = client.settings.show("transaction_read_only") == "on"
    return Result("SET", notices=notices, parameters=_changes(client, before))


def _changes(client: Client, before: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in client.parameters().items() if before[name] != value}


@describes(st.ShowVariable)
def describe_show(client: Client, statement: st.ShowVariable) -> tuple[ResultColumn, ...]:
    if statement.name == "all":
        return tuple(ResultColumn(name, TEXT) for name in ("name", "setting", "description"))
    if statement.name == "lag":
        return LAG_COLUMNS
    return (ResultColumn(shown_name(statement.name), TEXT),)


def shown_name(name: str) -> str:
    """A setting's name as a column of SHOW is called: DateStyle, TimeZone keep their capitals."""
    from .settings import SETTINGS

    return SETTINGS[name].name if name in SETTINGS else name


@executes(st.ShowVariable)
def run_show(client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.ShowVariable)
    if statement.name == "all":
        return text_rows("SHOW", ("name", "setting", "description"), list(client.settings.all()))
    if statement.name == "lag":
        return show_lag(client)
    return text_rows("SHOW", (shown_name(statement.name),), [(client.settings.show(statement.name),)])


@executes(st.Reset)
def run_reset(client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool) -> Result:
    assert isinstance(prepared.statement, st.Reset)
    before = client.parameters()
    if prepared.statement.name == "all":
        client.settings.reset_all()
    else:
        client.settings.set(prepared.statement.name, None)
    return Result("RESET", parameters=_changes(client, before))


@executes(st.Discard)
def run_discard(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    assert isinstance(prepared.statement, st.Discard)
    what = prepared.statement.what
    if what != "all":
        return Result(f"DISCARD {what.upper()}")
    if client.in_block:
        raise ActiveTransaction("DISCARD ALL cannot run inside a transaction block")
    before = client.parameters()
    client.settings.reset_all()
    client.statements.clear()
    client.close_cursors()
    return Result("DISCARD ALL", parameters=_changes(client, before))


@executes(st.Prepare)
def run_prepare(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.Prepare)
    if statement.name in client.statements:
        raise DuplicatePreparedStatement(f'prepared statement "{statement.name}" already exists')
    types = tuple(type_by_oid(type_.resolve().oid) for type_ in statement.types)
    client.statements[statement.name] = client.prepare_statement(statement.statement, types)
    return Result("PREPARE")


@describes(st.Execute)
def describe_execute(client: Client, statement: st.Execute) -> tuple[ResultColumn, ...] | None:
    found = client.statements.get(statement.name)
    return found.columns if found is not None else None


@executes(st.Execute)
def run_execute(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.Execute)
    found = client.statements.get(statement.name)
    if not isinstance(found, PreparedStatement):
        raise InvalidStatementName(f'prepared statement "{statement.name}" does not exist')
    wanted = found.parameter_types
    if len(statement.arguments) != len(wanted):
        raise SyntaxFault(
            f'wrong number of parameters for prepared statement "{statement.name}"',
            detail=f"Expected {len(wanted)} parameters but got {len(statement.arguments)}.",
        )
    context, settings = client.read_context().context, client.text_settings
    arguments = [
        evaluate(bind_constant(ast, type_, client.catalog, client.search_path, settings), [], 1, context)
        for ast, type_ in zip(statement.arguments, wanted, strict=True)
    ]
    return client.execute(found, arguments, alone)


@executes(st.Deallocate)
def run_deallocate(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    assert isinstance(prepared.statement, st.Deallocate)
    name = prepared.statement.name
    if name is None:
        client.statements.clear()
        return Result("DEALLOCATE ALL")
    if client.statements.pop(name, None) is None:
        raise InvalidStatementName(f'prepared statement "{name}" does not exist')
    return Result("DEALLOCATE")


@executes(st.Flush, st.Wait)
def run_flush(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Future[Result]:
    tag = "FLUSH" if isinstance(prepared.statement, st.Flush) else "WAIT"
    return then(client.database.engine.submit(BarrierWork()), lambda _: Result(tag))


@executes(st.NoOperation, st.Listen, st.Unlisten, st.Notify, st.Refresh, st.Recover)
def run_nothing(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    statement = prepared.statement
    match statement:
        case st.NoOperation(tag):
            return Result(tag)
        case st.Refresh():
            return Result("REFRESH MATERIALIZED VIEW", notices=[Notice("a view here is always up to date")])
        case st.Notify():
            raise FeatureNotSupported("NOTIFY is not supported")
        case st.Listen():
            return Result("LISTEN", notices=[Notice("nothing will be notified: NOTIFY is not supported")])
        case _:
            return Result(type(statement).__name__.upper())
