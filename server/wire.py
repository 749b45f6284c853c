"""The PostgreSQL wire protocol as a state machine: bytes in, calls of a speaker, bytes out. No I/O.

`Wire` cuts bytes into messages and hands each, in order, to the *speaker* of the moment: first
`Login`, then `Session`. What a phase allows is the table below; nothing else decides it. A speaker
appends its replies to `out` and may answer with *steps*: a generator that yields what it must wait
for. Until the steps end no further message is looked at, so replies keep their order.

Whoever drives a wire (`listener.py`, or a test with bytes by hand) calls `receive`, then `advance`,
sends `out`, and looks at `waiting`: a future (call `advance` again when it is done), `Wait.DRAIN`
(send what there is, then `advance` again), or None (more bytes are needed).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import CancelledError, Future
from enum import Enum, IntEnum, auto
from typing import Any, Protocol

from ..storage.errors import InternalError, ProtocolViolation, QueryCanceled, SqlError, StatementTooComplex


class Phase(IntEnum):
    """Where a connection stands. An IntEnum since its hash, taken for each message, is cheap."""

    STARTUP = auto()
    """Packets without type byte: requests for encryption, a cancel request, the startup packet."""
    PASSWORD = auto()
    READY = auto()
    SKIPPING = auto()
    """After an error in the extended protocol: everything up to Sync is dropped."""
    COPY_IN = auto()
    CLOSED = auto()


STARTUP_PACKET = 0
"""Stands for the missing type byte of a startup packet."""

_COPY_LEFTOVERS = {"d": "ignore", "c": "ignore", "f": "ignore"}
"""Still under way when COPY failed: the protocol has the server drop them."""

_TABLE: dict[Phase, dict[str, str]] = {
    Phase.STARTUP: {"\0": "startup_packet"},
    Phase.PASSWORD: {"p": "password"},
    Phase.READY: {
        "Q": "query", "P": "parse", "B": "bind", "D": "describe", "E": "execute", "C": "close",
        "H": "flush", "S": "sync", "F": "function_call", "X": "terminate", **_COPY_LEFTOVERS,
    },
    Phase.SKIPPING: {
        "Q": "ignore", "P": "ignore", "B": "ignore", "D": "ignore", "E": "ignore", "C": "ignore",
        "H": "ignore", "S": "sync", "F": "ignore", "X": "terminate", **_COPY_LEFTOVERS,
    },
    Phase.COPY_IN: {
        "d": "copy_data", "c": "copy_done", "f": "copy_fail", "H": "ignore", "S": "ignore",
        "X": "terminate", "Q": "copy_interrupted", "P": "copy_interrupted", "B": "copy_interrupted",
        "D": "copy_interrupted", "E": "copy_interrupted", "C": "copy_interrupted", "F": "copy_interrupted",
    },
    Phase.CLOSED: {},
}  # fmt: skip

TRANSITIONS: Mapping[Phase, Mapping[int, str]] = {
    phase: {ord(kind): name for kind, name in row.items()} for phase, row in _TABLE.items()
}
"""Phase, message type → the speaker's method. A type that is missing ends the connection (08P01)."""

STARTUP_BYTES_MAX = 10_000
MESSAGE_BYTES_MAX = 256 << 20
"""Of one message once a client is let in; before that `STARTUP_BYTES_MAX` holds."""
OUTPUT_PIECES_MAX = 4096
"""Replies gathered before the driver must send them."""


class Wait(Enum):
    DRAIN = "drain"
    TLS = "tls"
    """Encrypt the connection (server side), then `advance`."""
    COPY = "copy"
    """Yielded by steps that go on when the client's COPY data has ended."""


Steps = Generator["Future[Any] | Wait", None, None]


class Speaker(Protocol):
    """One side's handling of messages; its methods are named in `TRANSITIONS`."""

    phase: Phase
    sync_follows: bool
    """Whether the message being handled, an Execute, has its Sync right behind it."""

    def failed(self, error: SqlError) -> None:
        """Answers an error raised by a handler or by its steps."""
        ...

    def interrupt(self) -> bool:
        """A cancel request. True if the steps under way will end when advanced, whatever they wait for."""
        ...

    def end(self, error: SqlError) -> None:
        """The server ends the connection, for this reason."""
        ...

    def ended(self) -> None:
        """The connection is gone."""
        ...


EXECUTE, SYNC = ord("E"), ord("S")

Handler = Callable[[Any, bytes], "Steps | None"]
_handlers_of: dict[type, dict[Phase, dict[int, Handler]]] = {}
_log = logging.getLogger(__name__)
_length = struct.Struct("!I").unpack_from


def _handlers(speaker: Speaker) -> dict[Phase, dict[int, Handler]]:
    """The table with names resolved to functions of the speaker's class, once for each class."""
    kind = type(speaker)
    if kind not in _handlers_of:
        _handlers_of[kind] = {
            phase: {code: getattr(kind, name) for code, name in row.items() if hasattr(kind, name)}
            for phase, row in TRANSITIONS.items()
        }
    return _handlers_of[kind]


class Wire:
    """One connection's protocol state."""

    __slots__ = ("_buffer", "_position", "_speaker", "_steps", "_table", "out", "waiting")

    def __init__(self, speaker: Speaker, out: list[bytes]) -> None:
        self.out = out
        self.waiting: Future[Any] | Wait | None = None
        self._buffer: bytes | bytearray = b""
        self._position = 0
        self._steps: Steps | None = None
        self.speaker = speaker

    @property
    def speaker(self) -> Speaker:
        return self._speaker

    @speaker.setter
    def speaker(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._table = _handlers(speaker)

    @property
    def pending(self) -> int:
        """Bytes received and not yet looked at."""
        return len(self._buffer) - self._position

    def receive(self, data: bytes) -> None:
        """Adds bytes of the client."""
        if self._position == len(self._buffer):
            self._buffer, self._position = data, 0
            return
        if not isinstance(self._buffer, bytearray):
            self._buffer, self._position = bytearray(self._buffer[self._position :]), 0
        self._buffer += data

    def advance(self) -> None:
        """Handles messages until something must be waited for. Call it when `waiting` has come true."""
        speaker = self._speaker
        self.waiting = None
        while speaker.phase is not Phase.CLOSED:
            if self._steps is None and self._position == len(self._buffer):
                return
            try:
                if self._steps is not None and speaker.phase is not Phase.COPY_IN:
                    if not self._step():
                        return
                elif not self._handle_message():
                    return
            except Exception as error:
                self._steps = None
                speaker.failed(as_sql_error(error))
            speaker = self._speaker
            if len(self.out) > OUTPUT_PIECES_MAX:
                self.waiting = Wait.DRAIN
                return

    def interrupt(self) -> bool:
        """Cancels what is under way, if it can be here. True: call `advance`, whatever `waiting` says."""
        return self._steps is not None and self._speaker.interrupt()

    def close(self) -> None:
        """Ends all: steps are closed, the speaker is told."""
        steps, self._steps = self._steps, None
        if steps is not None:
            _ = self._speaker.interrupt()
            steps.close()
        self._buffer, self._position = b"", 0
        self._speaker.ended()

    def _step(self) -> bool:
        """Goes on with the steps under way. False when they must wait."""
        steps = self._steps
        assert steps is not None
        for waiting in steps:
            if waiting is Wait.COPY:
                return True
            self.waiting = waiting
            return False
        self._steps = None
        return True

    def _handle_message(self) -> bool:
        """Takes one whole message. False when there is none."""
        speaker = self._speaker
        phase = speaker.phase
        buffer, position = self._buffer, self._position
        begin = position + (4 if phase is Phase.STARTUP else 5)
        if len(buffer) < begin:
            return False
        kind = STARTUP_PACKET if phase is Phase.STARTUP else buffer[position]
        end = begin - 4 + _length(buffer, begin - 4)[0]
        handler = self._table[phase].get(kind)
        if handler is None or not begin <= end <= begin + MESSAGE_BYTES_MAX or end > len(buffer):
            _check_frame(phase, kind, handler is not None, end - begin)
            return False
        if isinstance(buffer, bytearray):
            self._buffer = buffer = bytes(buffer)
        self._position = end
        if kind == EXECUTE:
            speaker.sync_follows = len(buffer) > end and buffer[end] == SYNC
        self._steps = handler(speaker, buffer[begin:end]) or self._steps
        return True


class FatalViolation(ProtocolViolation):
    """The byte stream cannot be trusted any more: the connection ends."""


def as_sql_error(error: Exception) -> SqlError:
    """What the client is told of an exception: one that is our own mistake becomes an internal error."""
    if isinstance(error, SqlError):
        return error
    if isinstance(error, CancelledError):
        return QueryCanceled("canceling statement due to user request")
    if isinstance(error, RecursionError):
        return StatementTooComplex("stack depth limit exceeded")
    _log.error("internal error", exc_info=error)
    return InternalError(f"internal error: {type(error).__name__}: {error}")


def _check_frame(phase: Phase, kind: int, known: bool, size: int) -> None:
    """Raises FatalViolation for a message we cannot make sense of; returns for one that is incomplete."""
    if phase is Phase.STARTUP or phase is Phase.PASSWORD:
        if not known:
            raise FatalViolation(f"expected password response, got message type {kind}")
        if not 4 * (phase is Phase.STARTUP) <= size <= STARTUP_BYTES_MAX:
            raise FatalViolation("invalid length of startup packet")
    elif not known:
        raise FatalViolation(f"invalid frontend message type {kind}")
    elif not 0 <= size <= MESSAGE_BYTES_MAX:
        raise FatalViolation("invalid message length")
