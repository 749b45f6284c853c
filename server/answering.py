"""`Answering`: what statements gave, as messages: rows, COPY both ways, completion. The base of `Session`.

Rows are pulled piece by piece and sent as fast as the client takes them. Where something must be waited for,
the steps of `wire.py` say so.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from time import perf_counter
from typing import Any, TypeVar

import pyarrow as pa

from ..storage.errors import QueryCanceled
from ..storage.one_row import OneRow
from . import messages
from .backend import Backend, CopyDirection, Result
from .copy_codec import CopyEncoder
from .copying import CopyReceiver
from .datarow import PIECE_BYTES, RowEncoder
from .portal import Portal, spread_formats
from .traffic import Traffic
from .wire import FatalViolation, Phase, Steps, Wait

T = TypeVar("T")
Waiting = Generator["Future[Any] | Wait", None, T]

_UNLIMITED = 1 << 62
_PULL_BYTES = 64
"""What a pull counts for beside its rows, so that many small ones let others have a turn too."""


class Answering:
    """Sends results to `out`, of statements bound to portals."""

    __slots__ = ("_backend", "_copy", "_interrupted", "_portals", "_rowing", "_started", "_traffic",
                 "_unconfirmed", "out", "phase")  # fmt: skip

    def __init__(self, backend: Backend, out: list[bytes], traffic: Traffic) -> None:
        self.phase = Phase.READY
        self.out = out
        self._backend = backend
        self._traffic = traffic
        self._started = 0.0
        """When the statement under way began."""
        self._portals: dict[str, Portal] = {}
        self._copy: CopyReceiver | None = None
        self._interrupted = False
        self._rowing = False
        """Whether rows are being sent: the wire itself then answers a cancel request."""
        self._unconfirmed: bytes | None = None
        """The CommandComplete that holds only if the implicit transaction commits."""

    def _answer(self, portal: Portal, rows_max: int) -> Steps | None:
        """Sends what a statement gave: its rows, at most `rows_max` unless 0, and its completion."""
        result = portal.result
        assert result is not None
        if result.notices or result.parameters:
            self._announce(result)
        if result.copy is CopyDirection.IN:
            return self._copy_in(result)
        if result.copy is CopyDirection.OUT:
            return self._copy_out(portal, result)
        if result.columns is not None:
            if result.few is not None and not rows_max:
                return self._few(portal, result, result.few)
            return self._rows(portal, result, rows_max or _UNLIMITED)
        self._complete(result.tag, 0)
        return None

    def _announce(self, result: Result) -> None:
        for notice in result.notices:
            self.out.append(messages.notice_response(notice))
        for name, value in result.parameters.items():
            self.out.append(messages.parameter_status(name, value))
        result.notices, result.parameters = [], {}

    def _few(self, portal: Portal, result: Result, columns: Sequence[pa.Array]) -> None:
        """All rows of a small result, with nothing to wait for."""
        portal.close()
        result.few = None
        encoder = self._encoder(portal, result)
        if isinstance(columns, OneRow):
            rows = 1
            self.out.append(encoder.encode_row(columns))
        else:
            rows = len(columns[0])
            if rows:
                self.out.append(encoder.encode(columns, rows))
        self._complete(result.tag, rows)

    def _rows(self, portal: Portal, result: Result, rows_max: int) -> Steps:
        result.few = None
        sent = yield from self._send(portal, self._encoder(portal, result), rows_max)
        if portal.ended:
            self._complete(result.tag, sent)
        else:
            self.out.append(messages.PORTAL_SUSPENDED)

    def _encoder(self, portal: Portal, result: Result) -> RowEncoder:
        settings = self._backend.text_settings
        if result.columns is portal.statement.prepared.columns:
            return portal.statement.encoder(portal.formats, settings)
        columns = result.columns or ()
        codes = spread_formats(portal.formats, len(columns), "result")
        return RowEncoder([column.type for column in columns], codes, settings)

    def _send(self, portal: Portal, encoder: RowEncoder | CopyEncoder, rows_max: int) -> Waiting[int]:
        """Pulls and sends rows until `rows_max` or the end; pauses when enough is buffered."""
        sent = unsent = 0
        self._rowing, self._interrupted = True, False
        try:
            while sent < rows_max:
                piece = portal.pull(rows_max - sent)
                if piece is None:
                    break
                if isinstance(piece, Future):
                    yield piece
                    self._check_interrupt()
                    piece.result()
                    continue
                columns, rows = piece
                if rows:
                    data = encoder.encode(columns, rows)
                    self.out.append(data)
                    sent += rows
                    unsent += len(data)
                unsent += _PULL_BYTES
                if unsent > PIECE_BYTES:
                    yield Wait.DRAIN
                    unsent = 0
                    self._check_interrupt()
        except BaseException:
            portal.fail()
            raise
        finally:
            self._rowing = False
        return sent

    def _check_interrupt(self) -> None:
        if self._interrupted:
            raise canceled()

    def _copy_out(self, portal: Portal, result: Result) -> Steps:
        columns = result.columns or ()
        encoder = CopyEncoder(result.copy_options, columns, self._backend.text_settings)
        self.out.append(messages.copy_response(b"H", encoder.format_code, len(columns)))
        sent = yield from self._send(portal, encoder, _UNLIMITED)
        self.out.append(encoder.finish() + messages.COPY_DONE)
        self._complete(result.tag, sent)

    def _copy_in(self, result: Result) -> Steps:
        copy_in = result.copy_in
        assert copy_in is not None
        receiver = CopyReceiver(copy_in, result.copy_options, self._backend.text_settings)
        self.out.append(messages.copy_response(b"G", receiver.format_code, len(copy_in.columns)))
        self._copy, self.phase = receiver, Phase.COPY_IN
        try:
            yield Wait.COPY
            outcome = receiver.finish()
            done = (yield from result_of(outcome)) if isinstance(outcome, Future) else outcome
        except GeneratorExit:
            receiver.abandon(QueryCanceled("connection lost during COPY from stdin"))
            raise
        finally:
            self._copy = None
        self._announce(done)
        self._complete(done.tag, 0)

    def _complete(self, tag: str, rows: int) -> None:
        if "{rows}" in tag:
            tag = tag.replace("{rows}", str(rows))
        elif tag == "COMMIT" or tag == "ROLLBACK":
            self._drop_portals()
        self._traffic.completed(tag, perf_counter() - self._started)
        self._unconfirmed = messages.command_complete(tag)
        self.out.append(self._unconfirmed)

    def _drop_portal(self, name: str) -> None:
        portal = self._portals.pop(name, None)
        if portal is not None:
            portal.close()

    def _drop_portals(self) -> None:
        for name in list(self._portals):
            self._drop_portal(name)

    # COPY data.

    def copy_data(self, body: bytes) -> None:
        assert self._copy is not None
        if not self._copy.receive(body):
            self.phase = Phase.READY

    def copy_done(self, body: bytes) -> None:
        self.phase = Phase.READY

    def copy_fail(self, body: bytes) -> None:
        assert self._copy is not None
        self.phase = Phase.READY
        self._copy.abandon(QueryCanceled(f"COPY from stdin failed: {messages.parse_copy_fail(body)}"))

    def copy_interrupted(self, body: bytes) -> None:
        assert self._copy is not None
        error = FatalViolation("unexpected message type during COPY from stdin")
        self._copy.abandon(error)
        raise error


def result_of(future: Future[T]) -> Waiting[T]:
    """Waits for a future and gives its result. Raises what it failed with."""
    if not future.done():
        yield future
    return future.result()


def canceled() -> QueryCanceled:
    """The error of a statement that its client no longer wants."""
    return QueryCanceled("canceling statement due to user request")
