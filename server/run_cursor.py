"""DECLARE, FETCH, MOVE and CLOSE."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..sql import statements as st
from ..storage.errors import DuplicateCursor, FeatureNotSupported, InvalidCursorName, NoActiveTransaction
from .backend import Result, ResultColumn, rows_in
from .client import Client, PreparedStatement, describes, executes
from .cursor import Cursor, KeptCursor, StreamedCursor
from .futures import in_thread, then
from .run_query import run_select
from .streaming import Streamed


@executes(st.DeclareCursor)
def run_declare(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.DeclareCursor)
    if not isinstance(statement.statement, st.Select):
        raise FeatureNotSupported("a cursor for SUBSCRIBE is not supported")
    if not client.in_block and not statement.hold:
        raise NoActiveTransaction("DECLARE CURSOR can only be used in transaction blocks")
    if statement.name in client.cursors:
        raise DuplicateCursor(f'cursor "{statement.name}" already exists')
    query = client.prepare_statement(statement.statement, prepared.parameter_types)
    outcome = run_select(client, query, values, alone)

    def declare(result: Result) -> Result:
        cursor = client.cursors[statement.name] = _cursor(client, statement, result)
        cursor.depth = client.transaction.depth if client.transaction is not None else 0
        return Result("DECLARE CURSOR")

    return then(outcome, declare) if isinstance(outcome, Future) else declare(outcome)


def _cursor(client: Client, statement: st.DeclareCursor, result: Result) -> Cursor:
    assert result.columns is not None
    about = statement.name, result.columns, statement.hold, statement.text, client.transaction_time_us
    if isinstance(result.batches, Streamed) and result.columns and not statement.scroll:
        return StreamedCursor(*about, result.batches)
    batches = result.batches.here() if isinstance(result.batches, Streamed) else result.batches
    pieces = [piece for piece in batches if not isinstance(piece, Future)]
    rows = [
        pa.concat_arrays([piece[i] for piece in pieces]) if pieces else pa.array([], column.type.arrow)
        for i, column in enumerate(result.columns)
    ]
    count = sum(map(rows_in, pieces))
    if not rows:
        rows = [pa.nulls(count)]
    return KeptCursor(*about, rows, count, statement.scroll is not False)


def _find(client: Client, name: str) -> Cursor:
    cursor = client.cursors.get(name)
    if cursor is None:
        raise InvalidCursorName(f'cursor "{name}" does not exist')
    return cursor


@describes(st.Fetch)
def describe_fetch(client: Client, statement: st.Fetch) -> tuple[ResultColumn, ...]:
    return _find(client, statement.name).columns


@executes(st.Fetch)
def run_fetch(client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.Fetch)
    cursor = _find(client, statement.name)
    return Result("FETCH {rows}", cursor.columns, cursor.fetch(statement.direction, statement.count))


@executes(st.Move)
def run_move(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.Move)
    cursor = _find(client, statement.name)
    rows = cursor.fetch(statement.direction, statement.count)

    def count() -> Result:
        moved = 0
        try:
            for piece in rows:
                if isinstance(piece, Future):
                    piece.result()
                else:
                    moved += rows_in(piece)
        except BaseException:
            cursor.fail()
            raise
        return Result(f"MOVE {moved}")

    # The pieces are made by read threads, one after the other: whoever waits for them is none of these.
    return in_thread(count) if isinstance(cursor, StreamedCursor) else count()


@executes(st.CloseCursor)
def run_close(client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool) -> Result:
    statement = prepared.statement
    assert isinstance(statement, st.CloseCursor)
    if statement.name is None:
        client.close_cursors()
        return Result("CLOSE CURSOR ALL")
    _find(client, statement.name).close()
    del client.cursors[statement.name]
    return Result("CLOSE CURSOR")
