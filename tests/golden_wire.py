r"""Golden conversations: `golden/wire/*.txt`, bytes to the server and bytes back.

    > startup user tester database millpond     a startup packet of these parameters
    > Q select 1\x00                            a message: its type, then its body in escapes
    < T \x00\x01…                               a message of the server
    > raw \x00\x00                              bytes as they are
    < closed                                    the server closed the connection

Lines of `>` that follow each other are sent in one piece; then everything that comes back is read, up to
ReadyForQuery, a request for input, the end, or silence. The process number and key of BackendKeyData are
shown as `*`. `MILLPOND_GOLDEN_WRITE=1` replaces the lines of `<`.
"""

from __future__ import annotations

import codecs
import re
import socket
import struct
from pathlib import Path

SILENCE_S = 0.5
ANSWER_S_MAX = 20.0


def _unescape(text: str) -> bytes:
    return codecs.escape_decode(text.encode())[0]  # type: ignore[attr-defined]


def _escape(data: bytes) -> str:
    return re.sub(r" $", r"\\x20", repr(data)[2:-1])


def _client_bytes(line: str) -> bytes:
    kind, _, rest = line.partition(" ")
    if kind == "startup":
        body = struct.pack(">I", 196608) + b"".join(word.encode() + b"\0" for word in rest.split()) + b"\0"
        return struct.pack(">I", len(body) + 4) + body
    body = _unescape(rest)
    if kind == "raw":
        return body
    assert len(kind) == 1, line
    return kind.encode() + struct.pack(">I", len(body) + 4) + body


class Conversation:
    """One connection, messages read whole."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.received = b""
        self.closed = False

    def answers(self, sent_last: str) -> list[str]:
        """What the server says until it waits for the client again."""
        lines: list[str] = []
        waits = "HS" if sent_last[:1] in "H" else ""
        while True:
            message = self._message(SILENCE_S if waits else ANSWER_S_MAX, sent_last)
            if message is None:
                return [*lines, "closed"] if self.closed else lines
            kind, body = message
            lines.append(f"{kind} {'*' if kind == 'K' else _escape(body)}".rstrip())
            if kind in "ZG" or (kind == "R" and body[:4] not in (b"\0\0\0\0", b"\0\0\0\x0c")):
                return lines

    def _message(self, seconds: float, sent_last: str) -> tuple[str, bytes] | None:
        if sent_last.startswith("raw") and self._fill(1, seconds) and self.received[:1] in (b"S", b"N"):
            kind, self.received = self.received[:1].decode(), self.received[1:]
            self.socket.settimeout(0.05)
            return ("Z" if not self.received else kind), kind.encode()
        if not self._fill(5, seconds):
            return None
        size = struct.unpack(">I", self.received[1:5])[0]
        if not self._fill(1 + size, seconds):
            return None
        kind, body = self.received[:1].decode(), self.received[5 : 1 + size]
        self.received = self.received[1 + size :]
        return kind, body

    def _fill(self, size: int, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        while len(self.received) < size:
            try:
                piece = self.socket.recv(1 << 16)
            except TimeoutError:
                return False
            except ConnectionError:
                piece = b""
            if not piece:
                self.closed = True
                return False
            self.received += piece
        return True


def run_conversation(path: Path, port: int, write: bool) -> list[str]:
    """The failures of one script; with `write` the server's lines are replaced."""
    failures: list[str] = []
    lines = path.read_text().splitlines()
    kept: list[str] = []
    conversation = Conversation(port)
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if not line.startswith("> "):
            kept.append(line)
            continue
        sent = [line[2:]]
        while position < len(lines) and lines[position].startswith("> "):
            sent.append(lines[position][2:])
            position += 1
        expected: list[str] = []
        while position < len(lines) and lines[position].startswith("< "):
            expected.append(lines[position][2:])
            position += 1
        conversation.socket.sendall(b"".join(_client_bytes(item) for item in sent))
        found = conversation.answers(sent[-1])
        if not write and found != expected:
            failures.append("\n".join([f"{path.name}: {sent}", "expected:", *expected, "got:", *found]))
        kept += [*(f"> {item}" for item in sent), *(f"< {item}" for item in found)]
    conversation.socket.close()
    if write:
        path.write_text("\n".join(kept) + "\n")
    return failures
