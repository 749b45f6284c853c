"""A client's session after login: the simple and the extended query protocol over a `Backend`.

No I/O and no SQL: handlers take a message's body, append replies to `out`, and return steps where
something must be waited for (see `wire.py`). The rules kept here are PostgreSQL's:

* an error in the extended protocol drops everything up to Sync; in the simple one it ends the string;
* statements between two Syncs, or of one string, are one implicit transaction: `Backend.sync` ends it,
  and until that has succeeded the last CommandComplete is not sent;
* portals end with their transaction; the unnamed portal and statement are replaced by the next.
"""

from __future__ import annotations

from concurrent.futures import Future
from time import perf_counter

from ..storage.errors import (
    DuplicateCursor,
    DuplicatePreparedStatement,
    FeatureNotSupported,
    InFailedTransaction,
    InvalidCursorName,
    InvalidStatementName,
    ObjectNotReady,
    ProtocolViolation,
    SqlError,
    SyntaxFault,
    UndefinedObject,
    UndefinedParameter,
    forget_frames,
)
from ..storage.types import UNKNOWN, Type, type_by_oid
from . import messages
from .answering import Answering, canceled, result_of
from .backend import Backend, Prepared, Result, TransactionStatus
from .messages import TEXT
from .portal import Portal, Statement, bind_values, spread_formats
from .traffic import Traffic
from .wire import FatalViolation, Phase, Steps, Wait, as_sql_error


class Session(Answering):
    """The speaker of a connection that has logged in."""

    __slots__ = ("_extended", "_statements", "sync_follows")

    def __init__(self, backend: Backend, out: list[bytes], traffic: Traffic | None = None) -> None:
        super().__init__(backend, out, traffic or Traffic())
        self.sync_follows = False
        self._statements: dict[str, Statement] = {}
        self._extended = False

    # The simple protocol.

    def query(self, body: bytes) -> Steps:
        self._extended = False
        self._drop_portal("")
        _ = self._statements.pop("", None)
        try:
            yield from self._script(messages.parse_query(body))
        except Exception as error:
            self._answer_error(as_sql_error(error))
        yield from self._synchronise()

    def _script(self, text: str) -> Steps:
        position = 0
        answered = False
        parts = self._backend.split(text)
        for number, part in enumerate(parts, 1):
            offset = max(text.find(part, position), position)
            position = offset + len(part)
            try:
                prepared = self._backend.prepare(part)
                if prepared.empty:
                    continue
                answered = True
                yield from self._simple_statement(prepared, alone=number == len(parts))
            except SqlError as error:
                if error.position:
                    error.position += offset
                raise
        if not answered:
            self.out.append(messages.EMPTY_QUERY)

    def _simple_statement(self, prepared: Prepared, alone: bool) -> Steps:
        if prepared.parameter_types:
            raise UndefinedParameter("there is no parameter $1")
        self._started = perf_counter()
        outcome = self._backend.execute(prepared, (), alone)
        result = (yield from result_of(outcome)) if isinstance(outcome, Future) else outcome
        statement = Statement("", prepared)
        portal = Portal(statement, (), ())
        portal.start(result)
        if result.columns is not None and result.copy is None:
            formats = (TEXT,) * len(result.columns)
            self.out.append(messages.row_description(result.columns, formats))
        steps = self._answer(portal, 0)
        if steps is not None:
            yield from steps

    # The extended protocol.

    def parse(self, body: bytes) -> None:
        self._extended = True
        name, text, oids = messages.parse_parse(body)
        statements = self._backend.statements
        if name and name in statements:
            raise DuplicatePreparedStatement(f'prepared statement "{name}" already exists')
        if not name:
            _ = self._statements.pop("", None)
        if len(self._backend.split(text)) > 1:
            raise SyntaxFault("cannot insert multiple commands into a prepared statement")
        self._forget_deallocated()
        prepared = self._backend.prepare(text, [_parameter_type(oid) for oid in oids])
        if name:
            statements[name] = prepared
        self._statements[name] = Statement(name, prepared)
        self.out.append(messages.PARSE_COMPLETE)

    def bind(self, body: bytes) -> None:
        self._extended = True
        portal_name, name, formats, raw, result_formats = messages.parse_bind(body)
        statement = self._statement(name)
        prepared = statement.prepared
        if portal_name and portal_name in self._portals:
            raise DuplicateCursor(f'cursor "{portal_name}" already exists')
        self._drop_portal(portal_name)
        values = bind_values(prepared, name, formats, raw, self._backend.text_settings)
        if len(result_formats) > 1:
            _ = spread_formats(result_formats, len(prepared.columns or ()), "result")
        self._portals[portal_name] = Portal(statement, values, result_formats)
        self.out.append(messages.BIND_COMPLETE)

    def describe(self, body: bytes) -> None:
        self._extended = True
        kind, name = messages.parse_target(body)
        if kind == "P":
            self.out.append(self._portal_description(name))
        elif kind == "S":
            statement = self._statement(name)
            types = statement.prepared.parameter_types
            self.out.append(messages.parameter_description([type_.oid for type_ in types]))
            self.out.append(statement.description(()))
        else:
            raise ProtocolViolation(f"invalid DESCRIBE message subtype {ord(kind or chr(0))}")

    def _portal_description(self, name: str) -> bytes:
        """Of a portal of Bind, or of a cursor of DECLARE: in PostgreSQL they are one kind of thing."""
        columns = None if name in self._portals else self._backend.cursor_columns(name)
        if columns is not None:
            return messages.row_description(columns, spread_formats((), len(columns), "result"))
        portal = self._portal(name)
        return portal.statement.description(portal.formats)

    def execute(self, body: bytes) -> Steps | None:
        self._extended = True
        name, rows_max = messages.parse_execute(body)
        portal = self._portal(name)
        self._unconfirmed = None
        self._started = perf_counter()
        if portal.result is not None:
            return self._continue(name, portal, rows_max)
        if portal.statement.prepared.empty:
            self.out.append(messages.EMPTY_QUERY)
            return None
        outcome = self._backend.execute(portal.statement.prepared, portal.values, self.sync_follows)
        if isinstance(outcome, Future):
            return self._execute_later(portal, outcome, rows_max)
        portal.start(outcome)
        return self._answer(portal, rows_max)

    def _execute_later(self, portal: Portal, outcome: Future[Result], rows_max: int) -> Steps:
        portal.start((yield from result_of(outcome)))
        steps = self._answer(portal, rows_max)
        if steps is not None:
            yield from steps

    def _continue(self, name: str, portal: Portal, rows_max: int) -> Steps | None:
        if self._backend.status is TransactionStatus.FAILED:
            raise InFailedTransaction(
                "current transaction is aborted, commands ignored until end of transaction block"
            )
        result = portal.result
        assert result is not None
        if result.columns is None or result.copy is not None:
            raise ObjectNotReady(f'portal "{name}" cannot be run')
        self._backend.resume()
        return self._answer(portal, rows_max)

    def close(self, body: bytes) -> None:
        self._extended = True
        kind, name = messages.parse_target(body)
        if kind == "P":
            self._drop_portal(name)
        elif kind == "S":
            _ = self._statements.pop(name, None)
            if name:
                _ = self._backend.statements.pop(name, None)
        else:
            raise ProtocolViolation(f"invalid CLOSE message subtype {ord(kind or chr(0))}")
        self.out.append(messages.CLOSE_COMPLETE)

    def flush(self, body: bytes) -> Steps:
        self._unconfirmed = None
        yield Wait.DRAIN

    def sync(self, body: bytes) -> Steps | None:
        self.phase = Phase.READY
        self._extended = False
        try:
            pending = self._backend.sync()
        except Exception as error:
            _ = self._take_unconfirmed()
            self._answer_error(as_sql_error(error))
            pending = None
        if pending is not None:
            return self._synchronised(pending)
        self._ready()
        return None

    def function_call(self, body: bytes) -> Steps:
        self._answer_error(FeatureNotSupported("function call messages are not supported"))
        yield from self._synchronise()

    def ignore(self, body: bytes) -> None:
        pass

    def terminate(self, body: bytes) -> None:
        self.phase = Phase.CLOSED

    # What the wire calls.

    def failed(self, error: SqlError) -> None:
        """Only the extended protocol lets errors through to here: its messages are skipped from now on."""
        if isinstance(error, FatalViolation):
            self.end(error)
            return
        self._answer_error(error)
        if self._extended and self.phase is not Phase.CLOSED:
            self.phase = Phase.SKIPPING

    def interrupt(self) -> bool:
        self._backend.cancel()
        if self._copy is not None and self.phase is Phase.COPY_IN:
            self._copy.abandon(canceled())
            self.phase = Phase.READY
            return True
        self._interrupted = self._rowing
        return self._rowing

    def end(self, error: SqlError) -> None:
        """Says why the connection ends, and ends it."""
        if self.phase is not Phase.CLOSED:
            self._traffic.failed(error.code)
            self.out.append(messages.error_response(error, "FATAL"))
            self.phase = Phase.CLOSED

    def ended(self) -> None:
        self.phase = Phase.CLOSED
        for name in list(self._portals):
            self._drop_portal(name)
        self._backend.close()

    # Ends of transactions, errors, names.

    def _synchronise(self) -> Steps:
        steps = self.sync(b"")
        if steps is not None:
            yield from steps

    def _synchronised(self, pending: Future[None]) -> Steps:
        held = self._take_unconfirmed()
        try:
            yield from result_of(pending)
        except Exception as error:
            self._answer_error(as_sql_error(error))
        else:
            if held is not None:
                self.out.append(held)
        self._ready()

    def _take_unconfirmed(self) -> bytes | None:
        """Takes back the last CommandComplete, unless the client has seen it."""
        held, self._unconfirmed = self._unconfirmed, None
        if held is not None and self.out and self.out[-1] is held:
            return self.out.pop()
        return None

    def _ready(self) -> None:
        status = self._backend.status
        self._unconfirmed = None
        if status is TransactionStatus.IDLE and self._portals:
            self._drop_portals()
        self._backend.rest()
        self.out.append(messages.READY[status])

    def _answer_error(self, error: SqlError) -> None:
        self._unconfirmed = None
        self._traffic.failed(error.code)
        self._backend.fail()
        self.out.append(messages.error_response(error))
        forget_frames(error)

    def _statement(self, name: str) -> Statement:
        found = self._statements.get(name)
        if not name:
            if found is None:
                raise InvalidStatementName("unnamed prepared statement does not exist")
            return found
        prepared = self._backend.statements.get(name)
        if prepared is None:
            _ = self._statements.pop(name, None)
            raise InvalidStatementName(f'prepared statement "{name}" does not exist')
        if found is None or found.prepared is not prepared:
            found = self._statements[name] = Statement(name, prepared)
        return found

    def _forget_deallocated(self) -> None:
        """Statements that SQL has deallocated behind our back."""
        kept = self._backend.statements
        if len(self._statements) > len(kept) + 1:
            self._statements = {n: s for n, s in self._statements.items() if not n or n in kept}

    def _portal(self, name: str) -> Portal:
        portal = self._portals.get(name)
        if portal is None:
            raise InvalidCursorName(f'portal "{name}" does not exist')
        return portal


def _parameter_type(oid: int) -> Type | None:
    if oid == 0 or oid == UNKNOWN.oid:
        return None
    type_ = type_by_oid(oid)
    if type_ is None:
        raise UndefinedObject(f"type with OID {oid} does not exist")
    return type_
