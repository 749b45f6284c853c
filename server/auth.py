"""Who may connect: trust, or SCRAM-SHA-256 (RFC 5802, RFC 7677) against stored verifiers.

A verifier is PostgreSQL's text, `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`; passwords are not
kept, and a login costs a few HMACs, no PBKDF2. An unknown user goes through the same exchange with
a made-up verifier, so that names cannot be probed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
import secrets
import stringprep
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..storage.errors import InvalidAuthorization, InvalidPassword, ProtocolViolation, StartupError

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096

_DOOMED_KEY = os.urandom(32)
"""Makes the salt of an unknown user the same at each attempt."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of admission.

    With `verifiers` (role → verifier) every user must be one of them and prove the password. Without
    any, local clients are trusted whatever their name, and others only if `trust_remote`.
    """

    verifiers: Mapping[str, str] = field(default_factory=dict)
    trust_remote: bool = False

    def needs_password(self, user: str, address: str) -> bool:
        """Whether SCRAM must follow. Raises InvalidAuthorization when the client is refused outright."""
        if self.verifiers:
            return True
        if self.trust_remote or is_local(address):
            return False
        raise InvalidAuthorization(
            f'no password is set up: connection from host "{address}", user "{user}" is refused',
            hint="Only local clients are trusted. Configure users to admit others.",
        )


def is_local(address: str) -> bool:
    """Whether an address is a loopback one, or a Unix socket's (empty)."""
    if not address:
        return True
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def load_users(path: Path) -> dict[str, str]:
    """Role → verifier, from lines `user:password` or `user:verifier`. Raises StartupError."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise StartupError(f"cannot read the users file {path}: {error}") from error
    users: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, secret = line.partition(":")
        if not colon or not user or not secret:
            raise StartupError(f"{path}, line {number}: expected user:password")
        users[user] = secret if is_verifier(secret) else build_verifier(secret)
    return users


def is_verifier(text: str) -> bool:
    try:
        _ = Verifier.parse(text)
    except ValueError:
        return False
    return True


def build_verifier(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> str:
    """The verifier of a password, as `ALTER ROLE … PASSWORD` stores it."""
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", prepare_password(password).encode(), salt, iterations)
    stored = hashlib.sha256(_hmac(salted, b"Client Key")).digest()
    server = _hmac(salted, b"Server Key")
    return f"{MECHANISM}${iterations}:{_b64(salt)}${_b64(stored)}:{_b64(server)}"


def prepare_password(password: str) -> str:
    """SASLprep (RFC 4013); a password it forbids is used as it is, as PostgreSQL and libpq do."""
    mapped = "".join(
        " " if stringprep.in_table_c12(character) else character
        for character in password
        if not stringprep.in_table_b1(character)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    return password if not prepared or any(_forbidden(character) for character in prepared) else prepared


def _forbidden(character: str) -> bool:
    return (
        stringprep.in_table_a1(character)
        or stringprep.in_table_c12(character)
        or stringprep.in_table_c21_c22(character)
        or stringprep.in_table_c3(character)
        or stringprep.in_table_c4(character)
        or stringprep.in_table_c5(character)
        or stringprep.in_table_c6(character)
        or stringprep.in_table_c7(character)
        or stringprep.in_table_c8(character)
        or stringprep.in_table_c9(character)
    )


@dataclass(frozen=True, slots=True)
class Verifier:
    """What SCRAM-SHA-256 keeps in place of a password (RFC 5802 section 3)."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @staticmethod
    def parse(text: str) -> Verifier:
        """Raises ValueError when it is not a verifier."""
        mechanism, parameters, keys = text.split("$")
        iterations, salt = parameters.split(":")
        stored, server = keys.split(":")
        if mechanism != MECHANISM:
            raise ValueError(mechanism)
        verifier = Verifier(int(iterations), _unb64(salt), _unb64(stored), _unb64(server))
        if len(verifier.stored_key) != 32 or len(verifier.server_key) != 32:
            raise ValueError(text)
        return verifier

    @staticmethod
    def doomed(user: str) -> Verifier:
        """One that no password fits."""
        salt = _hmac(_DOOMED_KEY, user.encode())[:16]
        return Verifier(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


class ScramExchange:
    """One login: `first` answers the client's first message, `final` checks its proof.

    Raises ProtocolViolation for malformed messages, InvalidPassword for a wrong proof.
    """

    __slots__ = ("_bare", "_header", "_nonce", "_server_first", "_user", "_verifier", "begun")

    def __init__(self, user: str, verifiers: Mapping[str, str]) -> None:
        self.begun = False
        self._user = user
        text = verifiers.get(user)
        self._verifier = Verifier.doomed(user) if text is None else Verifier.parse(text)

    def first(self, data: bytes) -> bytes:
        self.begun = True
        try:
            flag, authorization, bare = data.decode().split(",", 2)
            nonce = _attributes(bare)["r"]
        except (ValueError, KeyError):
            raise ProtocolViolation("malformed SCRAM message") from None
        if flag not in ("n", "y"):
            # "p=": channel binding belongs to SCRAM-SHA-256-PLUS, which is not offered.
            raise ProtocolViolation("malformed SCRAM message", detail="Unexpected channel binding flag.")
        self._header = f"{flag},{authorization},"
        self._bare = bare
        self._nonce = nonce + secrets.token_urlsafe(18)
        verifier = self._verifier
        self._server_first = f"r={self._nonce},s={_b64(verifier.salt)},i={verifier.iterations}"
        return self._server_first.encode()

    def final(self, data: bytes) -> bytes:
        try:
            without_proof, _, proof_text = data.decode().rpartition(",p=")
            attributes = _attributes(without_proof)
            binding, nonce = _unb64(attributes["c"]), attributes["r"]
            proof = _unb64(proof_text)
        except (ValueError, KeyError):
            raise ProtocolViolation("malformed SCRAM message") from None
        if nonce != self._nonce or binding != self._header.encode():
            raise ProtocolViolation(
                "malformed SCRAM message", detail="Nonce or channel binding does not match."
            )
        signed = f"{self._bare},{self._server_first},{without_proof}".encode()
        signature = _hmac(self._verifier.stored_key, signed)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        if not hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key):
            raise InvalidPassword(f'password authentication failed for user "{self._user}"')
        return b"v=" + _b64(_hmac(self._verifier.server_key, signed)).encode()


def _attributes(text: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _unb64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error
