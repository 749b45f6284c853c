"""The beginning of a connection: encryption and cancel requests, the startup packet, authentication.

`Login` is the speaker (see `wire.py`) until a client is let in; every error here is FATAL.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Protocol

from ..storage.errors import FeatureNotSupported, InvalidAuthorization, SqlError
from . import messages
from .auth import MECHANISM, Access, ScramExchange
from .backend import Connect
from .messages import CANCEL_REQUEST, GSS_REQUEST, PROTOCOL_3_0, SSL_REQUEST
from .session import Session
from .traffic import Traffic
from .wire import FatalViolation, Phase, Steps, Wait

_REFUSED = b"N"
_GRANTED = b"S"


class Gate(Protocol):
    """What a login needs to know of, and to ask from, the listener."""

    access: Access
    connect: Connect
    traffic: Traffic

    @property
    def offers_tls(self) -> bool: ...

    def cancel(self, process: int, secret: int) -> None:
        """Passes a cancel request on, if the key is right."""
        ...


class Login:
    """Lets one client in. `admit` takes a place and gives the cancel key, or raises TooManyConnections;
    `enter` gets the session that takes over."""

    __slots__ = ("_address", "_admit", "_encrypted", "_enter", "_exchange", "_gate", "_key", "_parameters",
                 "out", "phase", "sync_follows")  # fmt: skip

    def __init__(
        self,
        gate: Gate,
        address: str,
        out: list[bytes],
        admit: Callable[[], tuple[int, int]],
        enter: Callable[[Session], None],
    ) -> None:
        self.phase = Phase.STARTUP
        self.sync_follows = False
        self.out = out
        self._gate = gate
        self._address = address
        self._admit = admit
        self._enter = enter
        self._encrypted = False
        self._parameters: dict[str, str] = {}
        self._exchange: ScramExchange | None = None
        self._key = (0, 0)

    def startup_packet(self, body: bytes) -> Steps | None:
        (code,) = struct.unpack_from("!I", body)
        if code == CANCEL_REQUEST:
            self.phase = Phase.CLOSED
            if len(body) == 12:
                self._gate.cancel(*struct.unpack_from("!II", body, 4))
            return None
        if code == SSL_REQUEST and self._gate.offers_tls and not self._encrypted:
            return self._encrypt()
        if code in (SSL_REQUEST, GSS_REQUEST):
            self.out.append(_REFUSED)
            return None
        self._begin(code, body)
        return None

    def _encrypt(self) -> Steps:
        self.out.append(_GRANTED)
        yield Wait.TLS
        self._encrypted = True

    def _begin(self, version: int, body: bytes) -> None:
        if version >> 16 != 3:
            raise FeatureNotSupported(
                f"unsupported frontend protocol {version >> 16}.{version & 0xFFFF}:"
                " server supports 3.0 to 3.0"
            )
        parameters = self._parameters = messages.parse_startup(body).parameters
        user = parameters.get("user", "")
        if not user:
            raise InvalidAuthorization("no PostgreSQL user name specified in startup packet")
        unknown = [name for name in parameters if name.startswith("_pq_.")]
        if version > PROTOCOL_3_0 or unknown:
            self.out.append(messages.negotiate_protocol_version(unknown))
        self._parameters = {name: value for name, value in parameters.items() if not name.startswith("_")}
        _ = self._parameters.setdefault("database", user)
        self._key = self._admit()
        if self._gate.access.needs_password(user, self._address):
            self._exchange = ScramExchange(user, self._gate.access.verifiers)
            self.phase = Phase.PASSWORD
            self.out.append(messages.authentication(10, MECHANISM.encode() + b"\0\0"))
            return
        self._welcome()

    def password(self, body: bytes) -> None:
        """Twice: the client's first SCRAM message, then its proof."""
        exchange = self._exchange
        assert exchange is not None
        if not exchange.begun:
            mechanism, data = messages.parse_sasl_initial(body)
            if mechanism != MECHANISM:
                raise FatalViolation("client selected an invalid SASL authentication mechanism")
            self.out.append(messages.authentication(11, exchange.first(data)))
            return
        self.out.append(messages.authentication(12, exchange.final(body)))
        self._welcome()

    def _welcome(self) -> None:
        process, secret = self._key
        backend = self._gate.connect({**self._parameters, "_pid": str(process), "_address": self._address})
        self.out.append(messages.AUTHENTICATION_OK)
        for name, value in backend.parameters().items():
            self.out.append(messages.parameter_status(name, value))
        self.out.append(messages.backend_key_data(process, secret))
        self.out.append(messages.READY[backend.status])
        self._enter(Session(backend, self.out, self._gate.traffic))

    def failed(self, error: SqlError) -> None:
        self._gate.traffic.failed(error.code)
        self.out.append(messages.error_response(error, "FATAL"))
        self.phase = Phase.CLOSED

    def interrupt(self) -> bool:
        return False

    def end(self, error: SqlError) -> None:
        self.phase = Phase.CLOSED

    def ended(self) -> None:
        self.phase = Phase.CLOSED
