"""Sockets: accepts clients, encrypts, moves bytes between transports and wires, under back-pressure.

One `Connection` (an `asyncio.Protocol`) a client, no task: each chunk of bytes is handled where it arrives
and answered with one write. Bounds: `READ_BYTES_MAX` received and not yet handled (then reading stops),
`WRITE_BYTES_MAX` written and not yet taken by the client (then nothing more is produced).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import ssl
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from time import monotonic
from typing import Any, cast

from ..storage.errors import AdminShutdown, SqlError, StartupError, TooManyConnections
from .auth import Access
from .backend import Connect
from .login import Login
from .messages import parameter_status
from .session import Session
from .traffic import Traffic
from .wire import FatalViolation, Phase, Wait, Wire

READ_BYTES_MAX = 1 << 20
WRITE_BYTES_MAX = 512 << 10
LOGIN_SECONDS_MAX = 60
STOP_SECONDS_MAX = 5
END_SECONDS_MAX = 5
"""How long a client may take to read why its connection ends."""
BACKLOG_MAX = 256
ARRIVING_MAX = 1000
"""Connections that have not logged in yet; beyond that new ones are dropped."""

_log = logging.getLogger(__name__)


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """The server side of TLS with this certificate. Raises StartupError when the files do not serve."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise StartupError(f"cannot use certificate {certificate} with key {key}: {error}") from error
    return context


class Listener:
    """Serves clients on one address. All methods belong to the event loop's thread."""

    def __init__(
        self,
        connect: Connect,
        access: Access | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 7432,
        tls: ssl.SSLContext | None = None,
        connections_max: int = 500,
    ) -> None:
        self.connect = connect
        self.access = access or Access()
        self.tls = tls
        self.traffic = Traffic()
        self._host = host
        self.port = port
        """Once started, the port in use (of interest when 0 was asked for)."""
        self.connections_max = connections_max
        self._clients: dict[int, Connection] = {}
        self._arriving: set[Connection] = set()
        self._last_process = 0
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: deque[Connection] = deque()
        self._waking = False

    @property
    def offers_tls(self) -> bool:
        return self.tls is not None

    @property
    def client_count(self) -> int:
        return len(self._clients)

    async def start(self) -> None:
        """Raises StartupError when the address cannot be had."""
        loop = self._loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self, loop), self._host, self.port, backlog=BACKLOG_MAX
            )
        except OSError as error:
            raise StartupError(f"cannot listen on {self._host}:{self.port}: {error}") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Accepts no more, tells every client and closes."""
        if self._server is not None:
            self._server.close()
        for connection in (*self._clients.values(), *self._arriving):
            connection.end()
        deadline = asyncio.get_running_loop().time() + STOP_SECONDS_MAX
        while self._clients or self._arriving:
            if asyncio.get_running_loop().time() > deadline:
                for connection in (*self._clients.values(), *self._arriving):
                    connection.abort()
                deadline = float("inf")
            await asyncio.sleep(0.01)

    def announce(self, parameters: Mapping[str, str]) -> None:
        """Tells every client that these parameters have changed."""
        for connection in self._clients.values():
            connection.announce(parameters)

    def cancel(self, process: int, secret: int) -> None:
        """Interrupts the client with this key; a wrong key is ignored."""
        connection = self._clients.get(process)
        if connection is not None and hmac.compare_digest(
            secret.to_bytes(4, "big"), connection.secret.to_bytes(4, "big")
        ):
            connection.interrupt()

    def terminate(self, process: int, error: SqlError | None = None) -> None:
        """Ends the connection of that number, if there is one, for this reason."""
        connection = self._clients.get(process)
        if connection is not None:
            connection.end(error)

    def unread(self) -> list[tuple[int, float]]:
        """Clients that do not read what they are sent: (process, since when by the monotonic clock)."""
        return [(p, c.unread_since) for p, c in self._clients.items() if c.unread_since is not None]

    def arrived(self, connection: Connection) -> None:
        if len(self._arriving) >= ARRIVING_MAX:
            connection.abort()
        else:
            self._arriving.add(connection)

    def admit(self, connection: Connection) -> tuple[int, int]:
        """Gives a client its place and its cancel key (process, secret). Raises TooManyConnections."""
        if len(self._clients) >= self.connections_max:
            raise TooManyConnections("sorry, too many clients already")
        self._last_process = self._last_process % 0x7FFFFFFF + 1
        while self._last_process in self._clients:
            self._last_process = self._last_process % 0x7FFFFFFF + 1
        connection.process = self._last_process
        connection.secret = secrets.randbits(32)
        self._clients[connection.process] = connection
        return connection.process, connection.secret

    def wake(self, connection: Connection) -> None:
        """What a connection waits for has come true. Any thread; many at once wake the loop once."""
        self._woken.append(connection)
        if not self._waking:
            self._waking = True
            with contextlib.suppress(RuntimeError):  # The loop has been closed.
                assert self._loop is not None
                _ = self._loop.call_soon_threadsafe(self._advance_woken)

    def _advance_woken(self) -> None:
        self._waking = False
        while self._woken:
            self._woken.popleft().advance()

    def left(self, connection: Connection) -> None:
        self._arriving.discard(connection)
        if self._clients.get(connection.process) is connection:
            del self._clients[connection.process]

    def entered(self, connection: Connection) -> None:
        self._arriving.discard(connection)


class Connection(asyncio.Protocol):
    """One client's socket. `process` and `secret` are its cancel key once it has a place."""

    __slots__ = ("_listener", "_loop", "_lost", "_reading_paused", "_securing", "_timer", "_transport",
                 "_wire", "_writing_paused", "process", "secret", "unread_since")  # fmt: skip

    def __init__(self, listener: Listener, loop: asyncio.AbstractEventLoop) -> None:
        self.process = 0
        self.secret = 0
        self._listener = listener
        self._loop = loop
        self._lost = False
        self._reading_paused = False
        self._writing_paused = False
        self.unread_since: float | None = None
        """Since when the client has not read what it is sent, while it does not."""
        self._securing = False

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
        out: list[bytes] = []
        login = Login(self._listener, address, out, lambda: self._listener.admit(self), self._enter)
        self._wire = Wire(login, out)
        self._timer = self._loop.call_later(LOGIN_SECONDS_MAX, self.abort)
        self._listener.arrived(self)

    def data_received(self, data: bytes) -> None:
        self._listener.traffic.received_bytes += len(data)
        self._wire.receive(data)
        self._advance()

    def pause_writing(self) -> None:
        self._writing_paused = True
        self.unread_since = monotonic()

    def resume_writing(self) -> None:
        self._writing_paused = False
        self.unread_since = None
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._timer.cancel()
        self._listener.left(self)
        self._close_wire()

    # What the listener calls.

    def interrupt(self) -> None:
        """A cancel request for this client."""
        if not self._lost and self._wire.interrupt():
            self._advance(due=True)

    def announce(self, parameters: Mapping[str, str]) -> None:
        """Says that parameters have changed; a client may hear of it between any two messages."""
        if not self._lost and self._wire.speaker.phase is not Phase.CLOSED:
            self._wire.out.extend(parameter_status(name, value) for name, value in parameters.items())
            self._write()

    def end(self, error: SqlError | None = None) -> None:
        """Tells the client why (unless told: the server's end) and closes; what it held is free at once.

        A client that does not read is not waited for long.
        """
        if not self._lost:
            ending = AdminShutdown("terminating connection due to administrator command")
            self._wire.speaker.end(error or ending)
            self._write()
            self._close_wire()
            self._transport.close()
            _ = self._loop.call_later(END_SECONDS_MAX, self.abort)

    def abort(self) -> None:
        if not self._lost:
            self._transport.abort()

    def advance(self) -> None:
        """Goes on, whatever was waited for; a failure is this client's alone."""
        try:
            self._advance()
        except Exception:
            _log.exception("a connection failed")
            self.abort()

    def _close_wire(self) -> None:
        """A failure is this client's alone: the socket is to be closed all the same."""
        try:
            self._wire.close()
        except Exception:
            _log.exception("closing a session failed")

    # The work.

    def _enter(self, session: Session) -> None:
        self._timer.cancel()
        self._listener.entered(self)
        self._wire.speaker = session

    def _advance(self, due: bool = False) -> None:
        """Handles what can be handled now. `due`: even if what was waited for has not come true."""
        wire = self._wire
        if self._lost or self._securing:
            return
        waiting = wire.waiting
        if due or not (self._writing_paused or (isinstance(waiting, Future) and not waiting.done())):
            wire.advance()
            self._write()
            self._arrange(wire.waiting)
        self._throttle()

    def _write(self) -> None:
        out = self._wire.out
        if out:
            data = b"".join(out)
            self._listener.traffic.sent_bytes += len(data)
            self._transport.write(data)
            out.clear()

    def _arrange(self, waiting: Future[Any] | Wait | None) -> None:
        """Sees to it that `_advance` is called again when it should be."""
        if waiting is None:
            if self._wire.speaker.phase is Phase.CLOSED:
                self._transport.close()
        elif isinstance(waiting, Future):
            waiting.add_done_callback(self._wake)
        elif waiting is Wait.TLS:
            self._secure()
        elif not self._writing_paused:
            _ = self._loop.call_soon(self._advance)

    def _wake(self, done: Future[Any]) -> None:
        """A future is done; called in whichever thread did it."""
        self._listener.wake(self)

    def _throttle(self) -> None:
        """Stops reading while much is received and not yet wanted. A message that is incomplete is wanted."""
        stuck = self._wire.waiting is not None or self._writing_paused
        full = stuck and self._wire.pending > READ_BYTES_MAX
        if full != self._reading_paused and not self._transport.is_closing():
            self._reading_paused = full
            if full:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _secure(self) -> None:
        if self._wire.pending:
            # Someone may have injected it before encryption began (CVE-2021-23214).
            self._wire.speaker.failed(FatalViolation("received unencrypted data after SSL request"))
            self._write()
            self._transport.close()
            return
        self._securing = True
        task = self._loop.create_task(self._start_tls())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _start_tls(self) -> None:
        context = self._listener.tls
        assert context is not None
        try:
            transport = await self._loop.start_tls(self._transport, self, context, server_side=True)
        except (OSError, ssl.SSLError) as error:
            _log.info("TLS handshake failed: %s", error)
            self._transport.abort()
            return
        if transport is None:
            return
        self._transport = transport
        self._transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        self._securing = False
        self._advance()
