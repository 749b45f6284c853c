"""What golden scripts run against: the database in process, over the wire, and a real PostgreSQL.

Each target has sessions by name and answers a statement with an `Outcome` in text form, so that the
three can be compared value by value.
"""

from __future__ import annotations

import asyncio
import re
import select
import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psycopg
import pyarrow as pa
from psycopg import pq

from millpond.server.backend import Backend, CopyDirection, Result
from millpond.server.config import Config
from millpond.server.copy_codec import CopyEncoder
from millpond.server.copying import CopyReceiver
from millpond.server.database import Database
from millpond.server.listener import Listener
from millpond.storage.errors import SqlError
from millpond.storage.textform import format_text
from millpond.storage.types import type_by_oid

WAIT_SECONDS_MAX = 60


@dataclass(slots=True)
class Outcome:
    """Of one statement: a tag and perhaps rows, or an error (SQLSTATE and the lines a client shows)."""

    tag: str = ""
    columns: list[str] = field(default_factory=list)
    """`name type`, one a column."""
    rows: list[list[str | None]] = field(default_factory=list)
    code: str = ""
    message: list[str] = field(default_factory=list)
    copied: str | None = None
    """The data of COPY TO STDOUT."""


class Target(Protocol):
    """Where a script runs."""

    def run(self, session: str, sql: str, data: str | None = None) -> Outcome:
        """Runs SQL in a session, made at its first use. `data`: the input of COPY FROM STDIN."""
        ...

    def restart(self) -> None:
        """Closes the database and opens it again: all sessions are new."""
        ...

    def close(self) -> None: ...


def error_lines(message: str, detail: str, hint: str, position: int) -> list[str]:
    """The fields of an error as a script shows them."""
    lines = [*message.split("\n")]
    if detail:
        lines.extend(f"DETAIL: {detail}".split("\n"))
    if hint:
        lines.append(f"HINT: {hint}")
    if position:
        lines.append(f"POSITION: {position}")
    return lines


def of_error(error: SqlError, offset: int = 0) -> Outcome:
    position = error.position + offset if error.position else 0
    return Outcome(code=error.code, message=error_lines(error.message, error.detail, error.hint, position))


class InProcess:
    """The database without a wire: what `server/session.py` does with a backend, in a few lines."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="millpond-golden-"))
        self.database = self._open()
        self._sessions: dict[str, Backend] = {}

    def _open(self) -> Database:
        database = Database(Config(data=str(self.folder / "data")))
        database.start()
        return database

    def restart(self) -> None:
        self._sessions.clear()
        self.database.close()
        self.database = self._open()

    def close(self) -> None:
        self.database.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def session(self, name: str) -> Backend:
        if name not in self._sessions:
            number = len(self._sessions) + 1
            self._sessions[name] = self.database.connect({"user": "tester", "_pid": str(number)})
        return self._sessions[name]

    def run(self, session: str, sql: str, data: str | None = None) -> Outcome:
        backend = self.session(session)
        outcome = self._script(backend, sql, data)
        if outcome.code:
            backend.fail()
        try:
            pending = backend.sync()
            if pending is not None:
                pending.result(WAIT_SECONDS_MAX)
        except SqlError as error:
            return of_error(error)
        return outcome

    def _script(self, backend: Backend, sql: str, data: str | None) -> Outcome:
        outcome, position = Outcome(), 0
        parts = backend.split(sql)
        for number, part in enumerate(parts, 1):
            offset = max(sql.find(part, position), position)
            position = offset + len(part)
            try:
                prepared = backend.prepare(part)
                if not prepared.empty:
                    result = _done(backend.execute(prepared, (), number == len(parts)))
                    outcome = self._received(backend, result, data)
            except SqlError as error:
                return of_error(error, offset)
        return outcome

    def _received(self, backend: Backend, result: Result, data: str | None) -> Outcome:
        settings = backend.text_settings
        if result.copy is CopyDirection.IN:
            assert result.copy_in is not None
            receiver = CopyReceiver(result.copy_in, result.copy_options, settings)
            _ = receiver.receive((data or "").encode())
            return Outcome(_done(receiver.finish()).tag)
        columns = result.columns or ()
        batches = [batch for batch in result.batches if not isinstance(batch, Future)]
        count = sum(len(batch[0]) if batch else 1 for batch in batches)
        outcome = Outcome(result.tag.replace("{rows}", str(count)))
        if result.copy is CopyDirection.OUT:
            encoder = CopyEncoder(result.copy_options, columns, settings)
            parts = [encoder.encode(batch, len(batch[0])) for batch in batches]
            outcome.copied = _payloads(b"".join(parts) + encoder.finish()).decode()
            return outcome
        outcome.columns = [f"{column.name} {column.type.name}" for column in columns]
        for batch in batches:
            texts = [format_text(c.type, array, settings) for c, array in zip(columns, batch, strict=True)]
            outcome.rows += _rows(texts, len(batch[0]) if batch else 1)
        return outcome


def _rows(columns: list[pa.Array], count: int) -> list[list[str | None]]:
    lists = [column.to_pylist() for column in columns]
    return [[values[i] for values in lists] for i in range(count)]


def _payloads(messages: bytes) -> bytes:
    """The bodies of CopyData messages."""
    payload, position = b"", 0
    while position < len(messages):
        size = int.from_bytes(messages[position + 1 : position + 5], "big")
        payload += messages[position + 5 : position + 1 + size]
        position += 1 + size
    return payload


def _done(outcome: Result | Future[Result]) -> Result:
    return outcome.result(WAIT_SECONDS_MAX) if isinstance(outcome, Future) else outcome


class OverLibpq:
    """A server reached through libpq: `uri()` tells where."""

    def __init__(self) -> None:
        self._sessions: dict[str, psycopg.Connection] = {}

    def uri(self) -> str:
        raise NotImplementedError

    def opened(self, connection: psycopg.Connection) -> None:
        """Called with each new session."""

    def disconnect(self) -> None:
        for connection in self._sessions.values():
            connection.close()
        self._sessions.clear()

    def session(self, name: str) -> psycopg.Connection:
        if name not in self._sessions:
            self._sessions[name] = psycopg.connect(self.uri(), autocommit=True)
            self.opened(self._sessions[name])
        return self._sessions[name]

    def run(self, session: str, sql: str, data: str | None = None) -> Outcome:
        connection = self.session(session)
        pgconn = connection.pgconn
        if data is not None:
            return self._copy_in(connection, sql, data)
        # Queries go through the extended protocol, everything else through the simple one.
        if re.match(r"(select|with|values)\b", sql, re.IGNORECASE) and ";" not in sql:
            pgconn.send_query_params(sql.encode(), None)
        else:
            pgconn.send_query(sql.encode())
        result = _last_result(pgconn)
        if result.status == pq.ExecStatus.COPY_OUT:
            return self._copy_out(connection)
        return _from_result(result)

    def _copy_in(self, connection: psycopg.Connection, sql: str, data: str) -> Outcome:
        pgconn = connection.pgconn
        pgconn.send_query(sql.encode())
        result = _last_result(pgconn)
        if result.status != pq.ExecStatus.COPY_IN:
            return _from_result(result)
        pgconn.put_copy_data(data.encode())
        pgconn.put_copy_end()
        return _from_result(_last_result(pgconn))

    def _copy_out(self, connection: psycopg.Connection) -> Outcome:
        pgconn, pieces = connection.pgconn, []
        while True:
            size, piece = pgconn.get_copy_data(1)
            if size < 0:
                break
            if size == 0:
                _wait(pgconn)
            pieces.append(bytes(piece).decode())
        outcome = _from_result(_last_result(pgconn))
        outcome.copied = "".join(pieces)
        return outcome


def _wait(pgconn: pq.abc.PGconn) -> None:
    """For input. The server may be in this process, and libpq's own waiting would hold the interpreter."""
    ready, _, _ = select.select([pgconn.socket], [], [], WAIT_SECONDS_MAX)
    assert ready, "no answer"
    pgconn.consume_input()


def _last_result(pgconn: pq.abc.PGconn) -> pq.abc.PGresult:
    """Of the statements sent; an error, or the start of a COPY, ends them."""
    last = None
    while True:
        while pgconn.is_busy():
            _wait(pgconn)
        result = pgconn.get_result()
        if result is None:
            assert last is not None
            return last
        last = result
        if result.status in (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT):
            return last


def _field(result: pq.abc.PGresult, code: pq.DiagnosticField) -> str:
    return (result.error_field(code) or b"").decode()


def _from_result(result: pq.abc.PGresult) -> Outcome:
    if result.status in (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE):
        fields = pq.DiagnosticField
        position = int(_field(result, fields.STATEMENT_POSITION) or 0)
        message = _field(result, fields.MESSAGE_PRIMARY) or result.error_message.decode()
        detail, hint = _field(result, fields.MESSAGE_DETAIL), _field(result, fields.MESSAGE_HINT)
        return Outcome(
            code=_field(result, fields.SQLSTATE) or "08006",
            message=error_lines(message, detail, hint, position),
        )
    outcome = Outcome((result.command_status or b"").decode())
    for i in range(result.nfields):
        outcome.columns.append(f"{(result.fname(i) or b'').decode()} {_type_name(result.ftype(i))}")
    for row in range(result.ntuples):
        values = [result.get_value(row, i) for i in range(result.nfields)]
        outcome.rows.append([None if value is None else value.decode() for value in values])
    return outcome


def _type_name(oid: int) -> str:
    try:
        return getattr(type_by_oid(oid), "name", f"oid{oid}")
    except (KeyError, SqlError):
        return f"oid{oid}"


class Loop:
    """An event loop in a thread of its own, shared by all servers of a test process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True, name="golden-listener").start()

    def call(self, coroutine: object) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT_SECONDS_MAX)  # pyright: ignore[reportArgumentType]


class OverWire(OverLibpq):
    """The database behind its listener on a local port."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self._loop = loop
        self.folder = Path(tempfile.mkdtemp(prefix="millpond-golden-"))
        self._open()

    def _open(self) -> None:
        self.database = Database(Config(data=str(self.folder / "data")))
        self.database.start()
        self.listener = Listener(self.database.connect, port=0)
        self._loop.call(self.listener.start())

    def _close(self) -> None:
        self.disconnect()
        self._loop.call(self.listener.stop())
        self.database.close()

    def uri(self) -> str:
        return f"host=127.0.0.1 port={self.listener.port} dbname=millpond user=tester"

    def restart(self) -> None:
        self._close()
        self._open()

    def close(self) -> None:
        self._close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres(OverLibpq):
    """The oracle: PostgreSQL, whose views are never stale; `restart` only ends the sessions."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        self._uri = uri
        _ = self.run("main", "DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def uri(self) -> str:
        return self._uri

    def opened(self, connection: psycopg.Connection) -> None:
        _ = connection.execute("SET timezone = 'UTC'; SET client_min_messages = warning")

    def restart(self) -> None:
        self.disconnect()

    def close(self) -> None:
        for name in list(self._sessions):
            _ = self.run(name, "ROLLBACK")
        _ = self.run("main", "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        for schema in self._own_schemas():
            _ = self.run("main", f'DROP SCHEMA "{schema}" CASCADE')
        self.disconnect()

    def _own_schemas(self) -> Iterator[str]:
        query = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|public)'"
        for (name,) in self.run("main", query).rows:
            assert name is not None
            yield name

    def run(self, session: str, sql: str, data: str | None = None) -> Outcome:
        return super().run(session, in_postgres(sql), data)


def in_postgres(sql: str) -> str:
    """The same statement for PostgreSQL: a materialized view that is always fresh is a view there."""
    return re.sub(r"\b(CREATE|DROP) MATERIALIZED VIEW\b", r"\1 VIEW", sql, flags=re.IGNORECASE)
