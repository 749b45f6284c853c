"""BEGIN, COMMIT, ROLLBACK, SAVEPOINT and SET TRANSACTION."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..planner.define import Notice
from ..sql import statements as st
from ..storage.errors import ActiveTransaction, NoActiveTransaction, SqlError
from .backend import Result
from .client import Client, PreparedStatement, executes
from .cursor import keep_cursors, undo_cursors
from .futures import then


class TransactionWarning(Notice, code="25001"): ...


class NoTransactionWarning(Notice, code="25P01"): ...


@executes(st.Begin)
def run_begin(client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.Begin)
    if client.in_block:
        return Result("BEGIN", notices=[TransactionWarning("there is already a transaction in progress")])
    read_only = statement.read_only
    if read_only is None:
        read_only = client.settings.show("default_transaction_read_only") == "on"
    client.begin(explicit=True, read_only=read_only)
    _set_modes(client, read_only, statement.isolation)
    return Result("BEGIN")


def _set_modes(client: Client, read_only: bool | None, isolation: str | None) -> None:
    if isolation is not None:
        client.settings.set("transaction_isolation", isolation, local=True)
    if read_only is not None:
        client.settings.set("transaction_read_only", "on" if read_only else "off", local=True)


@executes(st.Commit)
def run_commit(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.Commit)
    before = client.parameters()
    notices = _outside_block(client, "COMMIT", statement.chain)
    if client.failed:
        return _rolled_back(client, statement.chain, before)
    work = client.transaction.commit_work(client.read_context()) if client.transaction else None
    modes = _modes(client)
    client.end_transaction(committed=True)

    def committed(_: object) -> Result:
        if statement.chain:
            _begin_with(client, modes)
        return Result("COMMIT", notices=notices, parameters=_changed(client, before))

    return committed(None) if work is None else then(client.database.engine.submit(work), committed)


def _outside_block(client: Client, word: str, chain: bool) -> list[SqlError]:
    """A COMMIT or ROLLBACK without BEGIN ends the implicit transaction of its string, with a warning."""
    if client.in_block:
        return []
    if chain:
        raise NoActiveTransaction(f"{word} AND CHAIN can only be used in transaction blocks")
    return [NoTransactionWarning("there is no transaction in progress")]


def _modes(client: Client) -> tuple[bool, str]:
    """What AND CHAIN hands on: (read only, isolation level)."""
    read_only = client.transaction is not None and client.transaction.read_only
    return read_only, client.settings.show("transaction_isolation")


def _begin_with(client: Client, modes: tuple[bool, str]) -> None:
    client.begin(explicit=True, read_only=modes[0])
    _set_modes(client, *modes)


@executes(st.Rollback)
def run_rollback(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.Rollback)
    if statement.to is not None:
        _need_block(client, "ROLLBACK TO SAVEPOINT")
        assert client.transaction is not None
        before = client.parameters()
        position = client.transaction.rollback_to(statement.to)
        client.settings.rollback_to(position)
        undo_cursors(client.cursors, position)
        client.failed = False
        return Result("ROLLBACK", parameters=_changed(client, before))
    notices = _outside_block(client, "ROLLBACK", statement.chain)
    result = _rolled_back(client, statement.chain, client.parameters())
    result.notices = notices
    return result


def _rolled_back(client: Client, chain: bool, before: dict[str, str]) -> Result:
    modes = _modes(client)
    client.end_transaction(committed=False)
    if chain:
        _begin_with(client, modes)
    return Result("ROLLBACK", parameters=_changed(client, before))


def _changed(client: Client, before: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in client.parameters().items() if before.get(name) != value}


def _need_block(client: Client, what: str) -> None:
    if not client.in_block:
        raise NoActiveTransaction(f"{what} can only be used in transaction blocks")


@executes(st.Savepoint)
def run_savepoint(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    assert isinstance(prepared.statement, st.Savepoint)
    _need_block(client, "SAVEPOINT")
    assert client.transaction is not None
    client.transaction.savepoint(prepared.statement.name)
    client.settings.savepoint()
    return Result("SAVEPOINT")


@executes(st.Release)
def run_release(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    assert isinstance(prepared.statement, st.Release)
    _need_block(client, "RELEASE SAVEPOINT")
    assert client.transaction is not None
    position = client.transaction.release(prepared.statement.name)
    del client.settings.at_savepoints[position:]
    keep_cursors(client.cursors, position)
    return Result("RELEASE")


@executes(st.SetTransaction)
def run_set_transaction(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.SetTransaction)
    if statement.session:
        if statement.read_only is not None:
            client.settings.set("default_transaction_read_only", "on" if statement.read_only else "off")
        if statement.isolation is not None:
            client.settings.set("default_transaction_isolation", statement.isolation)
        return Result("SET")
    if not client.in_block:
        warning: SqlError = NoTransactionWarning("SET TRANSACTION can only be used in transaction blocks")
        return Result("SET", notices=[warning])
    assert client.transaction is not None
    if client.transaction.dirty and statement.read_only is False and client.transaction.read_only:
        raise ActiveTransaction("transaction read-write mode must be set before any query")
    if statement.read_only is not None:
        client.transaction.read_only = statement.read_only
    _set_modes(client, statement.read_only, statement.isolation)
    return Result("SET")
