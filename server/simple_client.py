"""A blocking client of a few lines, for the drill: one connection, simple queries, text values."""

from __future__ import annotations

import socket
import struct

Row = tuple[str | None, ...]


class QueryFailed(Exception):
    """The server answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class SimpleClient:
    """A session as user `drill`. `parameters` are those the server has reported, as of the last answer."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        """Raises OSError when nobody answers in time, QueryFailed when the server refuses."""
        self.parameters: dict[str, str] = {}
        self._socket = socket.create_connection((host, port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        body = struct.pack(">I", 196608) + b"user\0drill\0database\0millpond\0\0"
        self._socket.sendall(struct.pack(">I", len(body) + 4) + body)
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def query(self, text: str) -> list[Row]:
        """Runs a statement; its rows. Raises QueryFailed, OSError when the connection is lost."""
        body = text.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack(">I", len(body) + 4) + body)
        return self._answer()

    def close(self) -> None:
        self._socket.close()

    def _answer(self) -> list[Row]:
        """Everything up to ReadyForQuery."""
        rows: list[Row] = []
        failure: QueryFailed | None = None
        while True:
            kind, body = self._message()
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"S":
                name, value, _ = body.split(b"\0")
                self.parameters[name.decode()] = value.decode()
            elif kind == b"E":
                fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
                failure = QueryFailed(fields.get(b"C", ""), fields.get(b"M", ""))
                if fields.get(b"S") == "FATAL":
                    raise failure
            elif kind == b"Z":
                if failure is not None:
                    raise failure
                return rows

    def _message(self) -> tuple[bytes, bytes]:
        head = self._take(5)
        return head[:1], self._take(int.from_bytes(head[1:], "big") - 4)

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise ConnectionResetError("the server closed the connection")
            self._received += piece
        taken, self._received = self._received[:count], self._received[count:]
        return taken


def _row(body: bytes) -> Row:
    values: list[str | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2], "big")):
        length = int.from_bytes(body[at : at + 4], "big", signed=True)
        at += 4
        values.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return tuple(values)
